//! The plans of a benchmark: steps one after the other, and steps side by side.

use serde_json::{Value, json};
use tenure_core::limits::NEEDS_MAX;
use tenure_core::plan::{ActionClass, Plan};

use crate::errors::Outcome;

/// What every step of a plan is done to, how deep it reaches, and the kind of its job.
pub(super) struct Target<'a> {
    pub(super) kind: &'a str,
    pub(super) target_type: &'a str,
    pub(super) target_ref: &'a str,
    pub(super) action_class: ActionClass,
}

/// A plan whose steps all become ready by one end, and are gathered again.
pub(super) struct Fan {
    pub(super) plan: Plan,
    /// How many become ready together.
    pub(super) wide: usize,
    /// How many gather these: no step needs more than [`NEEDS_MAX`].
    pub(super) gather: usize,
}

/// Every step needs the one before.
pub(super) fn chain(target: &Target, steps: usize) -> Outcome<Plan> {
    let steps = (0..steps).map(|at| match at {
        0 => target.step(at, &[]),
        _ => target.step(at, &[at - 1]),
    });
    plan(steps)
}

/// All but a few need only the first; the last needs all, through those that gather them. Of as many steps as that takes, and no more than these.
pub(super) fn fan(target: &Target, steps: usize) -> Outcome<Fan> {
    let between = steps.saturating_sub(2);
    let wide = between - between.div_ceil(NEEDS_MAX + 1);
    let gather = wide.div_ceil(NEEDS_MAX);
    let places: Vec<usize> = (1..=wide).collect();
    let gathering: Vec<usize> = (wide + 1..=wide + gather).collect();
    let first = [target.step(0, &[])];
    let side_by_side = places.iter().map(|at| target.step(*at, &[0]));
    let gathered = places.chunks(NEEDS_MAX).zip(&gathering);
    let gathered = gathered.map(|(needs, at)| target.step(*at, needs));
    let last = [target.step(wide + gather + 1, &gathering)];
    Ok(Fan {
        plan: plan(first.into_iter().chain(side_by_side).chain(gathered).chain(last))?,
        wide,
        gather,
    })
}

impl Target<'_> {
    fn step(&self, at: usize, needs: &[usize]) -> Value {
        let needs: Vec<String> = needs.iter().map(|at| id(*at)).collect();
        json!({
            "id": id(at), "action": self.kind, "action_class": self.action_class.as_str(),
            "target_type": self.target_type, "target_ref": self.target_ref, "needs": needs,
        })
    }
}

fn id(at: usize) -> String {
    format!("s{at:04}")
}

fn plan(steps: impl Iterator<Item = Value>) -> Outcome<Plan> {
    let steps: Vec<Value> = steps.collect();
    // The class that allows it most time: how long a server may take is not what is measured.
    let plan = json!({"purpose": "tenure bench executions", "sla_class": "long", "steps": steps});
    Ok(Plan::read(&plan.to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Target = Target {
        kind: "bench.step",
        target_type: "bench-0123abcd",
        target_ref: "1",
        action_class: ActionClass::Read,
    };

    #[test]
    fn a_chain_goes_from_each_step_to_the_next() {
        let plan = chain(&TARGET, 1000).expect("a plan");
        assert_eq!(plan.steps().len(), 1000);
        let needs: Vec<usize> = plan.steps().iter().flat_map(|step| step.needs.clone()).collect();
        assert_eq!(needs, (0..999).collect::<Vec<_>>());
    }

    #[test]
    fn a_fan_opens_at_its_first_step_and_closes_at_its_last() {
        for (steps, wide, gather, all) in [
            (1000, 988, 10, 1000),
            (8, 5, 1, 8),
            (104, 100, 1, 103),
            (105, 101, 2, 105),
        ] {
            let fan = fan(&TARGET, steps).expect("a plan");
            let made = fan.plan.steps();
            assert_eq!((fan.wide, fan.gather, made.len()), (wide, gather, all));
            assert!(made[1..=wide].iter().all(|step| step.needs == [0]));
            let gathered: Vec<usize> = made[wide + 1..=wide + gather]
                .iter()
                .flat_map(|step| step.needs.clone())
                .collect();
            assert_eq!(gathered, (1..=wide).collect::<Vec<_>>());
            assert_eq!(made[all - 1].needs, (wide + 1..=wide + gather).collect::<Vec<_>>());
        }
    }
}
