//! The rules of Tenure that need no database.
//!
//! Everything here is a function of its arguments: no clock, no randomness, no input or output. Where PostgreSQL must
//! decide the same question, the files in `testdata/` bind both sides. Calendars and time zones come from croner and jiff, with
//! the data of time zones inside the program, unless a caller installs newer data; the clock, the zone and the files of the
//! machine are never asked.
//!
//! | question | module |
//! |---|---|
//! | what may happen to a job? | [`transitions`] |
//! | what may happen to an execution? | [`execution_transitions`] |
//! | when does a failed job come back? | [`backoff`] |
//! | when does a schedule have its slots? | [`rhythm`] |
//! | what is a plan, and what is its hash? | [`plan`] |
//! | how is an execution proved, and how is the proof checked? | [`evidence`] |
//! | which checkpoints outside the database cover it? | [`anchor`] |
//! | what may a payload hold? | [`payload`] |
//! | what is hidden in an error text? | [`masking`] |
//! | which refusals exist? | [`codes`] |
//! | what is the next step called here? | [`hints`] |
//! | what is a valid name, and what did you mean? | [`names`] |
//! | what do priorities mean? | [`priority`] |
//! | how much is too much? | [`limits`] |
//! | how is JSON from outside read? | [`json`] |
//! | what does an API key look like? | [`api_key`] |
//! | which trace does a request belong to? | [`traceparent`] |

pub mod anchor;
pub mod api_key;
pub mod backoff;
pub mod codes;
pub mod evidence;
pub mod execution_transitions;
pub mod hints;
pub mod json;
pub mod limits;
pub mod masking;
pub mod names;
pub mod payload;
pub mod plan;
pub mod priority;
pub mod refusal;
pub mod rhythm;
pub mod traceparent;
pub mod transitions;

pub use codes::Code;
pub use execution_transitions::{ExecutionState, StepState};
pub use plan::Plan;
pub use refusal::Refusal;
pub use rhythm::Rhythm;
pub use transitions::JobState;
