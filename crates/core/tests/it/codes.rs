use std::collections::BTreeSet;

use tenure_core::{Refusal, codes};

use crate::in_repository;

#[test]
fn names_and_sqlstates_are_unique_and_read_back() {
    let names: BTreeSet<_> = codes::ALL.iter().map(|code| code.name).collect();
    assert_eq!(names.len(), codes::ALL.len());
    let states: Vec<_> = codes::ALL.iter().filter_map(|code| code.sqlstate).collect();
    let expected: Vec<String> = (1..=states.len()).map(|n| format!("TN{n:03}")).collect();
    assert_eq!(states, expected, "numbered without gaps, in order");
    for code in codes::ALL {
        assert_eq!(codes::by_name(code.name), Some(*code));
        assert!(
            code.sqlstate
                .is_none_or(|state| codes::by_sqlstate(state) == Some(*code))
        );
    }
}

#[test]
fn every_exit_code_is_documented_and_not_found_means_404() {
    for code in codes::ALL {
        assert!(
            codes::EXITS.iter().any(|(exit, _)| *exit == code.exit) && code.exit != codes::EXIT_OK,
            "{}",
            code.name
        );
        assert_eq!(code.http == 404, code.exit == codes::EXIT_NOT_FOUND, "{}", code.name);
        assert!((400..600).contains(&code.http), "{}", code.name);
    }
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let Some(pages) = in_repository("docs/errors") else {
        return;
    };
    let files: BTreeSet<String> = std::fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    let expected: BTreeSet<String> = codes::ALL.iter().map(|code| format!("{}.md", code.name)).collect();
    assert_eq!(files, expected);

    let index = std::fs::read_to_string(pages.join("README.md")).unwrap();
    for code in codes::ALL {
        let name = code.name;
        let state = code.sqlstate.unwrap_or("–");
        let row = format!(
            "| [{name}]({name}.md) | {state} | {} | {} | {} |",
            code.http, code.exit, code.summary
        );
        assert!(index.contains(&row), "docs/errors/README.md lacks: {row}");
        let page = std::fs::read_to_string(pages.join(format!("{name}.md"))).unwrap();
        let facts = format!("HTTP {} · exit code {}", code.http, code.exit);
        for part in [
            format!("# {name}\n"),
            code.summary.to_owned(),
            facts,
            format!("\n{name}: "),
        ] {
            assert!(page.contains(&part), "docs/errors/{name}.md lacks: {part}");
        }
        assert!(
            code.sqlstate.is_none_or(|state| page.contains(state)),
            "docs/errors/{name}.md lacks its SQLSTATE"
        );
    }
    for (exit, meaning) in codes::EXITS {
        assert!(
            index.contains(&format!("| {exit} | {meaning} |")),
            "docs/errors/README.md lacks exit code {exit}"
        );
    }
}

#[test]
fn a_refusal_travels_as_json_and_back() {
    let refusal = Refusal::new(codes::GATE_CLOSED, "what", "why", "next");
    let json = serde_json::to_string(&refusal).unwrap();
    assert_eq!(
        json,
        r#"{"refused":true,"code":"gate_closed","what":"what","why":"why","next":"next"}"#
    );
    assert_eq!(serde_json::from_str::<Refusal>(&json).unwrap(), refusal);
    assert_eq!(refusal.to_string().lines().count(), 3);
}

#[test]
fn a_code_of_a_newer_schema_still_arrives() {
    let refusal: Refusal = serde_json::from_str(r#"{"refused": true, "code": "brand_new", "what": "w"}"#).unwrap();
    assert_eq!(
        (refusal.known(), refusal.exit_code(), refusal.http_status()),
        (None, codes::EXIT_REFUSED, 409)
    );
}
