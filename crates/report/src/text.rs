//! The report for a terminal, and the same in Markdown.

use anyhow::Result;

use super::render::text::Layout;
use super::render::{markdown, text};
use super::sections::document;
use super::{Evidence, Options, Report};

/// Where no terminal says how wide it is.
const WIDTH: usize = 100;

pub const TEXT: Report = Report {
    has_colors: true,
    ..Report::new(
        "text",
        "a verdict for each candidate and the tables behind it, for a terminal",
        "dbduel report last",
        write,
    )
};

fn write(evidence: &Evidence, options: &Options) -> Result<String> {
    let layout = Layout::new(options.width.unwrap_or(WIDTH), options.color);
    let document = document(evidence);
    Ok(if options.brief { text::brief(&document, layout) } else { text::full(&document, layout) })
}

pub const MARKDOWN: Report = Report::new(
    "markdown",
    "GitHub-flavoured, for pull requests and summaries of jobs",
    "dbduel report last --format markdown --out report.md",
    write_markdown,
);

fn write_markdown(evidence: &Evidence, _: &Options) -> Result<String> {
    Ok(markdown::render(&document(evidence)))
}
