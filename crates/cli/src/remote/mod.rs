//! The commands over HTTP: the same verbs, asked of a server instead of a database.
//!
//! A command is written once. Where it calls a SQL function it also says which [`Request`] does the same, and the session
//! takes the way it was opened for. `reach` says for every command whether that way is open to it.

mod anchors;
mod approvals;
mod client;
mod dead_letters;
mod events;
mod evidence;
mod executions;
mod governance;
mod jobs;
mod kinds;
mod locks;
mod principals;
mod reach;
mod request;
mod schedules;
mod services;
mod settings;
mod subscriptions;
mod trouble;
mod work;

pub(crate) use self::anchors::*;
pub(crate) use self::approvals::*;
pub(crate) use self::client::{Remote, Target};
pub(crate) use self::dead_letters::*;
pub(crate) use self::events::*;
pub(crate) use self::evidence::*;
pub(crate) use self::executions::*;
pub(crate) use self::governance::*;
pub(crate) use self::jobs::*;
pub(crate) use self::kinds::*;
pub(crate) use self::locks::*;
pub(crate) use self::principals::*;
pub(crate) use self::reach::{Reach, reach_of};
pub(crate) use self::request::Request;
pub(crate) use self::schedules::*;
pub(crate) use self::services::*;
pub(crate) use self::settings::*;
pub(crate) use self::subscriptions::*;
pub(crate) use self::trouble::{not_over_http, without_server};
pub(crate) use self::work::*;
