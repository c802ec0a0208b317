use std::collections::BTreeSet;

use tenure_core::execution_transitions::{EXECUTION, ExecutionState, StepState};

/// Proves: S212.
#[test]
fn an_execution_has_nine_states_and_the_last_five_are_final() {
    let [ahead @ .., _, _, _, _, _] = ExecutionState::ALL else {
        panic!("fewer than five states")
    };
    assert_eq!(ExecutionState::ALL.len(), 9);
    for state in ExecutionState::ALL {
        assert_eq!(state.is_final(), !ahead.contains(state), "{state}");
        assert_eq!(
            EXECUTION.iter().all(|row| row.from != *state),
            state.is_final(),
            "{state}"
        );
        let reached = EXECUTION.iter().any(|row| row.to == *state);
        assert_eq!(reached, *state != ExecutionState::Pending, "{state}");
    }
}

#[test]
fn a_verb_leads_an_execution_to_one_place_only() {
    let pairs: BTreeSet<_> = EXECUTION.iter().map(|row| (row.from, row.verb)).collect();
    assert_eq!(pairs.len(), EXECUTION.len());
}

/// The moves of the design, written out a second time and by state rather than by verb.
#[test]
fn exactly_the_moves_of_the_design_are_legal() {
    use ExecutionState::*;
    let designed: BTreeSet<(ExecutionState, ExecutionState)> = [
        (Pending, vec![AwaitingApproval, Approved, Cancelled]),
        (AwaitingApproval, vec![Approved, Rejected, Cancelled]),
        (Approved, vec![Running, Cancelled]),
        (Running, vec![Succeeded, PartiallyFailed, Failed, Cancelled]),
    ]
    .into_iter()
    .flat_map(|(from, to)| to.into_iter().map(move |to| (from, to)))
    .collect();
    for from in ExecutionState::ALL {
        for to in ExecutionState::ALL {
            assert_eq!(from.leads_to(*to), designed.contains(&(*from, *to)), "{from} to {to}");
        }
    }
}

#[test]
fn every_way_to_run_goes_through_an_approval() {
    let before: Vec<_> = EXECUTION
        .iter()
        .filter(|row| row.to == ExecutionState::Running)
        .collect();
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].from, ExecutionState::Approved);
}

#[test]
fn a_step_has_nine_states_and_the_last_four_are_final() {
    assert_eq!(StepState::ALL.len(), 9);
    for (at, state) in StepState::ALL.iter().enumerate() {
        assert_eq!(state.is_final(), at >= 5, "{state}");
    }
}

#[test]
fn states_of_executions_and_steps_read_back_from_their_names_and_from_json() {
    for state in ExecutionState::ALL {
        assert_eq!(state.as_str().parse::<ExecutionState>().unwrap(), *state);
        assert_eq!(serde_json::to_string(state).unwrap(), format!("\"{state}\""));
    }
    for state in StepState::ALL {
        assert_eq!(state.as_str().parse::<StepState>().unwrap(), *state);
        assert_eq!(serde_json::to_string(state).unwrap(), format!("\"{state}\""));
    }
    let refusal = "blokced".parse::<StepState>().unwrap_err();
    assert_eq!(refusal.code, "state_unknown");
    assert_eq!(refusal.next, "Did you mean \"blocked\"?");
    let refusal = "done".parse::<ExecutionState>().unwrap_err();
    assert_eq!(refusal.what, "There is no state \"done\" of an execution.");
}
