//! What every job carries: 200 bytes of JSON, read by a typed handler.

use serde::{Deserialize, Serialize};

/// The payload as text.
pub const PAYLOAD: &str = include_str!("../payload.json").trim_ascii();

/// The payload as a typed handler sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Payload {
    /// Where the work lies.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its bytes.
    pub size: u64,
    /// How to do it.
    pub mode: String,
    /// Nested options.
    pub opts: Opts,
    /// Who asked.
    pub corr: String,
    /// Free text.
    pub note: String,
}

/// The nested part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Opts {
    /// A short string.
    pub lang: String,
    /// A short list.
    pub pages: Vec<u32>,
    /// A number.
    pub dpi: u32,
}

impl Payload {
    /// The one that everybody enqueues.
    pub fn sample() -> Payload {
        serde_json::from_str(PAYLOAD).expect("payload.json is this type")
    }
}
