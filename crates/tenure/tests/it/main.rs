//! One integration binary for the crate: linking once is enough.

mod ends;
mod fixture;
mod keys;
mod newer_postgres;
mod pgbouncer;
mod migrate;
mod private_cluster;
mod private_death;
mod private_find;
mod private_fixture;
mod private_refusals;
mod private_testing;
mod transitions;
mod tidy;
