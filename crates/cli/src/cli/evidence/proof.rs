//! `tenure evidence proof`: the proof that a checkpoint covers an execution.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use tenure::store::anchors;
use tenure_core::anchor;
use uuid::Uuid;

use super::export::{unwritable, write};
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::json_of;
use crate::remote;
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
        let number = self
            .checkpoint
            .as_ref()
            .map(|number| number.read("checkpoint"))
            .transpose()?;
        let number = number.map(i64::from);
        let request = remote::anchor_proof(self.execution, number);
        let proof: anchor::Proof = session
            .call(request, async |tx| {
                anchors::anchor_proof(tx, self.execution, number).await
            })
            .await?;
        let text = format!("{}\n", json_of(&proof)?);
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
