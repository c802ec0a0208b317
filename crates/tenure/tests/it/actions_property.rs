//! Whatever a plan says, and whatever is registered: no step gets a lower class, level or lock than its action demands.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::approvals_scene::{act, id, people};
use crate::fixture::{one, rows, run};

/// Random registries, and for each of them random plans.
const WORLDS: usize = 25;
const PLANS: usize = 16;

const CLASSES: [&str; 3] = ["read", "modify", "deploy"];
const SCOPES: [&str; 3] = ["none", "target_and_action", "target"];
const ACTIONS: [&str; 6] = ["a", "a.b", "a.b.c", "b.c", "x.a", "zz"];
const GLOBS: [&str; 10] = ["a", "a.b", "a.*", "*.c", "a.b*", "*b.c", "*", "x.*", "*.a", "zz"];

fn reach(list: [&str; 3], word: &Value) -> usize {
    list.iter().position(|it| word == it).expect("a known word")
}

fn any_action() -> impl Strategy<Value = (String, Value)> {
    let kinds = prop::option::of(prop::collection::vec(
        prop::sample::select(vec!["a*", "k", "*", "zz"]),
        1..3,
    ));
    let lock = prop::option::of(prop::sample::select(SCOPES.to_vec()));
    (prop::sample::select(GLOBS.to_vec()), 0..3_usize, 0..4, lock, kinds).prop_map(
        |(name, class, level, lock, kinds)| {
            let mut spec = json!({"action_class": CLASSES[class], "level_min": level});
            if let Some(lock) = lock {
                spec["lock_scope"] = json!(lock);
            }
            if let Some(kinds) = kinds {
                spec["kinds"] = json!(kinds);
            }
            (name.to_owned(), spec)
        },
    )
}

fn any_rule() -> impl Strategy<Value = Value> {
    let classes = prop::option::of(prop::sample::subsequence(CLASSES.to_vec(), 1..3));
    let actions = prop::option::of(prop::sample::subsequence(GLOBS.to_vec(), 1..3));
    (0..4, classes, actions).prop_map(|(level, classes, actions)| {
        let mut spec = json!({"level": level});
        if let Some(classes) = classes {
            spec["action_classes"] = json!(classes);
        }
        if let Some(actions) = actions {
            spec["actions"] = json!(actions);
        }
        spec
    })
}

fn any_step() -> impl Strategy<Value = Value> {
    let class = prop::option::of(prop::sample::select(CLASSES.to_vec()));
    let lock = prop::option::of(prop::sample::select(SCOPES.to_vec()));
    let kind = prop::option::of(prop::sample::select(vec!["k", "a.b", "zz"]));
    let effects = prop::option::of(prop::sample::select(vec!["idempotent", "once"]));
    (prop::sample::select(ACTIONS.to_vec()), class, lock, kind, effects).prop_map(
        |(action, class, lock, kind, effects)| {
            let mut step = json!({"action": action, "target_type": "host"});
            for (field, value) in [
                ("action_class", class),
                ("lock_scope", lock),
                ("kind", kind),
                ("effects", effects),
            ] {
                if let Some(value) = value {
                    step[field] = json!(value);
                }
            }
            step
        },
    )
}

fn any_plan() -> impl Strategy<Value = Value> {
    (prop::collection::vec(any_step(), 1..4), 0..4).prop_map(|(mut steps, level)| {
        for (at, step) in steps.iter_mut().enumerate() {
            step["id"] = json!(format!("s{at}"));
            step["target_ref"] = json!(format!("t{at}"));
        }
        json!({"purpose": "any", "sla_class": "long", "runbook_ref": "x", "approval_level": level, "steps": steps})
    })
}

/// What a glob of the registry means, worked out apart from the database.
fn fits(glob: &str, action: &str) -> bool {
    match glob.split_once('*') {
        None => glob == action,
        Some((before, after)) => {
            action.len() >= before.len() + after.len() && action.starts_with(before) && action.ends_with(after)
        }
    }
}

/// What the registry demands of an action: class, level, lock, and whether this kind may carry it.
fn demanded(
    registry: &[(String, Value)],
    open: bool,
    strictest: i64,
    action: &str,
    kind: &str,
) -> (usize, i64, usize, bool) {
    let fitting: Vec<&(String, Value)> = registry.iter().filter(|(name, _)| fits(name, action)).collect();
    let weight = |name: &str| (name == action, name.replace('*', "").len());
    let Some(best) = fitting.iter().map(|(name, _)| weight(name)).max() else {
        return if open { (0, 0, 0, true) } else { (2, strictest, 2, true) };
    };
    let mut all = (0, 0, 0, true);
    for (_, spec) in fitting.iter().filter(|(name, _)| weight(name) == best) {
        let class = reach(CLASSES, &spec["action_class"]);
        let lock = match &spec["lock_scope"] {
            Value::Null => {
                if class == 0 {
                    0
                } else {
                    2
                }
            }
            said => reach(SCOPES, said),
        };
        let carries = match spec["kinds"].as_array() {
            None => kind == action,
            Some(kinds) => kinds.iter().any(|glob| fits(glob.as_str().expect("a glob"), kind)),
        };
        let level = spec["level_min"].as_i64().expect("a level");
        all = (all.0.max(class), all.1.max(level), all.2.max(lock), all.3 && carries);
    }
    all
}

#[tokio::test]
async fn no_step_gets_a_lower_class_level_or_lock_than_its_action_demands() {
    let (_db, c) = people().await;
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let (mut taken, mut refused) = (0, 0);
    for world in 0..WORLDS {
        run(&c, "begin").await;
        let actions = prop::collection::vec(any_action(), 0..6)
            .new_tree(&mut runner)
            .expect("actions")
            .current();
        let rules = prop::collection::vec(any_rule(), 0..3)
            .new_tree(&mut runner)
            .expect("rules")
            .current();
        let open = any::<bool>().new_tree(&mut runner).expect("a mode").current();
        act(&c, "pam").await;
        one(
            &c,
            "select tenure.config_set('executions.actions.open', $1)",
            &[&json!(open)],
        )
        .await;
        let mut registry: Vec<(String, Value)> = Vec::new();
        for (name, spec) in actions {
            one(&c, "select tenure.action_set($1, $2)", &[&name, &spec]).await;
            registry.retain(|(known, _)| *known != name);
            registry.push((name, spec));
        }
        for (at, spec) in rules.iter().enumerate() {
            one(
                &c,
                "select tenure.approval_rule_set($1, $2)",
                &[&format!("r{at}"), spec],
            )
            .await;
        }
        let levels = rules.iter().map(|rule| &rule["level"]);
        let levels = levels.chain(registry.iter().map(|(_, spec)| &spec["level_min"]));
        let strictest = levels.filter_map(Value::as_i64).chain([2]).max().expect("a level");
        for at in 0..PLANS {
            let mut plan = any_plan().new_tree(&mut runner).expect("a plan").current();
            plan["purpose"] = json!(format!("{world} {at}"));
            let demands: Vec<_> = plan["steps"]
                .as_array()
                .expect("steps")
                .iter()
                .map(|step| {
                    let action = step["action"].as_str().expect("an action");
                    let kind = step["kind"].as_str().unwrap_or(action);
                    demanded(&registry, open, strictest, action, kind)
                })
                .collect();
            act(&c, "eve").await;
            run(&c, "savepoint plan").await;
            let answer = one(&c, "select tenure.execution_submit($1)", &[&plan.to_string()]).await;
            let steps = plan["steps"].as_array().expect("steps");
            let lowers = steps.iter().zip(&demands).any(|(step, demand)| {
                let said = |field: &str, list: [&str; 3]| step.get(field).map(|word| reach(list, word));
                said("action_class", CLASSES).is_some_and(|it| it < demand.0)
                    || said("lock_scope", SCOPES).is_some_and(|it| it < demand.2)
            });
            let carried = demands.iter().all(|demand| demand.3);
            let context = format!("{answer}\nopen: {open}\n{registry:?}\n{rules:?}\n{plan}");
            if answer["refused"] == true {
                let code = answer["code"].as_str().expect("a code");
                assert!(
                    (code == "action_lowered" && lowers) || (code == "action_kind_refused" && !carried),
                    "{context}"
                );
                run(&c, "rollback to plan").await;
                refused += 1;
                continue;
            }
            assert!(!lowers && carried, "what says less is refused: {context}");
            taken += 1;
            let sql = "select action_class, approval_level::integer, lock_target is null, coalesce(lock_action, '')
                         from tenure.step_rows where execution_id = $1 order by step_number";
            let kept = rows(&c, sql, &[&id(&answer, "execution_id")]).await;
            let mut most = 0;
            for ((row, demand), step) in kept.iter().zip(&demands).zip(steps) {
                let class = reach(CLASSES, &json!(row.get::<_, String>(0)));
                let level = i64::from(row.get::<_, i32>(1));
                let lock = match (row.get::<_, bool>(2), row.get::<_, String>(3).as_str()) {
                    (true, _) => 0,
                    (false, "") => 2,
                    (false, _) => 1,
                };
                assert!(
                    class >= demand.0 && level >= demand.1 && lock >= demand.2,
                    "{step}: {context}"
                );
                most = most.max(level);
            }
            assert_eq!(answer["approval_level"], most, "{context}");
            assert_eq!(answer["state"] == "awaiting_approval", most > 0, "{context}");
        }
        run(&c, "rollback").await;
    }
    assert!(taken > 20 && refused > 100, "{taken} taken, {refused} refused");
}
