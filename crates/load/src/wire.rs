//! How parts of a tally travel between processes of one load that have no form of their own for it.
//!
//! Both ends are the same program, so this is no format of anything that is kept.

/// Errors by code: the code as text.
pub mod codes {
    use driver::Code;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(counts: &[(Code, u64)], to: S) -> Result<S::Ok, S::Error> {
        counts.iter().map(|(code, count)| (code.to_string(), *count)).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(Code, u64)>, D::Error> {
        let counts = Vec::<(String, u64)>::deserialize(from)?;
        Ok(counts.into_iter().map(|(code, count)| (Code::new(code.as_bytes()), count)).collect())
    }
}

/// Bytes sent and received.
pub mod traffic {
    use driver::Traffic;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(traffic: &Traffic, to: S) -> Result<S::Ok, S::Error> {
        (traffic.sent, traffic.received).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Traffic, D::Error> {
        let (sent, received) = Deserialize::deserialize(from)?;
        Ok(Traffic { sent, received })
    }
}

/// A name that threads share.
pub mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(name: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(name)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(from).map(Arc::from)
    }
}
