//! Checksums of what is stored, the id that a run has by one, and what does not have the checksum that it should have.

use record::format::{PlanRecord, RunRecord};
use sha2::{Digest, Sha256};

/// What is stored is not what should be.
#[derive(Debug, thiserror::Error)]
pub enum Violation {
    #[error(
        "{what} of {run} is not what the store has under the same run: SHA-256 here {here}, there {there}\n  next: `dbduel pull {run} --runs OTHER` copies what is stored, to compare the two"
    )]
    Differs { what: String, run: String, here: String, there: String },
    #[error("{what} of {run} is damaged in the store: SHA-256 {found}, and it was pushed with {pushed}")]
    Damaged { what: String, run: String, found: String, pushed: String },
}

impl Violation {
    pub(crate) fn differs(run: &str, what: &str, here: &str, there: &str) -> Violation {
        let [run, what, here, there] = [run, what, here, there].map(str::to_owned);
        Violation::Differs { what, run, here, there }
    }

    /// Fails where a file of a folder is not the one of the store.
    pub fn expect_same(run: &str, path: &str, here: &[u8], there: &[u8]) -> Result<(), Violation> {
        let (here, there) = (sha256(here), sha256(there));
        if here == there { Ok(()) } else { Err(Violation::differs(run, path, &here, &there)) }
    }
}

/// The id of a run: a UUID made of what it began with, so that every copy of the run has the same, also of one that
/// was stored before there were ids.
pub fn run_id(plan: &PlanRecord, run: &RunRecord) -> String {
    let mut digest = Sha256::digest(format!("dbduel run\n{}\n{}\n", plan.plan_hash, run.started_at));
    // RFC 9562: version 8, whose bits mean what their maker says, and the variant.
    digest[6] = digest[6] & 0x0f | 0x80;
    digest[8] = digest[8] & 0x3f | 0x80;
    let hex = hex(&digest[..16]);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_two_digits_each() {
        assert_eq!(hex(&[0, 15, 255]), "000fff");
    }
}
