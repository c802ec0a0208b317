//! One integration binary for the crate: linking once is enough.

mod catalogue;
mod config;
mod ends;
mod executors;
mod fixture;
mod keys;
mod leases;
mod migrate;
mod newer_postgres;
mod pgbouncer;
mod private_cluster;
mod private_death;
mod private_find;
mod private_fixture;
mod private_refusals;
mod private_testing;
mod roles;
mod sql_readme;
mod tenants;
mod tidy;
mod transitions;
mod walls;
