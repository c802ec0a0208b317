//! The file outside the database that checkpoints are appended to: one JSON object a line, never rewritten.
//!
//! The file itself says how far it has come. What was committed and not appended before a crash is appended after it, in
//! order; a line that was cut off is completed.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tenure_core::anchor::{self, Checkpoint, NO_PREVIOUS};
use tenure_core::evidence::PublicKey;
use tenure_core::json;

/// How much of the end is read at first; a line is seldom longer.
const TAIL_BYTES: u64 = 256 * 1024;

/// A file of checkpoints, and the name under which the database knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchorFile {
    path: PathBuf,
    sink: String,
}

/// The end of a file.
struct Tail {
    /// The last whole line.
    last: Option<Checkpoint>,
    /// What stands behind it: a line that was cut off.
    torn: Vec<u8>,
}

impl AnchorFile {
    /// The file at this path. Of this host, if it has a name: another host may have a file at the same path.
    pub fn new(path: impl Into<PathBuf>, host: Option<&str>) -> AnchorFile {
        let path = path.into();
        let host = host.map(|host| format!("{host}:")).unwrap_or_default();
        AnchorFile {
            sink: format!("file:{host}{}", path.display()),
            path,
        }
    }

    /// How it is called in `tenure doctor`.
    pub fn sink(&self) -> &str {
        &self.sink
    }

    /// The number of the last checkpoint that it has; 0 if it has none or is not there.
    pub(super) fn last_number(&self) -> Result<i64> {
        let tail = tail(&self.path)?;
        let number = tail.last.map_or(0, |last| last.number);
        i64::try_from(number).map_err(|_| {
            let why = format!(
                "The last line of {} is checkpoint {number}, which no database has.",
                self.path.display()
            );
            Error::other(why)
        })
    }

    /// Appends checkpoints that follow what the file has, and waits until they are on the disk. Refuses if they do not follow,
    /// and if the file is ahead of the newest checkpoint of the database.
    pub(super) fn append(&self, page: &[Checkpoint], newest: Option<&Checkpoint>) -> Result<usize> {
        let tail = tail(&self.path)?;
        let (Some(first), last) = (page.first(), tail.last.as_ref()) else {
            return match (tail.last, newest) {
                (Some(last), newest) if newest.is_none_or(|newest| newest.hash() != last.hash()) => {
                    Err(self.apart(&last, newest.map_or(0, |newest| newest.number)))
                }
                _ => Ok(0),
            };
        };
        let (number, previous) = last.map_or((0, NO_PREVIOUS.to_owned()), |last| (last.number, last.hash()));
        let same = last.is_none_or(|last| last.installation == first.installation);
        if number.checked_add(1) != Some(first.number) || first.previous != previous || !same {
            return Err(match last {
                Some(last) => self.apart(last, newest.map_or(0, |newest| newest.number)),
                None => Error::other(format!("The first checkpoint of the database is {}.", first.number)),
            });
        }
        check(last, page)?;
        let text: String = page.iter().map(|checkpoint| checkpoint.line() + "\n").collect();
        let Some(rest) = text.as_bytes().strip_prefix(tail.torn.as_slice()) else {
            return Err(Error::other(format!(
                "{} ends in the middle of a line that is not the beginning of checkpoint {}. Keep it, and name a new file.",
                self.path.display(),
                first.number
            )));
        };
        let is_new = !self.path.exists();
        let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
        file.write_all(rest)?;
        file.sync_all()?;
        if is_new {
            // The name of a new file is on the disk when its directory is.
            let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
            File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(page.len())
    }

    fn apart(&self, last: &Checkpoint, newest: u64) -> Error {
        Error::other(format!(
            "The last line of {} is checkpoint {} of the installation {} with the hash {}, and the database, whose newest is \
             {newest}, has another one there: it was restored or changed, or the file is of another installation. Keep the \
             file as it is, and name a new one.",
            self.path.display(),
            last.number,
            last.installation,
            last.hash()
        ))
    }
}

/// Refuses checkpoints whose signature or tree is wrong, or that do not follow each other: a file is never rewritten.
fn check(last: Option<&Checkpoint>, page: &[Checkpoint]) -> Result<()> {
    let incomplete = |one: &&Checkpoint| !one.has_all_heads() && one.heads.iter().flatten().next().is_some();
    if let Some(one) = page.iter().find(incomplete) {
        return Err(Error::other(format!(
            "Checkpoint {} of the database names some of its {} leaves, and not all of them.",
            one.number, one.leaf_count
        )));
    }
    let skips = |pair: &&[Checkpoint]| pair[0].number.checked_add(1) != Some(pair[1].number);
    if let Some([one, next]) = page.windows(2).find(skips) {
        return Err(Error::other(format!(
            "Checkpoint {} of the database follows checkpoint {}.",
            next.number, one.number
        )));
    }
    let all = || last.into_iter().chain(page);
    let mut keys: Vec<PublicKey> = Vec::new();
    for one in all().filter(|one| !one.public_key.is_empty()) {
        let key = PublicKey::parse(&one.public_key).map_err(|error| {
            let why = format!("The key of checkpoint {} cannot be read: {error}.", one.number);
            Error::other(why)
        })?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let text: String = all().map(|one| one.line() + "\n").collect();
    match anchor::check(text.as_bytes(), &keys) {
        Ok(_) => Ok(()),
        Err(findings) => Err(Error::other(format!(
            "Checkpoint {} of the database is not sound: {}",
            findings[0].checkpoint.unwrap_or_default(),
            findings[0].what
        ))),
    }
}

/// Reads the end of a file; one that is not there is empty.
fn tail(path: &Path) -> Result<Tail> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Tail {
                last: None,
                torn: Vec::new(),
            });
        }
        Err(error) => return Err(Error::new(error.kind(), format!("{}: {error}", path.display()))),
    };
    let length = file.metadata()?.len();
    let mut window = TAIL_BYTES.min(length);
    loop {
        file.seek(SeekFrom::Start(length - window))?;
        let mut bytes = Vec::new();
        Read::by_ref(&mut file).take(window).read_to_end(&mut bytes)?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let torn = bytes.split_off(end);
        bytes.pop();
        let start = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        if start.is_none() && window < length {
            window = (2 * window).min(length);
            continue;
        }
        if end == 0 {
            return Ok(Tail { last: None, torn });
        }
        let last = json::parse_bytes(&bytes[start.unwrap_or(0)..]).map_err(|error| {
            let why = format!("The last line of {} is not a checkpoint: {error}.", path.display());
            Error::other(why)
        })?;
        return Ok(Tail { last: Some(last), torn });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors() -> Vec<Checkpoint> {
        let text = include_str!("../../../core/testdata/anchors/checkpoints.jsonl");
        text.lines()
            .map(|line| serde_json::from_str(line).expect("a checkpoint"))
            .collect()
    }

    fn file(directory: &tempfile::TempDir) -> AnchorFile {
        AnchorFile::new(directory.path().join("anchors.jsonl"), Some("here"))
    }

    #[test]
    fn checkpoints_are_appended_in_order_and_once() {
        let (directory, all) = (tempfile::tempdir().expect("a directory"), vectors());
        let file = file(&directory);
        assert_eq!(file.last_number().expect("a number"), 0);
        assert_eq!(file.append(&all[..1], all.last()).expect("the first"), 1);
        assert_eq!(file.append(&all[1..], all.last()).expect("the others"), 2);
        assert_eq!(file.append(&[], all.last()).expect("nothing new"), 0);
        let text = std::fs::read_to_string(directory.path().join("anchors.jsonl")).expect("the file");
        assert_eq!(text, include_str!("../../../core/testdata/anchors/checkpoints.jsonl"));
        assert!(
            file.append(&all[1..2], all.last()).is_err(),
            "one that is there already"
        );
        assert_eq!(
            file.sink(),
            format!("file:here:{}", directory.path().join("anchors.jsonl").display())
        );
    }

    #[test]
    fn a_line_that_was_cut_off_is_completed() {
        let (directory, all) = (tempfile::tempdir().expect("a directory"), vectors());
        let (path, file) = (directory.path().join("anchors.jsonl"), file(&directory));
        let whole = include_str!("../../../core/testdata/anchors/checkpoints.jsonl");
        let first = whole.find('\n').expect("a line") + 1;
        for cut in [1, first - 1, first, first + 7, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).expect("a file");
            let at = file.last_number().expect("a number") as usize;
            file.append(&all[at..], all.last()).expect("the rest");
            assert_eq!(std::fs::read_to_string(&path).expect("the file"), whole, "cut at {cut}");
        }
        std::fs::write(&path, format!("{}{{\"kind\":\"other", &whole[..first])).expect("a file");
        let error = file.append(&all[1..], all.last()).expect_err("of something else");
        assert!(error.to_string().contains("middle of a line"), "{error}");
    }

    #[test]
    fn a_database_that_has_another_past_is_refused() {
        let (directory, all) = (tempfile::tempdir().expect("a directory"), vectors());
        let file = file(&directory);
        file.append(&all, all.last()).expect("all");
        let restored = file.append(&[], Some(&all[1])).expect_err("the file is ahead");
        assert!(restored.to_string().contains("checkpoint 3"), "{restored}");
        let mut other = all[2].clone();
        other.number = 4;
        assert!(
            file.append(&[other.clone()], Some(&other)).is_err(),
            "another hash before it"
        );
        other.previous = all[2].hash();
        other.installation = "another".to_owned();
        assert!(
            file.append(&[other.clone()], Some(&other)).is_err(),
            "another installation"
        );
        let mut last = all[2].clone();
        last.number = u64::MAX;
        std::fs::write(directory.path().join("anchors.jsonl"), last.line() + "\n").expect("a file");
        assert!(file.last_number().is_err() && file.append(&all[..1], all.last()).is_err());
        std::fs::write(directory.path().join("anchors.jsonl"), "a shopping list\n").expect("a file");
        assert!(file.last_number().is_err());
    }

    #[test]
    fn the_last_line_is_found_however_long_it_is() {
        let (directory, all) = (tempfile::tempdir().expect("a directory"), vectors());
        let file = file(&directory);
        let mut long = all[0].clone();
        let head = long.heads.as_ref().expect("heads")[0].clone();
        long.heads = Some(vec![head; 5000]);
        let path = directory.path().join("anchors.jsonl");
        std::fs::write(&path, long.line() + "\n").expect("a long line");
        assert!(long.line().len() as u64 > TAIL_BYTES);
        assert_eq!(file.last_number().expect("a number"), 1);
        std::fs::write(&path, format!("{}\n{}\n", long.line(), all[1].line())).expect("two lines");
        assert_eq!(file.last_number().expect("a number"), 2);
    }

    #[test]
    fn checkpoints_that_are_not_signed_so_or_do_not_follow_each_other_are_not_appended() {
        let (directory, all) = (tempfile::tempdir().expect("a directory"), vectors());
        let file = file(&directory);
        let refused = |page: &[Checkpoint], part: &str| {
            let error = file.append(page, all.last()).expect_err(part);
            assert!(error.to_string().contains(part), "{error}");
            assert_eq!(file.last_number().expect("a number"), 0, "{part}");
        };
        let changed = |change: fn(&mut Checkpoint)| {
            let mut page = all.clone();
            change(&mut page[1]);
            page
        };
        refused(&changed(|one| one.root = NO_PREVIOUS.to_owned()), "signature");
        refused(
            &changed(|one| one.heads.as_mut().expect("heads")[0].chain_length += 1),
            "root",
        );
        refused(
            &changed(|one| drop(one.heads.as_mut().expect("heads").pop())),
            "not all of them",
        );
        refused(&[all[0].clone(), all[2].clone()], "follows");
        refused(&[all[0].clone(), all[0].clone()], "follows");
        // Past the retention of its leaves one names none.
        let page = changed(|one| one.heads = Some(Vec::new()));
        assert_eq!(file.append(&page, all.last()).expect("without leaves"), 3);
    }
}
