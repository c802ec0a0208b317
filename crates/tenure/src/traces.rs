//! Traces: a job carries the one it was enqueued in, and each of its runs is a span of it.
//!
//! With the feature `opentelemetry` every enqueue of this crate says in which span it was made, and a worker makes the
//! span `job` of each run a child of that: one trace tells the way of a job from the request that made it to the end of
//! its last attempt. Who exports the spans is for the program to say, with a layer of `tracing-opentelemetry`.
//!
//! Without the feature a job still carries a trace: whoever enqueues names it by the setting `tenure.traceparent` of the
//! transaction, whoever claims finds it in [`ClaimedJob::traceparent`](crate::store::jobs::ClaimedJob).

#[cfg(feature = "opentelemetry")]
pub use with_opentelemetry::{continue_from, current};
#[cfg(not(feature = "opentelemetry"))]
pub(crate) use without::{continue_from, current};

#[cfg(feature = "opentelemetry")]
mod with_opentelemetry {
    use opentelemetry::Context;
    use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    /// Where we are, as a W3C traceparent: the current span of `tracing`, or of OpenTelemetry itself. None outside of any
    /// trace.
    pub fn current() -> Option<String> {
        let told = told_by(&Span::current().context());
        told.or_else(|| told_by(&Context::current()))
    }

    fn told_by(context: &Context) -> Option<String> {
        let span = context.span();
        let at = span.span_context();
        at.is_valid()
            .then(|| format!("00-{}-{}-{:02x}", at.trace_id(), at.span_id(), at.trace_flags()))
    }

    /// Makes a span that has not begun yet a child of what this traceparent names; one that names nothing changes nothing.
    pub fn continue_from(span: &Span, traceparent: &str) {
        if span.is_disabled() {
            return;
        }
        if let Some(parent) = read(traceparent) {
            let context = Context::new().with_remote_span_context(parent);
            // Refused where nobody exports: then there is nothing to be a part of.
            let _ = span.set_parent(context);
        }
    }

    fn read(traceparent: &str) -> Option<SpanContext> {
        let known = tenure_core::traceparent::read(traceparent)?;
        let mut parts = known.split('-').skip(1);
        let trace = TraceId::from_hex(parts.next()?).ok()?;
        let span = SpanId::from_hex(parts.next()?).ok()?;
        let flags = u8::from_str_radix(parts.next()?, 16).ok()?;
        Some(SpanContext::new(
            trace,
            span,
            TraceFlags::new(flags),
            true,
            TraceState::default(),
        ))
    }
}

#[cfg(not(feature = "opentelemetry"))]
mod without {
    use tracing::Span;

    pub(crate) fn current() -> Option<String> {
        None
    }

    pub(crate) fn continue_from(_: &Span, _: &str) {}
}
