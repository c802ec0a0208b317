//! A checkpoint: a signed statement of what the chains of executions had come to.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::merkle::{Hash, leaf_hash, merkle_root};
use crate::evidence::PublicKey;

/// The form of checkpoints and proofs that this program writes, and the only one it reads.
pub const VERSION: u64 = 1;
/// `previous` of the first checkpoint.
pub const NO_PREVIOUS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What the chain of one execution had come to: a leaf of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "HeadRow", into = "HeadRow")]
pub struct Head {
    /// The tenant's name.
    pub tenant: String,
    /// The execution.
    pub execution_id: String,
    /// How many events its chain had.
    pub chain_length: u64,
    /// The hash of the last of them, in hexadecimal digits.
    pub chain_hash: String,
}

/// As it is written: a list, since a checkpoint has up to a thousand of them.
type HeadRow = (String, String, u64, String);

impl From<HeadRow> for Head {
    fn from((tenant, execution_id, chain_length, chain_hash): HeadRow) -> Head {
        Head {
            tenant,
            execution_id,
            chain_length,
            chain_hash,
        }
    }
}

impl From<Head> for HeadRow {
    fn from(head: Head) -> HeadRow {
        (head.tenant, head.execution_id, head.chain_length, head.chain_hash)
    }
}

impl Head {
    /// The hash of the leaf.
    pub fn leaf_hash(&self) -> Hash {
        let Head {
            tenant,
            execution_id,
            chain_length,
            chain_hash,
        } = self;
        let leaf = format!("tenure/head/v1\n{tenant}\n{execution_id}\n{chain_length}\n{chain_hash}");
        leaf_hash(leaf.as_bytes())
    }
}

/// A checkpoint as it is published, its fields in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// `checkpoint`.
    pub kind: String,
    /// The form: 1.
    pub version: u64,
    /// Its number, from 1 on without a gap.
    pub number: u64,
    /// When it was made, by the database's clock.
    pub at: String,
    /// Which installation made it.
    pub installation: String,
    /// The hash of the checkpoint before it.
    pub previous: String,
    /// How many leaves its tree has.
    pub leaf_count: u64,
    /// The root of the tree.
    pub root: String,
    /// The key that signed it.
    pub key_id: String,
    /// The public half of that key, in Base64.
    pub public_key: String,
    /// The signature of [`Checkpoint::signed_text`], in Base64.
    pub signature: String,
    /// The leaves in their order; in an event of one tenant only its own, and none where retention has removed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<Vec<Head>>,
}

impl Checkpoint {
    /// The text that is signed.
    pub fn signed_text(&self) -> String {
        let Checkpoint {
            number,
            at,
            installation,
            previous,
            leaf_count,
            root,
            key_id,
            ..
        } = self;
        format!("tenure/checkpoint/v1\n{number}\n{at}\n{installation}\n{previous}\n{leaf_count}\n{root}\n{key_id}")
    }

    /// Its hash, which the next checkpoint names, in hexadecimal digits.
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(self.signed_text()))
    }

    /// Whether it is signed with this key.
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        let signature = BASE64_STANDARD.decode(&self.signature).unwrap_or_default();
        self.key_id == key.id() && key.verifies(self.signed_text().as_bytes(), &signature)
    }

    /// Whether it names all its leaves.
    pub fn has_all_heads(&self) -> bool {
        self.heads
            .as_ref()
            .is_some_and(|heads| heads.len() as u64 == self.leaf_count)
    }

    /// How many leaves it names.
    pub(super) fn named(&self) -> u64 {
        self.heads.iter().flatten().count() as u64
    }

    /// Takes over the leaves that another copy of it names.
    pub(super) fn merge(&mut self, copy: Checkpoint) {
        if self.has_all_heads() || copy.heads.is_none() {
            return;
        }
        if copy.has_all_heads() {
            self.heads = copy.heads;
            return;
        }
        let mut heads = self.heads.take().unwrap_or_default();
        heads.extend(copy.heads.into_iter().flatten());
        // The order of the tree: servers sort leaves by execution.
        heads.sort_by(|a, b| {
            (&a.execution_id, a.chain_length, &a.chain_hash, &a.tenant).cmp(&(
                &b.execution_id,
                b.chain_length,
                &b.chain_hash,
                &b.tenant,
            ))
        });
        heads.dedup();
        self.heads = Some(heads);
    }

    /// The root over the leaves that it names.
    pub(super) fn root_of_heads(&self) -> String {
        let heads = self.heads.iter().flatten();
        hex(&merkle_root(&heads.map(Head::leaf_hash).collect::<Vec<_>>()))
    }

    /// The line of a file of checkpoints, without its end. One checkpoint has one line, to the byte.
    pub fn line(&self) -> String {
        // Text, numbers and lists of these: nothing that cannot be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The proof that a checkpoint covers what the chain of an execution had come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proof {
    /// `proof`.
    pub kind: String,
    /// The form: 1.
    pub version: u64,
    /// The tenant's name.
    pub tenant: String,
    /// The execution.
    pub execution_id: String,
    /// How many events its chain had.
    pub chain_length: u64,
    /// The hash of the last of them.
    pub chain_hash: String,
    /// The place of the leaf, counted from 0.
    pub place: u64,
    /// The hashes from the leaf to the root, from below.
    pub path: Vec<String>,
    /// The checkpoint that covers it.
    pub checkpoint: Checkpoint,
}

impl Proof {
    /// What it proves.
    pub fn head(&self) -> Head {
        Head {
            tenant: self.tenant.clone(),
            execution_id: self.execution_id.clone(),
            chain_length: self.chain_length,
            chain_hash: self.chain_hash.clone(),
        }
    }

    /// The root that it leads to in a tree of so many leaves; none if it leads nowhere.
    pub(super) fn root(&self, leaf_count: u64) -> Option<String> {
        let path: Option<Vec<Hash>> = self.path.iter().map(|text| unhex(text)).collect();
        super::merkle::root_of_path(self.head().leaf_hash(), self.place, leaf_count, &path?).map(|root| hex(&root))
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Hash> {
    let digits = text.as_bytes();
    let mut hash = [0; 32];
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}
