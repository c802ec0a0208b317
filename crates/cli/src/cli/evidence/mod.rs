//! `tenure evidence`: what proves an execution. Checking it asks nobody, neither a database nor a server.

mod anchor;
mod anchored;
mod export;
mod file;
mod key;
mod page;
mod proof;
mod report;
mod show;
mod verify;
mod words;

use clap::Subcommand;

use crate::connect::Place;
use crate::errors::Outcome;
use crate::output::Output;

pub(super) use export::Export;
pub(crate) use key::ensure_evidence_key;

const EXAMPLE: &str = "\
Example:
  tenure execution export EXECUTION --out release.evidence
  tenure evidence verify release.evidence --public-key evidence.pub";

#[derive(Debug, Subcommand)]
pub(crate) enum Evidence {
    /// Say whether a file is what was signed and its story holds together, or which line is wrong
    #[command(after_help = EXAMPLE)]
    Verify(verify::Verify),
    /// Tell what a file proves: who asked, who allowed it under which rule, what was done, what came of it
    Show(show::Show),
    /// Checkpoints that cover executions, to be kept outside the database
    #[command(subcommand)]
    Anchor(anchor::Anchor),
    /// Write the proof that a checkpoint covers an execution
    Proof(proof::Proof),
    /// Keys that sign evidence
    #[command(subcommand)]
    Key(key::Key),
}

impl Evidence {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        match self {
            Evidence::Verify(verify) => verify.run(out),
            Evidence::Show(show) => show.run(out),
            Evidence::Anchor(anchor) => anchor.run(place.session(out).await?).await,
            Evidence::Proof(proof) => proof.run(place.session(out).await?).await,
            Evidence::Key(key) => key.run(place.session(out).await?).await,
        }
    }
}
