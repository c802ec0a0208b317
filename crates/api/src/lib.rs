//! One struct per operation: its fields, their documentation, bounds and defaults, its SQL function, its route and its answer.
//!
//! Everything that speaks for Tenure is generic over these structs: the SQL call, the HTTP route, the OpenAPI document, the
//! client and the command line. This crate does no input or output; its manifest proves it.
//!
//! | question | module |
//! |---|---|
//! | what is an operation? | [`Operation`] |
//! | which operations exist? | [`registry`] |
//! | which fields does an operation have? | [`fields`] |
//! | how does an operation travel over HTTP? | [`request`] |
//! | how does it look in OpenAPI? | [`openapi`] |
//! | which words may a field hold? | [`words!`](crate::words) |
//! | how does a list go on? | [`Page`] |
//! | what if a change waits for a second admin? | [`governed::Governed`] |

pub mod actions;
pub mod anchors;
pub mod approval_rules;
pub mod approvals;
pub mod dead_letters;
pub mod deliveries;
pub mod events;
pub mod evidence;
pub mod executions;
pub mod executors;
pub mod fields;
pub mod governance_changes;
pub mod governed;
pub mod health;
pub mod jobs;
pub mod keys;
pub mod kinds;
pub mod locks;
pub mod logins;
pub mod openapi;
mod operation;
pub mod page;
pub mod principals;
mod problem;
pub mod registry;
pub mod request;
pub mod schedules;
pub mod services;
pub mod settings;
pub mod subscriptions;
pub mod target_types;
pub mod tenants;
pub mod timeout_policies;
mod timestamp;
mod values;
mod words;
pub mod work;

pub use operation::{Effect, Operation, Route, Shape};
pub use page::Page;
pub use problem::Problem;
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use values::{Json, Priority, PriorityName};

/// For the macros of this crate.
#[doc(hidden)]
pub use schemars as __schemars;
