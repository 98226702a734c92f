//! Takes pictures of pages, to be looked at: `cargo run -p pages --example screenshots -- FOLDER [PAGE.html ...]`.
//!
//! Without pages it takes those of the made-up runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use pages::{Media, Page, html, runs};

const SIZES: [(&str, (u32, u32), Media); 5] = [
    ("1280", (1280, 800), Media::Light),
    ("400", (400, 800), Media::Light),
    ("dark", (1280, 800), Media::Dark),
    ("dark-400", (400, 800), Media::Dark),
    ("print", (794, 1123), Media::Print),
];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().context("name a folder for the pictures")?);
    std::fs::create_dir_all(&folder)?;
    let given: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let mut browser = Page::blank()?;
    for page in &given {
        let name = page.file_stem().unwrap_or_default().to_string_lossy();
        pictures(&mut browser, &folder, &name, &std::fs::read_to_string(page)?)?;
    }
    for (name, evidence) in runs().iter().filter(|_| given.is_empty()) {
        pictures(&mut browser, &folder, name, &html(evidence)?)?;
    }
    Ok(())
}

fn pictures(page: &mut Page, folder: &Path, name: &str, html: &str) -> Result<()> {
    std::fs::write(folder.join(format!("{name}.html")), html)?;
    for (size, pixels, media) in SIZES {
        page.show(html, pixels, media)?;
        page.screenshot(&folder.join(format!("{name}-{size}.png")), false)?;
        page.screenshot(&folder.join(format!("{name}-{size}-whole.png")), true)?;
        if media == Media::Print {
            page.pdf(&folder.join(format!("{name}.pdf")))?;
        }
    }
    Ok(())
}
