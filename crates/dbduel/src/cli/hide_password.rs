//! Takes a password given on the command line out of the process list.
//!
//! Every user of the machine can read a process's arguments. So a dbduel that finds a password among
//! its own starts itself again with `***` in its place, and hands the arguments as they were typed
//! over in memory that only the two can reach: never in an argument, never in the environment. What
//! must stay true: this runs before any thread, any connection and any message.

#![expect(unsafe_code, reason = "a descriptor is known by its number alone, and the environment is changed")]

use std::ffi::{CStr, OsString};
use std::fs::File;
use std::io::{Error, Read, Seek, Write};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use nix::sys::memfd::{MFdFlags, memfd_create};

use experiment::MASK;
use record::secrets::mask_words;

/// Names the descriptor that the arguments are handed over by. A number is no secret.
const DESCRIPTOR: &str = "DBDUEL_ARGUMENTS";
const MEMORY: &CStr = c"dbduel arguments";

/// The arguments of this process, as they were typed; the first is the program's own name.
///
/// Does not return where a password stands among them: the process starts again without it.
pub fn arguments() -> Result<Vec<OsString>> {
    let given: Vec<OsString> = std::env::args_os().collect();
    if let Some(descriptor) = std::env::var_os(DESCRIPTOR) {
        // SAFETY: no other thread runs yet. What this process starts must not get the variable.
        unsafe { std::env::remove_var(DESCRIPTOR) };
        return taken_over(&given, &descriptor.to_string_lossy());
    }
    let masked: Vec<OsString> = masked(&given);
    if masked == given { Ok(given) } else { Err(start_again(&given, &masked)) }
}

/// Reads what the first start left, once: nothing this process starts can read it again.
fn taken_over(given: &[OsString], descriptor: &str) -> Result<Vec<OsString>> {
    let wrong = || format!("{DESCRIPTOR} is set, but nothing was handed over; dbduel sets it for itself, so unset it");
    let descriptor: RawFd = descriptor.parse().ok().filter(|number| *number > 2).with_context(wrong)?;
    let handed_over = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).with_context(wrong)?;
    ensure!(handed_over.to_string_lossy().contains(&*MEMORY.to_string_lossy()), wrong());
    // SAFETY: the descriptor is open, and no other part of this program uses it.
    let mut memory = unsafe { File::from_raw_fd(descriptor) };
    let mut bytes = Vec::new();
    memory.rewind().and_then(|()| memory.read_to_end(&mut bytes)).with_context(wrong)?;
    let typed: Vec<OsString> =
        bytes.split(|byte| *byte == 0).map(|argument| OsString::from_vec(argument.to_vec())).collect();
    ensure!(typed.len() == given.len() && masked(&typed) == given, wrong());
    Ok(typed)
}

/// Becomes the same program with other arguments; gives why that failed.
fn start_again(typed: &[OsString], masked: &[OsString]) -> anyhow::Error {
    let next = "a password on the command line cannot be hidden here; give it with --password-file or DBDUEL_PASSWORD";
    match memory_with(typed) {
        Err(error) => anyhow::Error::from(error).context(next),
        Ok(memory) => {
            let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
            let mut command = Command::new(program);
            command.arg0(&masked[0]).args(&masked[1..]).env(DESCRIPTOR, memory.into_raw_fd().to_string());
            anyhow::Error::from(command.exec()).context(next)
        }
    }
}

/// Anonymous memory that holds the arguments and stays open in the next program.
fn memory_with(typed: &[OsString]) -> Result<OwnedFd, Error> {
    let mut memory = File::from(memfd_create(MEMORY, MFdFlags::empty())?);
    let bytes: Vec<&[u8]> = typed.iter().map(|argument| argument.as_bytes()).collect();
    memory.write_all(&bytes.join(&0))?;
    Ok(memory.into())
}

/// The arguments with `***` for every password.
fn masked(typed: &[OsString]) -> Vec<OsString> {
    let mut follows_password = false;
    let mut masked = Vec::with_capacity(typed.len());
    for argument in typed {
        let is_value = std::mem::replace(&mut follows_password, is_password_option(argument.as_bytes()));
        masked.push(match is_value {
            true if !argument.is_empty() => MASK.into(),
            true => argument.clone(),
            false => masked_argument(argument),
        });
    }
    masked
}

/// `--mysql-password`, in any spelling, alone: its value is the next argument.
fn is_password_option(argument: &[u8]) -> bool {
    argument.starts_with(b"--") && argument.to_ascii_lowercase().ends_with(b"password")
}

fn masked_argument(argument: &OsString) -> OsString {
    let bytes = argument.as_bytes();
    if let Some(equals) = bytes.iter().position(|byte| *byte == b'=')
        && is_password_option(&bytes[..equals])
        && bytes.len() > equals + 1
    {
        return OsString::from_vec([&bytes[..=equals], MASK.as_bytes()].concat());
    }
    let masked = masked_url(bytes).unwrap_or_else(|| bytes.to_vec());
    OsString::from_vec(masked_settings(&masked))
}

/// Values of secret names, in a word that may be no text.
fn masked_settings(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let masked = mask_words(&text);
    if masked == text { bytes.to_vec() } else { masked.into_bytes() }
}

/// `scheme://user:password@host`, even where the password holds what a URL should escape: everything
/// from the first colon to the last `@` may be part of it.
fn masked_url(bytes: &[u8]) -> Option<Vec<u8>> {
    let login = bytes.windows(3).position(|three| three == b"://")? + 3;
    let colon = login + bytes[login..].iter().position(|byte| *byte == b':')?;
    let at = bytes.iter().rposition(|byte| *byte == b'@').filter(|at| *at > colon + 1)?;
    Some([&bytes[..=colon], MASK.as_bytes(), &bytes[at..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let typed: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let masked: Vec<String> = masked(&typed).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(masked.join(" "), expected);
    }

    #[test]
    fn every_password_is_masked_and_nothing_else_is() {
        check("dbduel bench --mysql-password=hunter2 run", "dbduel bench --mysql-password=*** run");
        check("dbduel bench --mysql_password hunter2 run", "dbduel bench --mysql_password *** run");
        check("dbduel bench --PGSQL-Password=a=b", "dbduel bench --PGSQL-Password=***");
        check("dbduel bench --mysql-password= run", "dbduel bench --mysql-password= run");
        check("dbduel bench --target mysql://app:s3@cret@db/x", "dbduel bench --target mysql://app:***@db/x");
        check(
            "dbduel bench --target=mysql://app:p/w@db:3306/x?tls=off",
            "dbduel bench --target=mysql://app:***@db:3306/x?tls=off",
        );
        check("dbduel bench --target mysql://app@db:3306/x", "dbduel bench --target mysql://app@db:3306/x");
        check("dbduel bench --password-file pw --tables 2", "dbduel bench --password-file pw --tables 2");
        check("dbduel run x.toml", "dbduel run x.toml");
    }

    #[test]
    fn passwords_of_contenders_and_of_their_settings_are_masked_wherever_they_stand() {
        check(
            "dbduel run mysql@8.0 hosted=mysql://app:s3@cret@db/x?tls=require",
            "dbduel run mysql@8.0 hosted=mysql://app:***@db/x?tls=require",
        );
        check("dbduel plan postgres://app@db/x?password=s3&a=1", "dbduel plan postgres://app@db/x?password=***&a=1");
        check(
            "dbduel aa old=mysql@5.7?validate_password_policy=LOW&x_secret=abc&y=1",
            "dbduel aa old=mysql@5.7?validate_password_policy=LOW&x_secret=***&y=1",
        );
        check("dbduel run a b --settings root_password=abc", "dbduel run a b --settings root_password=***");
        check(
            "dbduel run x.toml --set contender.settings.password=abc",
            "dbduel run x.toml --set contender.settings.password=***",
        );
        check("dbduel run --settings @my.cnf --settings a=b=c", "dbduel run --settings @my.cnf --settings a=b=c");
    }

    #[test]
    fn a_password_of_a_connection_string_is_masked_with_its_spaces() {
        let check = |word: &str, expected: &str| assert_eq!(masked(&[word.into()]), [OsString::from(expected)]);
        check("host=db user=a password=s3 dbname=x", "host=db user=a password=*** dbname=x");
        check("host=db password = 'a \\' b' dbname=x", "host=db password =*** dbname=x");
        check("host=db password=a?b&c", "host=db password=***");
        check(
            "jdbc:postgresql://db/x?user=a&password=s3&ssl=true",
            "jdbc:postgresql://db/x?user=a&password=***&ssl=true",
        );
    }

    #[test]
    fn what_is_masked_stays_as_it_is() {
        check("dbduel bench --mysql-password=***", "dbduel bench --mysql-password=***");
        check("dbduel bench mysql://app:***@db/x", "dbduel bench mysql://app:***@db/x");
    }

    #[test]
    fn arguments_handed_over_come_back_as_they_were() {
        let typed: Vec<OsString> = ["dbduel", "", "--mysql-password=ä b"].map(OsString::from).to_vec();
        let memory = memory_with(&typed).unwrap();
        let taken = taken_over(&masked(&typed), &memory.into_raw_fd().to_string()).unwrap();
        assert_eq!(taken, typed);
    }

    #[test]
    fn a_descriptor_that_somebody_else_names_is_refused() {
        for descriptor in ["", "x", "0", "1", "99999"] {
            assert!(taken_over(&["dbduel".into()], descriptor).is_err(), "{descriptor}");
        }
    }
}
