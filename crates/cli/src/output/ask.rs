//! A question that is answered with yes or no.

use std::io::{self, Write};

use tenure_core::codes;

use crate::errors::{Failure, Outcome};

/// Asks on the terminal. Anything but a yes ends the command, which says so in these words.
pub(crate) fn ask(question: &str, declined: &str) -> Outcome {
    let mut terminal = io::stderr();
    write!(terminal, "{question} [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        return Ok(());
    }
    writeln!(terminal, "{declined}")?;
    Err(Failure::Told(codes::EXIT_REFUSED))
}
