//! What a server's program was compiled for, and how: a 32-bit server spends its CPU time otherwise than a 64-bit one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use driver::Admin;

use super::{Effective, Engine};
use record::format::BuildRecord;

/// By the header of the program, where it can be read, and by what the server reports.
pub fn build(engine: &dyn Engine, admin: &mut Admin, settings: &Effective, program: Option<&Path>) -> BuildRecord {
    // An account may lack the right to ask; then nothing is claimed.
    let reported = engine.build_lines(admin, settings).unwrap_or_default();
    let header = program.and_then(header);
    BuildRecord {
        word_bits: header.map(|(bits, _)| bits).or_else(|| reported.iter().find_map(|line| word_bits_in(line))),
        architecture: header.and_then(|(_, machine)| machine).map(str::to_owned),
        reported,
    }
}

/// Word size and machine of an ELF file: class at byte 4, machine at bytes 18 and 19, in the order of byte 5.
fn header(program: &Path) -> Option<(u32, Option<&'static str>)> {
    let mut bytes = [0; 20];
    File::open(program).ok()?.read_exact(&mut bytes).ok()?;
    elf(&bytes)
}

fn elf(bytes: &[u8; 20]) -> Option<(u32, Option<&'static str>)> {
    if !bytes.starts_with(b"\x7fELF") {
        return None;
    }
    let bits = match bytes[4] {
        1 => 32,
        2 => 64,
        _ => return None,
    };
    let machine = if bytes[5] == 2 { [bytes[19], bytes[18]] } else { [bytes[18], bytes[19]] };
    let machine = match u16::from_le_bytes(machine) {
        3 => Some("i386"),
        40 => Some("arm"),
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        243 => Some("riscv"),
        _ => None,
    };
    Some((bits, machine))
}

/// `64-bit` of PostgreSQL's version, `x86_64` of MySQL's variable.
fn word_bits_in(line: &str) -> Option<u32> {
    let has = |marks: &[&str]| marks.iter().any(|mark| line.to_ascii_lowercase().contains(mark));
    match () {
        () if has(&["64-bit", "x86_64", "amd64", "aarch64"]) => Some(64),
        () if has(&["32-bit", "i386", "i486", "i586", "i686"]) => Some(32),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_size_and_machine_stand_in_the_header() {
        let check = |class: u8, order: u8, machine: [u8; 2], expected| {
            let mut bytes = [0; 20];
            bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, order]);
            bytes[18..].copy_from_slice(&machine);
            assert_eq!(elf(&bytes), expected, "{class} {order} {machine:?}");
        };
        check(1, 1, [3, 0], Some((32, Some("i386"))));
        check(2, 1, [62, 0], Some((64, Some("x86_64"))));
        check(2, 2, [0, 183], Some((64, Some("aarch64"))));
        check(2, 1, [99, 0], Some((64, None)));
        check(0, 1, [3, 0], None);
        assert_eq!(elf(b"#!/bin/sh\nexec ld.so"), None);
        let own = header(Path::new("/proc/self/exe")).unwrap();
        assert_eq!(own.0, usize::BITS);
    }

    #[test]
    fn without_a_program_the_server_is_asked() {
        let check = |line: &str, bits| assert_eq!(word_bits_in(line), bits, "{line}");
        check("PostgreSQL 15.18 on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0) 12.2.0, 64-bit", Some(64));
        check("compiled for i686, pc-linux-gnu", Some(32));
        check("compiled for x86_64, Linux", Some(64));
        check("Source distribution", None);
    }
}
