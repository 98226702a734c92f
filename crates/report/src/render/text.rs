//! A document for a terminal: prose is wrapped at the width and tables fit it.
//!
//! No cell wraps. Where a table is too wide, headings over numbers take up to three lines, names are shortened in the
//! middle, then the columns that matter least are left out, and a line below names them. Charts are replaced by the figures behind them.

use terminal::visible;

use crate::document::{Block, Cell, Chart, ColumnKind, Document, Row, RowKind, Section, Span, Table, Text, Tone};

/// What a terminal shows by default, with the line that names the full report.
const BRIEF_LINES: usize = 25;
/// A column of prose is not narrower; what does not fit stands below its row.
const PROSE_MIN: usize = 12;
/// Shorter names cannot be told apart.
const NAME_MIN: usize = 12;
/// Lines of a heading over numbers.
const HEADING_LINES: usize = 3;
const GAP: usize = 3;
const INDENT: usize = 2;

#[derive(Clone, Copy)]
pub struct Layout {
    /// In columns of the terminal.
    pub width: usize,
    pub color: bool,
    /// Most rows of a table and most items of a list; the rest is counted.
    rows: usize,
    items: usize,
}

impl Layout {
    pub fn new(width: usize, color: bool) -> Layout {
        Layout { width: width.max(40), color, rows: usize::MAX, items: usize::MAX }
    }
}

/// Everything but what is left to the page.
pub fn full(document: &Document, layout: Layout) -> String {
    let mut lines = head(document, layout);
    lines.extend(body(&document.first.body, layout));
    for section in &document.sections {
        lines.extend(titled(section, layout));
    }
    lines.extend(page_of(document, ""));
    joined(lines)
}

/// The first screen, with fewer rows, caveats and notes where it is too long.
pub fn brief(document: &Document, layout: Layout) -> String {
    const LIMITS: [(usize, usize, usize); 12] = [
        (12, 3, 2),
        (12, 3, 1),
        (12, 2, 1),
        (10, 2, 1),
        (8, 1, 1),
        (6, 1, 1),
        (4, 1, 1),
        (4, 1, 0),
        (2, 1, 1),
        (2, 1, 0),
        (4, 0, 0),
        (2, 0, 0),
    ];
    let limited = |(rows, items, notes): (usize, usize, usize)| {
        let layout = Layout { rows, items, ..layout };
        let mut lines = head(document, layout);
        let is_note = |block: &Block| matches!(block, Block::Note(_));
        let mut left = notes;
        let kept = document.first.body.iter().filter(|block| {
            let is_kept = !is_note(block) || left > 0;
            left = left.saturating_sub(usize::from(is_note(block)));
            is_kept
        });
        lines.extend(body(kept, layout));
        lines.extend(page_of(document, "   (--full here)"));
        joined(lines)
    };
    // A narrow terminal has longer texts.
    let most = BRIEF_LINES * 80 / layout.width.min(80);
    let texts = LIMITS.map(limited);
    let within = |most: usize| texts.iter().find(|text| text.lines().count() <= most);
    // An answer over several workloads is longer than a screen, and one without its lists says too little.
    within(most).or_else(|| within(2 * most)).or(texts.last()).cloned().unwrap_or_default()
}

fn head(document: &Document, layout: Layout) -> Vec<String> {
    let title = document.question.as_ref().unwrap_or(&document.name);
    let note = document.note.iter().flat_map(|note| wrapped(&format!("note: {}", visible(note)), layout.width));
    wrapped(&visible(title), layout.width).into_iter().chain(note).chain([String::new()]).collect()
}

fn page_of(document: &Document, remark: &str) -> Option<String> {
    let folder = visible(&document.folder);
    let indent = " ".repeat(INDENT);
    let lines = || {
        format!("\n{indent}Full report: {folder}/report.html{remark}\n{indent}Experiment:  {folder}/experiment.toml")
    };
    (!folder.is_empty()).then(lines)
}

fn titled(section: &Section, layout: Layout) -> Vec<String> {
    let body = body(&section.body, layout);
    if body.iter().all(String::is_empty) {
        return Vec::new();
    }
    let title = visible(&section.title).into_owned();
    let rule = "─".repeat(title.chars().count());
    [String::new(), title, rule].into_iter().chain(body).collect()
}

/// No two empty lines, and none at the end.
fn joined(lines: Vec<String>) -> String {
    let mut text = String::new();
    let mut was_empty = true;
    for line in lines.iter().flat_map(|line| line.split('\n')) {
        let is_empty = line.trim_end().is_empty();
        if !(is_empty && was_empty) {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        was_empty = is_empty;
    }
    text.trim_end().to_owned() + "\n"
}

/// A note that follows a list stands apart from it.
fn body<'a>(blocks: impl IntoIterator<Item = &'a Block>, layout: Layout) -> Vec<String> {
    let mut after_list = false;
    let one = |one: &Block| {
        let gap = (after_list && matches!(one, Block::Note(_))).then(String::new);
        after_list = matches!(one, Block::List(_));
        gap.into_iter().chain(block(one, layout)).collect::<Vec<_>>()
    };
    blocks.into_iter().flat_map(one).collect()
}

fn block(block: &Block, layout: Layout) -> Vec<String> {
    let width = layout.width;
    let apart = |lines: Vec<String>| std::iter::once(String::new()).chain(lines).collect::<Vec<_>>();
    match block {
        Block::Heading(text) => apart(indented(INDENT, wrapped(&plain(text), width - INDENT))),
        Block::Judgement { tone, sentences } => {
            let lines = sentences.iter().enumerate().flat_map(|(place, text)| {
                let lines = indented(INDENT, wrapped(&plain(text), width - INDENT));
                if place == 0 && layout.color { painted(*tone, lines) } else { lines }
            });
            lines.collect()
        }
        Block::Para(text) => apart(indented(INDENT, wrapped(&plain(text), width - INDENT))),
        Block::Note(text) => indented(INDENT, wrapped(&plain(text), width - INDENT)),
        Block::List(items) => list(items, layout),
        Block::Table(table) => apart(self::table(table, layout)),
        Block::Chart(chart) => apart(self::chart(chart, layout)),
        Block::Finding { title, text, evidence } => apart(finding(title, text, evidence, width)),
        Block::Fold { title, body: inner } => {
            let title = indented(INDENT, wrapped(&plain(title), width - INDENT));
            apart(title.into_iter().chain(body(inner, layout)).collect())
        }
        Block::Code(text) => indented(2 * INDENT, visible(text).lines().map(str::to_owned).collect()),
        Block::OffPage(inner) => body(inner, layout),
        Block::Drawing { .. } | Block::OnPage(_) => Vec::new(),
    }
}

fn list(items: &[Text], layout: Layout) -> Vec<String> {
    let item = |text: &Text| {
        let mut lines = wrapped(&plain(text), layout.width - 2 * INDENT);
        lines.iter_mut().enumerate().for_each(|(place, line)| {
            line.insert_str(0, if place == 0 { "  - " } else { "    " });
        });
        lines
    };
    let left = items.len().saturating_sub(layout.items);
    let more = (left > 0).then(|| match layout.items {
        0 => format!("    {left} in the full report (--full)"),
        _ => format!("    and {left} more (--full)"),
    });
    items.iter().take(layout.items).flat_map(item).chain(more).collect()
}

fn finding(title: &str, text: &Text, evidence: &[String], width: usize) -> Vec<String> {
    let told = format!("{}: {}", visible(title), plain(text));
    let lines = evidence.iter().flat_map(|line| hanging(2 * INDENT, &plain(&line.as_str().into()), width));
    indented(INDENT, wrapped(&told, width - INDENT)).into_iter().chain(lines).collect()
}

/// The figures in place of the drawing; where there are none, what it shows.
fn chart(chart: &Chart, layout: Layout) -> Vec<String> {
    match &chart.table {
        Some(table) => self::table(table, layout),
        None => indented(INDENT, wrapped(&visible(&chart.alt), layout.width - INDENT)),
    }
}

/// The characters of a text. A name that could be taken for prose stands between backticks.
fn plain(text: &Text) -> String {
    let is_plain = |name: &str| name.chars().all(|letter| letter.is_alphanumeric() || "._-@:+/=".contains(letter));
    let span = |span: &Span| match span {
        Span::Name(name) if !is_plain(name) => format!("`{}`", visible(name)),
        span => visible(span.raw()).into_owned(),
    };
    text.0.iter().map(span).collect()
}

fn painted(tone: Tone, lines: Vec<String>) -> Vec<String> {
    let color = match tone {
        Tone::Faster => 32,
        Tone::Slower => 31,
        _ => 33,
    };
    let painted = |line: String| format!("{}\x1b[1;{color}m{}\x1b[0m", &line[..INDENT], &line[INDENT..]);
    lines.into_iter().map(painted).collect()
}

fn indented(by: usize, lines: Vec<String>) -> Vec<String> {
    lines.into_iter().map(|line| " ".repeat(by) + &line).collect()
}

/// Further lines a step to the right of the first.
fn hanging(by: usize, text: &str, width: usize) -> Vec<String> {
    let lines = wrapped(text, width.saturating_sub(by + INDENT)).into_iter().enumerate();
    lines.map(|(place, line)| " ".repeat(if place == 0 { by } else { by + INDENT }) + &line).collect()
}

/// Broken at spaces; a word that is longer than a line stands on its own.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    // A number and its percent sign are one word.
    let text = text.replace(" %", "\u{a0}%");
    for word in text.split([' ', '\n', '\t']).filter(|word| !word.is_empty()) {
        let word = &word.replace('\u{a0}', " ");
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if letters(line) + 1 + letters(word) <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.clone());
        }
    }
    lines
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// `mysql-8.0…-tuned`: names often differ at either end.
pub fn shortened(name: &str, width: usize) -> String {
    if letters(name) <= width {
        return name.to_owned();
    }
    let kept = width.saturating_sub(1);
    let front: String = name.chars().take(kept.div_ceil(2)).collect();
    let back: Vec<char> = name.chars().rev().take(kept / 2).collect();
    front + "…" + &back.into_iter().rev().collect::<String>()
}

/// A row as characters, and what stands below it.
struct Line {
    kind: RowKind,
    cells: Vec<String>,
    remarks: String,
    /// It has a verdict other than `inconclusive`.
    is_decided: bool,
}

/// A table as characters, and how wide each column is.
struct Grid<'a> {
    table: &'a Table,
    heading: Vec<String>,
    rows: Vec<Line>,
    /// Places of the columns that are printed.
    shown: Vec<usize>,
    /// Of those whose texts all stand below their rows.
    below: Vec<usize>,
    widths: Vec<usize>,
}

pub fn table(table: &Table, layout: Layout) -> Vec<String> {
    let width = layout.width - INDENT;
    let mut grid = Grid::of(table, true);
    if grid.width() > width {
        grid = Grid::of(table, false);
    }
    grid.fit(width);
    grid.lines(layout)
}

/// Broken behind spaces and the separators of names; what is longer than that is shortened in the middle.
fn heading_lines(heading: &str, width: usize) -> Vec<String> {
    let mut lines = broken(heading, width);
    let rest: String = lines.split_off(lines.len().min(HEADING_LINES - 1)).concat();
    lines.extend((!rest.is_empty()).then_some(rest));
    lines.iter().map(|line| shortened(line.trim_end(), width)).collect()
}

fn fits_heading(heading: &str, width: usize) -> bool {
    let lines = broken(heading, width);
    lines.len() <= HEADING_LINES && lines.iter().all(|line| letters(line.trim_end()) <= width)
}

/// Each part goes into the line before it where it fits there.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in text.split_inclusive([' ', '_', '-', '.', '/', ',']) {
        match lines.last_mut() {
            Some(line) if letters(line) + letters(part.trim_end()) <= width => line.push_str(part),
            _ => lines.push(part.to_owned()),
        }
    }
    lines
}

/// Whether it only remarks on the text before it.
fn is_remark(span: &Span) -> bool {
    matches!(span, Span::Quiet(_))
}

impl<'a> Grid<'a> {
    /// With remarks in their cells, or below their rows.
    fn of(table: &'a Table, with_remarks: bool) -> Grid<'a> {
        let one_line = |text: &str| visible(text).replace(['\n', '\t'], " ");
        let heading: Vec<String> = table.columns.iter().map(|column| one_line(&column.title)).collect();
        let joined = |text: &Text, wanted: &dyn Fn(&Span) -> bool| -> String {
            text.0.iter().filter(|span| wanted(span)).map(|span| one_line(span.raw())).collect()
        };
        let line = |row: &Row| {
            let cell = |cell: &Cell| joined(&cell.text, &|span| with_remarks || !is_remark(span));
            let remark = |cell: &Cell| joined(&cell.text, &|span| !with_remarks && is_remark(span));
            let remarks: String = row.cells.iter().map(remark).collect();
            let remarks = remarks.trim_start_matches([',', ';', ' ']).to_owned();
            let mut spans = row.cells.iter().flat_map(|cell| &cell.text.0);
            let is_decided = spans.any(|span| matches!(span, Span::Judgement(tone, _) if *tone != Tone::Open));
            Line { kind: row.kind, cells: row.cells.iter().map(cell).collect(), remarks, is_decided }
        };
        let rows: Vec<Line> = table.rows.iter().map(line).collect();
        let mut grid = Grid {
            table,
            heading,
            rows,
            shown: (0..table.columns.len()).collect(),
            below: Vec::new(),
            widths: Vec::new(),
        };
        grid.widths = grid.shown.iter().map(|column| grid.widest(*column)).collect();
        grid
    }

    fn widest(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|line| line.cells.get(column));
        cells.chain([&self.heading[column]]).map(|text| letters(text)).max().unwrap_or(0)
    }

    fn width(&self) -> usize {
        self.shown.iter().map(|column| self.widths[*column] + GAP).sum::<usize>().saturating_sub(GAP)
    }

    fn fit(&mut self, width: usize) {
        self.shorten(width, 2 * NAME_MIN);
        self.shorten_headings(width);
        let (prose, names) = (self.of_kind(ColumnKind::Prose), self.of_kind(ColumnKind::Name));
        for column in &prose {
            let least = PROSE_MIN.max(letters(&self.heading[*column])).min(self.widths[*column]);
            self.widths[*column] =
                (self.widths[*column] + width).saturating_sub(self.width()).clamp(least, self.widths[*column]);
        }
        while self.width() > width && self.drop_least() {}
        if self.width() < width {
            self.widen(&names, width);
        }
        self.widen(&prose, width);
        self.below = self.shown.iter().copied().filter(|column| self.is_all_below(*column)).collect();
        self.shown.retain(|column| !self.below.contains(column));
        self.widen(&prose, width);
        self.shorten(width, NAME_MIN);
        self.shorten(width, NAME_MIN / 2);
    }

    fn of_kind(&self, kind: ColumnKind) -> Vec<usize> {
        self.shown.iter().copied().filter(|column| self.table.columns[*column].kind == kind).collect()
    }

    /// What was dropped leaves room.
    fn widen(&mut self, columns: &[usize], width: usize) {
        for column in columns.iter().copied() {
            if self.shown.contains(&column) {
                let free = (self.widths[column] + width).saturating_sub(self.width());
                self.widths[column] = free.min(self.widest(column));
            }
        }
    }

    fn is_all_below(&self, column: usize) -> bool {
        let mut texts = self.rows.iter().map(|row| &row.cells[column]).filter(|text| !text.is_empty()).peekable();
        texts.peek().is_some() && texts.all(|text| self.is_below(column, text))
    }

    fn is_prose(&self, column: usize) -> bool {
        self.table.columns[column].kind == ColumnKind::Prose
    }

    /// Prose that is longer than its column.
    fn is_below(&self, column: usize, text: &str) -> bool {
        self.is_prose(column) && letters(text) > self.widths[column]
    }

    /// All columns of the last priority at once: one value of a pair alone would mislead.
    fn drop_least(&mut self) -> bool {
        let priority = |column: &usize| self.table.columns[*column].priority;
        let last = self.shown.iter().map(priority).max().unwrap_or(0);
        let kept: Vec<usize> = self.shown.iter().copied().filter(|column| priority(column) < last).collect();
        if last > 0 {
            self.shown = kept;
        }
        last > 0
    }

    /// Names of contenders over numbers and settings: over several lines as long as that shows all of them.
    fn shorten_headings(&mut self, width: usize) {
        for whole in [true, false] {
            while self.width() > width {
                let can_shrink = |column: &usize| match whole {
                    true => fits_heading(&self.heading[*column], self.widths[*column] - 1),
                    false => self.widths[*column] > NAME_MIN,
                };
                let long = self.shown.iter().copied().filter(|column| self.is_long(*column)).filter(can_shrink);
                let Some(column) = long.max_by_key(|column| self.widths[*column]) else { break };
                self.widths[column] -= 1;
            }
        }
    }

    /// The widest names first, down to `least`.
    fn shorten(&mut self, width: usize, least: usize) {
        while self.width() > width {
            let is_name = |column: &usize| self.table.columns[*column].kind == ColumnKind::Name;
            let widest = self.shown.iter().copied().filter(is_name).max_by_key(|column| self.widths[*column]);
            let Some(column) = widest.filter(|column| self.widths[*column] > least) else { return };
            self.widths[column] -= 1;
        }
    }

    /// The name of a contender in a heading takes more room than the numbers or settings below it.
    fn is_long(&self, column: usize) -> bool {
        let cells = self.rows.iter().filter_map(|line| line.cells.get(column));
        self.table.columns[column].kind != ColumnKind::Name
            && self.widths[column] > cells.map(|text| letters(text)).max().unwrap_or(0)
    }

    fn lines(&self, layout: Layout) -> Vec<String> {
        let mut lines = self.headings();
        let kept = self.kept(layout.rows);
        let left = self.rows.len() - kept.len();
        // Counted where rows are left out last.
        let gaps = kept.windows(2).filter(|pair| pair[1] > pair[0] + 1);
        let more_behind = gaps.map(|pair| pair[0]).next_back().or(kept.last().copied());
        for (place, number) in kept.iter().enumerate() {
            lines.extend(self.row(&self.rows[*number], place == 0, layout.width));
            let is_here = left > 0 && more_behind == Some(*number);
            lines.extend(is_here.then(|| format!("{}… and {left} more (--full)", " ".repeat(INDENT))));
        }
        // The first screen says that there is more.
        let left_out = self.left_out().filter(|_| layout.rows == usize::MAX);
        lines.extend(left_out.into_iter().flat_map(|text| indented(INDENT, wrapped(&text, layout.width - INDENT))));
        lines
    }

    /// The last line of each heading stands on the numbers.
    fn headings(&self) -> Vec<String> {
        let cut = |column: usize| match self.table.columns[column].kind {
            ColumnKind::Name => vec![self.heading[column].clone()],
            _ => heading_lines(&self.heading[column], self.widths[column]),
        };
        let headings: Vec<Vec<String>> = (0..self.heading.len()).map(cut).collect();
        let tallest = self.shown.iter().map(|column| headings[*column].len()).max().unwrap_or(0);
        let cell = |heading: &Vec<String>, line: usize| {
            let above = tallest.saturating_sub(heading.len());
            line.checked_sub(above).and_then(|line| heading.get(line)).cloned().unwrap_or_default()
        };
        let line = |line: usize| self.line(&headings.iter().map(|one| cell(one, line)).collect::<Vec<_>>());
        (0..tallest).map(line).collect()
    }

    /// Where there are too many rows, those that decide something, then the first and the last; by their places.
    fn kept(&self, most: usize) -> Vec<usize> {
        let all = self.rows.len();
        if all <= most.saturating_add(1) {
            return (0..all).collect();
        }
        let (front, back) = (most - (most / 2).max(1), (most / 2).max(1));
        let is_end = |place: &usize| *place < front || *place >= all - back;
        let mut kept: Vec<usize> = (0..all).collect();
        kept.sort_by_key(|place| match self.rows[*place].kind {
            RowKind::Overall => 0,
            _ if self.rows[*place].is_decided => 1,
            _ if is_end(place) => 2,
            _ => 3,
        });
        kept.truncate(most);
        kept.sort_unstable();
        kept
    }

    fn row(&self, row: &Line, is_first: bool, width: usize) -> Vec<String> {
        let below = self.shown.iter().chain(&self.below).map(|column| (*column, &row.cells[*column]));
        let below = below.filter(|(column, text)| !text.is_empty() && self.is_below(*column, text));
        let below = below.map(|(column, text)| format!("{}: {text}", self.heading[column]));
        let remarks = Some(row.remarks.clone()).filter(|remarks| !remarks.is_empty());
        let below = below.chain(remarks).flat_map(|text| hanging(2 * INDENT, &text, width));
        let gap = (row.kind == RowKind::First && !is_first).then(String::new);
        gap.into_iter().chain([self.line(&row.cells)]).chain(below).collect()
    }

    fn line(&self, cells: &[String]) -> String {
        let cell = |column: &usize| {
            let (text, width) = (shortened(&cells[*column], self.widths[*column]), self.widths[*column]);
            match self.table.columns[*column].kind {
                ColumnKind::Number => format!("{text:>width$}"),
                _ if self.is_below(*column, &cells[*column]) => " ".repeat(width),
                _ => format!("{text:width$}"),
            }
        };
        let line: Vec<String> = self.shown.iter().map(cell).collect();
        " ".repeat(INDENT) + line.join(&" ".repeat(GAP)).trim_end()
    }

    /// Nothing is cut without a hint.
    fn left_out(&self) -> Option<String> {
        let left =
            (0..self.heading.len()).filter(|column| !self.shown.contains(column) && !self.below.contains(column));
        let titles: Vec<&str> = left.map(|column| self.heading[column].as_str()).collect();
        (!titles.is_empty()).then(|| format!("(left out at this width: {})", titles.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Column;
    use analysis::Verdict;

    #[test]
    fn rows_that_decide_something_stay_where_not_all_have_room() {
        let row = |place: usize| {
            let verdict = if place == 4 { Verdict::Slower } else { Verdict::Inconclusive };
            [Cell::from(format!("{place}")), Cell::from(Text::verdict(verdict, verdict.as_str()))]
        };
        let columns = [Column::name("clients", 0), Column::name("verdict", 0)];
        let table = Table::new(columns).with_rows((0..9).map(row));
        let grid = Grid::of(&table, true);
        assert_eq!(grid.kept(2), [0, 4]);
        assert_eq!(grid.kept(4), [0, 1, 4, 7]);
        assert_eq!(grid.kept(8), (0..9).collect::<Vec<_>>());
        let lines = grid.lines(Layout { rows: 2, ..Layout::new(80, false) }).join("\n");
        assert!(lines.contains("slower") && lines.matches("… and 7 more (--full)").count() == 1, "{lines}");
    }

    fn sample() -> Table {
        let columns = [
            Column::name("contender", 0),
            Column::number("mysql-8.0.31-tuned tps", 2),
            Column::number("ratio", 0),
            Column::number("n", 3),
            Column::prose("remark", 0),
        ];
        let row = |name: &str, remark: &str| [name, "1,480", "0.937", "8", remark].map(str::to_owned);
        Table::new(columns).with_rows([
            row("short", ""),
            row("a-name-of-a-contender-that-is-long", "a remark that is far too long for a column of a table"),
        ])
    }

    #[test]
    fn a_table_fits_every_width_and_names_what_it_leaves_out() {
        for width in [40, 60, 80, 120] {
            let lines = table(&sample(), Layout::new(width, false));
            assert!(lines.iter().all(|line| letters(line) <= width), "{width}: {lines:#?}");
            assert_eq!(lines.iter().any(|line| line.contains("left out")), width <= 60, "{lines:#?}");
            assert!(lines.iter().any(|line| line.contains("0.937")), "the ratio stays: {lines:#?}");
        }
        let narrow = table(&sample(), Layout::new(40, false)).join("\n");
        assert!(
            narrow.contains("(left out at this width:") && narrow.contains("    remark: a remark that"),
            "{narrow}"
        );
    }

    #[test]
    fn a_long_heading_over_numbers_takes_several_lines_before_it_is_cut() {
        let check = |width, expected: &[&str]| assert_eq!(heading_lines("rollback_journal-mode tps", width), expected);
        check(25, &["rollback_journal-mode tps"]);
        check(21, &["rollback_journal-mode", "tps"]);
        check(12, &["rollback_", "journal-mode", "tps"]);
        check(8, &["roll…ck_", "journal-", "mode tps"]);
        assert!(fits_heading("rollback_journal-mode tps", 12) && !fits_heading("rollback_journal-mode tps", 8));
        let columns = [Column::name("clients", 0), Column::number("rollback_journal tps", 1)];
        let columns = columns.into_iter().chain([Column::number("write-ahead-log tps", 1), Column::number("ratio", 0)]);
        let table =
            Table::new(columns.collect::<Vec<_>>()).with_rows([["1", "1,480", "2,210", "1.49"].map(str::to_owned)]);
        let expected = ["                rollback_   write-ahead-", "  clients     journal tps        log tps   ratio"];
        assert_eq!(self::table(&table, Layout::new(48, false))[..2], expected.map(str::to_owned));
        for width in [60, 80, 120] {
            assert!(!self::table(&table, Layout::new(width, false)).concat().contains('…'));
        }
    }

    #[test]
    fn every_contender_has_its_heading_over_settings_or_its_name_before_them() {
        let names = ["9.6, defaults", "17, defaults", "shared_buffers 512MB", "larger WAL", "asynchronous commit"];
        let columns = [Column::name("setting", 0)].into_iter().chain(names.map(|name| Column::prose(name, 0)));
        let row = ["checkpoint_timeout", "not set", "not set", "not set", "30min", "30min"].map(str::to_owned);
        let table = Table::new(columns.collect::<Vec<_>>()).with_rows([row]);
        let at = |width| self::table(&table, Layout::new(width, false));
        assert_eq!(at(200).len(), 2, "{:#?}", at(200));
        for width in [80, 100] {
            assert!(!at(width).concat().contains(['…', ':']), "{:#?}", at(width));
        }
        for width in [40, 60] {
            let lines = at(width);
            assert!(lines.iter().all(|line| letters(line) <= width), "{width}: {lines:#?}");
            let values = lines.iter().map(|line| line.matches("not set").count() + line.matches("30min").count());
            assert_eq!(values.sum::<usize>(), 5, "{width}: {lines:#?}");
            assert!(lines.concat().contains("17, defaults: not set"), "{width}: {lines:#?}");
        }
    }

    #[test]
    fn a_name_takes_the_room_of_columns_that_are_left_out() {
        let columns = [Column::name("per transaction", 0), Column::number("ratio", 0), Column::number("baseline", 1)];
        let row = ["voluntary context switches", "6.56", "0.0758"].map(str::to_owned);
        let table = Table::new(columns.to_vec()).with_rows([row]);
        assert_eq!(self::table(&table, Layout::new(40, false))[1], "  voluntary context switches    6.56");
    }

    #[test]
    fn names_are_shortened_in_the_middle() {
        assert_eq!((shortened("mysql-8.0.31-tuned", 9), shortened("5.5", 9)), ("mysq…uned".into(), "5.5".into()));
    }

    #[test]
    fn names_stand_between_backticks_only_where_they_could_be_prose() {
        assert_eq!(plain(&Text::from("`5.6` and `5.6 <b>`")), "5.6 and `5.6 <b>`");
        assert_eq!(plain(&Text::plain("a\x1b[2J`b`")), "a\\u001b[2J`b`");
    }
}
