//! `tenure completions`: what a shell needs to finish words.

use clap::Args;
use clap_complete::Shell;

use super::generic;
use crate::errors::Outcome;
use crate::output::Output;

/// Print the completions of a shell, for example: source <(tenure completions bash)
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self, out: Output) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut generic::command_line(), "tenure", &mut script);
        out.text(&String::from_utf8_lossy(&script))
    }
}
