//! What people write on a command line, read into what the functions take.
//!
//! A value that is understood but not allowed is left to the database, which refuses it with its own words. Refused here
//! is only what cannot be sent at all.

mod document;
mod duration;
mod json;
mod number;
mod time;

pub(crate) use document::{document, document_bytes};
pub(crate) use duration::{Seconds, short};
pub(crate) use json::{json_object, json_value};
pub(crate) use number::Number;
pub(crate) use time::Moment;
