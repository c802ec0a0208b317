use proptest::prelude::*;
use tenure_core::limits::ERROR_MESSAGE_BYTES_MAX;
use tenure_core::masking::{RULES, cut, error_message, mask};

use crate::{in_repository, json_lines};

#[test]
fn secrets_are_masked_as_the_vectors_say() {
    let wrong: Vec<String> = json_lines("masking.jsonl")
        .iter()
        .map(|vector| (vector["in"].as_str().unwrap(), vector["out"].as_str().unwrap()))
        .filter(|(text, out)| mask(text) != *out)
        .map(|(text, out)| format!("{text:?}\n  wanted {out:?}\n  got    {:?}", mask(text)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The SQL function is written from the rules: `TENURE_WRITE=1 cargo test -p tenure-core masking` writes it anew.
#[test]
fn the_sql_function_holds_the_same_rules() {
    let Some(folder) = in_repository("sql/functions") else {
        return;
    };
    let path = folder.join("masking.sql");
    if std::env::var_os("TENURE_WRITE").is_some() {
        std::fs::write(&path, sql()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(
        written == sql(),
        "sql/functions/masking.sql differs from masking::RULES; set TENURE_WRITE=1 to write it"
    );
}

fn sql() -> String {
    // A long literal goes on in the next line, as SQL allows; no line of it is wider than 100 columns.
    let quoted = |text: &str| {
        let characters: Vec<char> = text.chars().collect();
        let parts = characters.chunks(70).map(|part| part.iter().collect::<String>());
        let parts: Vec<String> = parts.map(|part| format!("'{}'", part.replace('\'', "''"))).collect();
        if parts.is_empty() {
            "''".to_owned()
        } else {
            parts.join("\n      ")
        }
    };
    let mut text = String::from(
        "\
-- Hides what looks like a secret in a text that will be stored or shown; what looks like none is left as it
-- is. Never fails, and masking twice changes nothing. Written from crates/core/src/masking.rs, which has the
-- reasons.
-- chr(1) stands for '***@' of an address while the other rules run.
create or replace function tenure.mask_text(p_text text)
returns text
language sql
immutable
strict
parallel safe
set standard_conforming_strings = on
as $$
  select
",
    );
    text.push_str("    replace(\n");
    text.push_str(&"    regexp_replace(\n".repeat(RULES.len()));
    text.push_str("      replace(p_text, chr(1), ' '),\n");
    for rule in RULES {
        let flags = if rule.any_case { "gi" } else { "g" };
        let replacement = match rule.replacement.strip_suffix('\u{1}') {
            Some(start) => format!("{} || chr(1)", quoted(start)),
            None => quoted(rule.replacement),
        };
        text.push_str(&format!("      -- {}\n", rule.hides));
        text.push_str(&format!(
            "      {},\n      {replacement}, '{flags}'),\n",
            quoted(&rule.filled())
        ));
    }
    text.push_str("      chr(1), '***@')\n$$;\n");
    text
}

#[test]
fn a_cut_keeps_whole_characters_and_its_limit() {
    assert_eq!(cut("ééééé", 10), "ééééé");
    assert_eq!(cut("ééééé", 9), "ééé…");
    assert_eq!(cut("ééééé", 8), "éé…");
    assert_eq!(cut("abcdef", 3), "…");
    assert_eq!(cut("éa", 2), "é");
    assert_eq!(cut("é", 1), "");
}

#[test]
fn a_secret_at_the_cut_is_masked_before_it() {
    let text = format!(
        "{} password={}",
        "x".repeat(ERROR_MESSAGE_BYTES_MAX - 15),
        "z".repeat(100)
    );
    let stored = error_message(&text);
    assert!(
        stored.len() <= ERROR_MESSAGE_BYTES_MAX && !stored.contains('z'),
        "{stored}"
    );
}

/// Texts made of the pieces the rules look for, in any order.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "password",
        "token",
        "secret_key",
        "authorization",
        "cookie",
        "=",
        ":",
        "=>",
        ": ",
        "\"",
        "'",
        "\\\"",
        "\\",
        " ",
        "\n",
        ",",
        "; ",
        "&",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "@",
        "/",
        "://",
        "user:",
        "Bearer ",
        "Basic ",
        "***",
        "abc",
        "A1",
        "-",
        "--",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "sk-abcdefghijklmnopqrst",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJI.eyJzdWIi.c2ln",
        "ghp_abcdefghijklmnopqrstuvwxyz",
        "é",
        "\u{1}",
        "Some(",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn masking_twice_is_masking_once(text in nasty()) {
        let once = mask(&text);
        prop_assert_eq!(mask(&once), once);
    }
}

proptest! {
    #[test]
    fn no_text_fails_and_no_cut_exceeds_its_limit(text: String, bytes_max in 0..40usize) {
        prop_assert_eq!(mask(&mask(&text)), mask(&text));
        prop_assert!(cut(&text, bytes_max).len() <= bytes_max);
    }

    #[test]
    fn a_bare_password_never_survives(password in "[A-Za-z0-9!#$%*+./?@^_|~-]{6,20}", key in "(password|API_KEY|Token|client-secret)", is in "(=|: |=>| = )") {
        let masked = mask(&format!("x {key}{is}{password} y"));
        prop_assert_eq!(masked, format!("x {key}{is}*** y"));
    }

    #[test]
    fn a_quoted_password_never_survives(password in "[^\"\\\\\u{1}]{1,20}") {
        let masked = mask(&format!("{{\"password\": \"{password}\", \"port\": 1}}"));
        prop_assert_eq!(masked, "{\"password\": \"***\", \"port\": 1}");
    }
}
