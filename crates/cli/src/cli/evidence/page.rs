//! The report as one page: no script, nothing that is fetched, readable on paper.

use std::fmt::Write;

use super::report::{Fact, Item, Report};

const STYLE: &str = include_str!("page.css");
/// Characters of a value that fit into one of two columns.
const LINE_CHARS: usize = 38;

/// The whole page.
pub(super) fn write(report: &Report) -> String {
    let mut page = String::new();
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Evidence: {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        escaped(&report.purpose)
    );
    let class = if report.is_checked { "checked" } else { "unchecked" };
    let _ = write!(
        page,
        "<header>\n<p class=\"over\">Evidence of one execution</p>\n<h1>{} {}</h1>\n<p class=\"id\">{}</p>\n\
         <p class=\"verdict {class}\">{}</p>\n<p class=\"summary\">{}</p>\n</header>\n",
        escaped(&report.purpose),
        badge(&report.state),
        escaped(&report.execution_id),
        escaped(&report.check),
        escaped(&report.summary)
    );
    for part in &report.parts {
        let _ = writeln!(page, "<section>\n<h2>{}</h2>", escaped(part.title));
        for item in &part.items {
            write_item(item, 3, &mut page);
        }
        page.push_str("</section>\n");
    }
    timeline(report, &mut page);
    let _ = write!(
        page,
        "<footer>Exported {}. The evidence is the signed file; this page only shows it.</footer>\n</main>\n</body>\n</html>\n",
        escaped(&report.exported_at)
    );
    page
}

fn write_item(item: &Item, level: usize, page: &mut String) {
    let state = item.state.as_deref().map(badge).unwrap_or_default();
    let _ = writeln!(page, "<article>\n<h{level}>{} {state}</h{level}>", escaped(&item.title));
    if !item.facts.is_empty() {
        page.push_str("<dl>\n");
        for Fact { label, value, is_code } in &item.facts {
            let shown = match is_code {
                true => format!("<code>{}</code>", escaped(value)),
                false => escaped(value),
            };
            // Ids, JSON and sentences have a line of their own, the rest stands in two columns.
            let class = if *is_code || value.chars().count() > LINE_CHARS {
                " class=\"whole\""
            } else {
                ""
            };
            let _ = writeln!(page, "<div{class}><dt>{}</dt><dd>{shown}</dd></div>", escaped(label));
        }
        page.push_str("</dl>\n");
    }
    for item in &item.items {
        write_item(item, (level + 1).min(6), page);
    }
    page.push_str("</article>\n");
}

fn timeline(report: &Report, page: &mut String) {
    page.push_str("<section>\n<h2>What happened, in order</h2>\n<div class=\"wide\"><table>\n");
    page.push_str("<thead><tr><th>#</th><th>When</th><th>Step</th><th>What</th><th>Who</th></tr></thead>\n<tbody>\n");
    for it in &report.timeline {
        let _ = writeln!(
            page,
            "<tr><td class=\"n\">{}</td><td class=\"when\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            it.seq,
            escaped(&it.at),
            escaped(&it.step),
            escaped(&it.what),
            escaped(&it.actor)
        );
    }
    page.push_str("</tbody>\n</table></div>\n</section>\n");
}

/// A state, coloured by whether it is good, bad or open.
fn badge(state: &str) -> String {
    let class = match state {
        "succeeded" | "approved" => "good",
        "failed" | "rejected" | "partially_failed" | "failed_permanently" | "expired" | "timed_out" | "unknown" => {
            "bad"
        }
        _ => "plain",
    };
    format!(
        "<span class=\"badge {class}\">{}</span>",
        escaped(&state.replace('_', " "))
    )
}

/// Text that stands for itself in HTML. Characters that steer a terminal or turn the direction of text are spelled out.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in crate::output::printable(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}
