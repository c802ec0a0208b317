//! `tenure execution export`: the signed evidence of one execution.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use tenure::store::evidence;
use tenure_core::codes;
use tenure_core::evidence::sign;
use uuid::Uuid;

use crate::connect::Session;
use crate::errors::{Failure, Outcome, refuse};
use crate::evidence_key;

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The execution, over or under way
    execution: Uuid,
    /// Write it into this new file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Export {
    pub(crate) async fn run(self, mut session: Session) -> Outcome {
        let file = match session.remote() {
            Some(remote) => remote.execution_evidence(self.execution).await?,
            None => signed(&mut session, self.execution).await?,
        };
        let Some(path) = &self.out else {
            return session.out.text(&file);
        };
        write(path, &file).map_err(|error| unwritable("evidence", path, &error))?;
        let lines = file.lines().count();
        let sentence = format!(
            "The evidence of {} is in {}: {lines} lines.",
            self.execution,
            path.display()
        );
        let answer = json!({"execution_id": self.execution, "file": path, "lines": lines});
        session.out.done(&sentence, &answer, &["file"])
    }
}

/// Signed now, or when it was archived.
async fn signed(session: &mut Session, execution_id: Uuid) -> Outcome<String> {
    let lines = session.sql(async |tx| evidence::execution_evidence(tx, execution_id).await);
    match lines.await {
        Ok(lines) => {
            let source = evidence_key::source_of_environment()?;
            let key = session.transaction(async |tx| source.known_key(tx).await).await?;
            Ok(sign(&lines, &key))
        }
        Err(Failure::Refused(refusal)) if refusal.is(codes::EXECUTION_UNKNOWN) => {
            let archived = session.sql(async |tx| evidence::execution_archive_show(tx, execution_id).await);
            archived.await
        }
        Err(failure) => Err(failure),
    }
}

/// Evidence is not written over: the file may be the last copy of another.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

pub(super) fn unwritable(noun: &str, path: &Path, error: &io::Error) -> Failure {
    refuse(
        codes::USAGE,
        format!("The {noun} cannot be written to {}.", path.display()),
        error.to_string(),
        "Name a new file in a directory that you can write to.",
    )
}
