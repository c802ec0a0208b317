//! Keys that sign evidence, and keys that check it.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use zeroize::Zeroizing;

use super::sha256_hex;

/// Bytes of a key, either half.
pub const KEY_BYTES: usize = 32;

/// Hexadecimal digits of a key's id.
const ID_DIGITS: usize = 16;

/// Why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Neither PEM nor Base64 of the right length.
    #[error("It is neither PEM (BEGIN PUBLIC KEY) nor 32 bytes in Base64.")]
    NoPublicKey,
    /// Somebody gave away what is to be kept.
    #[error("It is a secret key, which nobody needs for checking: only who signs should have it.")]
    Secret,
    /// The form is right, the point is not.
    #[error("It has the form of a key, but no Ed25519 key has these bytes.")]
    Weak,
    /// Not a PKCS#8 document of an Ed25519 key.
    #[error("It is no Ed25519 key in PKCS#8 PEM (BEGIN PRIVATE KEY).")]
    NoSecretKey,
}

/// The key that checks signatures. Everybody may have it.
///
/// ```
/// use tenure_core::evidence::PublicKey;
///
/// // The first key of RFC 8032, section 7.1.
/// let key = PublicKey::parse("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=").unwrap();
/// assert_eq!(PublicKey::parse(&key.to_pem()), Ok(key));
/// assert_eq!(key.id().len(), 16);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads PEM (SPKI), or the 32 bytes in Base64.
    pub fn parse(text: &str) -> Result<PublicKey, KeyError> {
        let text = text.trim();
        if text.contains("PRIVATE KEY-----") {
            return Err(KeyError::Secret);
        }
        if text.starts_with("-----BEGIN ") {
            let key = VerifyingKey::from_public_key_pem(text).map_err(|_| KeyError::NoPublicKey)?;
            return PublicKey::from_bytes(key.as_bytes());
        }
        let bytes = BASE64_STANDARD.decode(text).map_err(|_| KeyError::NoPublicKey)?;
        PublicKey::from_bytes(&bytes)
    }

    /// The key of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<PublicKey, KeyError> {
        let bytes: &[u8; KEY_BYTES] = bytes.try_into().map_err(|_| KeyError::NoPublicKey)?;
        match VerifyingKey::from_bytes(bytes) {
            // Under a weak key one signature holds for many texts.
            Ok(key) if !key.is_weak() => Ok(PublicKey(key)),
            _ => Err(KeyError::Weak),
        }
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> [u8; KEY_BYTES] {
        self.0.to_bytes()
    }

    /// Its bytes in Base64, as files of evidence have it.
    pub fn to_base64(&self) -> String {
        BASE64_STANDARD.encode(self.0.as_bytes())
    }

    /// PEM (SPKI), as other programs have it.
    pub fn to_pem(&self) -> String {
        self.0.to_public_key_pem(LineEnding::LF).unwrap_or_default()
    }

    /// How it is called: the first 16 hexadecimal digits of the SHA-256 of its bytes.
    pub fn id(&self) -> String {
        let mut id = sha256_hex(self.0.as_bytes());
        id.truncate(ID_DIGITS);
        id
    }

    /// Whether the signature of this text is by this key.
    pub fn verifies(&self, text: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature).is_ok_and(|signature| self.0.verify_strict(text, &signature).is_ok())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id())
    }
}

/// The key that signs. It is wiped from memory when it is dropped, and never printed.
///
/// ```
/// use tenure_core::evidence::SecretKey;
///
/// let key = SecretKey::from_seed(&[7; 32]);
/// assert_eq!(SecretKey::from_pem(&key.to_pem()).unwrap().public_key(), key.public_key());
/// assert_eq!(format!("{key:?}"), format!("SecretKey({}…)", key.public_key().id()));
/// ```
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// The key of 32 random bytes.
    pub fn from_seed(seed: &[u8; KEY_BYTES]) -> SecretKey {
        SecretKey(SigningKey::from_bytes(seed))
    }

    /// The key of these bytes, which are kept somewhere safe.
    pub fn from_bytes(bytes: &[u8]) -> Result<SecretKey, KeyError> {
        let seed = bytes.try_into().map_err(|_| KeyError::NoSecretKey)?;
        Ok(SecretKey::from_seed(seed))
    }

    /// Reads PKCS#8 PEM, or the 32 bytes in Base64.
    pub fn parse(text: &str) -> Result<SecretKey, KeyError> {
        if text.contains("-----BEGIN ") {
            return SecretKey::from_pem(text);
        }
        let bytes = BASE64_STANDARD.decode(text.trim()).map(Zeroizing::new);
        SecretKey::from_bytes(&bytes.map_err(|_| KeyError::NoSecretKey)?)
    }

    /// Reads PKCS#8 PEM, as `openssl genpkey -algorithm ed25519` writes it.
    pub fn from_pem(text: &str) -> Result<SecretKey, KeyError> {
        let key = SigningKey::from_pkcs8_pem(text.trim()).map_err(|_| KeyError::NoSecretKey)?;
        Ok(SecretKey(key))
    }

    /// The bytes, to be kept somewhere safe.
    pub fn reveal(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.0.as_bytes().to_vec())
    }

    /// PKCS#8 PEM, to be kept somewhere safe.
    pub fn to_pem(&self) -> Zeroizing<String> {
        // Without the public half, which not every program expects there.
        let bytes = KeypairBytes {
            secret_key: self.0.to_bytes(),
            public_key: None,
        };
        bytes.to_pkcs8_pem(LineEnding::LF).unwrap_or_default()
    }

    /// The half that everybody may have.
    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a text.
    pub fn sign(&self, text: &[u8]) -> [u8; Signature::BYTE_SIZE] {
        self.0.sign(text).to_bytes()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({}…)", self.public_key().id())
    }
}
