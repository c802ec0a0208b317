//! `tenure execution approve` and `reject`. A decision is about one hash: that of the plan that was looked at.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use serde_json::{Value, json};
use tenure::store::approvals::{self, Approval, Decision};
use tenure::store::{executions, steps};
use tenure_core::codes;
use tenure_core::plan::Plan;
use uuid::Uuid;

use super::applied;
use crate::cli::{Behalf, plan as plans};
use crate::connect::Session;
use crate::dev::quoted;
use crate::errors::{Failure, Outcome, refuse};
use crate::output::{Format, json_of, printable, shown};
use crate::remote;

pub(super) const EXAMPLE: &str = "\
Example:
  tenure execution approve ID                  (in a terminal: shows the plan, and asks)
  tenure execution approve ID --hash HASH      (the hash of the plan that you have looked at)";

/// Approvals of one execution that are looked through for the one that is meant.
const APPROVALS_MAX: i32 = 1000;
/// So many digits of the hash are typed by whoever approves at a terminal.
const DIGITS: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The execution, or the approval itself
    id: Uuid,
    /// The hash of the plan that you have looked at; asked for in a terminal
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    /// Only the approval of this step
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// What you want to say about it
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    #[command(flatten)]
    behalf: Behalf,
}

#[derive(Debug, Args)]
pub(crate) struct Reject {
    /// The execution, or the approval itself
    id: Uuid,
    /// Why
    #[arg(long, value_name = "TEXT")]
    comment: String,
    /// The hash of the plan that you have looked at [default: that of the plan as it was submitted]
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    /// Only the approval of this step
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    #[command(flatten)]
    behalf: Behalf,
}

impl Approve {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let approval = find(&mut session, self.id, self.step.as_deref()).await?;
        let plan_hash = match (self.hash, &approval) {
            (Some(hash), _) => hash,
            (None, Some(approval)) => ask_for_hash(&mut session, approval).await?,
            // Nobody has seen anything: the database says why there is nothing to decide.
            (None, None) => String::new(),
        };
        let decision = Decision {
            decision: "approve".to_owned(),
            plan_hash,
            comment: self.comment,
        };
        decide(
            session,
            self.id,
            approval,
            &decision,
            self.behalf.on_behalf_of.as_deref(),
        )
        .await
    }
}

impl Reject {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let approval = find(&mut session, self.id, self.step.as_deref()).await?;
        let own = || approval.as_ref().map(|approval| approval.plan_hash.clone());
        let decision = Decision {
            decision: "reject".to_owned(),
            plan_hash: self.hash.or_else(own).unwrap_or_default(),
            comment: Some(self.comment),
        };
        decide(
            session,
            self.id,
            approval,
            &decision,
            self.behalf.on_behalf_of.as_deref(),
        )
        .await
    }
}

async fn decide(
    mut session: Session,
    id: Uuid,
    approval: Option<Approval>,
    decision: &Decision,
    behalf: Option<&str>,
) -> Outcome {
    let approval_id = approval.as_ref().map_or(id, |approval| approval.approval_id);
    let done = session
        .ask(remote::approval_decide(approval_id, decision, behalf), async |tx| {
            approvals::approval_decide(tx, approval_id, decision, behalf).await
        })
        .await?;
    let part = |field: &str| shown("", &done[field]);
    let what = approval.map_or(String::new(), |approval| {
        let step = approval.step_id.map(|step| format!("step {step} of "));
        format!(
            "\n{}{} (plan {})",
            step.unwrap_or_default(),
            approval.purpose,
            approval.plan_hash
        )
    });
    let mut sentence = match (decision.decision.as_str(), done["state"].as_str()) {
        ("approve", Some("pending")) => format!(
            "You have approved; {} of {} have. It is still open.{what}",
            part("approvals_given"),
            part("quorum")
        ),
        ("approve", _) => format!("Approved; the execution is {}.{what}", part("execution_state")),
        _ => format!("Rejected; the execution is {}.{what}", part("execution_state")),
    };
    if decision.decision == "approve" && done["state"] == "approved" {
        let (words, verb) = match done["execution_state"] == "running" {
            true => ("See it go", "watch"),
            false => ("See what else it waits for", "show"),
        };
        sentence.push_str(&format!("\n{words}: tenure execution {verb} {}", part("execution_id")));
    }
    session.out.done(&sentence, &done, &["approval_id", "state"])
}

/// The approval that is meant: by its own id, or the open one of the execution. None: there is none that can be seen, which
/// the database refuses in its own words.
async fn find(session: &mut Session, id: Uuid, step: Option<&str>) -> Outcome<Option<Approval>> {
    let of_execution = match list(session, Some(id), None).await {
        Err(Failure::Refused(refusal)) if refusal.is(codes::EXECUTION_UNKNOWN) => Vec::new(),
        found => found?,
    };
    if of_execution.is_empty() {
        let itself = session
            .ask(remote::approval_show(id), async |tx| {
                approvals::approval_show(tx, id).await
            })
            .await;
        let itself = match itself {
            Err(Failure::Refused(refusal)) if refusal.is(codes::APPROVAL_UNKNOWN) => return Ok(None),
            found => found?,
        };
        let execution = itself["execution_id"].as_str().and_then(|text| text.parse().ok());
        let open = list(session, execution, Some("pending")).await?;
        return Ok(open.into_iter().find(|approval| approval.approval_id == id));
    }
    let meant = |approval: &&Approval| step.is_none() || approval.step_id.as_deref() == step;
    let found: Vec<&Approval> = of_execution.iter().filter(meant).collect();
    let open: Vec<&&Approval> = found.iter().filter(|approval| approval.state == "pending").collect();
    match (open.as_slice(), found.last()) {
        ([one], _) => Ok(Some((**one).clone())),
        // It was decided already: the database says what became of it.
        ([], Some(last)) => Ok(Some((*last).clone())),
        ([], None) => Err(refuse(
            codes::APPROVAL_UNKNOWN,
            format!(
                "Nothing of execution {id} is to be approved for step {}.",
                step.unwrap_or_default()
            ),
            "Only steps of level 3 have approvals of their own.",
            format!("See what is open: tenure approval list --execution {id}"),
        )),
        (many, _) => {
            let steps: Vec<&str> = many.iter().filter_map(|approval| approval.step_id.as_deref()).collect();
            Err(refuse(
                codes::USAGE,
                format!("Execution {id} has {} open approvals.", many.len()),
                format!("They are of the steps {}.", steps.join(", ")),
                format!(
                    "Name one: --step {}",
                    quoted(steps.first().copied().unwrap_or_default())
                ),
            ))
        }
    }
}

async fn list(session: &mut Session, execution: Option<Uuid>, state: Option<&str>) -> Outcome<Vec<Approval>> {
    session
        .call(remote::approval_list(execution, state, APPROVALS_MAX), async |tx| {
            approvals::approval_list(tx, execution, state, Some(APPROVALS_MAX)).await
        })
        .await
}

/// The class, level and lock that apply to each step, and the registered action and the rule that say so.
async fn show_applied(session: &mut Session, approval: &Approval) -> Outcome {
    let execution = approval.execution_id;
    let found = session
        .call(remote::step_list(execution, None), async |tx| {
            steps::step_list(tx, execution, None).await
        })
        .await?;
    let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
    rows.iter_mut().for_each(applied::for_people);
    let line = applied::level_line(&json!(approval.level), &json!(approval.rule));
    session.out.text(&line)?;
    session.out.list(applied::APPLIED, &rows, &[], "")
}

/// Shows the plan to whoever sits at a terminal, and has them type the beginning of its hash: nobody approves by habit.
async fn ask_for_hash(session: &mut Session, approval: &Approval) -> Outcome<String> {
    let id = approval.execution_id;
    let at_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if session.out.format != Format::People || !at_terminal {
        return Err(refuse(
            codes::USAGE,
            "Missing: --hash <HASH>.",
            "A decision names the plan that was looked at, and nobody sits at a terminal to be asked.",
            format!("Look at it with `tenure execution plan {id}`; its hash is in `tenure execution show {id}`."),
        ));
    }
    let text: String = session
        .call(remote::execution_plan(id), async |tx| {
            executions::execution_plan(tx, id).await
        })
        .await?;
    let plan = Plan::read(&text)?;
    plans::show(&plan, session.out)?;
    show_applied(session, approval).await?;
    if let Some(warning) = plan.time_warning() {
        session.out.warn(&warning);
    }
    let hash = plan.hash();
    let step = approval.step_id.as_ref().map(|step| format!("step {step} of "));
    let mut terminal = io::stderr();
    writeln!(
        terminal,
        "\n{} asks you to allow {}this plan: {}",
        printable(&approval.requested_by),
        printable(&step.unwrap_or_default()),
        printable(&approval.purpose)
    )?;
    if let Some(runbook) = &approval.runbook_ref {
        writeln!(terminal, "Its runbook: {}", printable(runbook))?;
    }
    writeln!(terminal, "Its hash: {hash}")?;
    write!(terminal, "To allow it, type the first {DIGITS} digits of the hash: ")?;
    terminal.flush()?;
    let mut typed = String::new();
    io::stdin().read_line(&mut typed)?;
    let typed = typed.trim().to_lowercase();
    if typed.len() >= DIGITS && hash.starts_with(&typed) {
        return Ok(hash);
    }
    writeln!(terminal, "That is another hash: nothing was decided.")?;
    Err(Failure::Told(codes::EXIT_REFUSED))
}
