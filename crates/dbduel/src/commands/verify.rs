//! `dbduel verify`: a run or a page against its raw data.

use std::path::Path;

use super::{Failure, print, stored};
use crate::cli::{VerifyArgs, exit};

pub fn verify(args: &VerifyArgs) -> Result<u8, Failure> {
    let path = Path::new(&args.subject);
    let findings = match path.is_file() {
        true => verify::of_page(path)?,
        false => verify::of_run(&*stored::open(&args.store, &args.runs, &args.subject)?)?,
    };
    print(&findings.text(&args.subject))?;
    Ok(if findings.is_clean() { exit::DONE } else { exit::VIOLATION })
}
