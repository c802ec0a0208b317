//! The server of Tenure: every operation of [`tenure_api`] over HTTP, webhooks, metrics, and the pages about them. `tenure serve` and
//! `tenure dev` start it.

mod ending;
mod http;
mod pages;
pub mod webhooks;

pub use ending::closed;
pub use http::{Certificates, HEALTH_CONNECTIONS, Limits, Manners, Pools, Server, description, metrics, serve};
pub use pages::{PLAN_SCHEMA, error_page};
