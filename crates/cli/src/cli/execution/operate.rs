//! What is decided about executions: `cancel`, `withdraw`, `resolve`, `retry`, `close`, `freeze` and `unfreeze`.

use serde_json::json;
use tenure_api::executions::{
    ExecutionCancel, ExecutionClose, ExecutionFreeze, ExecutionResolve, ExecutionRetry, ExecutionState,
    ExecutionUnfreeze, ExecutionWithdraw, Verdict,
};

use crate::cli::verb::{Command, Noun, Verb};
use crate::output::shown;

/// The verbs that change an execution, or stop all of them.
pub(crate) struct Decisions;

impl Noun for Decisions {
    const VERBS: &'static [&'static dyn Command] = &[&CANCEL, &WITHDRAW, &RESOLVE, &RETRY, &CLOSE, &FREEZE, &UNFREEZE];
}

const CANCEL: Verb<ExecutionCancel> = Verb {
    places: &["execution_id"],
    quiet: &["execution_id"],
    ..Verb::<ExecutionCancel>::sentence("cancel", |_, done| {
        let id = done.execution_id;
        match &done.state {
            ExecutionState::Cancelled => format!("Execution {id} is cancelled."),
            state => format!(
                "Execution {id} is {state}: no more of its steps start, and running ones are asked to stop. See: tenure execution watch {id}"
            ),
        }
    })
};

const WITHDRAW: Verb<ExecutionWithdraw> = Verb {
    places: &["execution_id"],
    quiet: &["execution_id"],
    ..Verb::<ExecutionWithdraw>::sentence("withdraw", |_, done| {
        format!("Execution {} is withdrawn: it is {}.", done.execution_id, done.state)
    })
};

const RESOLVE: Verb<ExecutionResolve> = Verb {
    places: &["execution_id", "step_id"],
    quiet: &["execution_id"],
    example: Some(
        "\
Example:
  tenure execution resolve ID migrate --verdict succeeded --reason 'the table has the column'",
    ),
    ..Verb::<ExecutionResolve>::sentence("resolve", |asked, done| {
        let verdict = match &asked.verdict {
            Verdict::Retry => "not done, and runs once more",
            other => other.as_str(),
        };
        format!(
            "Step {} counts as {verdict}; execution {} is {}.",
            done.step_id, done.execution_id, done.state
        )
    })
};

const RETRY: Verb<ExecutionRetry> = Verb {
    places: &["execution_id"],
    quiet: &["execution_id"],
    ..Verb::<ExecutionRetry>::sentence("retry", |_, made| {
        let verb = match made.state {
            ExecutionState::AwaitingApproval => "approve",
            _ => "watch",
        };
        let id = made.execution_id;
        format!(
            "Execution {id} runs the plan of {} again; it is {}. Next: tenure execution {verb} {id}",
            made.retry_of, made.state
        )
    })
};

const CLOSE: Verb<ExecutionClose> = Verb {
    places: &["execution_id"],
    quiet: &["execution_id"],
    ..Verb::<ExecutionClose>::sentence("close", |_, done| {
        let id = done.execution_id;
        match done.key_held_by {
            Some(other) => format!("Execution {id} is closed; its key belongs to execution {other} now."),
            None => format!("Execution {id} is closed: its key is free again."),
        }
    })
};

const FREEZE: Verb<ExecutionFreeze> = Verb::<ExecutionFreeze>::sentence("freeze", |_, done| {
    let until = match done.until {
        None => "`tenure execution unfreeze --reason TEXT`".to_owned(),
        at => shown("until", &json!(at)),
    };
    format!("Frozen until {until}: approved executions are parked, and running ones go on.")
});

const UNFREEZE: Verb<ExecutionUnfreeze> = Verb::<ExecutionUnfreeze>::sentence("unfreeze", |_, done| {
    let sentence = match done.was_frozen {
        true => "The freeze is over: what was parked starts.",
        false => "Nothing was frozen.",
    };
    sentence.to_owned()
});
