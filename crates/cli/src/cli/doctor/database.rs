//! The database below the schema. Each check is a function of what was read, so that the bounds can be tested.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tenure::store::retention::Partition;
use tenure::store::services::Service;
use tenure::zones::Zones;
use tenure_api::settings::ConfigEntry;

use super::finding::Finding;

const SERVER_MAJOR_MIN: u32 = 15;
/// Beyond this, times shown on this machine confuse.
const SKEW_SECONDS_MAX: i64 = 5;
/// Below this many dead rows a table is small whatever their share.
const DEAD_ROWS_MIN: i64 = 50_000;
const DEAD_PER_LIVE_MAX: i64 = 5;
const TRANSACTION_SECONDS_WARN: f64 = 300.0;
const TRANSACTION_SECONDS_FAIL: f64 = 3600.0;
const STREAM_SECONDS_MAX: f64 = 60.0;
/// The scheduler of a server looks twice a second.
const SCHEDULE_SECONDS_MAX: f64 = 60.0;
const WAL_MEGABYTES_MIN: i64 = 1024;

pub(super) fn version(doctor: &Value) -> Finding {
    let version = doctor["server_version"].as_str().unwrap_or_default();
    let major: Option<u32> = version
        .split(['.', ' ', 'b', 'r'])
        .next()
        .and_then(|text| text.parse().ok());
    match major {
        Some(major) if major >= SERVER_MAJOR_MIN => Finding::ok("server", format!("PostgreSQL {version}.")),
        _ => Finding::fail(
            "server",
            format!("PostgreSQL {version}."),
            format!("Use {SERVER_MAJOR_MIN} or newer."),
        ),
    }
}

/// The database's clock is the only one; a skew only confuses whoever compares. A replaced clock decides wrongly.
pub(super) fn clock(doctor: &Value, before: Timestamp, after: Timestamp) -> Finding {
    if doctor["clock_replaced"] == true {
        return Finding::fail(
            "clock",
            "tenure.now() is not the server's time.",
            "A test replaced it. Run: tenure migrate --force, or use another database",
        );
    }
    let Some(clock) = doctor["clock"].as_str().and_then(|text| text.parse::<Timestamp>().ok()) else {
        return Finding::fail("clock", "The database did not tell the time.", "Run: tenure migrate");
    };
    let skew = if clock < before {
        before.duration_since(clock)
    } else {
        clock.duration_since(after).max(SignedDuration::ZERO)
    };
    match skew.as_secs() {
        0..=SKEW_SECONDS_MAX => Finding::ok(
            "clock",
            format!("{:.1} s apart from this machine at most.", skew.as_secs_f64()),
        ),
        seconds => Finding::warn(
            "clock",
            format!("{seconds} s apart from this machine."),
            "Synchronise both machines by NTP; due times follow the database",
        ),
    }
}

pub(super) fn bloat(doctor: &Value) -> Finding {
    let tables = doctor["hot_tables"].as_object().into_iter().flatten();
    let bloated: Vec<String> = tables
        .filter_map(|(table, counts)| {
            let (dead, live) = (counts["dead_rows"].as_i64()?, counts["live_rows"].as_i64()?);
            (dead > DEAD_ROWS_MIN && dead > DEAD_PER_LIVE_MAX * live)
                .then(|| format!("{table} ({dead} dead rows, {live} living)"))
        })
        .collect();
    match bloated.is_empty() {
        true => Finding::ok("bloat", "Vacuum keeps up with the hot tables."),
        false => Finding::warn(
            "bloat",
            format!("Vacuum does not keep up: {}.", bloated.join(", ")),
            "End the oldest transaction if one stands out below, then: vacuum the table by hand",
        ),
    }
}

pub(super) fn transactions(doctor: &Value) -> Finding {
    let oldest = doctor["oldest_transaction_seconds"].as_f64().unwrap_or_default();
    let prepared = doctor["prepared_transactions"].as_i64().unwrap_or_default();
    let next = "It keeps vacuum and the event stream waiting. Find it in pg_stat_activity, and end it";
    if prepared > 0 {
        let next = "See pg_prepared_xacts: commit or roll back what was forgotten";
        return Finding::warn("transactions", format!("{prepared} are prepared and not ended."), next);
    }
    let what = format!("The oldest is {oldest:.0} s old.");
    if oldest > TRANSACTION_SECONDS_FAIL {
        Finding::fail("transactions", what, next)
    } else if oldest > TRANSACTION_SECONDS_WARN {
        Finding::warn("transactions", what, next)
    } else {
        Finding::ok("transactions", what)
    }
}

pub(super) fn stream(doctor: &Value) -> Finding {
    let stream = &doctor["stream"];
    let held = stream["held_seconds"].as_f64().unwrap_or_default();
    let waiting = stream["waiting_events"].as_i64().unwrap_or_default();
    let what = format!("{waiting} events wait, {held:.0} s at most.");
    if waiting > 0 && held > STREAM_SECONDS_MAX {
        let pid = &stream["pid"];
        return Finding::warn("stream", what, format!("End the transaction of server process {pid}"));
    }
    Finding::ok("stream", what)
}

/// Services that no process runs, each with what does not happen for that.
pub(super) fn services(doctor: &Value) -> Finding {
    let Ok(services) = serde_json::from_value::<Vec<Service>>(doctor["services"].clone()) else {
        return Finding::warn(
            "services",
            "The database does not say which services run.",
            "Run: tenure migrate",
        );
    };
    let troubles: Vec<String> = services.iter().filter_map(Service::trouble).collect();
    match troubles.is_empty() {
        true => Finding::ok("services", "All of them run."),
        false => Finding::warn(
            "services",
            troubles.join(" "),
            "Run `tenure serve`, or tenure::services::run in a program of your own",
        ),
    }
}

/// The time zone data here and where schedulers run: two versions may disagree about when a slot is.
pub(super) fn zones(doctor: &Value, here: &Zones) -> Finding {
    let services = doctor["services"].as_array().into_iter().flatten();
    let all = services.filter(|it| it["service"] == "scheduler");
    let all = all.filter_map(|it| it["zones"].as_array()).flatten();
    let all: Vec<&str> = all.filter_map(Value::as_str).collect();
    match all.len() > 1 {
        true => Finding::warn(
            "zones",
            format!("Schedulers compute with different time zones: {}.", all.join(", ")),
            "Update the time zones of the older ones, or name a directory in TENURE_ZONEINFO, and start them again",
        ),
        false if all.is_empty() => Finding::ok("zones", format!("Here {here}.")),
        false => Finding::ok("zones", format!("Here {here}, schedulers {}.", all.join(", "))),
    }
}

/// A schedule that is due and that nobody looks at: no server runs its services.
pub(super) fn schedules(doctor: &Value) -> Finding {
    let late = doctor["schedules_late_seconds"].as_f64().unwrap_or_default();
    match late > SCHEDULE_SECONDS_MAX {
        true => Finding::warn(
            "schedules",
            format!("One has been due for {late:.0} s, and no scheduler looks at it."),
            "Start a server that runs the services: tenure serve",
        ),
        false => Finding::ok("schedules", "Nothing that is due waits for the scheduler."),
    }
}

/// An execution whose time has come and that nobody looks at: no server runs its services.
pub(super) fn executions(doctor: &Value) -> Finding {
    let late = doctor["executions_late_seconds"].as_f64().unwrap_or_default();
    match late > SCHEDULE_SECONDS_MAX {
        true => Finding::warn(
            "executions",
            format!("One has been due for {late:.0} s, and no server looks at it."),
            "Start a server that runs the services: tenure serve",
        ),
        false => Finding::ok("executions", "Nothing that is due waits for a server."),
    }
}

/// The newest partition is made ahead of time; one that lies far back means that nobody looks after them.
pub(super) fn partitions(jobs: &[Partition], keys: &[ConfigEntry], now: Timestamp) -> Finding {
    let days = keys
        .iter()
        .find(|key| key.key == "retention.partition_days")
        .and_then(|key| key.value.0.as_i64())
        .unwrap_or(7);
    let newest = jobs
        .iter()
        .map(|partition| partition.lower_at.micros())
        .max()
        .unwrap_or(i64::MIN);
    let late = now.as_microsecond().saturating_sub(newest) > 2 * days * 86_400_000_000;
    match late && jobs.len() > 1 {
        true => Finding::warn(
            "partitions",
            format!("The newest of {} is older than {} days.", jobs.len(), 2 * days),
            "Nobody looks after them. Run: tenure sweep --partitions",
        ),
        false => Finding::ok("partitions", format!("{} of jobs.", jobs.len())),
    }
}

pub(super) fn wal(doctor: &Value) -> Finding {
    let megabytes: i64 = doctor["settings"]["max_wal_size"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    let what = format!("max_wal_size is {megabytes} MB.");
    match megabytes < WAL_MEGABYTES_MIN {
        true => Finding::warn(
            "wal",
            what,
            "Checkpoints will come often under load: set it to 4GB or more",
        ),
        false => Finding::ok("wal", what),
    }
}

pub(super) fn durability(doctor: &Value) -> Finding {
    let off = |name: &str| doctor["settings"][name] == "off";
    if off("autovacuum") {
        return Finding::fail(
            "durability",
            "autovacuum is off.",
            "Turn it on: the hot tables depend on it",
        );
    }
    if off("fsync") {
        return Finding::warn(
            "durability",
            "fsync is off.",
            "Turn it on, unless this database may be lost with the machine",
        );
    }
    Finding::ok("durability", "fsync and autovacuum are on.")
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;
    use serde_json::json;

    #[test]
    fn an_old_transaction_is_a_warning_then_a_failure() {
        let verdict = |seconds: f64| transactions(&json!({"oldest_transaction_seconds": seconds})).verdict;
        assert_eq!(
            [verdict(1.0), verdict(301.0), verdict(3601.0)],
            [Verdict::Ok, Verdict::Warn, Verdict::Fail]
        );
        assert_eq!(
            transactions(&json!({"prepared_transactions": 1})).verdict,
            Verdict::Warn
        );
    }

    #[test]
    fn clocks_apart_are_told() {
        let at = |text: &str| text.parse::<Timestamp>().expect("a time");
        let (before, after) = (at("2026-01-01T00:00:10Z"), at("2026-01-01T00:00:11Z"));
        let verdict = |clock: &str| self::clock(&json!({"clock": clock}), before, after).verdict;
        assert_eq!(verdict("2026-01-01T00:00:10.5+00:00"), Verdict::Ok);
        assert_eq!(verdict("2026-01-01T00:00:30+00:00"), Verdict::Warn);
        assert_eq!(verdict("2025-12-31T23:00:00+00:00"), Verdict::Warn);
    }

    #[test]
    fn bloat_is_many_dead_rows_for_few_living() {
        let verdict = |dead: i64, live: i64| {
            bloat(&json!({"hot_tables": {"ready": {"dead_rows": dead, "live_rows": live}}})).verdict
        };
        assert_eq!(
            [verdict(1000, 0), verdict(60_000, 50_000), verdict(60_000, 10)],
            [Verdict::Ok, Verdict::Ok, Verdict::Warn]
        );
    }

    #[test]
    fn a_stream_that_is_held_back_names_who_holds_it() {
        let held = stream(&json!({"stream": {"held_seconds": 90.0, "waiting_events": 3, "pid": 77}}));
        assert_eq!(
            (held.verdict, held.next.is_some_and(|next| next.contains("77"))),
            (Verdict::Warn, true)
        );
        assert_eq!(
            stream(&json!({"stream": {"held_seconds": 90.0, "waiting_events": 0}})).verdict,
            Verdict::Ok
        );
    }

    #[test]
    fn small_wal_and_missing_durability_are_told() {
        assert_eq!(
            wal(&json!({"settings": {"max_wal_size": "512"}})).verdict,
            Verdict::Warn
        );
        assert_eq!(wal(&json!({"settings": {"max_wal_size": "4096"}})).verdict, Verdict::Ok);
        assert_eq!(
            durability(&json!({"settings": {"fsync": "off"}})).verdict,
            Verdict::Warn
        );
        assert_eq!(
            durability(&json!({"settings": {"autovacuum": "off", "fsync": "on"}})).verdict,
            Verdict::Fail
        );
    }

    #[test]
    fn schedulers_with_different_time_zones_are_a_warning() {
        let here = Zones {
            version: Some("2026e".to_owned()),
            directory: None,
        };
        let of = |zones: Value| zones_of(&here, zones);
        assert_eq!(of(json!(["2026e"])).what, "Here 2026e (bundled), schedulers 2026e.");
        assert_eq!(of(json!(["2026d", "2026e"])).verdict, Verdict::Warn);
        assert_eq!(of(json!([])).verdict, Verdict::Ok);
    }

    fn zones_of(here: &Zones, zones: Value) -> Finding {
        super::zones(&json!({"services": [{"service": "scheduler", "zones": zones}]}), here)
    }

    #[test]
    fn servers_that_are_too_old_fail() {
        assert_eq!(version(&json!({"server_version": "14.9"})).verdict, Verdict::Fail);
        assert_eq!(version(&json!({"server_version": "18beta1"})).verdict, Verdict::Ok);
    }
}
