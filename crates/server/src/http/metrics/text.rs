//! The text format of Prometheus, for numbers that are told and not counted.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::families::help;

/// A number as the database tells it: name, labels, value.
type Series = (String, BTreeMap<String, String>, f64);

/// An answer under construction. The series of one name stand together.
#[derive(Default)]
pub(super) struct Text {
    families: BTreeMap<String, String>,
}

impl Text {
    /// A number without labels.
    pub(super) fn gauge(&mut self, name: &str, value: f64) {
        self.line(name, "", value);
    }

    /// Numbers that differ in one label.
    pub(super) fn labelled(&mut self, name: &str, values: &[(&str, f64)], label: &str) {
        for (at, value) in values {
            self.line(name, &format!("{{{label}=\"{}\"}}", escaped(at)), *value);
        }
    }

    /// Numbers of the database.
    pub(super) fn series<'a>(&mut self, series: impl Iterator<Item = &'a Series>) {
        for (name, labels, value) in series {
            let labels: Vec<String> = labels
                .iter()
                .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
                .collect();
            let labels = match labels.is_empty() {
                true => String::new(),
                false => format!("{{{}}}", labels.join(",")),
            };
            self.line(name, &labels, *value);
        }
    }

    fn line(&mut self, name: &str, labels: &str, value: f64) {
        let family = self.families.entry(name.to_owned()).or_default();
        writeln!(family, "{name}{labels} {value}").expect("writing to a string does not fail");
    }

    pub(super) fn finish(self) -> String {
        let mut text = String::new();
        for (name, lines) in self.families {
            let help = help(&name);
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{lines}")
                .expect("writing to a string does not fail");
        }
        text
    }
}

/// A label's value as the format wants it.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_break_out_of_its_quotes() {
        let mut text = Text::default();
        text.labelled("tenure_partitions", &[("a\"} 1\nb\\", 2.0)], "table");
        let text = text.finish();
        assert!(
            text.contains("tenure_partitions{table=\"a\\\"} 1\\nb\\\\\"} 2\n"),
            "{text}"
        );
        assert_eq!(text.matches("# TYPE tenure_partitions gauge").count(), 1);
    }
}
