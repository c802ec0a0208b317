use proptest::prelude::*;
use tenure_core::limits::NAME_CHARS_MAX;
use tenure_core::names::{check, is_blank, nearest};

use crate::json_lines;

/// Guards: D27.
#[test]
fn a_name_is_accepted_or_refused_as_the_vectors_say() {
    for vector in json_lines("names.jsonl") {
        let text = vector["in"].as_str().unwrap();
        let got = check("kind", text, NAME_CHARS_MAX)
            .err()
            .map(|refusal| refusal.code.into_owned());
        assert_eq!(got.as_deref(), vector["refused"].as_str(), "{text:?}");
    }
}

#[test]
fn a_nul_is_text_invalid() {
    assert_eq!(check("kind", "a\0b", 10).unwrap_err().code, "text_invalid");
}

#[test]
fn the_nearest_name_is_suggested_and_a_far_one_is_not() {
    let kinds = ["mail.send", "mail.bounce", "report.build"];
    assert_eq!(nearest("mail.sned", kinds), Some("mail.send"));
    assert_eq!(nearest("MAIL.SEND", kinds), Some("mail.send"));
    assert_eq!(nearest("report_build", kinds), Some("report.build"));
    assert_eq!(nearest("zebra", kinds), None);
    assert_eq!(nearest("", kinds), None);
    assert_eq!(nearest("x", []), None);
}

proptest! {
    #[test]
    fn an_exact_name_is_its_own_nearest(word in "[a-z]{1,20}", others in prop::collection::vec("[a-z]{1,20}", 0..5)) {
        let candidates = others.iter().map(String::as_str).chain([word.as_str()]);
        prop_assert_eq!(nearest(&word, candidates), Some(word.as_str()));
    }

    #[test]
    fn what_is_accepted_can_be_seen(text in any::<String>()) {
        if check("kind", &text, NAME_CHARS_MAX).is_ok() {
            prop_assert!(!is_blank(&text) && !text.contains(char::is_control) && text.chars().count() <= NAME_CHARS_MAX);
        }
    }
}
