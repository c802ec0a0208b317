//! Tables without borders: they survive being copied, cut and grepped.

use std::io::IsTerminal;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use serde_json::Value;

use super::cell::shown;

/// On a narrower terminal, or one that does not know its width, rows are not broken: each column would be a trickle.
const TERMINAL_CHARS_MIN: u16 = 60;
/// A column of free text is at least this wide on a terminal.
const FREE_TEXT_CHARS_MIN: u16 = 16;

/// A column: its title, and the field it shows.
#[derive(Debug)]
pub(crate) struct Column(pub(crate) &'static str, pub(crate) &'static str);

/// A table of rows.
pub(crate) fn rows(columns: &[Column], rows: &[Value]) -> String {
    let mut table = plain();
    table.set_header(columns.iter().map(|column| column.0));
    for row in rows {
        table.add_row(columns.iter().map(|column| {
            let value = row.get(column.1).unwrap_or(&Value::Null);
            shown(column.1, value)
        }));
    }
    for (index, column) in columns.iter().enumerate() {
        keep_whole(&mut table, index, column.1);
    }
    trimmed(&table)
}

/// One thing: a field per line, first those named, then the others; what has no value is left out.
pub(super) fn fields(value: &Value, first: &[&str]) -> String {
    let Some(object) = value.as_object() else {
        return shown("", value);
    };
    let mut table = plain();
    let others = object.keys().map(String::as_str).filter(|key| !first.contains(key));
    for key in first.iter().copied().chain(others) {
        match object.get(key) {
            None | Some(Value::Null) => {}
            Some(field) => {
                table.add_row([key.to_owned(), shown(key, field)]);
            }
        }
    }
    if let Some(column) = table.column_mut(0) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    trimmed(&table)
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let is_terminal = std::io::stdout().is_terminal();
    table.set_content_arrangement(arrangement(is_terminal.then(|| table.width()).flatten()));
    table
}

/// A pipe has no width: what is cut there is lost.
fn arrangement(terminal_width: Option<u16>) -> ContentArrangement {
    match terminal_width {
        Some(TERMINAL_CHARS_MIN..) => ContentArrangement::Dynamic,
        _ => ContentArrangement::Disabled,
    }
}

/// A word broken over two lines can be neither read nor copied: only free text is, and never to a trickle.
fn keep_whole(table: &mut Table, index: usize, field: &str) {
    const FREE_TEXT: &[&str] = &[
        "comment",
        "data",
        "description",
        "detail",
        "error",
        "finding",
        "meaning",
        "message",
        "next",
        "note",
        "payload",
        "purpose",
        "reason",
        "summary",
    ];
    let last = field.rsplit('_').next().unwrap_or(field);
    let constraint = if FREE_TEXT.contains(&last) {
        ColumnConstraint::LowerBoundary(Width::Fixed(FREE_TEXT_CHARS_MIN))
    } else {
        ColumnConstraint::ContentWidth
    };
    if let Some(column) = table.column_mut(index) {
        column.set_constraint(constraint);
    }
}

fn trimmed(table: &Table) -> String {
    // Every cell has a space on both sides; the outer ones are only noise.
    let lines = table
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_can_be_cut_and_grepped() {
        let columns = [Column("KIND", "kind"), Column("STATE", "state")];
        let text = rows(
            &columns,
            &[json!({"kind": "mail", "state": "queued"}), json!({"kind": "a"})],
        );
        assert_eq!(text, "KIND  STATE\nmail  queued\na");
    }

    #[test]
    fn only_a_wide_terminal_breaks_lines() {
        let breaks = |width| matches!(arrangement(width), ContentArrangement::Dynamic);
        assert!(breaks(Some(60)) && breaks(Some(200)));
        assert!(!breaks(Some(59)) && !breaks(Some(0)) && !breaks(None));
    }

    #[test]
    fn a_thing_shows_what_it_has() {
        let text = fields(&json!({"b": null, "a": 1, "state": "queued"}), &["state"]);
        assert_eq!(text, "state  queued\na      1");
    }
}
