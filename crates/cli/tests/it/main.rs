//! The `tenure` command, run as its users run it: another process, a real database.

#![allow(clippy::unwrap_used, missing_docs)]

mod agent_queue;
mod api;
mod api_keys;
mod api_reads;
mod api_tenants;
mod api_verbs;
mod bad_input;
mod bench;
mod configs;
mod dead_letters;
mod dev;
mod docs_page;
mod doctor;
mod events;
mod executors;
mod gates;
mod job_ends;
mod job_operations;
mod job_reads;
mod jobs;
mod kinds;
mod migrate;
mod neighbour;
mod private;
mod python;
mod readme;
mod reap;
mod server_death;
mod tenants;
mod usage;
mod workbench;
