//! Secrets do not belong in error texts. What looks like one becomes `***`.
//!
//! [`RULES`] is the single source: `tenure.mask_text` in `sql/functions/masking.sql` is written from it, and a test
//! compares the two. So the patterns keep to what Rust and PostgreSQL read alike: greedy repeats, ASCII classes, no
//! word boundaries, and alternatives of which the first that fits is also the longest.
//!
//! A name of a key is masked too eagerly rather than too rarely. Masking twice changes nothing.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::limits::ERROR_MESSAGE_BYTES_MAX;

/// What stands in place of a secret.
pub const MASK: &str = "***";

/// Stands for `***@` while the other rules run, so that they do not take the rest of the address for a value.
/// In the input it is replaced by a space first.
pub const ADDRESS_MARK: char = '\u{1}';

/// One replacement of every match in the text.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// What it hides.
    pub hides: &'static str,
    /// Whether the case of ASCII letters is ignored.
    pub any_case: bool,
    /// The pattern; names in braces stand for the parts of [`PARTS`].
    pub pattern: &'static str,
    /// The replacement; `\1` is the first group.
    pub replacement: &'static str,
}

/// Parts of patterns that have a name. A part may use those after it.
pub const PARTS: &[(&str, &str)] = &[
    // A key whose value is a secret.
    (
        "{key}",
        "pass(?:word|wd|phrase)[A-Za-z0-9_-]*|pwd|secret(?:[_-]?key)?|token|api[_-]?key|access[_-]?key\
         |private[_-]?key|client[_-]?secret|authorization|cookie|x-amz-signature",
    ),
    // From the end of a key to its value: a closing quote or bracket, a colon or equals sign.
    ("{is}", r#"(?:\\*["'\]])*[ \t]*[:=]+>?[ \t]*"#),
    // A part of a header: a bare value, or name="value".
    ("{piece}", r#"(?:(?:{bare})?="[^"\r\n]*"?{rest}|{bare})"#),
    // A bare value. It does not start with the mark of an address, or `https://token:***@host` would lose its host.
    ("{bare}", "{char}{rest}"),
    // What follows of a bare value.
    ("{rest}", r"(?:{char}|\u0001)*"),
    // One character of a bare value, with the backslashes before it.
    ("{char}", r#"(?:\\*[^ \t\r\n"',;&\\\u0001])"#),
];

/// The rules, in the order in which they are applied.
pub const RULES: &[Rule] = &[
    Rule {
        hides: "private keys, also without their end",
        any_case: false,
        pattern: "-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:[^-]|-[^-])*(?:-----END [A-Z0-9 ]*PRIVATE KEY-----)?",
        replacement: MASK,
    },
    Rule {
        hides: "passwords in addresses",
        any_case: false,
        pattern: r#"(://[^ \t\r\n/:@"']*:)[^ \t\r\n/"']+@"#,
        replacement: "\\1\u{1}",
    },
    Rule {
        hides: "JSON web tokens",
        any_case: false,
        pattern: r"eyJ[A-Za-z0-9_-]+\.\.?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*",
        replacement: MASK,
    },
    Rule {
        hides: "keys of well-known services",
        any_case: false,
        pattern: "(^|[^A-Za-z0-9_])(?:A[KS]IA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{16}|github_pat_[A-Za-z0-9_]{16}\
                  |sk-[A-Za-z0-9_-]{16}|xox[abprs]-[A-Za-z0-9-]{10})[A-Za-z0-9_-]*",
        replacement: r"\1***",
    },
    Rule {
        hides: "authorization and cookie headers",
        any_case: true,
        pattern: r"((?:authorization|cookie){is})(?:[A-Za-z][A-Za-z0-9-]*[ \t]+)?{piece}(?:[,;][ \t]*{piece})*",
        replacement: r"\1***",
    },
    Rule {
        hides: "values of secret keys: quoted, escaped, in brackets, wrapped as in Some(\"…\"), or bare",
        any_case: true,
        pattern: concat!(
            r#"((?:{key}){is})(?:(")(?:[^"\\]|\\(?:.|\n))*"#,
            r#"|(')(?:[^'\\]|\\(?:.|\n)|'')*"#,
            r#"|(\\+["'])(?:[^"'\\]|\\+[^"'\\])*"#,
            r#"|(?:\{[^}]*\}?|\[[^\]]*\]?){rest}"#,
            r#"|(?:[A-Za-z]{1,2}|[A-Za-z]*\([A-Za-z( ]*)["'][^"']*["']?{rest}"#,
            r#"|(?:(?:bearer|basic|digest|token)[ \t]+)?{bare})"#,
        ),
        replacement: r"\1\2\3\4***",
    },
    Rule {
        hides: "bearer tokens",
        any_case: true,
        pattern: r"(bearer[ \t]+){bare}",
        replacement: r"\1***",
    },
    Rule {
        hides: "basic credentials; plain words after \"basic\" stay",
        any_case: false,
        pattern: r"((?:[Bb]asic|BASIC)[ \t]+)[A-Za-z0-9+/]*[A-Z0-9=]{rest}",
        replacement: r"\1***",
    },
];

impl Rule {
    /// The pattern with its parts filled in, as PostgreSQL reads it.
    pub fn filled(&self) -> String {
        PARTS
            .iter()
            .fold(self.pattern.to_owned(), |text, (name, part)| text.replace(name, part))
    }

    fn compiled(&self) -> (Regex, String) {
        let filled = self.filled();
        // ASCII only: Unicode case folding would let `ſ` pass for `s`, which PostgreSQL does not do.
        let pattern = if self.any_case { any_ascii_case(&filled) } else { filled };
        let replacement = (1..=4).fold(self.replacement.to_owned(), |text, group| {
            text.replace(&format!("\\{group}"), &format!("${{{group}}}"))
        });
        (
            Regex::new(&pattern).expect("every rule is compiled by a test"),
            replacement,
        )
    }
}

/// Spells out both cases of every letter outside brackets and escapes.
fn any_ascii_case(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len() * 2);
    let (mut escaped, mut bracket) = (false, false);
    for c in pattern.chars() {
        let literal = !escaped && !bracket && c.is_ascii_alphabetic();
        match c {
            '[' if !escaped && !bracket => bracket = true,
            ']' if !escaped && bracket => bracket = false,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        if literal {
            text.extend(['[', c.to_ascii_lowercase(), c.to_ascii_uppercase(), ']']);
        } else {
            text.push(c);
        }
    }
    text
}

/// Hides what looks like a secret. The same as `tenure.mask_text`.
///
/// ```
/// use tenure_core::masking::mask;
///
/// assert_eq!(mask("login failed: password=hunter2 user=bob"), "login failed: password=*** user=bob");
/// assert_eq!(mask("postgres://bob:hunter2@db/app"), "postgres://bob:***@db/app");
/// ```
pub fn mask(text: &str) -> String {
    static COMPILED: LazyLock<Vec<(Regex, String)>> = LazyLock::new(|| RULES.iter().map(Rule::compiled).collect());
    let start = text.replace(ADDRESS_MARK, " ");
    let masked = COMPILED.iter().fold(start, |text, (pattern, replacement)| {
        match pattern.replace_all(&text, replacement.as_str()) {
            Cow::Borrowed(_) => text,
            Cow::Owned(changed) => changed,
        }
    });
    masked.replace(ADDRESS_MARK, "***@")
}

/// At most `bytes_max` bytes, cut between characters; a cut text ends in `…`, where there is room for it.
///
/// ```
/// use tenure_core::masking::cut;
///
/// assert_eq!(cut("short", 10), "short");
/// assert_eq!(cut("a longer text", 11), "a longer…");
/// ```
pub fn cut(text: &str, bytes_max: usize) -> Cow<'_, str> {
    const ELLIPSIS: &str = "…";
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    match bytes_max.checked_sub(ELLIPSIS.len()) {
        Some(room) => Cow::Owned(format!("{}{ELLIPSIS}", &text[..boundary(text, room)])),
        None => Cow::Borrowed(&text[..boundary(text, bytes_max)]),
    }
}

/// The last character boundary at or before `index`.
fn boundary(text: &str, index: usize) -> usize {
    (0..=index)
        .rev()
        .find(|&index| text.is_char_boundary(index))
        .unwrap_or(0)
}

/// An error text as it may be stored: without NUL, masked, then cut to [`ERROR_MESSAGE_BYTES_MAX`].
/// In this order, so that no cut leaves half a secret that no rule knows any more.
///
/// ```
/// assert_eq!(tenure_core::masking::error_message("token: abc\0"), "token: ***");
/// ```
pub fn error_message(text: &str) -> String {
    cut(&mask(&text.replace('\0', "")), ERROR_MESSAGE_BYTES_MAX).into_owned()
}
