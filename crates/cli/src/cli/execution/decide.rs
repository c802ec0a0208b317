//! `tenure execution approve` and `reject`. A decision is about one hash: that of the plan that was looked at.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use serde_json::json;
use tenure_api::approvals::{
    Approval, ApprovalDecide, ApprovalFilter, ApprovalList, ApprovalShow, ApprovalState, Decision,
};
use tenure_api::executions::{ExecutionPlan, ExecutionState, StepList};
use tenure_core::codes;
use tenure_core::plan::Plan;
use uuid::Uuid;

use super::applied;
use crate::cli::{Behalf, plan as plans};
use crate::connect::Session;
use crate::dev::quoted;
use crate::errors::{Failure, Outcome, refuse};
use crate::output::{Format, printable};

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
        let decision = ApprovalDecide {
            approval_id: approval.as_ref().map_or(self.id, |approval| approval.approval_id),
            decision: Decision::Approve,
            plan_hash,
            comment: self.comment,
            on_behalf_of: self.behalf.on_behalf_of,
        };
        decide(session, approval, &decision).await
    }
}

impl Reject {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let approval = find(&mut session, self.id, self.step.as_deref()).await?;
        let own = || approval.as_ref().map(|approval| approval.plan_hash.clone());
        let decision = ApprovalDecide {
            approval_id: approval.as_ref().map_or(self.id, |approval| approval.approval_id),
            decision: Decision::Reject,
            plan_hash: self.hash.or_else(own).unwrap_or_default(),
            comment: Some(self.comment),
            on_behalf_of: self.behalf.on_behalf_of,
        };
        decide(session, approval, &decision).await
    }
}

async fn decide(mut session: Session, approval: Option<Approval>, decision: &ApprovalDecide) -> Outcome {
    let (done, whole) = session.perform(decision).await?;
    let what = approval.map_or(String::new(), |approval| {
        let step = approval.step_id.map(|step| format!("step {step} of "));
        format!(
            "\n{}{} (plan {})",
            step.unwrap_or_default(),
            approval.purpose,
            approval.plan_hash
        )
    });
    let is_approval = decision.decision == Decision::Approve;
    let mut sentence = match (is_approval, &done.state) {
        (true, ApprovalState::Pending) => format!(
            "You have approved; {} of {} have. It is still open.{what}",
            done.approvals_given, done.quorum
        ),
        (true, _) => format!("Approved; the execution is {}.{what}", done.execution_state),
        (false, _) => format!("Rejected; the execution is {}.{what}", done.execution_state),
    };
    if is_approval && done.state == ApprovalState::Approved {
        let (words, verb) = match done.execution_state {
            ExecutionState::Running => ("See it go", "watch"),
            _ => ("See what else it waits for", "show"),
        };
        sentence.push_str(&format!("\n{words}: tenure execution {verb} {}", done.execution_id));
    }
    session.out.done(&sentence, &whole, &["approval_id", "state"])
}

/// The approval that is meant: by its own id, or the open one of the execution. None: there is none that can be seen, which
/// the database refuses in its own words.
async fn find(session: &mut Session, id: Uuid, step: Option<&str>) -> Outcome<Option<Approval>> {
    let of_execution = match list(session, id, ApprovalFilter::Any).await {
        Err(Failure::Refused(refusal)) if refusal.is(codes::EXECUTION_UNKNOWN) => Vec::new(),
        found => found?,
    };
    if of_execution.is_empty() {
        let (itself, _) = match session.perform(&ApprovalShow { approval_id: id }).await {
            Err(Failure::Refused(refusal)) if refusal.is(codes::APPROVAL_UNKNOWN) => return Ok(None),
            found => found?,
        };
        let open = list(session, itself.execution_id, ApprovalFilter::Pending).await?;
        return Ok(open.into_iter().find(|approval| approval.approval_id == id));
    }
    let meant = |approval: &&Approval| step.is_none() || approval.step_id.as_deref() == step;
    let found: Vec<&Approval> = of_execution.iter().filter(meant).collect();
    let open: Vec<&&Approval> = found
        .iter()
        .filter(|approval| approval.state == ApprovalState::Pending)
        .collect();
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

async fn list(session: &mut Session, execution: Uuid, state: ApprovalFilter) -> Outcome<Vec<Approval>> {
    let list = ApprovalList {
        execution_id: Some(execution),
        state: vec![state],
        limit: APPROVALS_MAX,
        ..ApprovalList::default()
    };
    let (page, _) = session.perform(&list).await?;
    Ok(page.items)
}

/// The class, level and lock that apply to each step, and the registered action and the rule that say so.
async fn show_applied(session: &mut Session, approval: &Approval) -> Outcome {
    let list = StepList {
        execution_id: approval.execution_id,
        state: None,
    };
    let (_, mut whole) = session.perform(&list).await?;
    let mut rows = whole["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
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
    let (frozen, _) = session.perform(&ExecutionPlan { execution_id: id }).await?;
    let plan = Plan::read(&frozen.canonical)?;
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
