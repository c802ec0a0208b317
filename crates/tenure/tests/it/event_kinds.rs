//! The kinds of events: one list, which is what the functions write and what readers may name.

use std::collections::BTreeSet;
use std::path::Path;

use crate::fixture::{Db, get, raised, rows, try_rows};

/// Kinds that no function writes as one text: their last word is a state.
const COMPOSED: [&str; 10] = [
    "approval.rejected",
    "execution.cancelled",
    "execution.failed",
    "execution.rejected",
    "job.released",
    "job.snoozed",
    "schedule.slot_cancelled",
    "schedule.slot_failed",
    "schedule.slot_started",
    "schedule.slot_succeeded",
];

/// The texts between quotes of all functions, without comments.
fn texts() -> BTreeSet<String> {
    let functions = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/functions");
    let mut texts = BTreeSet::new();
    for path in crate::tidy::files(&functions) {
        let source = std::fs::read_to_string(&path).expect("a file");
        let lines = source.lines().filter(|line| !line.trim_start().starts_with("--"));
        let source = lines.collect::<Vec<_>>().join("\n").replace("''", "");
        texts.extend(source.split('\'').skip(1).step_by(2).map(str::to_owned));
    }
    texts
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|it| it.is_ascii_lowercase() || it == '_')
}

/// A kind that is written and not listed could not be subscribed to; one that is listed and never written would be
/// waited for without end.
#[tokio::test]
async fn the_list_of_event_kinds_is_what_the_functions_write() {
    let db = Db::open().await;
    let c = db.direct().await;
    let listed: Vec<String> = get(&c, "select tenure.event_kinds()", &[]).await;
    let listed: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    let domains: BTreeSet<&str> = listed.iter().filter_map(|kind| kind.split('.').next()).collect();
    // A setting may begin like an event.
    let settings: Vec<String> = get(&c, "select array_agg(key) from tenure.config_keys", &[]).await;
    let texts: BTreeSet<String> = texts().into_iter().filter(|text| !settings.contains(text)).collect();
    let mut written = BTreeSet::new();
    for text in &texts {
        // The story of an execution has its kinds with an underscore, its event with a dot.
        let story = text
            .split_once('_')
            .filter(|(domain, _)| ["approval", "execution", "section", "step"].contains(domain));
        match text
            .split_once('.')
            .filter(|(domain, what)| domains.contains(domain) && is_word(what))
        {
            Some(_) if text == "schedule.slot_" => {}
            Some(_) => {
                assert!(listed.contains(text.as_str()), "{text} is not in tenure.event_kinds()");
                written.insert(text.clone());
            }
            None => written.extend(story.map(|(domain, what)| format!("{domain}.{what}"))),
        }
    }
    let unwritten: Vec<&str> = listed.into_iter().filter(|kind| !written.contains(*kind)).collect();
    assert_eq!(unwritten, COMPOSED, "listed, and written by no function");
}

#[tokio::test]
async fn an_event_kind_that_is_not_there_is_refused_with_the_nearest() {
    let db = Db::open().await;
    let c = db.client().await;
    for (kind, next) in [
        ("job.enqueud", "Did you mean job.enqueued?"),
        ("job.dead_leterd", "Did you mean job.dead_lettered?"),
        ("shedule.*", "Did you mean schedule.*?"),
    ] {
        for sql in [
            "select tenure.event_list(p_kind => $1)",
            "select tenure.subscription_create('s', array[$1], 'reader')",
        ] {
            let refused = raised(try_rows(&c, sql, &[&kind]).await, "value_unknown");
            assert!(refused.ends_with(next), "{kind}: {refused}");
        }
    }
    for kind in ["job.enqueued", "job.*", "*", "subscription.created", "delivery.*"] {
        rows(&c, "select tenure.event_list(p_kind => $1)", &[&kind]).await;
    }
    for kind in ["subscription.created", "delivery.*", "", "x.y"] {
        let sql = "select tenure.subscription_create('s', array[$1], 'reader')";
        raised(try_rows(&c, sql, &[&kind]).await, "value_unknown");
    }
    let sql = "select tenure.subscription_create('s', array[null::text], 'reader')";
    raised(try_rows(&c, sql, &[]).await, "value_unknown");
}
