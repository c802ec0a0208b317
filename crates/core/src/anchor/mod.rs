//! Anchors: what the chains of all executions had come to, in signed checkpoints that are kept outside the database.
//!
//! A checkpoint is the root of a Merkle tree over chain heads, with a number, the hash of the checkpoint before it and a
//! signature. Who changes an execution that a checkpoint outside covers cannot make the two agree again, whatever they may
//! write into the database.
//!
//! [`check`] checks a file of checkpoints, [`Chain::covered`] finds an execution in them.

mod chain;
mod checkpoint;
mod finding;
mod merkle;
mod read;

pub use chain::{Chain, Covered, History};
pub use checkpoint::{Checkpoint, Head, NO_PREVIOUS, Proof, VERSION};
pub use finding::{Fault, Finding};
pub use merkle::{Hash, leaf_hash, merkle_path, merkle_root, root_of_path};
pub use read::{check, read_proof};

/// Bytes of a file of checkpoints at the most.
pub const BYTES_MAX: usize = 1024 * 1024 * 1024;
/// Bytes of a proof at the most: it has as many hashes as the tree has levels.
pub const PROOF_BYTES_MAX: usize = 64 * 1024;
