//! The `tenure` command, run as its users run it: another process, a real database.

#![allow(clippy::unwrap_used, missing_docs)]

mod api;
mod api_keys;
mod api_verbs;
mod bad_input;
mod bench;
mod configs;
mod dead_letters;
mod dev;
mod doctor;
mod draining;
mod encrypted;
mod events;
mod executors;
mod gates;
mod job_ends;
mod job_operations;
mod job_reads;
mod jobs;
mod kinds;
mod live;
mod migrate;
mod odd_requests;
mod private;
mod readme;
mod reap;
mod served;
mod server_log;
mod server_settings;
mod slow_clients;
mod tenants;
mod usage;
mod webhooks;
mod workbench;
