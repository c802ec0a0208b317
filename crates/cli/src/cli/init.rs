//! `tenure init`: from an empty database to one that works.

use clap::Args;
use serde_json::json;

use super::{gate, migrate};
use crate::connect::Place;
use crate::errors::Outcome;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Init {}

impl Init {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        let url = place.url().await?;
        let report = migrate::apply(&url, out, &Default::default()).await?;
        let mut session = place.session(out).await?;
        let gates = gate::open_all(&mut session).await?;
        let sentence = format!(
            "{}\nThe gates are open: {}.\nNext: tenure job enqueue KIND, or tenure doctor.",
            migrate::sentence(&report),
            gates.join(", ")
        );
        out.done(&sentence, &json!({"migrated": report, "gates_open": gates}), &[])
    }
}
