//! Where in a plan: `steps[3].needs[0]`.

use std::fmt;

/// Characters that a text of the plan is shown with at the most.
const SHOWN_CHARS_MAX: usize = 64;

/// A place in the document. It lives on the stack of whoever walks down, and is written out only for a refusal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path<'a> {
    /// The plan itself.
    Root,
    /// A field of an object.
    Field(&'a Path<'a>, &'a str),
    /// An item of a list.
    Item(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(super) fn field(&'a self, name: &'a str) -> Path<'a> {
        Path::Field(self, name)
    }

    pub(super) fn item(&'a self, index: usize) -> Path<'a> {
        Path::Item(self, index)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => f.write_str("The plan"),
            Path::Field(Path::Root, name) if is_plain(name) => f.write_str(name),
            Path::Field(Path::Root, name) => write!(f, "[{}]", quoted(name)),
            Path::Field(parent, name) if is_plain(name) => write!(f, "{parent}.{name}"),
            Path::Field(parent, name) => write!(f, "{parent}[{}]", quoted(name)),
            Path::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

fn is_plain(name: &str) -> bool {
    name.len() <= SHOWN_CHARS_MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A text of the plan as a refusal shows it: in quotes, nothing that a terminal would obey, and not endless.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
        None => format!("{text:?}"),
    }
}
