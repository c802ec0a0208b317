//! Closed lists of words, such as states and outcomes.

/// Declares an enum of words. A word that this program does not know is kept as `Other`: an older client reads the answer of a newer
/// server, and in a request the database decides and refuses it with the nearest word that it knows.
///
/// ```
/// tenure_api::words! {
///     /// The state of a light.
///     pub enum Light {
///         /// It is on.
///         On = "on",
///         /// It is off.
///         Off = "off",
///     }
/// }
///
/// assert_eq!(Light::from("on"), Light::On);
/// assert_eq!(Light::from("dim"), Light::Other("dim".to_owned()));
/// assert_eq!(Light::WORDS, ["on", "off"]);
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[doc = $doc:literal])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[doc = $doc])* $variant,)*
            /// A word that a newer server knows.
            Other(String),
        }

        impl $name {
            /// The words, in their order.
            pub const WORDS: &'static [&'static str] = &[$($word,)*];

            /// The word.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Word;

                impl serde::de::Visitor<'_> for Word {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a string")
                    }

                    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<$name, E> {
                        Ok($name::from(word))
                    }
                }

                deserializer.deserialize_str(Word)
            }
        }

        impl $crate::__schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            // Words of the same name in two modules are two schemas.
            fn schema_id() -> std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($name)).into()
            }

            fn json_schema(_: &mut $crate::__schemars::SchemaGenerator) -> $crate::__schemars::Schema {
                $crate::__schemars::json_schema!({"type": "string", "enum": Self::WORDS})
            }
        }
    };
}
