//! `sql/schema.sql` is what a migrated database looks like, so that every change shows its effect.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tenure_cluster::{Search, find};

use crate::migrate::{migrated, text};

/// The dump is compared as this version of pg_dump prints it; another prints differently.
const PG_DUMP_MAJOR: u32 = 15;

const HEADER: &str = "\
-- The schema as a migrated database has it: generated, not applied. A test compares it; TENURE_WRITE=1 writes it again:
--   TENURE_WRITE=1 cargo test -p tenure --test it schema_sql
-- The bodies of functions are left out (they are in functions/), and so are partitions named by a date.
";

fn schema_sql() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql/schema.sql")
}

/// Guards: D86.
#[tokio::test]
async fn schema_sql_is_what_a_migrated_database_has() {
    let (database, client) = migrated().await;
    let version = text(&client, "select current_setting('server_version_num')").await;
    let major = version.parse::<u32>().expect("a number") / 10_000;
    if major != PG_DUMP_MAJOR {
        println!(
            "sql/schema.sql not compared: the server is PostgreSQL {major}, the file is printed by {PG_DUMP_MAJOR}"
        );
        return;
    }
    let found = find(&Search::from_env()).expect("PostgreSQL's programs");
    let pg_dump = found
        .iter()
        .filter(|installation| installation.major == major)
        .map(|installation| installation.bin_dir.join("pg_dump"))
        .find(|path| path.exists())
        .expect("pg_dump of PostgreSQL 15 lies next to the server's programs; install the client package");
    let output = Command::new(pg_dump)
        .args([
            "--schema-only",
            "--schema=tenure",
            "--no-owner",
            "--dbname",
            database.url(),
        ])
        .env("PGTZ", "UTC")
        .output()
        .expect("pg_dump runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let dumped = normalise(&String::from_utf8(output.stdout).expect("UTF-8"));
    if env::var_os("TENURE_WRITE").is_some() {
        fs::write(schema_sql(), &dumped).expect("sql/schema.sql is written");
        return;
    }
    let kept = fs::read_to_string(schema_sql()).unwrap_or_default();
    let first = kept.lines().zip(dumped.lines()).find(|(kept, dumped)| kept != dumped);
    assert!(
        kept == dumped,
        "sql/schema.sql is not what migrating makes; the first difference: {first:?}\n\
         If the change is meant: TENURE_WRITE=1 cargo test -p tenure --test it schema_sql"
    );
}

/// The dump object by object, without what differs from day to day and from one pg_dump to the next.
fn normalise(dump: &str) -> String {
    let mut text = HEADER.to_owned();
    // Each object begins with a comment of three lines that names it.
    for block in dump.split("\n--\n-- Name: ").skip(1) {
        let (title, body) = block.split_once('\n').expect("a title");
        if is_dated(title) {
            continue;
        }
        let body: Vec<&str> = body.lines().filter(|line| !is_noise(line)).collect();
        let body = if title.contains("Type: ACL") {
            grants(&body)
        } else {
            without_body(&body)
        };
        if body.trim().is_empty() || is_dated(&body) {
            continue;
        }
        text.push_str(&format!(
            "\n-- {}\n{}\n",
            title.replace("; Schema: tenure; Owner: -", ""),
            body.trim()
        ));
    }
    text
}

/// `jobs_p20260101`: a partition that upkeep has made.
fn is_dated(text: &str) -> bool {
    text.match_indices("_p2").any(|(at, _)| {
        let digits = text[at + 2..].chars().take_while(char::is_ascii_digit).count();
        digits == 8
    })
}

fn is_noise(line: &str) -> bool {
    line.is_empty()
        || line == "--"
        || line.starts_with("SET ")
        || line.starts_with('\\')
        || line.starts_with("-- PostgreSQL")
}

/// A function up to its body; the bound of a partition that moves with the date without it.
fn without_body(lines: &[&str]) -> String {
    let mut kept = Vec::new();
    for line in lines {
        if let Some(head) = line.trim_start().strip_prefix("AS $") {
            let tag = head.split('$').next().unwrap_or_default();
            // The whole body may stand in one line; either way it is the last part of a function.
            kept.push(format!("    AS ${tag}$...${tag}$;"));
            break;
        }
        match line.find(" TO ('").filter(|_| line.contains(" ATTACH PARTITION ")) {
            Some(at) => kept.push(format!("{} TO (...);", &line[..at])),
            None => kept.push((*line).to_owned()),
        }
    }
    kept.join("\n")
}

/// One line per object and right, with all who have it, and what is taken from everybody.
fn grants(lines: &[&str]) -> String {
    let mut rights: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines {
        // A revoke has nobody to collect: it stays a line of its own.
        let (right, role) = line.trim_end_matches(';').rsplit_once(" TO ").unwrap_or((line, ""));
        match rights.iter_mut().find(|(known, _)| *known == right) {
            Some((_, roles)) => roles.push(role),
            None => rights.push((right, vec![role])),
        }
    }
    let line = |(right, roles): &(&str, Vec<&str>)| match roles.join(", ") {
        nobody if nobody.is_empty() => (*right).to_owned(),
        roles => format!("{right} TO {roles};"),
    };
    rights.iter().map(line).collect::<Vec<_>>().join("\n")
}
