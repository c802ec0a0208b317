//! The slots of a rhythm: against a table, and against what must hold for any of them.

use std::collections::BTreeSet;

use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};
use proptest::prelude::*;
use tenure_core::Rhythm;

use crate::vectors;

fn seconds(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_second()
}

/// `every SECONDS`, `every SECONDS from TIME`, or a cron expression.
fn rhythm(rule: &str, zone: &str) -> Rhythm {
    let words: Vec<&str> = rule.split(' ').collect();
    let rhythm = match words[..] {
        ["every", interval] => Rhythm::every(interval.parse().unwrap(), None),
        ["every", interval, "from", anchor] => Rhythm::every(interval.parse().unwrap(), Some(seconds(anchor))),
        _ => Rhythm::cron(rule, zone),
    };
    rhythm.unwrap_or_else(|refusal| panic!("{rule}: {refusal}"))
}

/// Proves: S238.
#[test]
fn slots_come_when_the_table_says() {
    let text = vectors("slots.tsv");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [rule, zone, after, expected] = fields[..] else {
            panic!("four fields: {line}")
        };
        let rhythm = rhythm(rule, zone);
        let texts: Vec<&str> = expected.split(' ').collect();
        let expected: Vec<i64> = texts.iter().map(|text| seconds(text)).collect();
        let shown: Vec<String> = rhythm
            .slots(seconds(after), i64::MAX)
            .take(texts.len())
            .map(|slot| rhythm.local(slot))
            .collect();
        let wanted: Vec<String> = texts.iter().map(|text| format!("{text}[{zone}]")).collect();
        assert_eq!(shown, wanted, "{line}");

        for (slot, following) in expected.iter().zip(&expected[1..]) {
            assert_eq!(rhythm.latest(following - 1), Some(*slot), "{line}");
        }
        assert!(expected.iter().all(|slot| rhythm.is_slot(*slot)), "{line}");
        assert!(
            rhythm.latest(expected[0] - 1).is_none_or(|slot| slot <= seconds(after)),
            "{line}"
        );
    }
}

/// Zones with gaps, folds, odd offsets and none of it; a few that changed more than their clocks.
const ZONES: &[&str] = &[
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Asia/Beirut",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "Antarctica/Troll",
    "Asia/Pyongyang",
    "America/Caracas",
    "Africa/Monrovia",
];

fn values(min: u32, max: u32) -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just("*".to_owned()),
        2 => (min..=max).prop_map(|value| value.to_string()),
        1 => (2..=max).prop_map(|step| format!("*/{step}")),
        1 => (min..=max, min..=max).prop_map(|(a, b)| format!("{},{}", a, b)),
        1 => (min..=max, min..=max).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
    ]
}

fn days_of_month() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => values(1, 31),
        1 => Just("L".to_owned()),
        1 => Just("LW".to_owned()),
        1 => (1..=31u32).prop_map(|day| format!("{day}W")),
    ]
}

fn days_of_week() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just("*".to_owned()),
        2 => values(0, 7),
        1 => (0..=7u32).prop_map(|day| format!("{day}L")),
        1 => (0..=7u32, 1..=5u32).prop_map(|(day, nth)| format!("{day}#{nth}")),
    ]
}

prop_compose! {
    /// An expression and its zone. One that never fires is a refusal, and another is drawn.
    fn crons()(
        minute in values(0, 59), hour in values(0, 23), day in days_of_month(), month in values(1, 12),
        weekday in days_of_week(), zone in prop::sample::select(ZONES),
    ) -> (String, &'static str) {
        (format!("{minute} {hour} {day} {month} {weekday}"), zone)
    }
}

fn fires() -> impl Strategy<Value = (String, &'static str, Rhythm)> {
    crons().prop_filter_map("never fires", |(expression, zone)| {
        let rhythm = Rhythm::cron(&expression, zone).ok()?;
        Some((expression, zone, rhythm))
    })
}

fn zone_of(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).unwrap()
}

/// When the clocks of the zone are changed next.
fn change(zone: &TimeZone, after: i64) -> Option<i64> {
    let change = zone.following(Timestamp::from_second(after).unwrap()).next()?;
    Some(change.timestamp().as_second())
}

/// Hours or minutes: as an expression has them, and as numbers. Lists have values below `likely`.
fn numbers(count: u32, likely: i8) -> impl Strategy<Value = (String, BTreeSet<i8>)> {
    let all = move || (0..count).map(|value| value as i8);
    prop_oneof![
        1 => Just(("*".to_owned(), all().collect())),
        1 => (2..count).prop_map(move |step| (format!("*/{step}"), all().step_by(step as usize).collect())),
        3 => prop::collection::btree_set(0..likely, 1..4).prop_map(|values| {
            (values.iter().map(i8::to_string).collect::<Vec<_>>().join(","), values)
        }),
    ]
}

/// What the rules say, minute by minute of the wall clock: what has no skipped and no doubled time is its own slot.
fn by_the_rules(
    zone: &TimeZone,
    around: i64,
    is_named: impl Fn(i8, i8) -> bool,
    by_elapsed_time: bool,
) -> BTreeSet<i64> {
    let mut slots = BTreeSet::new();
    let mut clock = (zone.to_datetime(Timestamp::from_second(around).unwrap()) - 3.days())
        .with()
        .second(0)
        .build()
        .unwrap();
    for _ in 0..6 * 24 * 60 {
        clock += 1.minute();
        if !is_named(clock.hour(), clock.minute()) {
            continue;
        }
        let resolved = zone.to_ambiguous_timestamp(clock);
        let offset = resolved.offset();
        let (earlier, later) = (
            resolved.earlier().unwrap().as_second(),
            resolved.later().unwrap().as_second(),
        );
        slots.insert(match offset {
            AmbiguousOffset::Gap { .. } if !by_elapsed_time => change(zone, earlier).unwrap(),
            AmbiguousOffset::Gap { .. } => later,
            _ => earlier,
        });
        if by_elapsed_time {
            slots.insert(later);
        }
    }
    slots
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Proves: S238.
    #[test]
    fn both_directions_walk_the_same_slots(
        (expression, zone, rhythm) in fires(), near: bool, at in 0..4_102_444_800i64, distance in -86_400..86_400i64,
    ) {
        // Half of the time within a day of a change of the clocks.
        let at = change(&zone_of(zone), at).filter(|_| near).map_or(at, |change| change + distance);
        let mut before = rhythm.latest(at);
        let mut moment = at;
        for _ in 0..20 {
            let Some(slot) = rhythm.next(moment) else { break };
            prop_assert!(slot > moment, "{expression} {zone}: a slot after {moment} at {slot}");
            // Nothing lies between, from either side.
            for probe in [moment, (moment + slot) / 2, slot - 1] {
                prop_assert_eq!(rhythm.latest(probe), before, "{} {}: before {}", &expression, zone, probe);
                prop_assert_eq!(rhythm.next(probe), Some(slot), "{} {}: after {}", &expression, zone, probe);
            }
            prop_assert_eq!(rhythm.latest(slot), Some(slot), "{} {}", &expression, zone);
            prop_assert!(rhythm.is_slot(slot) && !rhythm.is_slot(slot - 1) && !rhythm.is_slot(slot + 1));
            before = Some(slot);
            moment = slot;
        }
    }

    #[test]
    fn an_interval_has_no_other_slots_than_its_multiples(
        interval in 10..31_622_400i64, anchor in prop::option::of(0..4_000_000_000i64), at in 0..8_000_000_000i64,
    ) {
        let rhythm = Rhythm::every(interval, anchor).unwrap();
        let first = anchor.unwrap_or(0);
        let next = rhythm.next(at).unwrap();
        prop_assert!(next > at && (next - first) % interval == 0 && next >= first);
        prop_assert!(next == first || next - interval <= at);
        prop_assert_eq!(rhythm.latest(at), (next > first).then_some(next - interval));
        prop_assert_eq!(rhythm.is_slot(at), at >= first && (at - first) % interval == 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Proves: S238.
    #[test]
    fn where_clocks_are_changed_no_slot_is_lost_and_none_is_added(
        (minute, minutes) in numbers(60, 60), (hour, hours) in numbers(24, 5),
        zone in prop::sample::select(ZONES), at in 0..4_102_444_800i64,
    ) {
        let by_elapsed_time = [&minute, &hour].iter().any(|field| field.contains('*'));
        let rhythm = Rhythm::cron(&format!("{minute} {hour} * * *"), zone).unwrap();
        let zone = zone_of(zone);
        let around = change(&zone, at).unwrap_or(at).max(4 * 86_400);
        let window = around - 86_400..=around + 86_400;
        let rules = by_the_rules(&zone, around, |h, m| hours.contains(&h) && minutes.contains(&m), by_elapsed_time);
        let expected: Vec<i64> = rules.range(window.clone()).copied().collect();
        let slots: Vec<i64> = rhythm.slots(window.start() - 1, *window.end()).collect();
        prop_assert_eq!(slots, expected, "{} around {}", rhythm.describe(), rhythm.local(around));
    }
}
