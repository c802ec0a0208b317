//! Where the key is that signs evidence, and how checkpoints and their sinks stand.

use serde_json::Value;

use super::finding::Finding;

/// Chains wait for a checkpoint this many intervals at most before something is wrong.
const INTERVALS_MAX: f64 = 3.0;
/// The service looks four times a minute.
const LATE_SECONDS_MIN: f64 = 120.0;

/// Where the key lives that signs evidence and checkpoints.
pub(super) fn key(doctor: &Value) -> Finding {
    let key = &doctor["anchors"]["key"];
    let id = key["key_id"].as_str().unwrap_or_default();
    match key["kept"].as_str() {
        Some("outside") => Finding::ok("evidence key", format!("{id}, kept outside the database.")),
        Some("database") => Finding::ok(
            "evidence key",
            format!("{id}, kept in the database: who owns it can sign with it (docs/anchors.md)."),
        ),
        _ => Finding::warn(
            "evidence key",
            "There is none that signs: nothing can be exported or archived.",
            "Run: tenure evidence key create",
        ),
    }
}

/// Whether checkpoints are made, and whether each sink has them.
pub(super) fn checkpoints(doctor: &Value) -> Finding {
    let anchors = &doctor["anchors"];
    let (number, minutes) = (
        anchors["number"].as_i64().unwrap_or_default(),
        anchors["minutes"].as_f64().unwrap_or_default(),
    );
    if minutes == 0.0 {
        return Finding::ok("checkpoints", "None are made: evidence.anchor_minutes is 0.");
    }
    let waiting = anchors["waiting"].as_i64().unwrap_or_default();
    let late = anchors["waiting_seconds"].as_f64().unwrap_or_default();
    if late > (minutes * 60.0 * INTERVALS_MAX).max(LATE_SECONDS_MIN) {
        return Finding::warn(
            "checkpoints",
            format!("{waiting} executions have waited for one for {late:.0} s; the last is {number}."),
            "See the log of the servers: the service anchor says why",
        );
    }
    let sinks = anchors["sinks"].as_array().cloned().unwrap_or_default();
    for sink in &sinks {
        let (name, at) = (&sink["sink"], sink["number"].as_i64().unwrap_or_default());
        if let Some(error) = sink["error"].as_str() {
            let what = format!("{name} has {at} of {number}: {error}");
            return Finding::warn("checkpoints", what, "See docs/anchors.md, \"When a sink is behind\"");
        }
    }
    let behind = sinks.iter().filter_map(|sink| sink["behind"].as_i64()).max();
    match behind {
        Some(behind) => Finding::ok(
            "checkpoints",
            format!("{number}; {}.", sinks_in_words(sinks.len(), behind)),
        ),
        None if number == 0 => Finding::ok("checkpoints", "None yet: no execution has asked for one."),
        None => Finding::ok(
            "checkpoints",
            format!("{number}, and no file outside the database has them (tenure serve --anchor-file FILE)."),
        ),
    }
}

/// `the sink has all of them`, `2 sinks are at most 3 behind`.
fn sinks_in_words(count: usize, behind: i64) -> String {
    match (count, behind) {
        (1, 0) => "the sink has all of them".to_owned(),
        (1, _) => format!("the sink is {behind} behind"),
        (_, 0) => format!("{count} sinks have all of them"),
        _ => format!("{count} sinks are at most {behind} behind"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;
    use serde_json::json;

    fn verdict(anchors: Value) -> Verdict {
        checkpoints(&json!({ "anchors": anchors })).verdict
    }

    #[test]
    fn a_sink_that_fails_and_chains_that_wait_too_long_are_warnings() {
        let sink = |error: Value| json!({"sink": "file:/a", "number": 4, "behind": 1, "error": error});
        let of = |late: f64, sinks: Vec<Value>| {
            verdict(json!({"minutes": 10, "number": 5, "waiting": 1, "waiting_seconds": late, "sinks": sinks}))
        };
        assert_eq!(of(60.0, vec![sink(Value::Null)]), Verdict::Ok);
        assert_eq!(of(60.0, vec![sink(json!("the disk is full"))]), Verdict::Warn);
        assert_eq!(of(3600.0, vec![sink(Value::Null)]), Verdict::Warn);
        assert_eq!(of(60.0, vec![]), Verdict::Ok);
        assert_eq!(verdict(json!({"minutes": 0, "number": 5})), Verdict::Ok);
        assert_eq!(verdict(json!({"minutes": 10, "number": 0})), Verdict::Ok);
    }

    #[test]
    fn sinks_are_counted_in_plain_words() {
        assert_eq!(sinks_in_words(1, 0), "the sink has all of them");
        assert_eq!(sinks_in_words(1, 2), "the sink is 2 behind");
        assert_eq!(sinks_in_words(3, 0), "3 sinks have all of them");
        assert_eq!(sinks_in_words(3, 2), "3 sinks are at most 2 behind");
    }

    #[test]
    fn it_is_said_where_the_key_is() {
        let of = |kept: &str| key(&json!({"anchors": {"key": {"key_id": "21fe31dfa154a261", "kept": kept}}}));
        assert!(of("outside").what.contains("outside the database"));
        assert!(of("database").what.contains("in the database"));
        assert_eq!(key(&json!({})).verdict, Verdict::Warn);
    }
}
