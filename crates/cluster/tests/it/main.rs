//! The private cluster: it starts, refuses, is found and dies as it promises.

mod private_cluster;
mod private_death;
mod private_find;
mod private_fixture;
mod private_refusals;
mod private_testing;
