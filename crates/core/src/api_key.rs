//! API keys: what they look like, and what may be kept of them.

use std::fmt;

use sha2::{Digest, Sha256};

/// How every key begins, so that people and scanners recognise one.
pub const START: &str = "tnr_";
/// Random bytes that a key takes.
pub const RANDOM_BYTES: usize = 40;

const PREFIX_BYTES: usize = 8;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A key: `tnr_`, a prefix by which it is recognised, and the secret. It is shown once; what is kept is the prefix and
/// a digest of the secret.
///
/// ```
/// use tenure_core::api_key::{ApiKey, RANDOM_BYTES};
///
/// let key = ApiKey::new([7; RANDOM_BYTES]);
/// let read = ApiKey::parse(&key.reveal()).expect("it is a key");
/// assert_eq!((read.prefix(), read.digest()), (key.prefix(), key.digest()));
/// assert_eq!(format!("{key:?}"), format!("ApiKey({}…)", key.prefix()));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    prefix: String,
    secret: String,
}

impl ApiKey {
    /// A key of these random bytes.
    pub fn new(random: [u8; RANDOM_BYTES]) -> ApiKey {
        let (prefix, secret) = random.split_at(PREFIX_BYTES);
        ApiKey {
            prefix: letters(prefix),
            secret: letters(secret),
        }
    }

    /// Reads a key; none if it does not look like one.
    pub fn parse(text: &str) -> Option<ApiKey> {
        let (prefix, secret) = text.strip_prefix(START)?.split_once('_')?;
        let (long, short) = (letters_of(RANDOM_BYTES - PREFIX_BYTES), letters_of(PREFIX_BYTES));
        let fits = |part: &str, length| part.len() == length && part.bytes().all(|byte| ALPHABET.contains(&byte));
        (fits(prefix, short) && fits(secret, long)).then(|| ApiKey {
            prefix: prefix.to_owned(),
            secret: secret.to_owned(),
        })
    }

    /// By what it is recognised.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The SHA-256 of the secret.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.secret.as_bytes()).into()
    }

    /// The whole key. For the eyes of its owner, once.
    pub fn reveal(&self) -> String {
        format!("{START}{}_{}", self.prefix, self.secret)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({}…)", self.prefix)
    }
}

/// How many letters so many bytes take.
const fn letters_of(bytes: usize) -> usize {
    (bytes * 8).div_ceil(5)
}

/// Five bits a letter, in the order of the bytes.
fn letters(bytes: &[u8]) -> String {
    let bit = |at: usize| {
        bytes
            .get(at / 8)
            .map_or(0, |byte| usize::from(byte >> (7 - at % 8) & 1))
    };
    (0..letters_of(bytes.len()))
        .map(|letter| char::from(ALPHABET[(0..5).fold(0, |value, n| value << 1 | bit(letter * 5 + n))]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_key_is_not_read_as_one() {
        let key = ApiKey::new([1; RANDOM_BYTES]).reveal();
        for wrong in [
            "",
            "tnr_",
            "tnr__",
            &key[1..],
            &key[..key.len() - 1],
            &format!("{key}a"),
            &key.to_uppercase(),
        ] {
            assert_eq!(ApiKey::parse(wrong), None, "{wrong}");
        }
        assert!(ApiKey::parse(&key).is_some());
    }

    #[test]
    fn every_random_byte_counts() {
        let one = ApiKey::new([0; RANDOM_BYTES]);
        for at in 0..RANDOM_BYTES {
            let mut random = [0; RANDOM_BYTES];
            random[at] = 1;
            assert_ne!(ApiKey::new(random), one);
        }
    }
}
