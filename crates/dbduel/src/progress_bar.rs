//! What a run shows on stderr: a bar on a terminal, lines elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use campaign::Screen;
use indicatif::{ProgressBar, ProgressStyle};
use terminal::{note, visible};

/// The bar, made when the number of trials is known; none without a terminal.
pub struct Stderr {
    bar: Option<ProgressBar>,
}

impl Stderr {
    pub fn boxed() -> Box<dyn Screen> {
        Box::new(Stderr { bar: std::io::stderr().is_terminal().then(bar) })
    }
}

impl Screen for Stderr {
    fn is_live(&self) -> bool {
        self.bar.is_some()
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| note(text)),
            None => note(text),
        }
    }

    fn trials(&self, done: usize, of: usize) {
        if let Some(bar) = &self.bar {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        }
    }

    fn phase(&self, text: &str, left: &str) {
        if let Some(bar) = &self.bar {
            bar.set_prefix(left.to_owned());
            bar.set_message(visible(text).into_owned());
            bar.tick();
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} trials, {elapsed} elapsed, {prefix}  {wide_msg}");
    let bar = ProgressBar::new(0).with_style(style.expect("the template is valid"));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}
