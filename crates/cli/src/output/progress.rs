//! What is going on while something takes its time: a spinner on a terminal, plain lines elsewhere.

use std::fmt;
use std::future::Future;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::{Format, Output};

const TICK: Duration = Duration::from_millis(100);

/// Runs one step and tells how long it took, on standard error.
pub(crate) async fn step<T, E>(out: Output, doing: &str, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    if out.format != Format::People {
        return work.await;
    }
    let began = Instant::now();
    let spinner = io::stderr().is_terminal().then(|| spinner(doing));
    if spinner.is_none() {
        say(&format!("… {doing}"));
    }
    let result = work.await;
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    if result.is_ok() {
        say(&format!("✓ {doing} ({:.1} s)", began.elapsed().as_secs_f64()));
    }
    result
}

/// How far something is that has an end: a bar on a terminal, nothing elsewhere.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// For so many of something.
    pub(crate) fn new(out: Output, doing: &str, total: u64) -> Bar {
        Bar::with(
            out,
            doing,
            total,
            "{msg} {wide_bar:.cyan/dim} {human_pos}/{human_len}  {rate}  {eta}",
        )
    }

    /// For so many seconds.
    pub(crate) fn of_seconds(out: Output, doing: &str, total: u64) -> Bar {
        Bar::with(out, doing, total, "{msg} {wide_bar:.cyan/dim} {pos}/{len} s")
    }

    fn with(out: Output, doing: &str, total: u64, template: &str) -> Bar {
        if out.format != Format::People || !io::stderr().is_terminal() {
            let bar = ProgressBar::hidden();
            return Bar { bar };
        }
        let style = ProgressStyle::with_template(template)
            .expect("a valid template")
            .with_key("rate", |state: &ProgressState, text: &mut dyn fmt::Write| {
                // A bar that cannot be drawn is no failure.
                let _ = write!(text, "{:.0}/s", state.per_sec());
            });
        let bar = ProgressBar::new(total).with_style(style).with_message(doing.to_owned());
        bar.enable_steady_tick(TICK);
        Bar { bar }
    }

    /// So many are done.
    pub(crate) fn at(&self, position: u64) {
        self.bar.set_position(position);
    }
}

impl Drop for Bar {
    /// What counts is the answer below it.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn spinner(doing: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner:.cyan} {msg} {elapsed}").expect("a valid template");
    let spinner = ProgressBar::new_spinner()
        .with_style(style)
        .with_message(doing.to_owned());
    spinner.enable_steady_tick(TICK);
    spinner
}

/// Progress that nobody can read is no failure.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
