//! The `tenure` command, run as its users run it: another process, a real database.

#![allow(clippy::unwrap_used, missing_docs)]

mod api;
mod api_keys;
mod api_verbs;
mod api_walls;
mod bad_input;
mod bench;
mod configs;
mod dead_letters;
mod dev;
mod doctor;
mod events;
mod executors;
mod first_key;
mod gates;
mod job_ends;
mod job_operations;
mod job_reads;
mod jobs;
mod kinds;
mod migrate;
mod private;
mod readme;
mod reap;
mod remote_contexts;
mod remote_network;
mod remote_scene;
mod remote_tenants;
mod remote_verbs;
mod tenants;
mod usage;
mod workbench;
