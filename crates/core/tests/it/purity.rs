use std::path::{Path, PathBuf};

/// No runtime, no database, no clock, no randomness: the manifest shows it. jiff could read a clock and the time zones of the
/// machine; the next test shows that it is not asked to. Without its feature `rand_core`, ed25519-dalek has no randomness.
#[test]
fn the_core_depends_on_nothing_that_reaches_the_world() {
    let manifest = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let (_, rest) = manifest.split_once("[dependencies]").unwrap();
    let section = rest.split("\n[").next().unwrap();
    let names = section
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'));
    for name in names {
        assert!(
            [
                "base64",
                "croner",
                "ed25519-dalek",
                "jiff",
                "regex",
                "schemars",
                "serde",
                "serde_json",
                "serde_json_canonicalizer",
                "sha2",
                "thiserror",
                "zeroize"
            ]
            .contains(&name),
            "{name} is no dependency of pure rules"
        );
    }
}

/// What the standard library offers of the world stays unused too, and so do the clock and the time zones of the machine,
/// which jiff would read if asked.
#[test]
fn the_core_reads_no_clock_and_no_file() {
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = std::fs::read_to_string(&path).unwrap();
        for word in [
            "SystemTime",
            "Instant",
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "RandomState",
            "::now()",
            "TimeZone::system",
            "TimeZone::try_system",
            "TimeZone::get",
            "tz::db",
            "from_env",
            "from_dir",
            "in_tz",
        ] {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .collect()
}
