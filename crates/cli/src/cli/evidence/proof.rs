//! `tenure evidence proof`: the proof that a checkpoint covers an execution.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use tenure_api::anchors::AnchorProof;
use uuid::Uuid;

use super::export::{unwritable, write};
use crate::connect::Session;
use crate::errors::Outcome;
use crate::values::Number;

#[derive(Debug, Args)]
pub(crate) struct Proof {
    /// The execution
    execution: Uuid,
    /// By this checkpoint [default: the newest that covers it]
    #[arg(long, value_name = "NUMBER")]
    checkpoint: Option<Number>,
    /// Write it into this new file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Proof {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let number = Number::read_option(self.checkpoint.as_ref(), "checkpoint")?;
        let asked = AnchorProof {
            execution_id: self.execution,
            number: number.map(i64::from),
        };
        let (proof, whole) = session.perform(&asked).await?;
        let text = format!("{whole}\n");
        let Some(path) = &self.out else {
            return session.out.text(&text);
        };
        write(path, &text).map_err(|error| unwritable("proof", path, &error))?;
        let number = proof.checkpoint.number;
        let sentence = format!(
            "The proof that checkpoint {number} covers {} events of {} is in {}.",
            proof.chain_length,
            self.execution,
            path.display()
        );
        let answer = json!({"execution_id": self.execution, "checkpoint": number, "file": path});
        session.out.done(&sentence, &answer, &["file"])
    }
}
