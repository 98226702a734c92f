//! `dbduel capture`: logs made into a capture, or the statements of a running server, and what a capture holds.

mod live;
mod made;

use anyhow::anyhow;
use capture::Capture;
use engine::Cache;

use super::digest::refused;
use super::{Failure, print};
use crate::cli::{CaptureArgs, exit};
use made::{Content, info, make, making};

pub fn capture(args: &CaptureArgs) -> Result<u8, Failure> {
    if let Some(path) = &args.info {
        let capture = Capture::open(path).map_err(refused)?;
        print(&info(path, &capture.contents, &capture.digests))?;
        return Ok(exit::DONE);
    }
    if let Some(state) = &args.live.restore {
        return live::restore(state, &args.live.password());
    }
    let out = args.out.as_deref().ok_or_else(|| Failure::usage(anyhow!("--from and --target need --out")))?;
    if let Some(target) = &args.live.target {
        return live::capture(target, out, args);
    }
    let content = Content::of(&args.privacy)?;
    let options = args.reading.options().map_err(Failure::usage)?;
    let cache = Cache::open()?;
    let work = cache.work()?;
    make(&args.from, out, &making(args, options, work.path()), &content)?;
    Ok(exit::DONE)
}
