//! The command line of every runner: `runner PHASE --url URL --jobs N …`.

use anyhow::{Context, Result, bail};

/// What a runner was asked to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// `enqueue`, `one_by_one`, `drain`, `latency` or `sustained`.
    pub phase: String,
    /// The database, fresh for this system and round.
    pub url: String,
    /// How many jobs.
    pub jobs: usize,
    /// How many jobs a bulk call enqueues.
    pub batch: usize,
    /// How long a sustained run takes.
    pub seconds: u64,
    /// Into how many parts its rate is divided.
    pub segments: u64,
    /// How many jobs wait at any moment of it.
    pub backlog: usize,
    /// Words of the peer's own, from `peer.json`.
    pub own: Vec<String>,
}

impl Options {
    /// Reads the command line.
    pub fn from_arguments(arguments: impl Iterator<Item = String>) -> Result<Options> {
        let mut arguments = arguments.skip(1);
        let mut options = Options {
            phase: arguments.next().context("the first argument is a phase")?,
            url: String::new(),
            jobs: 0,
            batch: 1000,
            seconds: 60,
            segments: 6,
            backlog: 2000,
            own: Vec::new(),
        };
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{name} needs a value"));
            match name.as_str() {
                "--url" => options.url = value()?,
                "--jobs" => options.jobs = value()?.parse()?,
                "--batch" => options.batch = value()?.parse()?,
                "--seconds" => options.seconds = value()?.parse()?,
                "--segments" => options.segments = value()?.parse()?,
                "--backlog" => options.backlog = value()?.parse()?,
                own => options.own.push(own.to_owned()),
            }
        }
        if options.url.is_empty() {
            bail!("--url is missing");
        }
        Ok(options)
    }
}
