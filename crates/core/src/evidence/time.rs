//! Times in a file: the same moment may be written with another offset.

use jiff::Timestamp;

/// The moment that a text names.
pub(super) fn moment(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// The later of two times, as it was written. One that cannot be read is no time.
pub(super) fn later(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one.as_deref().and_then(moment), other.as_deref().and_then(moment)) {
        (Some(a), Some(b)) if b > a => other,
        (None, Some(_)) => other,
        _ => one,
    }
}

/// Whether two texts name the same moment.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one == other || moment(one).is_some_and(|one| moment(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_same_under_every_offset() {
        assert!(is_same("2026-01-31T09:00:00.5Z", "2026-01-31T10:00:00.500000+01:00"));
        assert!(!is_same("2026-01-31T09:00:00Z", "2026-01-31T09:00:00+01:00"));
        assert!(!is_same("yesterday", "Yesterday"));
    }

    #[test]
    fn the_later_of_two_times_is_kept_as_it_was_written() {
        let text = |text: &str| Some(text.to_owned());
        let (early, late) = ("2026-01-31T09:30:00Z", "2026-01-31T11:00:00+01:00");
        assert_eq!(later(text(early), text(late)), text(late));
        assert_eq!(later(text(late), text(early)), text(late));
        assert_eq!(later(None, text(early)), text(early));
        assert_eq!(later(text(early), None), text(early));
    }
}
