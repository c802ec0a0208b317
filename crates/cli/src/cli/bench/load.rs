//! The jobs of a benchmark: a kind of their own, a payload as real ones have it, a key on each.

use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::jobs::{self, NewJob};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::errors::Outcome;
use crate::output::{Bar, Output, json_of};
use crate::values::Number;

/// What no real job is called.
pub(super) const KIND: &str = "bench.noop";
/// Jobs in one call where the size of the call is not what is measured.
const BATCH: usize = 1000;
/// As compact JSON: a payload without its note is that long.
const PAYLOAD_BYTES_MIN: u32 = 160;
const PAYLOAD_BYTES_MAX: u32 = 8000;
const NOTE: &str = "a payload of about two hundred bytes, as a signal with references has it. ";

/// How the jobs look.
#[derive(Debug, Args)]
pub(super) struct Load {
    /// A key on every job
    #[arg(long, overrides_with = "no_keys")]
    keys: bool,
    /// No keys
    #[arg(long, overrides_with = "keys")]
    no_keys: bool,
    /// The size of every payload, as compact JSON
    #[arg(long, value_name = "N", default_value = "200", allow_negative_numbers = true)]
    payload_bytes: Number,
}

/// What the handler reads: references and a few words, no data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Payload {
    #[serde(rename = "ref")]
    reference: String,
    size: u32,
    mode: String,
    opts: Options,
    corr: String,
    note: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Options {
    lang: String,
    pages: Vec<u32>,
    dpi: u32,
}

impl Payload {
    fn new(bytes: usize) -> Outcome<Payload> {
        let mut payload = Payload {
            reference: reference(1),
            size: 48_211,
            mode: "fast".to_owned(),
            opts: Options {
                lang: "en".to_owned(),
                pages: vec![1, 2, 3],
                dpi: 300,
            },
            corr: correlation(0),
            note: String::new(),
        };
        let bare = json_of(&payload)?.to_string().len();
        payload.note = NOTE.chars().cycle().take(bytes.saturating_sub(bare)).collect();
        Ok(payload)
    }

    /// The mark its batch was given.
    pub(super) fn mark(&self) -> u32 {
        let digits = self.corr.strip_prefix("req-").unwrap_or_default();
        u32::from_str_radix(digits, 16).unwrap_or_default()
    }
}

fn reference(number: u64) -> String {
    format!("s3://bucket/in/2026/11/15/object-{number:06}.bin")
}

fn correlation(mark: u32) -> String {
    format!("req-{mark:06x}")
}

/// Makes jobs, no two alike.
pub(super) struct Producer {
    /// Random, so that no key of an earlier run is met again.
    run: String,
    /// Whether every job has a key.
    pub(super) keys: bool,
    /// The size of every payload.
    pub(super) payload_bytes: u32,
    payload: Payload,
    made: AtomicU64,
}

impl Load {
    /// With or without keys, unless the command line says so.
    pub(super) fn producer(&self, keys: bool) -> Outcome<Producer> {
        let payload_bytes = self
            .payload_bytes
            .within("payload_bytes", PAYLOAD_BYTES_MIN..=PAYLOAD_BYTES_MAX)?;
        Producer::new(self.keys || (keys && !self.no_keys), payload_bytes)
    }
}

impl Producer {
    /// With or without keys, and with payloads of this size.
    pub(super) fn new(keys: bool, payload_bytes: u32) -> Outcome<Producer> {
        Ok(Producer {
            run: Uuid::new_v4().simple().to_string()[..8].to_owned(),
            keys,
            payload_bytes,
            payload: Payload::new(payload_bytes as usize)?,
            made: AtomicU64::new(0),
        })
    }

    /// The next jobs, all with this mark.
    pub(super) fn batch(&self, jobs: usize, mark: u32) -> Outcome<Vec<NewJob>> {
        let first = self.made.fetch_add(jobs as u64, Ordering::Relaxed) + 1;
        let mut payload = self.payload.clone();
        payload.corr = correlation(mark);
        (first..first + jobs as u64)
            .map(|number| {
                payload.reference = reference(number);
                let payload: Value = json_of(&payload)?;
                let job = NewJob::new(KIND).payload(payload);
                Ok(match self.keys {
                    true => job.key(format!("bench-{}-{number:08}", self.run)),
                    false => job,
                })
            })
            .collect()
    }

    /// Puts so many into the queue, as work to be measured later.
    pub(super) async fn fill(&self, client: &Client, jobs: u32, out: Output) -> Outcome {
        let bar = Bar::new(out, "enqueue", jobs.into());
        let mut left = jobs as usize;
        while left > 0 {
            let size = left.min(BATCH);
            jobs::enqueue_many(client, &self.batch(size, 0)?, None).await?;
            left -= size;
            bar.at(u64::from(jobs) - left as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_the_size_that_was_asked_for_and_carries_its_mark() {
        for bytes in [PAYLOAD_BYTES_MIN, 200, PAYLOAD_BYTES_MAX] {
            let mut payload = Payload::new(bytes as usize).expect("a payload");
            payload.corr = correlation(0xbeef);
            let text = json_of(&payload).expect("JSON").to_string();
            assert_eq!(text.len(), bytes as usize, "{text}");
            let read: Payload = serde_json::from_str(&text).expect("a payload");
            assert_eq!(read.mark(), 0xbeef);
        }
    }
}
