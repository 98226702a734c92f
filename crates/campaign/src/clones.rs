//! Whether the file systems of a run can clone files, where its trials are to start from clones.

use std::path::Path;

use anyhow::{Context, Result};

use engine::{Cache, expect_clones, storage_of};
use experiment::{Experiment, Origin, WorkCopy};

/// Tries a clone in each work folder before anything starts: what fails here would fail in every trial.
pub fn expect(experiment: &Experiment, file: &Path) -> Result<()> {
    if experiment.method.work_copy != WorkCopy::Reflink {
        return Ok(());
    }
    let cache = Cache::open()?;
    let kept = cache.scratch()?;
    let managed = experiment.contenders.iter().filter(|one| !matches!(one.origin, Origin::Target(_)));
    for contender in managed {
        let work = cache.work_on(&contender.storage)?;
        expect_clones(&kept, &work).with_context(|| {
            let storage = storage_of(work.path());
            let storage = storage.map_or("a file system not visible here".to_owned(), |storage| storage.file_system);
            format!(
                "{}: work_copy = \"reflink\" in [method] cannot be: the work folder of `{}` is on {storage}\n  next: write work_copy = \"copy\", or set DBDUEL_CACHE to a folder on XFS (reflink=1) or Btrfs",
                file.display(),
                contender.name
            )
        })?;
    }
    Ok(())
}
