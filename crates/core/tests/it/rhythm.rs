use tenure_core::limits::{EXPRESSION_CHARS_MAX, INTERVAL_SECONDS_MAX, INTERVAL_SECONDS_MIN, JITTER_SECONDS_MAX};
use tenure_core::{Refusal, Rhythm, codes, rhythm};

fn refused(expression: &str) -> Refusal {
    Rhythm::cron(expression, "UTC").unwrap_err()
}

#[test]
fn seconds_and_years_are_refused_with_the_reason() {
    for expression in ["0 * * * * *", "0 0 0 1 1 * 2030"] {
        let refusal = refused(expression);
        assert!(refusal.is(codes::EXPRESSION_INVALID), "{expression}");
        assert!(refusal.why.contains("does not fire by the second"), "{refusal}");
    }
}

/// A parser that guesses runs something at a time that nobody meant.
#[test]
fn what_is_no_expression_is_refused_and_its_field_named() {
    let cases = [
        ("61 * * * *", "minute"),
        ("0 24 * * *", "hour"),
        ("0 0 0 * *", "day-of-month"),
        ("0 0 32 * *", "day-of-month"),
        ("0 0 * 13 *", "month"),
        ("0 0 * * 8", "day-of-week"),
        // Names belong to their fields.
        ("0 0 * * MAR", "day-of-week"),
        ("0 0 * MON *", "month"),
        ("JAN 0 * * *", "minute"),
        ("0 0 * * MONDAY", "day-of-week"),
        ("0 0 * * 1SUN", "day-of-week"),
        // Lists without holes.
        ("0,,5 * * * *", "minute"),
        (", * * * *", "minute"),
        ("0 0 1, * *", "day-of-month"),
        ("*,5 * * * *", "minute"),
        // Ranges go upwards, steps go over ranges.
        ("0 22-2 * * *", "hour"),
        ("0 0 * * FRI-MON", "day-of-week"),
        ("0 1-2-3 * * *", "hour"),
        ("*/0 * * * *", "minute"),
        ("*/60 * * * *", "minute"),
        ("1-5/65535 * * * *", "minute"),
        ("5/15 * * * *", "minute"),
        ("/15 * * * *", "minute"),
        ("*/ * * * *", "minute"),
        ("-5 * * * *", "minute"),
        ("+5 * * * *", "minute"),
        // Special days in their places.
        ("L * * * *", "minute"),
        ("0 0 15L * *", "day-of-month"),
        ("0 0 W * *", "day-of-month"),
        ("0 0 32W * *", "day-of-month"),
        ("0 0 L,LW * *", "day-of-month"),
        ("0 0 * * L", "day-of-week"),
        ("0 0 * * 1W", "day-of-week"),
        ("0 0 * * 1#0", "day-of-week"),
        ("0 0 * * 1#6", "day-of-week"),
        ("0 0 * * #1", "day-of-week"),
        ("? 0 * * *", "minute"),
        // Letters and digits of other scripts.
        ("٣ * * * *", "minute"),
        ("0 0 * * ſun", "day-of-week"),
    ];
    for (expression, field) in cases {
        let refusal = refused(expression);
        assert!(refusal.is(codes::EXPRESSION_INVALID), "{expression}");
        assert!(
            refusal.why.starts_with(&format!("Field {field},")),
            "{expression}: {refusal}"
        );
    }
    for expression in [
        "",
        " ",
        "0",
        "0 0 * *",
        "0 0 * * * * * *",
        "@reboot",
        "@dayly",
        "@",
        "\0",
        "0\u{a0}0 * * *",
    ] {
        assert!(refused(expression).is(codes::EXPRESSION_INVALID), "{expression}");
    }
}

#[test]
fn an_endless_expression_is_refused_before_it_is_read() {
    let long = format!("{} * * * *", vec!["1"; 300].join(","));
    let refusal = refused(&long);
    assert!(
        refusal.is(codes::EXPRESSION_INVALID) && refusal.why.contains("200"),
        "{refusal}"
    );
    assert!(refusal.what.chars().count() < EXPRESSION_CHARS_MAX + 50);
}

#[test]
fn a_refusal_shows_no_control_characters() {
    for expression in ["\0 * * * *", "\u{1b}[2J * * * *", "@\u{7}"] {
        let refusal = refused(expression);
        assert!(
            !(refusal.what + &refusal.why).contains(char::is_control),
            "{expression:?}"
        );
    }
}

#[test]
fn what_the_calendar_never_has_is_refused() {
    for expression in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30W 2 *", "* * 31 4 *"] {
        assert!(refused(expression).is(codes::EXPRESSION_NEVER_FIRES), "{expression}");
    }
    // Rare is not never: a leap day, and one that is a Monday, which may take forty years.
    for expression in ["0 0 29 2 *", "0 0 29W 2 *", "0 0 * 2 MON#5"] {
        let rhythm = Rhythm::cron(expression, "UTC").unwrap();
        assert!(
            rhythm.next(0).is_some() && rhythm.next(4_102_444_800).is_some(),
            "{expression}"
        );
    }
}

#[test]
fn an_interval_has_its_bounds() {
    for (seconds, code) in [
        (i64::MIN, codes::EXPRESSION_TOO_FREQUENT),
        (-1, codes::EXPRESSION_TOO_FREQUENT),
        (0, codes::EXPRESSION_TOO_FREQUENT),
        (INTERVAL_SECONDS_MIN - 1, codes::EXPRESSION_TOO_FREQUENT),
        (INTERVAL_SECONDS_MAX + 1, codes::NUMBER_OUT_OF_RANGE),
        (i64::MAX, codes::NUMBER_OUT_OF_RANGE),
    ] {
        assert!(Rhythm::every(seconds, None).unwrap_err().is(code), "{seconds}");
    }
    for seconds in [INTERVAL_SECONDS_MIN, INTERVAL_SECONDS_MAX] {
        assert!(Rhythm::every(seconds, Some(0)).is_ok(), "{seconds}");
    }
    for anchor in [i64::MIN, -1, i64::MAX] {
        let refusal = Rhythm::every(60, Some(anchor)).unwrap_err();
        assert!(refusal.is(codes::NUMBER_OUT_OF_RANGE), "{anchor}");
    }
    let why = |seconds| Rhythm::every(seconds, None).unwrap_err().why;
    assert!(why(0) != why(-1) && why(0) != why(5), "each reason is its own");
}

#[test]
fn an_unknown_zone_is_refused_and_the_nearest_named() {
    for (zone, meant) in [
        ("europe/berlin", "'Europe/Berlin'"),
        ("Europe/Berln", "'Europe/Berlin'"),
        ("Berlin", "'Europe/Berlin'"),
        ("new york", "'America/New_York'"),
        ("America/New York", "'America/New_York'"),
        ("utc", "'UTC'"),
    ] {
        let refusal = Rhythm::cron("@daily", zone).unwrap_err();
        assert!(
            refusal.is(codes::ZONE_UNKNOWN) && refusal.next.contains(meant),
            "{zone}: {refusal}"
        );
    }
    for zone in [
        "",
        "+02:00",
        "EST5EDT,M3.2.0,M11.1.0",
        "/etc/localtime",
        "../etc/passwd",
        "Europe/Berlin\0",
    ] {
        assert!(rhythm::zone_check(zone).unwrap_err().is(codes::ZONE_UNKNOWN), "{zone}");
    }
}

#[test]
fn every_zone_of_the_list_can_be_used() {
    let zones = rhythm::zones();
    assert!(zones.len() > 400 && zones.is_sorted());
    for zone in zones {
        assert!(
            Rhythm::cron("@daily", &zone).unwrap().next(1_800_000_000).is_some(),
            "{zone}"
        );
    }
}

#[test]
fn jitter_stays_below_the_distance_of_slots() {
    let hourly = Rhythm::cron("0 8-18 * * MON-FRI", "Europe/Berlin").unwrap();
    assert_eq!(hourly.gap_min(1_800_000_000), Some(3600));
    for (jitter, is_fine) in [
        (i64::MIN, false),
        (-1, false),
        (0, true),
        (3599, true),
        (3600, false),
        (i64::MAX, false),
    ] {
        let checked = hourly.check_jitter(jitter, 1_800_000_000);
        assert_eq!(checked.is_ok(), is_fine, "{jitter}");
        assert!(
            checked
                .err()
                .is_none_or(|refusal| refusal.is(codes::NUMBER_OUT_OF_RANGE))
        );
    }
    // The day on which New York skips 02:30 has its slot half an hour later on the wall clock, half an hour earlier in time.
    let nightly = Rhythm::cron("30 2 * * *", "America/New_York").unwrap();
    assert_eq!(nightly.gap_min(1_800_000_000), Some(24 * 3600 - 1800));
    let yearly = Rhythm::cron("@yearly", "UTC").unwrap();
    assert!(yearly.check_jitter(JITTER_SECONDS_MAX, 0).is_ok());
    assert!(yearly.check_jitter(JITTER_SECONDS_MAX + 1, 0).is_err());
    assert_eq!(Rhythm::every(90, None).unwrap().gap_min(0), Some(90));
}

#[test]
fn a_rhythm_says_in_words_what_it_does() {
    for (expression, words) in [
        ("30 2 * * *", "at 02:30 (Europe/Berlin)"),
        ("*/15 * * * *", "every 15 minutes (Europe/Berlin)"),
        (
            "0 0 LW * *",
            "at 00:00, on the last working day of the month (Europe/Berlin)",
        ),
        ("0 0 13 * FRI", "at 00:00, on day 13 or Friday (Europe/Berlin)"),
    ] {
        let rhythm = Rhythm::cron(expression, "Europe/Berlin").unwrap();
        assert_eq!(rhythm.describe(), words);
    }
    for (seconds, words) in [
        (10, "every 10 seconds"),
        (60, "every minute"),
        (900, "every 15 minutes"),
        (5400, "every 90 minutes"),
        (86_400, "every day"),
        (1_209_600, "every 2 weeks"),
    ] {
        assert_eq!(Rhythm::every(seconds, None).unwrap().describe(), words);
    }
}

#[test]
fn clocks_are_shown_with_offset_and_zone() {
    let berlin = Rhythm::cron("@daily", "Europe/Berlin").unwrap();
    assert_eq!(berlin.local(1_792_891_800), "2026-10-25T02:30:00+01:00[Europe/Berlin]");
    assert_eq!(berlin.local(1_792_888_200), "2026-10-25T02:30:00+02:00[Europe/Berlin]");
    let interval = Rhythm::every(60, None).unwrap();
    assert_eq!(interval.local(1_792_891_800), "2026-10-25T01:30:00+00:00[UTC]");
}

#[test]
fn no_instant_is_too_far_away_to_ask_about() {
    for rhythm in [
        Rhythm::cron("*/7 * * * *", "Europe/Berlin").unwrap(),
        Rhythm::cron("0 0 29 2 *", "Pacific/Apia").unwrap(),
        Rhythm::every(INTERVAL_SECONDS_MAX, None).unwrap(),
        Rhythm::every(10, Some(1_800_000_000)).unwrap(),
    ] {
        assert_eq!((rhythm.latest(i64::MIN), rhythm.latest(-1)), (None, None));
        assert_eq!((rhythm.next(i64::MAX), rhythm.next(221_845_392_000)), (None, None));
        let (first, last) = (rhythm.next(i64::MIN).unwrap(), rhythm.latest(i64::MAX).unwrap());
        assert_eq!((rhythm.latest(first - 1), rhythm.next(last)), (None, None));
        assert!(rhythm.is_slot(first) && rhythm.is_slot(last) && !rhythm.is_slot(i64::MAX));
        assert!(rhythm.gap_min(i64::MAX - 1).is_none_or(|gap| gap >= 10));
        assert!(!rhythm.local(i64::MIN).is_empty() && !rhythm.local(i64::MAX).is_empty());
    }
}
