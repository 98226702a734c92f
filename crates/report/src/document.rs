//! What a report contains, before it is known in which format it is written.
//!
//! Topics build it, renderers write it: a topic knows no renderer, and a renderer knows no topic. Texts are raw here;
//! each renderer escapes them once.

use analysis::Verdict;

/// A whole report: the first screen, then the sections in order.
pub struct Document {
    pub name: String,
    pub question: Option<String>,
    /// What was odd about the stored records.
    pub note: Option<String>,
    pub first: Section,
    pub sections: Vec<Section>,
    /// The folder of the run; empty where it is not known.
    pub folder: String,
}

pub struct Section {
    /// The anchor on the page.
    pub id: &'static str,
    pub title: String,
    pub body: Vec<Block>,
}

impl Section {
    /// None where there is nothing to report. A note that holds for several of its tables stands below the first.
    pub fn of(id: &'static str, title: &str, body: Vec<Block>) -> Option<Section> {
        let body = without_repeated_notes(body, &mut Vec::new());
        (!body.is_empty()).then(|| Section { id, title: title.to_owned(), body })
    }
}

/// A note on the page alone does not stand for one that every format has.
fn without_repeated_notes(body: Vec<Block>, seen: &mut Vec<Text>) -> Vec<Block> {
    let kept = |block: Block| match block {
        Block::Note(text) if seen.contains(&text) => None,
        Block::Note(text) => {
            seen.push(text.clone());
            Some(Block::Note(text))
        }
        Block::OnPage(body) => Some(Block::OnPage(without_repeated_notes(body, &mut seen.clone()))),
        other => Some(other),
    };
    body.into_iter().filter_map(kept).collect()
}

pub enum Block {
    Heading(Text),
    /// What the run says of one candidate.
    Judgement {
        tone: Tone,
        sentences: Vec<Text>,
    },
    Para(Text),
    /// How to read what stands above it.
    Note(Text),
    List(Vec<Text>),
    Table(Table),
    Chart(Box<Chart>),
    Finding {
        title: String,
        text: Text,
        evidence: Vec<String>,
    },
    Fold {
        title: Text,
        body: Vec<Block>,
    },
    Code(String),
    /// A flame graph: SVG that is escaped already.
    Drawing {
        title: Text,
        svg: String,
    },
    /// What the page has and other formats leave out.
    OnPage(Vec<Block>),
    /// What needs records that a page does not carry.
    OffPage(Vec<Block>),
}

impl Block {
    pub fn heading(text: impl Into<Text>) -> Block {
        Block::Heading(text.into())
    }

    pub fn para(text: impl Into<Text>) -> Block {
        Block::Para(text.into())
    }

    pub fn note(text: impl Into<Text>) -> Block {
        Block::Note(text.into())
    }

    pub fn fold(title: impl Into<Text>, body: Vec<Block>) -> Block {
        Block::Fold { title: title.into(), body }
    }

    /// None of an empty list.
    pub fn list(lines: Vec<String>) -> Option<Block> {
        (!lines.is_empty()).then(|| Block::List(lines.into_iter().map(Text::from).collect()))
    }

    /// None of a table without rows.
    pub fn table(table: Table) -> Option<Block> {
        (!table.rows.is_empty()).then_some(Block::Table(table))
    }

    pub fn chart(chart: Chart) -> Block {
        Block::Chart(Box::new(chart))
    }

    /// None where nothing is left to the page.
    pub fn on_page(body: Vec<Block>) -> Option<Block> {
        (!body.is_empty()).then_some(Block::OnPage(body))
    }
}

/// A line of text with the names in it marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub Vec<Span>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    Plain(String),
    /// A contender, a setting, or something to type.
    Name(String),
    Judgement(Tone, String),
    Quiet(String),
}

impl Text {
    /// Without a look at backticks: what a server or a user wrote.
    pub fn plain(text: impl Into<String>) -> Text {
        Text(vec![Span::Plain(text.into())])
    }

    pub fn verdict(verdict: Verdict, text: impl Into<String>) -> Text {
        Text(vec![Span::Judgement(verdict.into(), text.into())])
    }

    /// With a remark behind it that matters less.
    pub fn and_quiet(mut self, text: impl Into<String>) -> Text {
        let text = text.into();
        if !text.is_empty() {
            self.0.push(Span::Quiet(text));
        }
        self
    }

    /// The characters, names as they are.
    pub fn raw(&self) -> String {
        self.0.iter().map(Span::raw).collect()
    }
}

impl Span {
    pub fn raw(&self) -> &str {
        match self {
            Span::Plain(text) | Span::Name(text) | Span::Judgement(_, text) | Span::Quiet(text) => text,
        }
    }
}

/// Names stand between backticks.
impl From<&str> for Text {
    fn from(text: &str) -> Text {
        let span = |(place, part): (usize, &str)| match place % 2 {
            0 => Span::Plain(part.to_owned()),
            _ => Span::Name(part.to_owned()),
        };
        Text(text.split('`').enumerate().filter(|(_, part)| !part.is_empty()).map(span).collect())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        text.as_str().into()
    }
}

/// What a colour stands for. It never carries the meaning alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Faster,
    Slower,
    Mixed,
    Open,
    Same,
}

impl Tone {
    pub fn class(self) -> &'static str {
        match self {
            Tone::Faster => "faster",
            Tone::Slower => "slower",
            Tone::Mixed => "mixed",
            Tone::Open => "open",
            Tone::Same => "same",
        }
    }
}

impl From<Verdict> for Tone {
    fn from(verdict: Verdict) -> Tone {
        match verdict {
            Verdict::Faster => Tone::Faster,
            Verdict::Slower => Tone::Slower,
            Verdict::Mixed => Tone::Mixed,
            Verdict::Inconclusive => Tone::Open,
            Verdict::NoDifferenceShown => Tone::Same,
        }
    }
}

#[derive(Clone)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// By a click on a heading of the page.
    pub sortable: bool,
}

#[derive(Clone)]
pub struct Column {
    pub title: String,
    pub kind: ColumnKind,
    /// Columns of the highest number are dropped first where the width does not suffice; 0 always stays.
    pub priority: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Shortened in the middle where it is too long.
    Name,
    Number,
    /// Stands below its row where it is too long.
    Prose,
}

impl Column {
    pub fn name(title: impl Into<String>, priority: u8) -> Column {
        Column { title: title.into(), kind: ColumnKind::Name, priority }
    }

    pub fn number(title: impl Into<String>, priority: u8) -> Column {
        Column { title: title.into(), kind: ColumnKind::Number, priority }
    }

    pub fn prose(title: impl Into<String>, priority: u8) -> Column {
        Column { title: title.into(), kind: ColumnKind::Prose, priority }
    }
}

#[derive(Clone)]
pub struct Row {
    pub kind: RowKind,
    pub cells: Vec<Cell>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    Plain,
    /// Of all rows above together.
    Overall,
    Failed,
    /// Its values differ where others are the same.
    Different,
    /// The first of a group.
    First,
}

#[derive(Clone)]
pub struct Cell {
    pub text: Text,
    /// What the column is sorted by, where that is not its text.
    pub key: Option<f64>,
    /// Of a map: how the page colours it.
    pub heat: Option<Heat>,
}

/// A ratio as a colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heat {
    pub ratio: f64,
    /// Pale without a verdict.
    pub is_decided: bool,
}

impl From<Text> for Cell {
    fn from(text: Text) -> Cell {
        Cell { text, key: None, heat: None }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Text::plain(text).into()
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Text::plain(text).into()
    }
}

impl Table {
    pub fn new(columns: impl Into<Vec<Column>>) -> Table {
        Table { columns: columns.into(), rows: Vec::new(), sortable: false }
    }

    /// A first column of names and others of numbers, dropped from the last one on.
    pub fn of_numbers(titles: impl IntoIterator<Item = impl Into<String>>) -> Table {
        let column = |(place, title): (usize, _)| match place {
            0 => Column::name(title, 0),
            _ => Column::number(title, place.min(9) as u8),
        };
        Table::new(titles.into_iter().enumerate().map(column).collect::<Vec<_>>())
    }

    pub fn push(&mut self, kind: RowKind, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(Row { kind, cells: cells.into_iter().map(Into::into).collect() });
    }

    /// Without columns that have no value in any row.
    pub fn without_empty_columns(mut self) -> Table {
        let is_empty =
            |column: usize| self.rows.iter().all(|row| ["", "-"].contains(&row.cells[column].text.raw().as_str()));
        let kept: Vec<bool> = (0..self.columns.len()).map(|column| column == 0 || !is_empty(column)).collect();
        fn keep<T>(list: &mut Vec<T>, kept: &[bool]) {
            let mut kept = kept.iter();
            list.retain(|_| kept.next().copied().unwrap_or(true));
        }
        keep(&mut self.columns, &kept);
        self.rows.iter_mut().for_each(|row| keep(&mut row.cells, &kept));
        self
    }

    /// With plain rows of such texts.
    pub fn with_rows<R: IntoIterator<Item = impl Into<Cell>>>(mut self, rows: impl IntoIterator<Item = R>) -> Table {
        rows.into_iter().for_each(|row| self.push(RowKind::Plain, row));
        self
    }
}

pub struct Chart {
    pub title: String,
    pub plot: Plot,
    pub legend: Vec<Key>,
    /// How to read it.
    pub caption: Text,
    /// What it shows, for who does not see it.
    pub alt: String,
    /// The figures behind it, where no table beside it has them. Formats without charts print it in place.
    pub table: Option<Table>,
}

/// An entry of a legend: a series by its colour, or a tone.
pub struct Key {
    pub class: String,
    pub text: String,
}

/// Colours of series; as many more have the same colours and dashes.
pub const COLORS: usize = 6;

/// The class of a series in a drawing and in its legend.
pub fn series_class(color: usize) -> String {
    format!("k{}", color % (2 * COLORS))
}

impl Key {
    pub fn series(name: &str, color: usize) -> Key {
        Key { class: series_class(color), text: name.to_owned() }
    }

    pub fn tone(tone: Tone, text: &str) -> Key {
        Key { class: format!("{} tone-key", tone.class()), text: text.to_owned() }
    }

    pub fn class(class: &str, text: &str) -> Key {
        Key { class: class.to_owned(), text: text.to_owned() }
    }
}

pub enum Plot {
    Plane(Plane),
    Rows(Rows),
    Strip(Strip),
}

#[derive(Clone)]
pub struct Axis {
    pub title: String,
    pub scale: Scale,
    /// Where its numbers stand; round ones where empty.
    pub ticks: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// From the least to the greatest value.
    Span,
    /// From 0 on.
    Zero,
    Logarithmic,
    /// Logarithmic, with 1 on it: what is twice as fast is as far from 1 as what is half as fast.
    Ratio,
}

/// Curves and dots over two axes.
pub struct Plane {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// A stretch of the vertical axis and its tone.
    pub band: Option<(f64, f64)>,
    /// A horizontal line through the estimate.
    pub estimate: Option<f64>,
}

pub struct Series {
    pub name: String,
    pub color: usize,
    pub style: Style,
    pub dots: Vec<Dot>,
    /// A fitted curve.
    pub law: Vec<(f64, f64)>,
    /// Vertical lines, each with the same title.
    pub marks: Vec<f64>,
    pub mark_title: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A line with dots and a band from `low` to `high`.
    Curve,
    /// A line alone: too many values for dots.
    Line,
    Dots,
    FaintDots,
}

#[derive(Clone, Default)]
pub struct Dot {
    pub x: f64,
    pub y: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub title: String,
}

/// One bar or interval below the other, over a ratio axis.
pub struct Rows {
    pub x: Axis,
    pub bars: Vec<Bar>,
    /// Differences that do not matter.
    pub margin: Option<(f64, f64)>,
}

pub struct Bar {
    pub label: String,
    pub tone: Tone,
    pub strong: bool,
    /// A bar from one value to another.
    pub span: Option<(f64, f64)>,
    pub estimate: Option<f64>,
    /// The interval that the verdict rests on.
    pub thick: Option<(f64, f64)>,
    pub thin: Option<(f64, f64)>,
    pub numbers: String,
    pub title: String,
}

/// What happened when, a lane for each contender.
pub struct Strip {
    pub x: Axis,
    pub lanes: usize,
    /// Where each block begins.
    pub lines: Vec<f64>,
    pub marks: Vec<Mark>,
}

pub struct Mark {
    pub lane: usize,
    pub from: f64,
    pub to: f64,
    /// `plain`, `flagged`, `failed` or `replaced`.
    pub class: &'static str,
    pub title: String,
}
