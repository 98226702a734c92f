//! Enums whose values have fixed names: reports print them, and programs read them.

use serde::ser::{SerializeMap, Serializer};
use stats::{Basis, RuleKind};

/// An enum with the name of each of its values.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])* $value,)+
        }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$value),+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$value => $text,)+
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

pub(crate) use named;

/// What an interval holds under: a rule's name, or `t` where there were too few blocks for any.
pub fn basis<S: Serializer>(basis: &Basis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match basis {
        Basis::Rule(RuleKind::Exact) => "exact",
        Basis::Rule(RuleKind::T) => "repeated t",
        Basis::Plain => "t",
    })
}

/// Bounds as `low` and `high` among the other fields.
pub fn low_high<S: Serializer>(bounds: &Option<(f64, f64)>, serializer: S) -> Result<S::Ok, S::Error> {
    let (low, high) = bounds.unzip();
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("low", &low)?;
    map.serialize_entry("high", &high)?;
    map.end()
}
