//! One execution in a capture, as a record of bytes.
//!
//! ```text
//! head   act, flags (bits: parameters, prepared as, error, coarse, ends its transaction), kind of skip + 1
//! then   session, transaction, start (signed), duration + 1, digest, file, line, rows sent + 1, rows affected + 1,
//!        database, text, and what the flags name; of a session's begin: user, host, application in place of the text
//! ```
//!
//! Numbers have a variable length, texts their length in front.

use std::ops::Deref;

use crate::bytes::{Taking, put, put_option, put_signed, put_text};
use crate::event::{Act, Code, Event};
use crate::kinds::Skipped;

/// A statement of the log, or the begin or end of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Instance<'a> {
    /// As the log shows it, but for its session: that is a number from 1 on, in the order in which the log shows sessions
    /// first. Of the begin of a session only it has a user, a host and an application.
    pub event: Event<'a>,
    /// From 1 on in its session. A statement under autocommit is one.
    pub transaction: u64,
    pub ends_transaction: bool,
    /// Its place in the table of digests.
    pub digest: u32,
    pub skipped: Option<Skipped>,
}

impl<'a> Deref for Instance<'a> {
    type Target = Event<'a>;

    fn deref(&self) -> &Event<'a> {
        &self.event
    }
}

const PARAMETERS: u8 = 1;
const PREPARED_AS: u8 = 2;
const ERROR: u8 = 4;
const COARSE: u8 = 8;
const ENDS: u8 = 16;

const ACTS: [Act; 5] = [Act::Connect, Act::Quit, Act::Statement, Act::Execute, Act::ExecuteUnnamed];

impl<'a> Instance<'a> {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(!self.parameters.is_empty(), PARAMETERS)
            | flag(!self.prepared_as.is_empty(), PREPARED_AS)
            | flag(self.error.is_some(), ERROR)
            | flag(self.is_coarse, COARSE)
            | flag(self.ends_transaction, ENDS);
        let act = ACTS.iter().position(|act| *act == self.act).unwrap_or(2) as u8;
        out.extend([act, flags, self.skipped.map_or(0, |kind| kind.number() + 1)]);
        put(out, self.session);
        put(out, self.transaction);
        put_signed(out, self.start_us);
        put_option(out, self.duration_us);
        [u64::from(self.digest), u64::from(self.file), self.line].iter().for_each(|number| put(out, *number));
        put_option(out, self.rows_sent);
        put_option(out, self.rows_affected);
        put_text(out, self.database);
        if self.act == Act::Connect {
            [self.user, self.host, self.application].iter().for_each(|text| put_text(out, text));
            return;
        }
        put_text(out, self.text);
        if flags & PARAMETERS != 0 {
            put_text(out, self.parameters);
        }
        if flags & PREPARED_AS != 0 {
            put_text(out, self.prepared_as);
        }
        if let Some(Code(code)) = self.error {
            out.extend(code);
        }
    }

    /// None where the bytes are no record.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Instance<'a>> {
        let ([act, flags, skipped], rest) = bytes.split_first_chunk::<3>()?;
        let mut taking = Taking(rest);
        let (session, transaction) = (taking.number()?, taking.number()?);
        let (start_us, duration_us) = (taking.signed()?, taking.option()?);
        let digest = u32::try_from(taking.number()?).ok()?;
        let mut event = Event {
            act: *ACTS.get(usize::from(*act))?,
            is_coarse: flags & COARSE != 0,
            session,
            start_us,
            duration_us,
            file: u32::try_from(taking.number()?).ok()?,
            line: taking.number()?,
            rows_sent: taking.option()?,
            rows_affected: taking.option()?,
            database: taking.text()?,
            ..Event::default()
        };
        if event.act == Act::Connect {
            (event.user, event.host, event.application) = (taking.text()?, taking.text()?, taking.text()?);
        } else {
            event.text = taking.text()?;
            if flags & PARAMETERS != 0 {
                event.parameters = taking.text()?;
            }
            if flags & PREPARED_AS != 0 {
                event.prepared_as = taking.text()?;
            }
            if flags & ERROR != 0 {
                event.error = Some(Code(*taking.0.first_chunk()?));
            }
        }
        let skipped = skipped.checked_sub(1).and_then(Skipped::of_number);
        Some(Instance { event, transaction, ends_transaction: flags & ENDS != 0, digest, skipped })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_and_no_beginning_of_it_is_one() {
        let event = Event {
            act: Act::Execute,
            session: 300,
            start_us: -7,
            duration_us: Some(123),
            database: b"shop",
            text: b"select $1\0\xff",
            parameters: b"$1 = 'x'",
            prepared_as: b"prepare s as select $1",
            rows_affected: Some(0),
            error: Some(Code(*b"42P01")),
            file: 2,
            line: 18_233,
            ..Event::default()
        };
        let skipped = Some(Skipped::Server);
        let one = Instance { event, transaction: 5, ends_transaction: true, digest: 70_000, skipped };
        let mut bytes = Vec::new();
        one.write(&mut bytes);
        assert_eq!(Instance::read(&bytes), Some(one));
        (0..bytes.len()).for_each(|end| assert_eq!(Instance::read(&bytes[..end]), None, "{end}"));
    }
}
