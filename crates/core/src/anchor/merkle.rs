//! A Merkle tree as RFC 6962 has it, over SHA-256: the hash of a leaf begins with a zero byte, that of a node with a one.
//!
//! SQL has the same (`tenure.merkle_root`, `tenure.merkle_path`); `crates/core/testdata/anchors/` binds both.

use sha2::{Digest, Sha256};

/// A SHA-256.
pub type Hash = [u8; 32];

/// The hash of a leaf with these bytes.
pub fn leaf_hash(leaf: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(leaf).finalize().into()
}

fn node_hash(left: &Hash, right: &Hash) -> Hash {
    let node = Sha256::new().chain_update([1]).chain_update(left).chain_update(right);
    node.finalize().into()
}

/// The level above: neighbours in pairs, and the last of an odd number as it is.
fn level_above(level: &[Hash]) -> Vec<Hash> {
    let pair = |pair: &[Hash]| match pair {
        [left, right] => node_hash(left, right),
        [last] => *last,
        _ => unreachable!("chunks of two have one or two"),
    };
    level.chunks(2).map(pair).collect()
}

/// The root over these hashes of leaves.
///
/// ```
/// use tenure_core::anchor::{leaf_hash, merkle_path, merkle_root, root_of_path};
///
/// let leaves = [leaf_hash(b"a"), leaf_hash(b"b"), leaf_hash(b"c")];
/// let path = merkle_path(&leaves, 2);
/// assert_eq!(root_of_path(leaves[2], 2, 3, &path), Some(merkle_root(&leaves)));
/// ```
pub fn merkle_root(leaves: &[Hash]) -> Hash {
    if leaves.is_empty() {
        return Sha256::digest([]).into();
    }
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        level = level_above(&level);
    }
    level[0]
}

/// The hashes that lead from the leaf at this place to the root, from below.
pub fn merkle_path(leaves: &[Hash], place: usize) -> Vec<Hash> {
    let (mut level, mut place, mut path) = (leaves.to_vec(), place, Vec::new());
    while level.len() > 1 {
        path.extend(level.get(place ^ 1));
        level = level_above(&level);
        place /= 2;
    }
    path
}

/// The root that a path leads to from the leaf at this place of so many leaves; none if the path has another length.
pub fn root_of_path(leaf: Hash, place: u64, leaf_count: u64, path: &[Hash]) -> Option<Hash> {
    if place >= leaf_count {
        return None;
    }
    let (mut hash, mut place, mut count) = (leaf, place, leaf_count);
    let mut path = path.iter();
    while count > 1 {
        if place % 2 == 1 {
            hash = node_hash(path.next()?, &hash);
        } else if place + 1 < count {
            hash = node_hash(&hash, path.next()?);
        }
        place /= 2;
        count = count.div_ceil(2);
    }
    path.next().is_none().then_some(hash)
}
