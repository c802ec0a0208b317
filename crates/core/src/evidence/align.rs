//! Which lines were changed, lost, added or moved, by the digests that were signed and those that are there.

use std::collections::BTreeMap;
use std::collections::VecDeque;

/// A difference. Places are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Another line stands where this one was.
    Tampered { signed: usize, found: usize },
    /// What was signed is gone.
    Missing { signed: usize },
    /// What was not signed is there, or is there once more.
    Added { found: usize },
    /// What was signed stands elsewhere.
    Moved { signed: usize, found: usize },
}

/// Compares in about as many steps as there are lines, however they were shuffled.
pub(super) fn compare(signed: &[String], found: &[String]) -> Vec<Change> {
    let pairs = pair(signed, found);
    let kept = longest_rising(&pairs);
    let mut is_lost = vec![true; signed.len()];
    for place in pairs.iter().flatten() {
        is_lost[*place] = false;
    }
    let mut changes: Vec<Change> = pairs
        .iter()
        .enumerate()
        .filter(|(at, _)| kept.binary_search(at).is_err())
        .filter_map(|(found, place)| place.map(|signed| Change::Moved { signed, found }))
        .collect();
    // Between two lines that stayed, what was lost and what is new are taken for each other.
    let (mut signed_from, mut found_from) = (0, 0);
    let ends = kept.iter().map(|at| (pairs[*at].unwrap_or_default(), *at));
    for (signed_to, found_to) in ends.chain([(signed.len(), found.len())]) {
        let mut lost = (signed_from..signed_to).filter(|place| is_lost[*place]);
        let mut new = (found_from..found_to).filter(|at| pairs[*at].is_none());
        loop {
            match (lost.next(), new.next()) {
                (Some(signed), Some(found)) => changes.push(Change::Tampered { signed, found }),
                (Some(signed), None) => changes.push(Change::Missing { signed }),
                (None, Some(found)) => changes.push(Change::Added { found }),
                (None, None) => break,
            }
        }
        (signed_from, found_from) = (signed_to + 1, found_to + 1);
    }
    changes
}

/// Where each line that is there was signed. Of equal lines the first belongs to the first.
fn pair(signed: &[String], found: &[String]) -> Vec<Option<usize>> {
    let mut places = BTreeMap::<&str, VecDeque<usize>>::new();
    for (place, digest) in signed.iter().enumerate() {
        places.entry(digest).or_default().push_back(place);
    }
    let mut take = |digest: &String| places.get_mut(digest.as_str())?.pop_front();
    found.iter().map(&mut take).collect()
}

/// The most lines that still stand in the order in which they were signed: these have not moved.
fn longest_rising(pairs: &[Option<usize>]) -> Vec<usize> {
    // For each length the line that ends such a row lowest, and for each line the one before it in its row.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; pairs.len()];
    for (at, place) in pairs.iter().enumerate().filter(|(_, place)| place.is_some()) {
        let length = ends.partition_point(|end| pairs[*end] < *place);
        before[at] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut row: Vec<usize> = std::iter::successors(ends.last().copied(), |at| before[*at]).collect();
    row.reverse();
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(signed: &str, found: &str) -> Vec<Change> {
        let lines = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        compare(&lines(signed), &lines(found))
    }

    #[test]
    fn each_change_is_named_for_what_it_is() {
        use Change::{Added, Missing, Moved, Tampered};
        assert_eq!(changes("abc", "abc"), []);
        assert_eq!(changes("", ""), []);
        assert_eq!(changes("abc", "axc"), [Tampered { signed: 1, found: 1 }]);
        assert_eq!(changes("abc", "ac"), [Missing { signed: 1 }]);
        assert_eq!(changes("abc", "ab"), [Missing { signed: 2 }]);
        assert_eq!(changes("abc", "axbc"), [Added { found: 1 }]);
        assert_eq!(changes("abc", "abbc"), [Added { found: 2 }]);
        assert_eq!(changes("abc", "acb"), [Moved { signed: 2, found: 1 }]);
        assert_eq!(changes("abcd", "bcda"), [Moved { signed: 0, found: 3 }]);
        assert_eq!(
            changes("abcdef", "axdeyf"),
            [
                Tampered { signed: 1, found: 1 },
                Missing { signed: 2 },
                Added { found: 4 }
            ]
        );
        assert_eq!(changes("ab", ""), [Missing { signed: 0 }, Missing { signed: 1 }]);
    }

    #[test]
    fn equal_lines_are_counted() {
        assert_eq!(changes("aab", "ab"), [Change::Missing { signed: 1 }]);
        assert_eq!(changes("aab", "aaab"), [Change::Added { found: 2 }]);
    }
}
