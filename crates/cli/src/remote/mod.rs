//! The commands over HTTP: the same verbs, asked of a server instead of a database.
//!
//! A command is written once. Where it calls a SQL function it also says which [`Request`] does the same, and the session
//! takes the way it was opened for. `reach` says for every command whether that way is open to it.

mod client;
mod evidence;
mod reach;
mod request;
mod trouble;

pub(crate) use self::client::{Remote, Target};
pub(crate) use self::evidence::*;
pub(crate) use self::reach::{Reach, reach_of};
pub(crate) use self::request::Request;
pub(crate) use self::trouble::{not_over_http, without_server};
