//! A plan of three steps that one person asks for and another allows, and the worker that runs it.
//!
//! Both are principals of one database here; in production each has a login, or a key, of their own.

use std::time::Duration;

use serde_json::Value;
use tenure::api::actions::{ActionSet, ActionSpec};
use tenure::api::executions::ActionClass;
use tenure::core::plan;
use tenure::executions::{NewPlan, NewStep, Plan, SlaClass};
use tenure::operations;
use tenure::pool::PoolOptions;
use tenure::store::principals::{principal_create, principal_list, principal_set};
use tenure::worker::{Context, Failure, Worker};
use tenure::{Client, Pool};

/// A look before and after a restart. Only the restart changes something.
fn restart_plan() -> tenure::Result<Plan> {
    let step = |id: &str, action: &str, class| NewStep::new(id, action).class(class).target("service", "shop");
    NewPlan::new("restart the shop", SlaClass::Long)
        .step(step("check before", "service.check", plan::ActionClass::Read))
        .step(step("restart", "service.restart", plan::ActionClass::Modify).needs(["check before"]))
        .step(step("check after", "service.check", plan::ActionClass::Read).needs(["restart"]))
        .build()
}

/// Does what a step says. The shop would refuse a smaller fence than the greatest it has seen.
async fn step(_: Value, context: Context) -> Result<(), Failure> {
    let step = context
        .step()
        .ok_or_else(|| Failure::permanent("it belongs to no plan"))?;
    let fenced = if step.fence().is_some() { ", fenced" } else { "" };
    println!("{}: {} {}{fenced}", step.step_id, step.action, step.target_ref);
    Ok(())
}

/// A client that acts as this person, for a login that is trusted to say so.
fn acting_as(url: &str, person: &str) -> tenure::Result<Client> {
    let separator = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{separator}options=-c%20tenure.principal%3D{person}");
    Ok(Client::new(Pool::new(&url, &PoolOptions::default())?))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = std::env::var("DATABASE_URL")?;
    let pool = Pool::new(&url, &Default::default())?;
    {
        let admin = pool.get().await?;
        let known = principal_list(&*admin).await?;
        for person in ["ann", "bob"] {
            if !known.iter().any(|principal| principal.name == person) {
                principal_create(&*admin, person, "human", None).await?;
            }
        }
        // Both may approve, and yet nobody approves a plan of their own.
        for person in ["ann", "bob"] {
            principal_set(&*admin, person, &serde_json::json!({"approver_level": 1})).await?;
        }
    }
    {
        // What the actions are is not the requester's word: a step that said less would be refused.
        let admin = pool.get().await?;
        let look = ActionSet {
            name: "service.check".to_owned(),
            spec: ActionSpec::of(ActionClass::Read),
        };
        operations::call(&*admin, &look).await?;
        let change = ActionSet {
            name: "service.restart".to_owned(),
            spec: ActionSpec {
                level_min: Some(1),
                ..ActionSpec::of(ActionClass::Modify)
            },
        };
        operations::call(&*admin, &change).await?;
    }
    let (ann, bob) = (acting_as(&url, "ann")?, acting_as(&url, "bob")?);

    let plan = restart_plan()?;
    let submitted = ann.submit(&plan).await?;
    println!("It is {}.", submitted.state);
    let execution = submitted.execution_id;
    match ann.execution(execution).approve(&plan.hash(), None).await {
        Ok(_) => println!("Ann allowed herself."),
        Err(refused) => println!("Ann cannot: {}.", refused.code()),
    }

    // Whoever approves looks at the plan, and names the hash of what they saw.
    let seen = bob.execution(execution).plan().await?;
    bob.execution(execution)
        .approve(&seen.hash(), Some("after lunch"))
        .await?;

    let worker = Worker::builder(pool)
        .handler("service.check", step)
        .handler("service.restart", step)
        .build()?;
    worker.run_until_idle().await?;
    let ended = ann.execution(execution).wait(Duration::from_secs(60)).await?;
    println!("It {}: {} steps.", ended.state, ended.step_count);
    Ok(())
}
