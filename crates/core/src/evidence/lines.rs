//! The lines of a file, as bytes: one that is no UTF-8 still has its number.

use serde::de::DeserializeOwned;

use super::finding::{Fault, Finding};
use super::sha256_hex;
use crate::json;

/// A line, without its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) bytes: &'a [u8],
    /// Whether `\n` ends it.
    pub(super) is_whole: bool,
}

pub(super) fn split(file: &[u8]) -> Vec<Line<'_>> {
    let pieces = file.split_inclusive(|byte| *byte == b'\n');
    pieces
        .zip(1..)
        .map(|(piece, number)| Line {
            number,
            bytes: piece.strip_suffix(b"\n").unwrap_or(piece),
            is_whole: piece.ends_with(b"\n"),
        })
        .collect()
}

impl Line<'_> {
    /// SHA-256, in 64 hexadecimal digits.
    pub(super) fn digest(&self) -> String {
        sha256_hex(self.bytes)
    }

    /// What it holds, if it holds that.
    pub(super) fn parse<T: DeserializeOwned>(&self, expected: &str) -> Result<T, Finding> {
        json::parse_bytes(self.bytes).map_err(|error| self.malformed(&error, expected))
    }

    pub(super) fn malformed(&self, error: &serde_json::Error, expected: &str) -> Finding {
        let why = error.to_string();
        // The line that serde counts is always the first: it sees no other.
        let why = why.split(" at line ").next().unwrap_or_default();
        let what = match error.column() {
            0 => format!("Cannot be read: {why}."),
            column => format!("Cannot be read: {why}, at column {column}."),
        };
        Finding::new(self.number, Fault::Malformed, what, expected)
    }
}
