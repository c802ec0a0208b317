//! One call per SQL function.
