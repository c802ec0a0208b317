//! The words a plan may use where it has a fixed choice.

use std::fmt;

use serde::{Serialize, Serializer};

/// A choice among named values.
pub(super) trait Word: Copy + 'static {
    /// All of them.
    const CHOICES: &'static [Self];
    /// How it is written.
    fn word(self) -> &'static str;
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $choice:ident $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$about])* $choice,)* }

        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [$name] = &[$($name::$choice,)*];

            /// How a plan writes it.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$choice => $word,)* }
            }
        }

        impl Word for $name {
            const CHOICES: &'static [$name] = $name::ALL;

            fn word(self) -> &'static str {
                self.as_str()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    )*};
}

words! {
    /// How deep a step reaches, the harmless one first.
    ActionClass {
        /// It looks and changes nothing.
        Read "read",
        /// It changes something that is there.
        Modify "modify",
        /// It brings something new.
        Deploy "deploy",
    }

    /// What it means to run a step twice.
    Effects {
        /// The same as running it once: it may be tried again.
        Idempotent "idempotent",
        /// Something else: it is started once, and when its end is not known a person decides.
        Once "once",
    }

    /// What a step has for itself while it runs.
    LockScope {
        /// The target: others that lock it wait, whatever they do to it.
        Target "target",
        /// The target with this action: others that lock the same two wait. Who locks the target as a whole does not.
        TargetAndAction "target_and_action",
        /// Nothing.
        None "none",
    }

    /// How long the work is expected to take; with the action class it decides the timeouts.
    SlaClass {
        /// Under ten seconds.
        Fast "fast",
        /// Under thirty.
        Medium "medium",
        /// Longer.
        Long "long",
    }

    /// Whether the submitter waits for the end.
    Mode {
        /// The answer to the submission is the result, if it comes soon enough.
        Immediate "immediate",
        /// The submission is answered at once.
        Background "background",
    }

    /// What becomes of the other steps when one has failed for good.
    OnStepFailure {
        /// No further step starts.
        Stop "stop",
        /// Steps that do not need it go on.
        Continue "continue",
    }
}
