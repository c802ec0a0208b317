//! What is decided about executions: `cancel`, `withdraw`, `resolve`, `retry`, `close`, `freeze` and `unfreeze`.

use clap::Args;
use serde_json::Value;
use tenure::store::executions::{self, Verdict};
use uuid::Uuid;

use crate::cli::Behalf;
use crate::cli::job::moment;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::shown;
use crate::remote;
use crate::values::json_value;

pub(super) const EXAMPLE_RESOLVE: &str = "\
Example:
  tenure execution resolve ID migrate --verdict succeeded --reason 'the table has the column'";

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The execution
    execution: Uuid,
    /// Why; kept with it
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    behalf: Behalf,
}

impl Cancel {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (execution, reason, behalf) = (self.execution, &self.reason, self.behalf.on_behalf_of.as_deref());
        let done = session
            .ask(remote::execution_cancel(execution, reason, behalf), async |tx| {
                executions::execution_cancel(tx, execution, reason, behalf).await
            })
            .await?;
        let sentence = match done["state"].as_str() {
            Some("cancelled") => format!("Execution {execution} is cancelled."),
            _ => format!(
                "Execution {execution} is {}: nothing more of it starts, and what is under way is asked to stop. See: tenure execution watch {execution}",
                state_of(&done)
            ),
        };
        session.out.done(&sentence, &done, &["execution_id"])
    }
}

#[derive(Debug, Args)]
pub(crate) struct Withdraw {
    /// The execution
    execution: Uuid,
    /// Why; kept with it
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Withdraw {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (execution, reason) = (self.execution, &self.reason);
        let done = session
            .ask(remote::execution_withdraw(execution, reason), async |tx| {
                executions::execution_withdraw(tx, execution, reason).await
            })
            .await?;
        let sentence = format!("Execution {execution} is taken back: it is {}.", state_of(&done));
        session.out.done(&sentence, &done, &["execution_id"])
    }
}

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The execution
    execution: Uuid,
    /// The step of which nobody knows
    step: String,
    /// What became of it: succeeded, failed, or retry to run it once more
    #[arg(long, value_name = "VERDICT")]
    verdict: String,
    /// How you know; kept with it
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// What came out: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    result: Option<String>,
    #[command(flatten)]
    behalf: Behalf,
}

impl Resolve {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (execution, step, behalf) = (self.execution, &self.step, self.behalf.on_behalf_of.as_deref());
        let result = self
            .result
            .as_deref()
            .map(|given| json_value("result", given))
            .transpose()?;
        let verdict = Verdict {
            verdict: self.verdict,
            reason: self.reason,
            result,
        };
        let done = session
            .ask(
                remote::execution_resolve(execution, step, &verdict, behalf),
                async |tx| executions::execution_resolve(tx, execution, step, &verdict, behalf).await,
            )
            .await?;
        let sentence = format!(
            "Step {step} counts as {}; execution {execution} is {}.",
            match verdict.verdict.as_str() {
                "retry" => "not done, and runs once more",
                other => other,
            },
            state_of(&done)
        );
        session.out.done(&sentence, &done, &["execution_id"])
    }
}

#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// The execution
    execution: Uuid,
    /// resume runs what is left, restart all of it
    #[arg(long, value_name = "MODE", default_value = "resume")]
    mode: String,
    /// Why; kept with it
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    behalf: Behalf,
}

impl Retry {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (execution, mode) = (self.execution, self.mode.as_str());
        let (reason, behalf) = (self.reason.as_deref(), self.behalf.on_behalf_of.as_deref());
        let made = session
            .ask(remote::execution_retry(execution, mode, reason, behalf), async |tx| {
                executions::execution_retry(tx, execution, Some(mode), reason, behalf).await
            })
            .await?;
        let id = shown("", &made["execution_id"]);
        let next = match made["state"].as_str() {
            Some("awaiting_approval") => format!("tenure execution approve {id}"),
            _ => format!("tenure execution watch {id}"),
        };
        let sentence = format!(
            "Execution {id} runs the plan of {execution} again; it is {}. Next: {next}",
            state_of(&made)
        );
        session.out.done(&sentence, &made, &["execution_id"])
    }
}

#[derive(Debug, Args)]
pub(crate) struct Close {
    /// The execution
    execution: Uuid,
    /// Why; kept with it
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Close {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (execution, reason) = (self.execution, &self.reason);
        let done = session
            .ask(remote::execution_close(execution, reason), async |tx| {
                executions::execution_close(tx, execution, reason).await
            })
            .await?;
        let sentence = match done["key_held_by"].as_str() {
            Some(other) => format!("Execution {execution} is closed; its key belongs to execution {other} now."),
            None => format!("Execution {execution} is closed: its key is free again."),
        };
        session.out.done(&sentence, &done, &["execution_id"])
    }
}

#[derive(Debug, Args)]
pub(crate) struct Freeze {
    /// Why; everybody whose work is parked is told
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Until when: RFC 3339, or a delay such as +2h [default: until `tenure execution unfreeze`]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
}

impl Freeze {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let until = moment(&mut session, "until", self.until.as_deref()).await?;
        let reason = &self.reason;
        let done = session
            .ask(remote::execution_freeze(reason, until), async |tx| {
                executions::execution_freeze(tx, reason, until).await
            })
            .await?;
        let until = match &done["until"] {
            Value::Null => "until `tenure execution unfreeze --reason TEXT`".to_owned(),
            at => format!("until {}", shown("until", at)),
        };
        let sentence = format!("Frozen {until}: what is approved is parked, and what runs goes on.");
        session.out.done(&sentence, &done, &[])
    }
}

#[derive(Debug, Args)]
pub(crate) struct Unfreeze {
    /// Why; kept with the freeze
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Unfreeze {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let reason = &self.reason;
        let done = session
            .ask(remote::execution_unfreeze(reason), async |tx| {
                executions::execution_unfreeze(tx, reason).await
            })
            .await?;
        let sentence = match done["was_frozen"] == true {
            true => "The freeze is over: what was parked starts.",
            false => "Nothing was frozen.",
        };
        session.out.done(sentence, &done, &[])
    }
}

fn state_of(answer: &Value) -> String {
    shown("", &answer["state"])
}
