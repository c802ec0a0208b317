//! What is wrong with checkpoints, or with an execution against them.

use std::fmt;

use serde::Serialize;

/// What kind of wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It cannot be read.
    Malformed,
    /// It is of a version that this program does not know.
    VersionUnknown,
    /// The file ends in the middle of a line.
    Truncated,
    /// The checkpoint is signed with a key that was not given.
    OtherKey,
    /// The signature does not belong to this checkpoint.
    SignatureWrong,
    /// The leaves do not lead to the root.
    RootWrong,
    /// The checkpoint does not follow the one before.
    ChainBroken,
    /// The checkpoint is of another installation than the one before.
    OtherInstallation,
    /// A checkpoint covers another history of this execution.
    AnchorDiffers,
    /// A checkpoint covers events that the file of evidence does not have.
    EventsMissing,
    /// The file of evidence says that it is older than a checkpoint that covers more events.
    OlderExport,
    /// The proof does not lead to its checkpoint, or is of another execution.
    ProofWrong,
    /// The checkpoint of the proof is not in the file.
    CheckpointMissing,
    /// No checkpoint covers this execution.
    NotAnchored,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The number of the checkpoint that it is about, if any.
    pub checkpoint: Option<u64>,
    /// The line of the file of checkpoints, counted from 1; 0 if it is about none.
    pub line: usize,
    /// What kind of wrong.
    pub fault: Fault,
    /// What is wrong.
    pub what: String,
    /// What should be there instead.
    pub expected: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {} of the checkpoints: ", self.line)?;
        }
        write!(f, "{} Expected: {}.", self.what, self.expected)
    }
}
