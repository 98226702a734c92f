//! What a run shows on stderr: on a terminal two lines that change in place, and plain lines elsewhere.
//!
//! A thread draws four times a second, whoever sets the state: nothing is drawn while a trial's thread waits. What
//! must stay true: only the lines drawn last are erased, whatever width the terminal has by then.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use campaign::{Screen, State, times};
use terminal::{draw, note, stderr_width, visible};

const EVERY: Duration = Duration::from_millis(250);
/// Cells of a bar.
const CELLS: usize = 16;
/// Phases and blocks stand in a column of at least this width.
const TITLE: usize = 11;

pub struct Stderr {
    shared: Option<Arc<Shared>>,
    drawing: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    shown: Mutex<Shown>,
    ended: Condvar,
}

#[derive(Default)]
struct Shown {
    state: Option<State>,
    /// Columns of each line on the screen.
    drawn: Vec<usize>,
    is_over: bool,
}

impl Stderr {
    pub fn boxed() -> Box<dyn Screen> {
        let shared = stderr_width().map(|_| Arc::<Shared>::default());
        let drawing = shared.clone().map(|shared| std::thread::spawn(move || shared.draw_until_over()));
        Box::new(Stderr { shared, drawing: Mutex::new(drawing) })
    }
}

impl Screen for Stderr {
    fn is_live(&self) -> bool {
        self.shared.is_some()
    }

    fn line(&self, text: &str) {
        let Some(shared) = &self.shared else { return note(text) };
        let mut shown = shared.lock();
        shown.erase();
        note(text);
        shown.draw();
    }

    fn show(&self, state: State) {
        if let Some(shared) = &self.shared {
            shared.lock().state = Some(state);
        }
    }

    fn finish(&self) {
        if let Some(shared) = &self.shared {
            shared.lock().is_over = true;
            shared.ended.notify_all();
        }
        let drawing = self.drawing.lock().unwrap_or_else(PoisonError::into_inner).take();
        drawing.map(JoinHandle::join);
    }
}

/// A run that breaks off leaves no lines behind that look as if it went on.
impl Drop for Stderr {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw_until_over(&self) {
        let mut shown = self.lock();
        while !shown.is_over {
            shown.draw();
            shown = self.ended.wait_timeout(shown, EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        shown.erase();
        shown.state = None;
    }
}

impl Shown {
    fn erase(&mut self) {
        if let Some(width) = stderr_width() {
            draw(&erasing(&std::mem::take(&mut self.drawn), width));
        }
    }

    fn draw(&mut self) {
        let (Some(state), Some(width)) = (&self.state, stderr_width()) else { return };
        let lines = lines(state, Instant::now(), width);
        let text = erasing(&self.drawn, width) + &lines.join("\r\n");
        self.drawn = lines.iter().map(|line| line.chars().count()).collect();
        draw(&text);
    }
}

/// What takes lines away that end where the cursor is. A terminal that has become narrower shows a line in several
/// rows. Row by row: terminals with a history keep there what is cleared down to the end of the screen.
fn erasing(drawn: &[usize], width: usize) -> String {
    let rows: usize = drawn.iter().map(|columns| columns.div_ceil(width.max(1)).max(1)).sum();
    let above = "\x1b[1A\x1b[2K".repeat(rows.saturating_sub(1));
    if rows == 0 { String::new() } else { format!("\r\x1b[2K{above}") }
}

/// The phase, the run, and what is known so far.
fn lines(state: &State, now: Instant, width: usize) -> Vec<String> {
    let left = state.ends.map(|ends| ends.saturating_duration_since(now));
    let block = state.block.map_or_else(|| "run".to_owned(), |(block, of)| format!("block {block}/{of}"));
    let phase = row(&state.phase, state.share, &state.what, width);
    let run = row(&block, Some(state.done), &times(now.saturating_duration_since(state.begun), left), width);
    let notes = state.notes.iter().map(|text| cut(&format!("  {:TITLE$} {text}", ""), width));
    [phase, run].into_iter().chain(notes).collect()
}

/// `  measure     ━━━━━━━━────────  5.6 at 16 clients  2,488 tps`
fn row(title: &str, share: Option<f64>, text: &str, width: usize) -> String {
    let bar = share.map_or_else(|| " ".repeat(CELLS), bar);
    cut(&format!("  {title:TITLE$} {bar}  {text}"), width)
}

fn bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * CELLS as f64) as usize;
    "━".repeat(full) + &"─".repeat(CELLS - full)
}

/// On one line, and with one column free, so that no terminal wraps.
fn cut(text: &str, width: usize) -> String {
    let text = visible(text).replace(['\n', '\t'], " ");
    let most = width.saturating_sub(1);
    if text.chars().count() <= most {
        return text.trim_end().to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(begun: Instant) -> State {
        State {
            phase: "measure".to_owned(),
            share: Some(0.5),
            what: "5.6 at 16 clients  2,488 tps  p95 11.2 ms".to_owned(),
            block: Some((9, 20)),
            done: 0.25,
            begun,
            ends: Some(begun + Duration::from_secs(961)),
            notes: vec!["5.6 0.936 so far (95 % CI 0.905–0.959)".to_owned(), "flags: foreign-cpu 2".to_owned()],
        }
    }

    #[test]
    fn phase_run_interval_and_flags_stand_in_lines_that_fit_the_terminal() {
        let begun = Instant::now();
        let now = begun + Duration::from_secs(581);
        let expected = [
            "  measure     ━━━━━━━━────────  5.6 at 16 clients  2,488 tps  p95 11.2 ms",
            "  block 9/20  ━━━━────────────  9:41 elapsed, about 6:20 left",
            "              5.6 0.936 so far (95 % CI 0.905–0.959)",
            "              flags: foreign-cpu 2",
        ];
        assert_eq!(lines(&state(begun), now, 80), expected);
        for width in [20, 40, 60] {
            let lines = lines(&state(begun), now, width);
            assert!(lines.iter().all(|line| line.chars().count() < width), "{lines:#?}");
        }
        assert!(lines(&state(begun), now, 60)[0].ends_with("2,488 t…"), "{}", lines(&state(begun), now, 60)[0]);
    }

    #[test]
    fn a_load_without_a_known_length_has_no_bar_and_escapes_stay_visible() {
        let begun = Instant::now();
        let state = State {
            phase: "fetch".into(),
            share: None,
            what: "a\x1b[2J".into(),
            block: None,
            ends: None,
            ..state(begun)
        };
        let lines = lines(&state, begun, 80);
        assert_eq!(lines[0], "  fetch                         a\\u001b[2J");
        assert_eq!(lines[1], "  run         ━━━━────────────  0:00 elapsed");
    }

    #[test]
    fn the_rows_of_lines_that_a_narrower_terminal_wrapped_are_erased_too() {
        assert_eq!(erasing(&[], 80), "");
        assert_eq!(erasing(&[79], 80), "\r\x1b[2K");
        assert_eq!(erasing(&[79, 60], 80), "\r\x1b[2K\x1b[1A\x1b[2K");
        assert_eq!(erasing(&[79, 60], 40).matches("\x1b[2K").count(), 4);
    }
}
