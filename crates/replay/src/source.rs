//! Logs become a schedule once in a program, however often the workload is made of the same options.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use capture::{Capture, Making};
use load::OptionError;

use crate::making;
use crate::options::Source;
use crate::schedule::Schedule;

/// What the last schedules were made of. An experiment makes its workloads again and again, and few of them.
static MADE: Mutex<Vec<(String, Arc<Schedule>)>> = Mutex::new(Vec::new());
const KEPT: usize = 2;

/// Memory for sorting a log.
const SORT_BYTES: usize = 192 << 20;
/// Where temporary files lie, in place of the system's folder.
const WORK: &str = "DBDUEL_WORK";

pub fn schedule(source: &Source) -> Result<Arc<Schedule>, OptionError> {
    let key = format!("{source:?}");
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, schedule)) = made.iter().find(|(known, _)| *known == key) {
        return Ok(Arc::clone(schedule));
    }
    let schedule = Arc::new(read(source)?);
    if made.len() == KEPT {
        made.remove(0);
    }
    made.push((key, Arc::clone(&schedule)));
    Ok(schedule)
}

/// Statements with other values than the data have find nothing there.
fn expect_same_values(is_anonymised: bool, are_data_anonymised: bool) -> Result<(), OptionError> {
    match (is_anonymised, are_data_anonymised) {
        (true, false) => Err(OptionError::new(
            "log",
            "the original capture was expected: this one is anonymised, and its values are not in the original data\n  \
             next: replay the capture that it was made of; where the data have been mapped in the same way, \
             set anonymized = true in data of [workload]",
        )),
        (false, true) => {
            Err(OptionError::new("data", "anonymized = true was expected with an anonymised capture only"))
        }
        _ => Ok(()),
    }
}

fn read(source: &Source) -> Result<Schedule, OptionError> {
    let paths: Vec<PathBuf> = source.logs.iter().map(|(path, _)| path.clone()).collect();
    let of_log = |why: String| OptionError::new("log", why);
    let make = |capture: &mut Capture| {
        expect_same_values(capture.contents.is_anonymised, source.are_data_anonymised)?;
        making::schedule(capture, &source.wanted).map_err(|(key, why)| OptionError::new(key, why))
    };
    if let [path] = paths.as_slice()
        && Capture::is_at(path)
    {
        return make(&mut Capture::open(path).map_err(|why| of_log(why.to_string()))?);
    }
    if let Some(path) = paths.iter().find(|path| Capture::is_at(path)) {
        return Err(of_log(format!("logs, or one capture alone, were expected: {} is a capture", path.display())));
    }
    let folder = std::env::var_os(WORK).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::Builder::new().prefix("dbduel-replay-").tempdir_in(&folder);
    let folder = folder.map_err(|cause| of_log(format!("a folder for temporary files was expected: {cause}")))?;
    let making = Making {
        options: source.reading.clone(),
        memory: SORT_BYTES,
        work: folder.path().to_owned(),
        parameter_length_max: None,
    };
    let out = folder.path().join("log.dbcap");
    capture::capture(&paths, &out, &making).map_err(|why| of_log(why.to_string()))?;
    make(&mut Capture::open(&out).map_err(|why| of_log(why.to_string()))?)
}
