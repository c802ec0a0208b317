//! `tenure bench soak`: the same steady work twice, the second time while an old snapshot keeps everything dead.

use clap::Args;

use super::ground::Ground;
use super::report::{Report, decimal, ratio};
use super::steady::Terms;
use crate::connect::Place;
use crate::errors::Outcome;

#[derive(Debug, Args)]
pub(super) struct Soak {
    #[command(flatten)]
    terms: Terms,
}

impl Soak {
    /// Refuses what cannot be done, before anything is started for it.
    pub(super) fn check(&self) -> Outcome {
        self.terms.check()
    }

    pub(super) async fn run(&self, place: &Place, ground: &Ground) -> Outcome<Report> {
        ground.out.note("First without an old snapshot:");
        let url = ground.fresh_url(place, "soak_free").await?;
        let free = self.terms.run_on(ground, &url, false).await?;
        ground.out.note("Then with one:");
        let url = ground.fresh_url(place, "soak_held").await?;
        let mut held = self.terms.run_on(ground, &url, true).await?;

        let of = |report: &Report, pointer: &str| {
            let document = serde_json::Value::Object(report.document().clone());
            document
                .pointer(pointer)
                .and_then(serde_json::Value::as_f64)
                .unwrap_or_default()
        };
        let rate = ratio(of(&held, "/jobs_per_second"), of(&free, "/jobs_per_second"));
        let p99 = (of(&free, "/latency/p99_ms"), of(&held, "/latency/p99_ms"));
        held.put("phase", &"soak")?;
        held.put("free", free.document())?;
        held.put("held_to_free", &rate)?;
        held.facts.add(
            "without the snapshot",
            format!("{} jobs/s, p99 {} ms", decimal(of(&free, "/jobs_per_second"), 0), p99.0),
        );
        if let Some(rate) = rate {
            held.facts.add("rate with it to without", decimal(rate, 3));
        }
        Ok(held)
    }
}
