//! Whatever is done to a file, it is noticed, and where.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tenure_core::evidence::{Evidence, Fault, PublicKey, verify};

use crate::evidence::key;
use crate::vectors;

fn public() -> PublicKey {
    key().public_key()
}

fn file() -> String {
    vectors("evidence/succeeded.signed.jsonl")
}

fn whole(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// The numbers of lines that are found wrong, and how.
fn wrong(file: &[u8]) -> Vec<(usize, Fault)> {
    let findings = verify(file, &public()).expect_err("it was tampered with");
    assert!(!findings.is_empty());
    findings.iter().map(|finding| (finding.line, finding.fault)).collect()
}

/// Of the signature's line it is said that the signature is wrong, of any other that it was changed.
fn names(wrong: &[(usize, Fault)], lines: &[usize], fault: Fault) -> bool {
    let signature = file().lines().count();
    wrong
        .iter()
        .any(|(line, found)| lines.contains(line) && (*found == fault || *line == signature))
}

proptest! {
    #[test]
    fn a_flipped_bit_is_found_in_its_line(at in any::<Index>(), bit in 0u8..8) {
        let text = file();
        let mut bytes = text.clone().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let wrong = wrong(&bytes);
        // A line break that is gone, or a new one, makes other lines of those around it.
        let broken = text.as_bytes()[at] == b'\n' || bytes[at] == b'\n';
        let named = wrong.iter().any(|(found, _)| *found == line);
        prop_assert!(named, "line {} of {:?}", line, wrong);
        // A digest that was changed accuses its line, beside a signature that does not hold.
        let accuses = line == text.lines().count();
        prop_assert!(broken || accuses || wrong.len() == 1, "{:?}", wrong);
    }

    #[test]
    fn a_deleted_line_is_found(at in any::<Index>()) {
        let text = file();
        let mut lines: Vec<&str> = text.lines().collect();
        let at = at.index(lines.len());
        lines.remove(at);
        let wrong = wrong(whole(&lines).as_bytes());
        // Without the line of the signature the file ends one line sooner.
        let expected = if at == lines.len() { (at, Fault::Truncated) } else { (at + 1, Fault::Missing) };
        prop_assert_eq!(wrong, [expected]);
    }

    #[test]
    fn a_doubled_line_is_found(at in any::<Index>()) {
        let text = file();
        let mut lines: Vec<&str> = text.lines().collect();
        let at = at.index(lines.len());
        lines.insert(at, lines[at]);
        prop_assert!(wrong(whole(&lines).as_bytes()).contains(&(at + 2, Fault::Added)) || at + 2 == lines.len());
    }

    #[test]
    fn swapped_lines_are_found(one in any::<Index>(), other in any::<Index>()) {
        let text = file();
        let mut lines: Vec<&str> = text.lines().collect();
        let (one, other) = (one.index(lines.len()), other.index(lines.len()));
        prop_assume!(one != other);
        lines.swap(one, other);
        let wrong = wrong(whole(&lines).as_bytes());
        let fault = if one.max(other) + 1 == lines.len() { Fault::Added } else { Fault::Moved };
        prop_assert!(names(&wrong, &[one + 1, other + 1], fault), "{:?}", wrong);
    }

    #[test]
    fn a_shortened_line_is_found(at in any::<Index>(), to in any::<Index>()) {
        let text = file();
        let mut lines: Vec<&str> = text.lines().collect();
        let at = at.index(lines.len());
        let characters = lines[at].chars().count();
        let shorter: String = lines[at].chars().take(to.index(characters)).collect();
        lines[at] = &shorter;
        let wrong = wrong(whole(&lines).as_bytes());
        prop_assert!(names(&wrong, &[at + 1], Fault::Tampered), "{:?}", wrong);
    }

    #[test]
    fn a_file_that_ends_early_is_refused(to in any::<Index>()) {
        let text = file();
        let bytes = &text.as_bytes()[..to.index(text.len())];
        let last = bytes.split_inclusive(|byte| *byte == b'\n').count().max(1);
        let wrong = wrong(bytes);
        prop_assert!(wrong.contains(&(last, Fault::Truncated)), "{:?}", wrong);
    }

    #[test]
    fn a_line_of_somebody_else_is_found(at in any::<Index>(), text in "[^\n]{0,40}") {
        let whole_file = file();
        let mut lines: Vec<&str> = whole_file.lines().collect();
        let at = at.index(lines.len());
        lines.insert(at, &text);
        prop_assert_eq!(wrong(whole(&lines).as_bytes()), [(at + 1, Fault::Added)]);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert!(verify(&bytes, &public()).is_err());
        let _ = Evidence::read(&bytes);
    }

    #[test]
    fn no_lines_make_it_panic(mut lines in vec(strange_line(), 0..12), from in any::<Index>()) {
        let text = file();
        let genuine: Vec<&str> = text.lines().collect();
        lines.splice(0..0, genuine[..from.index(genuine.len())].iter().map(|line| (*line).to_owned()));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        prop_assert!(verify(whole(&lines).as_bytes(), &public()).is_err());
        let _ = Evidence::read(whole(&lines).as_bytes());
    }
}

/// Something that looks like a line.
fn strange_line() -> impl Strategy<Value = String> {
    let kinds = &[
        "evidence",
        "plan",
        "execution",
        "step",
        "approval",
        "vote",
        "attempt",
        "event",
        "signature",
        "x",
    ];
    let field = prop_oneof![
        Just("null".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        "[a-z0-9é\"{}]{0,20}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        Just(r#""{\"seq\": 0, \"at\": \"\", \"kind\": \"execution_x\"}""#.to_owned()),
        Just("[]".to_owned()),
        Just("[\"a\", 1]".to_owned()),
    ];
    let names = &[
        "version",
        "plan",
        "body",
        "hash",
        "digests",
        "signature",
        "public_key",
        "key_id",
        "algorithm",
        "data",
    ];
    let fields = vec((proptest::sample::select(&names[..]), field), 0..6);
    (proptest::sample::select(&kinds[..]), fields).prop_map(|(kind, fields)| {
        let fields = fields.iter().map(|(name, value)| format!(",\"{name}\":{value}"));
        format!("{{\"kind\":\"{kind}\"{}}}", fields.collect::<String>())
    })
}
