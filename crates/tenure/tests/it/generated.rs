//! Files that are generated from the source and kept in the tree: compared by tests, written again with `TENURE_WRITE=1`.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// A file of the tree by its path below the workspace.
pub(crate) fn in_tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Asserts that a file holds this text, or writes it if `TENURE_WRITE` is set. `tests` are those that write it.
#[track_caller]
pub(crate) fn compare_or_write(path: &str, text: &str, tests: &str) {
    let file = in_tree(path);
    if env::var_os("TENURE_WRITE").is_some() {
        fs::create_dir_all(file.parent().expect("a file lies in a directory")).expect("its directory");
        fs::write(&file, text).expect("the file is written");
        return;
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let first = kept.lines().zip(text.lines()).find(|(kept, made)| kept != made);
    assert!(
        kept == text,
        "{path} is not what its sources say; the first difference: {first:?}\n\
         Write it again: TENURE_WRITE=1 cargo test -p tenure --test it {tests}"
    );
}

/// Words set in lines of at most this number of columns, each line behind its indent.
pub(crate) fn wrapped<'a>(words: impl IntoIterator<Item = &'a str>, indent: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join("\n")
}
