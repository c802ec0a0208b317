use std::collections::BTreeSet;

use tenure_core::limits;

#[test]
fn every_limit_has_one_name_and_a_positive_value() {
    let names: BTreeSet<_> = limits::ALL.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), limits::ALL.len());
    for (name, value) in limits::ALL {
        assert!(
            *value > 0 && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
            "{name}"
        );
    }
}

/// SQL spells the names of the constants in lower case.
#[test]
fn the_names_for_sql_are_those_of_the_constants() {
    let source = include_str!("../../src/limits.rs");
    for (name, _) in limits::ALL {
        assert!(source.contains(&format!("{}: ", name.to_uppercase())), "{name}");
    }
}
