use std::collections::BTreeSet;

use tenure_core::JobState;
use tenure_core::transitions::{JOB, allowed, legal_pair, legal_verbs, mermaid};

use crate::vectors;

#[test]
fn the_table_and_its_vectors_hold_the_same_rows() {
    let table: String = JOB
        .iter()
        .map(|row| format!("{}\t{}\t{}\n", row.from.map_or("-", JobState::as_str), row.verb, row.to))
        .collect();
    assert_eq!(table, vectors("transitions.tsv"));
}

#[test]
fn a_verb_leads_from_a_state_to_one_place_only() {
    let pairs: BTreeSet<_> = JOB.iter().map(|row| (row.from, row.verb)).collect();
    assert_eq!(pairs.len(), JOB.len());
}

/// The pairs of the design, written out a second time and by state rather than by verb.
#[test]
fn exactly_the_pairs_of_the_design_are_legal() {
    use JobState::*;
    let designed: BTreeSet<(Option<JobState>, JobState)> = [
        (None, vec![Queued]),
        (Some(Queued), vec![Leased, Cancelled, DeadLetter]),
        (Some(RetryWaiting), vec![Leased, Cancelled, DeadLetter]),
        // A job in a buffer whose deadline passes never starts: its start sends it to the dead letters.
        (
            Some(Leased),
            vec![InProgress, Queued, Succeeded, Failed, Cancelled, DeadLetter],
        ),
        (
            Some(InProgress),
            vec![Queued, Succeeded, Failed, RetryWaiting, Cancelled],
        ),
        (Some(Failed), vec![RetryWaiting, DeadLetter, Queued, Cleaned]),
        (Some(Succeeded), vec![Cleaned]),
        (Some(Cancelled), vec![Cleaned]),
        (Some(DeadLetter), vec![Cleaned]),
        (Some(Cleaned), vec![]),
    ]
    .into_iter()
    .flat_map(|(from, to)| to.into_iter().map(move |to| (from, to)))
    .collect();
    for from in std::iter::once(None).chain(JobState::ALL.map(Some)) {
        for to in JobState::ALL {
            assert_eq!(legal_pair(from, to), designed.contains(&(from, to)), "{from:?} to {to}");
        }
    }
}

#[test]
fn terminal_is_final() {
    for state in JobState::ALL.into_iter().filter(|state| state.is_terminal()) {
        assert!(legal_verbs(state).iter().all(|verb| *verb == "clean"), "{state}");
        assert!(!state.is_active());
    }
}

#[test]
fn every_active_state_can_end_and_every_state_can_be_reached() {
    for state in JobState::ALL {
        assert!(JOB.iter().any(|row| row.to == state), "{state} is never reached");
        assert_eq!(legal_verbs(state).is_empty(), state == JobState::Cleaned, "{state}");
    }
}

#[test]
fn an_unknown_verb_is_allowed_nowhere() {
    assert_eq!(allowed(None, "claim"), None);
    for state in JobState::ALL {
        assert_eq!(allowed(state, "enqueue"), None);
        assert_eq!(allowed(state, "destroy"), None);
    }
}

#[test]
fn a_state_reads_back_from_its_name_and_from_json() {
    for state in JobState::ALL {
        assert_eq!(state.as_str().parse::<JobState>().unwrap(), state);
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(json, format!("\"{state}\""));
        assert_eq!(serde_json::from_str::<JobState>(&json).unwrap(), state);
    }
    let refusal = "runing".parse::<JobState>().unwrap_err();
    assert_eq!(refusal.code, "state_unknown");
    assert!("quued".parse::<JobState>().unwrap_err().next.contains("\"queued\""));
}

#[test]
fn the_diagram_shows_every_pair_once() {
    let text = mermaid();
    let arrows = text.lines().filter(|line| line.contains("-->")).count();
    let pairs: BTreeSet<_> = JOB.iter().map(|row| (row.from, row.to)).collect();
    assert_eq!(arrows, pairs.len() + 1, "one more for the way out");
    assert!(text.contains("    leased --> failed : fail, expire\n"), "{text}");
}
