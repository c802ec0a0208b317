//! What a handler brings when its work is done.

use serde::Serialize;
use serde_json::Value;

/// Success: nothing more, a small JSON value, a reference to something larger, or both.
///
/// ```
/// use serde_json::json;
/// use tenure::worker::Done;
///
/// let done = Done::with(json!({"pages": 12}))?.reference("s3://reports/2026-01.pdf");
/// assert_ne!(done, Done::nothing());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Done {
    pub(super) result: Option<Value>,
    pub(super) reference: Option<String>,
}

impl Done {
    /// Nothing to say but that it is done.
    pub fn nothing() -> Done {
        Done::default()
    }

    /// With a small result, kept with the job. At most [`RESULT_BYTES_MAX`](tenure_core::limits::RESULT_BYTES_MAX)
    /// bytes: a larger one makes the run fail for good with the code `result_too_large`.
    pub fn with(result: impl Serialize) -> Result<Done, serde_json::Error> {
        Ok(Done {
            result: Some(serde_json::to_value(result)?),
            reference: None,
        })
    }

    /// With a reference to a result that is stored elsewhere.
    pub fn reference(mut self, reference: impl Into<String>) -> Done {
        self.reference = Some(reference.into());
        self
    }

    /// The small result.
    pub fn result(&self) -> Option<&Value> {
        self.result.as_ref()
    }
}

impl From<()> for Done {
    fn from((): ()) -> Done {
        Done::nothing()
    }
}
