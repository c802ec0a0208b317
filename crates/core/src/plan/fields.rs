//! Objects of a plan, read strictly: every field known, every value of its type, every refusal with its place.

use super::node::Node;
use super::path::Path;
use super::refusals::{missing, out_of_range, too_large, unknown_field, unknown_word, wrong_type};
use super::words::Word;
use crate::names;
use crate::refusal::Refusal;

/// An object that has no field but the known ones.
pub(super) struct Fields<'a> {
    path: &'a Path<'a>,
    entries: &'a [(String, Node)],
}

impl<'a> Fields<'a> {
    pub(super) fn read(node: &'a Node, path: &'a Path<'a>, known: &[&str]) -> Result<Fields<'a>, Refusal> {
        let Node::Object(entries) = node else {
            return Err(wrong_type(path, node.kind(), "an object"));
        };
        match entries.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(unknown_field(&path.field(name), name, known)),
            None => Ok(Fields { path, entries }),
        }
    }

    pub(super) fn optional(&self, name: &'a str) -> Option<Field<'a>> {
        let (_, node) = self.entries.iter().find(|(found, _)| found == name)?;
        let path = self.path.field(name);
        Some(Field { node, path, name })
    }

    pub(super) fn required(&self, name: &'a str) -> Result<Field<'a>, Refusal> {
        self.optional(name).ok_or_else(|| missing(&self.path.field(name)))
    }
}

/// One value, with its place and the name of the field it belongs to.
pub(super) struct Field<'a> {
    pub(super) node: &'a Node,
    pub(super) path: Path<'a>,
    name: &'a str,
}

impl<'a> Field<'a> {
    pub(super) fn text(&self) -> Result<&'a str, Refusal> {
        match self.node {
            Node::Text(text) => Ok(text),
            other => Err(wrong_type(&self.path, other.kind(), "a text")),
        }
    }

    /// A text of one line that is not blank.
    pub(super) fn name(&self, chars_max: usize) -> Result<String, Refusal> {
        let text = self.text()?;
        self.checked(text, names::check(self.name, text, chars_max))
    }

    /// A text of several lines that is not blank.
    pub(super) fn lines(&self, chars_max: usize) -> Result<String, Refusal> {
        let text = self.text()?;
        let line = text.replace(['\n', '\t'], " ");
        self.checked(text, names::check_text(self.name, &line, chars_max))
    }

    fn checked(&self, text: &str, checked: Result<(), Refusal>) -> Result<String, Refusal> {
        checked.map_err(|mut refusal| {
            refusal.what = refusal
                .what
                .replacen(&format!("The {}", self.name), &self.path.to_string(), 1);
            refusal
        })?;
        Ok(text.to_owned())
    }

    pub(super) fn word<W: Word>(&self) -> Result<W, Refusal> {
        let text = self.text()?;
        W::CHOICES
            .iter()
            .copied()
            .find(|choice| choice.word() == text)
            .ok_or_else(|| {
                let known: Vec<&str> = W::CHOICES.iter().map(|choice| choice.word()).collect();
                unknown_word(&self.path, text, &known)
            })
    }

    pub(super) fn integer(&self, min: i64, max: i64) -> Result<i64, Refusal> {
        match self.node {
            Node::Number(number) => {
                let value = self
                    .node
                    .integer()
                    .ok_or_else(|| wrong_type(&self.path, &number.to_string(), "a whole number"))?;
                match (min..=max).contains(&value) {
                    true => Ok(value),
                    false => Err(out_of_range(&self.path, value, min, max)),
                }
            }
            other => Err(wrong_type(&self.path, other.kind(), "a whole number")),
        }
    }

    /// The items of a list that is not too long.
    pub(super) fn items(&'a self, max: usize, unit: &str) -> Result<impl Iterator<Item = Field<'a>>, Refusal> {
        let Node::List(items) = self.node else {
            return Err(wrong_type(&self.path, self.node.kind(), "a list"));
        };
        if items.len() > max {
            let what = format!("{} has {} {unit}.", self.path, items.len());
            return Err(too_large(what, max, unit));
        }
        Ok(items.iter().enumerate().map(|(index, node)| Field {
            node,
            path: self.path.item(index),
            name: self.name,
        }))
    }
}
