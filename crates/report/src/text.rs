//! The report for a terminal, and the same in Markdown.

use anyhow::Result;

use super::render::text::Layout;
use super::render::{markdown, text};
use super::sections::document;
use super::{Evidence, Options, Report};

/// Where no terminal says how wide it is.
const WIDTH: usize = 100;

pub struct Text;

impl Report for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn description(&self) -> &'static str {
        "a verdict for each candidate and the tables behind it, for a terminal"
    }

    fn example(&self) -> &'static str {
        "dbduel report last"
    }

    fn write(&self, evidence: &Evidence, options: &Options) -> Result<String> {
        let layout = Layout::new(options.width.unwrap_or(WIDTH), options.color);
        let document = document(evidence);
        Ok(if options.brief { text::brief(&document, layout) } else { text::full(&document, layout) })
    }

    fn has_colors(&self) -> bool {
        true
    }
}

pub struct Markdown;

impl Report for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn description(&self) -> &'static str {
        "GitHub-flavoured, for pull requests and summaries of jobs"
    }

    fn example(&self) -> &'static str {
        "dbduel report last --format markdown --out report.md"
    }

    fn write(&self, evidence: &Evidence, _options: &Options) -> Result<String> {
        Ok(markdown::render(&document(evidence)))
    }
}
