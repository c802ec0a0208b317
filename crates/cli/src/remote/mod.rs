//! The commands over HTTP: the same verbs, asked of a server instead of a database.
//!
//! A command is written once, as an operation of `tenure-api`; the session takes the way it was opened for. The client itself is
//! `tenure-client`. `reach` says for every command whether the way over HTTP is open to it.

mod client;
mod reach;
mod trouble;

pub(crate) use self::client::{Remote, Target};
pub(crate) use self::reach::{Reach, reach_of};
pub(crate) use self::trouble::{not_over_http, without_server};
