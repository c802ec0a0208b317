use proptest::prelude::*;
use serde_json::{Value, json};
use tenure_core::limits::{LOCK_TARGET_CHARS_MAX, NEEDS_MAX, PLAN_BYTES_MAX, PLAN_STEPS_MAX, PLAN_SUBMITTED_BYTES_MAX};
use tenure_core::plan::{Effects, LockScope, Mode, OnStepFailure};
use tenure_core::{Plan, codes};

use crate::{in_repository, json_lines, vectors};

/// The rows of a table of `testdata/plans`.
fn table(name: &str) -> Vec<Vec<String>> {
    let rows = vectors(&format!("plans/{name}"));
    rows.lines()
        .map(|row| row.split('\t').map(str::to_owned).collect())
        .collect()
}

fn valid(name: &str) -> Plan {
    let text = vectors(&format!("plans/valid/{name}.json"));
    Plan::read(&text).unwrap_or_else(|refusal| panic!("{name}: {refusal}"))
}

pub(crate) fn step(id: &str, needs: &[&str]) -> Value {
    json!({"id": id, "action": "x", "action_class": "read", "target_type": "t", "target_ref": "r", "needs": needs})
}

pub(crate) fn plan(steps: Vec<Value>) -> Value {
    json!({"purpose": "p", "sla_class": "fast", "steps": steps})
}

/// Proves: S165, S166.
#[test]
fn the_canonical_text_and_the_hash_are_those_of_another_implementation() {
    let rows = table("valid.tsv");
    assert!(rows.len() >= 6);
    for row in rows {
        let [name, hash, canonical] = row.try_into().expect("three columns");
        let plan = valid(&name);
        assert_eq!(plan.canonical(), canonical, "{name}");
        assert_eq!(plan.hash(), hash, "{name}");
    }
}

#[test]
fn what_goes_without_saying_is_the_safe_choice_and_not_in_the_text() {
    for row in table("steps.tsv") {
        let [
            name,
            id,
            level,
            kind,
            executor,
            effects,
            attempts_max,
            timeout_seconds,
            lock_target,
        ] = row.try_into().expect("nine columns");
        let plan = valid(&name);
        let at = plan.steps().iter().position(|step| step.id == id).unwrap();
        let step = &plan.steps()[at];
        let shown = |number: Option<i64>| number.map_or("-".to_owned(), |number| number.to_string());
        assert_eq!(plan.level(at).to_string(), level, "{name} {id}");
        assert_eq!(step.kind, kind, "{name} {id}");
        assert_eq!(step.executor.as_deref().unwrap_or("-"), executor, "{name} {id}");
        assert_eq!(step.effects.as_str(), effects, "{name} {id}");
        assert_eq!(shown(step.attempts_max), attempts_max, "{name} {id}");
        assert_eq!(shown(step.timeout_seconds), timeout_seconds, "{name} {id}");
        assert_eq!(step.lock_target().as_deref().unwrap_or("-"), lock_target, "{name} {id}");
    }
    let plan = valid("minimal");
    assert_eq!(
        (plan.mode(), plan.priority(), plan.on_step_failure()),
        (Mode::Background, 0, OnStepFailure::Stop)
    );
    assert_eq!((plan.approval_level(), plan.approval_roles()), (0, [].as_slice()));
    for word in [
        "background",
        "priority",
        "idempotent",
        "lock_scope",
        "needs",
        "approval",
    ] {
        assert!(!plan.canonical().contains(word), "{word}");
    }
}

/// Proves: S160, S161, S167.
#[test]
fn what_is_said_is_what_is_read() {
    let plan = valid("everything");
    assert_eq!(
        (plan.purpose(), plan.sla_class().as_str()),
        ("bring the shop to 4.2", "long")
    );
    assert_eq!(
        (plan.mode(), plan.priority(), plan.on_step_failure()),
        (Mode::Immediate, i16::MIN, OnStepFailure::Continue)
    );
    assert_eq!(plan.approval_level(), 3);
    assert_eq!(plan.approval_roles(), ["release manager", "database owner"]);
    assert_eq!(plan.runbook_ref(), Some("https://runbooks.example/shop#back-out"));
    assert_eq!(
        (plan.correlation_id(), plan.generator()),
        (Some("change-4711"), Some("MOT"))
    );
    let stop = &plan.steps()[0];
    assert_eq!(
        (stop.effects, stop.lock_scope),
        (Effects::Idempotent, LockScope::TargetAndAction)
    );
    assert_eq!(stop.payload_ref.as_deref(), Some("s3://plans/shop/stop.json"));
    assert_eq!(
        Value::from(stop.payload.clone()),
        json!({"signal": "TERM", "grace": [5, 10.5, true, false, null, {}]})
    );
    assert_eq!(
        stop.compensation_note.as_deref(),
        Some("Start it again:\n\tsystemctl start shop")
    );
    assert_eq!(plan.steps()[1].needs, [0]);
    assert_eq!(valid("fan").priority(), -100);
}

/// Proves: S178, S187. Guards: D107.
#[test]
fn a_plan_that_is_wrong_is_refused_with_its_code_and_its_place() {
    let rows = json_lines("plans/refused.jsonl");
    assert!(rows.len() > 100);
    for row in rows {
        let name = row["name"].as_str().unwrap();
        let refusal = Plan::read(row["text"].as_str().unwrap()).expect_err(name);
        assert_eq!(refusal.code, row["code"].as_str().unwrap(), "{name}: {refusal}");
        let path = row["path"].as_str().unwrap();
        let rest = refusal.what.strip_prefix(path);
        assert!(
            rest.is_some_and(|rest| rest.starts_with(' ')),
            "{name}: {path} or {refusal}"
        );
        assert!(!refusal.why.is_empty() && !refusal.next.is_empty(), "{name}: {refusal}");
        let steers = |c: char| c.is_control();
        assert!(
            !refusal.to_string().replace('\n', "").contains(steers),
            "{name}: {refusal:?}"
        );
    }
}

#[test]
fn a_refusal_says_what_was_probably_meant() {
    let next = |text: String| Plan::read(&text).unwrap_err().next;
    let mut misspelt = plan(vec![step("a", &[])]);
    misspelt["purpos"] = json!("x");
    assert_eq!(next(misspelt.to_string()), "Did you mean \"purpose\"?");
    let mut short = step("a", &[]);
    short["timeout"] = json!(30);
    assert_eq!(next(plan(vec![short]).to_string()), "Did you mean \"timeout_seconds\"?");
    let unknown = plan(vec![step("check-web", &[]), step("b", &["chek-web"])]);
    assert_eq!(next(unknown.to_string()), "Did you mean \"check-web\"?");
    let text = plan(vec![step("a", &[])]).to_string();
    assert_eq!(next(text.replace("read", "raed")), "Did you mean \"read\"?");
    let broken = Plan::read("{\n  \"purpose\": \"p\",\n}").unwrap_err();
    assert!(broken.why.contains("line 3 column 1"), "{broken}");
}

#[test]
fn a_cycle_is_spelled_out() {
    let cycle = plan(vec![
        step("tail", &["c"]),
        step("a", &["b"]),
        step("b", &["c"]),
        step("c", &["a"]),
    ]);
    let refusal = Plan::read(&cycle.to_string()).unwrap_err();
    assert!(refusal.is(codes::PLAN_CYCLE));
    assert_eq!(refusal.what, "steps[1].needs[0] closes a cycle: a → b → c → a.");

    let ids: Vec<String> = (0..PLAN_STEPS_MAX).map(|n| format!("s{n}")).collect();
    let around = (0..ids.len()).map(|n| step(&ids[n], &[&ids[(n + 1) % ids.len()]]));
    let refusal = Plan::read(&plan(around.collect()).to_string()).unwrap_err();
    assert!(
        refusal.what.contains("s0 → s1 →")
            && refusal.what.contains("… 989 more …")
            && refusal.what.ends_with("s999 → s0."),
        "{refusal}"
    );
}

#[test]
fn every_limit_holds_to_the_last_one() {
    let many = |steps: usize| plan((0..steps).map(|n| step(&n.to_string(), &[])).collect()).to_string();
    assert!(Plan::read(&many(PLAN_STEPS_MAX)).is_ok());
    let refusal = Plan::read(&many(PLAN_STEPS_MAX + 1)).unwrap_err();
    assert!(
        refusal.is(codes::PLAN_TOO_LARGE) && refusal.what == "steps has 1001 steps.",
        "{refusal}"
    );

    let needing = |needs: usize| {
        let ids: Vec<String> = (0..needs).map(|n| n.to_string()).collect();
        let mut steps: Vec<Value> = ids.iter().map(|id| step(id, &[])).collect();
        steps.push(step("last", &ids.iter().map(String::as_str).collect::<Vec<_>>()));
        plan(steps).to_string()
    };
    assert!(Plan::read(&needing(NEEDS_MAX)).is_ok());
    let refusal = Plan::read(&needing(NEEDS_MAX + 1)).unwrap_err();
    assert!(
        refusal.is(codes::PLAN_TOO_LARGE) && refusal.what.starts_with("steps[101].needs "),
        "{refusal}"
    );

    let locking = |chars: usize| {
        let mut locking = step("a", &[]);
        locking["lock_scope"] = json!("target");
        locking["target_ref"] = json!("ä".repeat(chars - "t:".len()));
        plan(vec![locking]).to_string()
    };
    assert!(Plan::read(&locking(LOCK_TARGET_CHARS_MAX)).is_ok());
    assert!(
        Plan::read(&locking(LOCK_TARGET_CHARS_MAX + 1))
            .unwrap_err()
            .is(codes::NAME_INVALID)
    );
}

/// A plan of exactly so many bytes in its canonical text.
fn sized(bytes: usize) -> Value {
    let full = |note: usize| {
        let mut step = step("", &[]);
        step["compensation_note"] = json!("x".repeat(note));
        step
    };
    let mut steps = Vec::new();
    for n in 0.. {
        let mut step = full(2000);
        step["id"] = json!(format!("{n:03}"));
        steps.push(step);
        let length = serde_json::to_string(&plan(steps.clone())).unwrap().len();
        if length >= bytes {
            let last = steps.last_mut().unwrap();
            last["compensation_note"] = json!("x".repeat(2000 - (length - bytes)));
            break;
        }
    }
    plan(steps)
}

#[test]
fn the_size_is_that_of_the_canonical_text() {
    let largest = sized(PLAN_BYTES_MAX);
    let read = Plan::read(&serde_json::to_string_pretty(&largest).unwrap()).unwrap();
    assert_eq!(read.canonical().len(), PLAN_BYTES_MAX);
    let refusal = Plan::read(&sized(PLAN_BYTES_MAX + 1).to_string()).unwrap_err();
    assert!(
        refusal.is(codes::PLAN_TOO_LARGE) && refusal.what.contains("262145"),
        "{refusal}"
    );

    let small = plan(vec![step("a", &[])]).to_string();
    let padded = |bytes: usize| format!("{small}{}", " ".repeat(bytes - small.len()));
    assert!(Plan::read(&padded(PLAN_SUBMITTED_BYTES_MAX)).is_ok());
    let refusal = Plan::read(&padded(PLAN_SUBMITTED_BYTES_MAX + 1)).unwrap_err();
    assert!(refusal.is(codes::PLAN_TOO_LARGE), "{refusal}");
}

#[test]
fn a_text_that_nests_without_end_is_refused_before_it_costs_anything() {
    for deep in [
        "[".repeat(PLAN_SUBMITTED_BYTES_MAX),
        "[".repeat(500_000) + &"]".repeat(500_000),
        "{\"a\":".repeat(200_000),
    ] {
        let refusal = Plan::read(&deep).unwrap_err();
        assert!(
            refusal.is(codes::PLAN_INVALID) || refusal.is(codes::PLAN_TOO_LARGE),
            "{refusal}"
        );
        assert!(refusal.what.len() < 1000);
    }
}

/// How serde_json marks numbers within itself when it keeps their digits is no way to write one.
#[test]
fn an_object_is_never_taken_for_a_number() {
    let text = plan(vec![step("a", &[])]).to_string();
    let marked = r#"{"$serde_json::private::Number":"30"}"#;
    for (field, place) in [
        (format!("\"timeout_seconds\":{marked}"), "timeout_seconds"),
        (format!("\"payload\":{{\"n\":{marked}}}"), "payload.n"),
    ] {
        let refusal = Plan::read(&text.replacen("\"id\"", &format!("{field},\"id\""), 1)).unwrap_err();
        let what = format!("steps[0].{place}[\"$serde_json::private::Number\"] is a forbidden key.");
        assert_eq!(refusal.what, what);
    }
}

/// What the built-in timeout policy gives a long execution.
const POLICY_SECONDS: i64 = 600;

#[test]
fn the_examples_are_plans_that_fit_into_their_time() {
    let Some(folder) = in_repository("examples/plans") else {
        return;
    };
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let plan = Plan::read(&text).unwrap_or_else(|refusal| panic!("{}: {refusal}", path.display()));
        let (longest, allowed) = (plan.critical_path(), plan.timeout_seconds().unwrap_or(POLICY_SECONDS));
        assert!(longest.timeout_seconds <= allowed, "{}: {longest:?}", path.display());
        count += 1;
    }
    assert!(count >= 3);
}

/// Numbers that a plan may hold, in some spelling.
fn any_number() -> impl Strategy<Value = String> {
    prop_oneof![
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(|n| n.to_string()),
        (-1e9..1e9).prop_map(|n: f64| format!("{n:e}")),
        (-1e3..1e3).prop_map(|n: f64| format!("{n:.3}")),
    ]
}

/// Text of JSON with white space, escapes and order of its own.
fn any_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|it| it.to_string()),
        any_number(),
        "[^\u{0}]{0,12}".prop_map(|text| Value::from(text).to_string()),
        "[a-z]{0,4}".prop_map(|text| text
            .bytes()
            .fold("\"".to_owned(), |all, b| format!("{all}\\u{:04X}", b))
            + "\""),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[ {} ]", items.join("\n,"))),
            prop::collection::hash_map("k[a-z\u{e000}-\u{e00f}\u{1f600}-\u{1f60f}]{0,3}", inner, 0..5).prop_map(
                |map| {
                    let pairs: Vec<String> = map
                        .iter()
                        .map(|(key, value)| format!("\t{}: {value}", Value::from(key.as_str())))
                        .collect();
                    format!("{{{}}}", pairs.join(" ,"))
                }
            ),
        ]
    })
}

proptest! {
    /// Proves: S166.
    #[test]
    fn the_canonical_text_reads_back_as_itself(payload in any_text()) {
        let around = plan(vec![step("a", &[])]).to_string();
        let text = around.replacen("\"id\"", &format!("\"payload\" : {{\"it\":{payload}}},\"id\""), 1);
        let first = Plan::read(&text).unwrap();
        let again = Plan::read(first.canonical()).unwrap();
        prop_assert_eq!(again.canonical(), first.canonical());
        prop_assert_eq!(again.hash(), first.hash());
        prop_assert_eq!(again, first);
    }

    #[test]
    fn no_text_makes_the_reader_stumble(text in "\\PC{0,200}", cut in 0..400_usize) {
        let _ = Plan::read(&text);
        // The beginning of a plan is never a plan.
        let whole = vectors("plans/valid/everything.json");
        let end = (0..=cut.min(whole.trim_end().len() - 1)).rev().find(|at| whole.is_char_boundary(*at)).unwrap();
        prop_assert!(Plan::read(&whole[..end]).unwrap_err().is(codes::PLAN_INVALID));
    }
}
