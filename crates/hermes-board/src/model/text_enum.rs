//! Enums that are texts in the database.

/// Defines an enum whose variants are texts: parsing, printing and serialising. A variant after
/// `else` is printed only: it stands for texts of newer programs.
macro_rules! text_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? }
        $(else { $(#[$other_doc:meta])* $other:ident = $other_text:literal })?) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            $($(#[$other_doc])* $other,)?
        }

        impl $name {
            /// Every variant that can be parsed.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The variant of a text; `None` for any other.
            pub fn parse(given: &str) -> Option<Self> {
                match given {
                    $($text => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The text.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                    $(Self::$other => $other_text,)?
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }
    };
}

pub(crate) use text_enum;
