//! Names that people give: not blank, not endless, printable. And the name they probably meant.

use crate::codes;
use crate::refusal::Refusal;

/// Characters that print as nothing though Unicode does not call them spaces.
const INVISIBLE: [char; 7] = [
    '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{00ad}', '\u{180e}',
];

/// Whether a character has no shape of its own (`Default_Ignorable_Code_Point` of Unicode), changes the direction of the
/// text around it, separates lines, or marks annotations. Two names that differ by one of these look alike.
fn is_deceptive(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a reader would see nothing: empty, or only spaces of any kind, tabs, newlines and invisible characters.
///
/// ```
/// use tenure_core::names::is_blank;
///
/// assert!(is_blank(" \t\n\u{a0}\u{200b}"));
/// assert!(!is_blank(" a "));
/// ```
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || INVISIBLE.contains(&c))
}

/// Checks a name that will be stored. `field` says which one, as the caller knows it.
///
/// Refuses a NUL (`text_invalid`), a blank name (`name_blank`), control characters, more than `chars_max` characters, and
/// zero-width and bidirectional characters (`name_invalid`), in this order.
///
/// ```
/// use tenure_core::{codes, limits::NAME_CHARS_MAX, names};
///
/// assert!(names::check("kind", "mail.send", NAME_CHARS_MAX).is_ok());
/// assert!(names::check("kind", "\t", NAME_CHARS_MAX).unwrap_err().is(codes::NAME_BLANK));
/// ```
pub fn check(field: &str, text: &str, chars_max: usize) -> Result<(), Refusal> {
    check_text(field, text, chars_max)?;
    if let Some(c) = text.chars().find(|c| is_deceptive(*c)) {
        return Err(Refusal::new(
            codes::NAME_INVALID,
            format!("The {field} holds the character {}.", c.escape_unicode()),
            "Zero-width characters and those that change the direction of text make names that look alike.",
            "Remove it.",
        ));
    }
    Ok(())
}

/// Checks a text that is read and never compared: as a name, but any printable character may stand in it.
pub fn check_text(field: &str, text: &str, chars_max: usize) -> Result<(), Refusal> {
    if text.contains('\0') {
        return Err(Refusal::new(
            codes::TEXT_INVALID,
            format!("The {field} holds a NUL character."),
            "PostgreSQL cannot store it.",
            "Remove the NUL character.",
        ));
    }
    if is_blank(text) {
        return Err(Refusal::new(
            codes::NAME_BLANK,
            format!("The {field} is blank."),
            "Spaces, tabs and newlines alone are no name.",
            format!("Give a {field} that can be read."),
        ));
    }
    if let Some(c) = text.chars().find(|c| c.is_control()) {
        return Err(Refusal::new(
            codes::NAME_INVALID,
            format!("The {field} holds the control character {}.", c.escape_unicode()),
            "Names are shown in tables, logs and commands.",
            "Use printable characters only.",
        ));
    }
    let chars = text.chars().count();
    if chars > chars_max {
        return Err(Refusal::new(
            codes::NAME_INVALID,
            format!("The {field} has {chars} characters."),
            format!("At most {chars_max} are allowed."),
            "Shorten it.",
        ));
    }
    Ok(())
}

/// The candidate that is most probably meant, for "did you mean"; none when nothing is near.
///
/// Near is an edit distance (swapped neighbours count as one) of at most a third of the longer word, case ignored.
/// The first of equally near candidates wins.
///
/// ```
/// use tenure_core::names::nearest;
///
/// assert_eq!(nearest("qeued", ["queued", "leased"]), Some("queued"));
/// assert_eq!(nearest("banana", ["queued", "leased"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = folded(word);
    let near = candidates.into_iter().filter_map(|candidate| {
        let other = folded(candidate);
        let distance = distance(&word, &other);
        (distance * 3 <= word.len().max(other.len())).then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Lower case, and cut to the length of a name: the distance costs the product of both lengths.
fn folded(word: &str) -> Vec<char> {
    word.chars()
        .flat_map(char::to_lowercase)
        .take(crate::limits::NAME_CHARS_MAX)
        .collect()
}

/// Optimal string alignment: insert, delete, replace, or swap two neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}
