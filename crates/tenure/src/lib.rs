//! The Tenure store.

#[cfg(feature = "private")]
pub mod private;
#[cfg(feature = "private")]
pub mod testing;
