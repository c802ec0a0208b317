use proptest::prelude::*;
use serde_json::json;
use tenure_core::Plan;
use tenure_core::plan::ActionClass;

use crate::plans::{plan, step};
use crate::vectors;

fn fan() -> Plan {
    Plan::read(&vectors("plans/valid/fan.json")).unwrap()
}

fn ids(plan: &Plan, steps: &[usize]) -> Vec<String> {
    steps.iter().map(|at| plan.steps()[*at].id.clone()).collect()
}

#[test]
fn steps_come_by_level_and_within_it_as_they_were_written() {
    let plan = fan();
    assert_eq!(
        ids(&plan, &plan.order()),
        ["drain", "alone", "three", "one", "two", "report"]
    );
}

#[test]
fn the_critical_path_is_the_chain_with_the_longest_timeouts() {
    let plan = fan();
    let path = plan.critical_path();
    assert_eq!(ids(&plan, &path.steps), ["drain", "one", "two", "report"]);
    assert_eq!((path.timeout_seconds, path.policy_steps), (45, 1));
}

/// Proves: S166.
#[test]
fn targets_and_classes_are_counted() {
    let plan = fan();
    let targets = plan.targets();
    assert_eq!(targets.len(), 5);
    assert_eq!(ids(&plan, &targets[&("host", "web-1")]), ["one", "alone"]);
    assert_eq!(
        ActionClass::ALL
            .iter()
            .map(|class| plan.class_count(*class))
            .collect::<Vec<_>>(),
        [2, 4, 0]
    );
    assert_eq!(plan.action_class(), ActionClass::Modify);
}

/// Steps in any order of writing, each needing some of those before it in a hidden order.
fn any_needs() -> impl Strategy<Value = (Vec<Vec<usize>>, Vec<usize>)> {
    (1..40_usize).prop_flat_map(|count| {
        let needs = (0..count).map(|at| prop::collection::btree_set(0..at.max(1), 0..=at.min(5)));
        let needs = needs
            .collect::<Vec<_>>()
            .prop_map(|sets| sets.into_iter().map(|set| set.into_iter().collect()).collect());
        (needs, Just((0..count).collect::<Vec<_>>()).prop_shuffle())
    })
}

proptest! {
    #[test]
    fn needs_lie_above_and_a_chain_of_them_is_as_long_as_the_level((needs, written) in any_needs(), close in any::<bool>()) {
        let mut needs: Vec<Vec<usize>> = needs;
        needs[0].clear();
        let name = |at: usize| format!("s{at}");
        let document = |needs: &[Vec<usize>]| {
            let steps = written.iter().map(|at| {
                let names: Vec<String> = needs[*at].iter().map(|need| name(*need)).collect();
                step(&name(*at), &names.iter().map(String::as_str).collect::<Vec<_>>())
            });
            plan(steps.collect()).to_string()
        };
        let plan = Plan::read(&document(&needs)).unwrap();
        let order = plan.order();
        for (place, at) in order.iter().enumerate() {
            let own = &plan.steps()[*at];
            let deepest = own.needs.iter().map(|need| plan.level(*need) + 1).max().unwrap_or(0);
            prop_assert_eq!(plan.level(*at), deepest);
            for need in &own.needs {
                prop_assert!(order[..place].contains(need));
            }
        }
        let levels = (0..plan.steps().len()).map(|at| plan.level(at)).max().unwrap();
        prop_assert_eq!(plan.critical_path().steps.len(), levels + 1);

        // One need back closes a cycle, and every arrow of what is spelled out is a need.
        if let (true, Some(need)) = (close, needs.last().unwrap().first().copied()) {
            needs[need].push(written.len() - 1);
            let refusal = Plan::read(&document(&needs)).unwrap_err();
            prop_assert_eq!(&refusal.code, "plan_cycle");
            let (_, spelled) = refusal.what.trim_end_matches('.').split_once(": ").unwrap();
            let cycle: Vec<&str> = spelled.split(" → ").collect();
            prop_assert_eq!(cycle.first(), cycle.last());
            for pair in cycle.windows(2).filter(|pair| !pair.iter().any(|id| id.starts_with('…'))) {
                let of = |id: &str| id[1..].parse::<usize>().unwrap();
                prop_assert!(needs[of(pair[0])].contains(&of(pair[1])), "{}", spelled);
            }
        }
    }
}

#[test]
fn a_thousand_steps_in_a_row_are_no_deeper_than_the_stack() {
    let steps = (0..1000).map(|n| match n {
        0 => step("0", &[]),
        n => step(&n.to_string(), &[&(n - 1).to_string()]),
    });
    let plan = Plan::read(&plan(steps.rev().collect()).to_string()).unwrap();
    assert_eq!(plan.level(0), 999);
    assert_eq!(plan.critical_path().steps.len(), 1000);
    assert_eq!(plan.order()[0], 999);
}

#[test]
fn a_diamond_of_a_thousand_steps_with_all_needs_is_read() {
    let layer = |n: usize| (0..100).map(move |at| format!("{n}.{at}"));
    let steps = (0..10).flat_map(|n| {
        layer(n).map(move |id| {
            let needs: Vec<String> = if n == 0 { Vec::new() } else { layer(n - 1).take(10).collect() };
            json!({"id": id, "action": "x", "action_class": "read", "target_type": "t", "target_ref": "r", "needs": needs})
        })
    });
    let plan = Plan::read(&plan(steps.collect()).to_string()).unwrap();
    assert_eq!((plan.steps().len(), plan.level(999)), (1000, 9));
}
