//! Captures that may leave the house: without values, or without statements at all.

pub(crate) mod literals;
mod mask;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

pub use literals::{quoted, with_lengths};
pub use mask::Mask;

use crate::event::{Act, Event};
use crate::file::{Capture, Writer};
use crate::format::{Format, Reading};
use crate::input::Refused;
use crate::instance::Instance;
use crate::kinds::Skipped;
use crate::modes::Modes;

/// Writes a capture again with other values in its statements, names in place of users, and without hosts, and gives its
/// size. Sessions, times, digests and outcomes stay.
pub fn anonymise(from: &mut Capture, out: &Path, mask: &Mask, reading: &Reading) -> Result<u64, Refused> {
    let mut contents = from.contents.clone();
    if contents.is_anonymised {
        return Err(Refused::Usage("the capture is anonymised already\n  next: use it as it is".to_owned()));
    }
    contents.is_anonymised = true;
    contents.forget_folders();
    let mut writer = Writer::create(out)?;
    let mut modes = Modes::new(reading.dialect(contents.format().unwrap_or(Format::MySqlSlow)));
    let mut failed = None;
    let (mut record, mut text, mut prepared_as) = (Vec::new(), Vec::new(), Vec::new());
    from.instances_from(i64::MIN, &mut |one| {
        modes.note(one.act, one.session, one.text);
        let dialect = modes.of_session(one.session);
        let user = if one.user.is_empty() { String::new() } else { mask.name(one.user) };
        [&mut record, &mut text, &mut prepared_as].into_iter().for_each(Vec::clear);
        let mut kept = literals::statement(one.text, dialect, mask, &mut text);
        // A statement that is executed by name has its values in the call, and counts of rows in what was prepared.
        kept.extend(literals::statement(one.prepared_as, dialect, mask, &mut prepared_as));
        let bound = literals::bound(one.parameters, &kept, mask);
        let skipped = one.skipped.or(bound.is_none().then_some(Skipped::CutParameters));
        let parameters = bound.unwrap_or_default();
        let event = Event {
            text: &text,
            parameters: &parameters,
            prepared_as: &prepared_as,
            user: user.as_bytes(),
            host: b"",
            application: b"",
            ..one.event
        };
        Instance { event, skipped, ..*one }.write(&mut record);
        failed = writer.add(one.start_us, &record).err();
        failed.is_none()
    })?;
    failed.map_or(Ok(()), |cause| Err(Refused::Unwritable { path: out.to_owned(), cause }))?;
    writer.finish(&from.digests, &contents)
}

/// Statements of each user of a capture, by a name that the mask gives.
pub fn statements_of_users(from: &mut Capture, mask: &Mask) -> Result<BTreeMap<String, u64>, Refused> {
    let mut users: HashMap<u64, String> = HashMap::new();
    let mut statements: BTreeMap<String, u64> = BTreeMap::new();
    from.instances_from(i64::MIN, &mut |one| {
        if one.act == Act::Connect {
            users.insert(one.session, mask.name(one.user));
        } else if one.act.is_statement()
            && let Some(user) = users.get(&one.session)
        {
            *statements.entry(user.clone()).or_default() += 1;
        }
        true
    })?;
    Ok(statements)
}
