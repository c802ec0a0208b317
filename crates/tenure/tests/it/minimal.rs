//! The tests run on a minimal system: a compiler, a shell and PostgreSQL's own programs, nothing else.

use std::fs;
use std::path::{Path, PathBuf};

/// Programs that every Debian has, or that a test may do without.
const ALWAYS_THERE: [&str; 5] = ["sh", "install", "mount", "umount", "gzip"];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory of the tree") {
        let path = entry.expect("an entry of the tree").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// `kill` comes with procps, `psql` and `python3` with packages that an ordinary user cannot install. Tests send signals
/// by a system call, take `psql` from the PostgreSQL in use, and Python from `script/test`.
#[test]
fn no_test_starts_a_program_that_a_minimal_system_lacks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["crates/core", "crates/tenure/tests", "crates/cli/tests", "examples"] {
        sources(&root.join(folder), &mut files);
    }
    // Written in two parts, so that this file is not found.
    let start = concat!("Command::", "new(\"");
    let mut missing = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file");
        for program in text.split(start).skip(1).filter_map(|rest| rest.split('"').next()) {
            if !ALWAYS_THERE.contains(&program) {
                missing.push(format!("{} starts {program}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
