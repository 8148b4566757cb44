//! Enums whose variants have a name each.

/// Defines an enum whose variants have names in settings, files or records, as in
/// `pub enum Side { Left = "left", Right = "right" }`: adds `ALL`, `name` and `parse`.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident {
            $($(#[$doc:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $type {
            $($(#[$doc])* $variant,)+
        }

        impl $type {
            /// All variants in order.
            $visibility const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name of the variant.
            $visibility const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The variant of exactly this name.
            $visibility fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    named_enum! {
        enum Side {
            Left = "left",
            Right = "right",
        }
    }

    #[test]
    fn names_round_trip_in_order() {
        assert_eq!(Side::ALL, [Side::Left, Side::Right]);
        for side in Side::ALL {
            assert_eq!(Side::parse(side.name()), Some(*side));
        }
        assert_eq!(Side::parse("Left"), None);
        assert!(Side::Left < Side::Right);
    }
}
