//! A document as a page that needs nothing else and opens offline.
//!
//! Every text goes through [`escape`], once. What is put in as it is: our own style sheet and script, drawings of this
//! crate, and the stream of raw records, which is base64.

use super::svg::escape;
use std::fmt::Write;

use super::svg;
use crate::document::{
    Block, Cell, Chart, Column, ColumnKind, Document, Heat, Key, Row, RowKind, Section, Span, Table, Text,
};

pub const STYLE: &str = include_str!("style.css");
/// Sorts and copies tables, hides series, opens folds for the printer, saves the raw records. The page is complete
/// without it.
pub const SCRIPT: &str = include_str!("page.js");

/// What stands around the stream of raw records.
pub const RECORDS_BEGIN: &str = "<script type=\"text/plain\" id=\"dbduel-records\">";
pub const RECORDS_END: &str = "</script>";

/// Shown by the script alone: without it nothing could be saved.
const RAW_DATA: &str = "<section id=\"raw-data\">\n<h2>Raw data</h2>\n\
    <p>The raw records are inside this file: every number above can be computed from them again.</p>\n\
    <button type=\"button\" id=\"save-records\" hidden>Save the raw records (JSON)</button>\n</section>\n";

pub fn render(document: &Document, records: &str) -> String {
    let name = escape(&document.name);
    let title = document.question.as_ref().map_or(name.clone(), |question| escape(question));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} – dbduel</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<header>\n<p class=\"run\">{name}</p>\n<h1>{title}</h1>\n"
    );
    if let Some(note) = &document.note {
        let _ = writeln!(page, "<p class=\"note\">{}</p>", spans(&note.as_str().into()));
    }
    page += &first(&document.first.body);
    page += "</header>\n";
    page += &contents(&document.sections);
    document.sections.iter().for_each(|section| page += &self::section(section));
    let _ = write!(
        page,
        "{RAW_DATA}</main>\n{RECORDS_BEGIN}{records}{RECORDS_END}\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    page
}

/// Verdicts above, then the main chart beside what belongs to it.
fn first(blocks: &[Block]) -> String {
    let figure = |(place, block): (usize, &Block)| match block {
        Block::Chart(chart) => Some((place, self::chart(chart, true))),
        _ => None,
    };
    let Some((place, figure)) = blocks.iter().enumerate().find_map(figure) else { return body(blocks) };
    let (verdicts, rest) = (body(&blocks[..place]), body(&blocks[place + 1..]));
    format!("{verdicts}<div class=\"lead\">\n{figure}<div>\n{rest}</div>\n</div>\n")
}

fn contents(sections: &[Section]) -> String {
    let link = |(id, title): (&str, &str)| format!("<li><a href=\"#{id}\">{}</a></li>", escape(title));
    let sections = sections.iter().map(|section| (section.id, section.title.as_str()));
    let links: String = sections.chain([("raw-data", "Raw data")]).map(link).collect();
    format!("<nav aria-label=\"Contents\"><ul>{links}</ul></nav>\n")
}

fn section(section: &Section) -> String {
    let (id, title) = (section.id, escape(&section.title));
    format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{}</section>\n", body(&section.body))
}

/// Charts that follow each other stand side by side.
fn body(blocks: &[Block]) -> String {
    let is_chart = |block: &Block| matches!(block, Block::Chart(_));
    let groups = blocks.chunk_by(|one, next| is_chart(one) && is_chart(next));
    let group = |blocks: &[Block]| {
        let all: String = blocks.iter().map(block).collect();
        if blocks.len() > 1 { format!("<div class=\"charts\">\n{all}</div>\n") } else { all }
    };
    groups.map(group).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(text) => format!("<h3>{}</h3>\n", spans(text)),
        Block::Judgement { tone, sentences } => {
            let sentence = |(place, text): (usize, &Text)| {
                let class = if place == 0 { "claim" } else { "aside" };
                format!("<p class=\"{class}\">{}</p>\n", spans(text))
            };
            let sentences: String = sentences.iter().enumerate().map(sentence).collect();
            format!("<div class=\"verdict {}\">\n{sentences}</div>\n", tone.class())
        }
        Block::Para(text) => format!("<p>{}</p>\n", spans(text)),
        Block::Note(text) => format!("<p class=\"quiet\">{}</p>\n", spans(text)),
        Block::List(items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>", spans(item))).collect();
            format!("<ul class=\"list\">{items}</ul>\n")
        }
        Block::Table(table) => self::table(table),
        Block::Chart(chart) => self::chart(chart, false),
        Block::Finding { title, text, evidence } => {
            let lines: String =
                evidence.iter().map(|line| format!("<li>{}</li>", spans(&line.as_str().into()))).collect();
            let lines = if lines.is_empty() { lines } else { format!("<ul>{lines}</ul>") };
            format!("<div class=\"finding\"><p><strong>{}</strong>: {}</p>{lines}</div>\n", escape(title), spans(text))
        }
        Block::Fold { title, body: inner } => {
            format!("<details>\n<summary>{}</summary>\n{}</details>\n", spans(title), body(inner))
        }
        Block::Code(text) => format!("<pre>{}</pre>\n", escape(text)),
        Block::Drawing { title, svg } => {
            format!(
                "<figure>\n<p class=\"title\">{}</p>\n<div class=\"scroll wide\">{svg}</div></figure>\n",
                spans(title)
            )
        }
        Block::OnPage(inner) => body(inner),
        Block::OffPage(_) => String::new(),
    }
}

/// The figures of a chart that have no table beside it are folded below it.
fn chart(chart: &Chart, is_lead: bool) -> String {
    let key = |key: &Key| match key.class.strip_prefix('k') {
        Some(_) => format!("<li class=\"{0}\"><button type=\"button\">{1}</button></li>", key.class, escape(&key.text)),
        None => format!("<li class=\"{}\">{}</li>", key.class, escape(&key.text)),
    };
    let keys: String = chart.legend.iter().map(key).collect();
    let legend = if keys.is_empty() { keys } else { format!("<ul class=\"legend\">{keys}</ul>\n") };
    let (title, drawing) = (escape(&chart.title), svg::draw(chart));
    format!("<figure>\n<p class=\"title\">{title}</p>\n{legend}{drawing}{}</figure>\n", below(chart, is_lead))
}

/// How to read a chart, and its figures. The first screen has room for a line.
fn below(chart: &Chart, is_lead: bool) -> String {
    let table = chart.table.as_ref().map(table);
    let caption = spans(&chart.caption);
    let fold = |title: &str, body: String| {
        format!("<details class=\"figures\">\n<summary>{title}</summary>\n{body}</details>\n")
    };
    match table {
        Some(table) if is_lead => {
            fold("How to read it, and its figures", format!("<p class=\"quiet\">{caption}</p>\n{table}"))
        }
        table => {
            let table = table.map(|table| fold("The figures as a table", table));
            format!("<figcaption>{caption}</figcaption>\n{}", table.unwrap_or_default())
        }
    }
}

/// On a narrow screen the columns of priority 0 stay; prose and the others stand below their row, each with its title.
fn table(table: &Table) -> String {
    let class = if table.sortable { " class=\"sortable\"" } else { "" };
    let widths: Vec<String> =
        widths(table).iter().zip(1..).map(|(width, place)| format!("--w{place}:{width}")).collect();
    let widths = widths.join(";");
    let heading: String = table.columns.iter().map(heading).collect();
    let rows: String = table.rows.iter().map(|row| self::row(&table.columns, row)).collect();
    format!(
        "<div class=\"scroll\"><table{class} style=\"{widths}\">\n<thead><tr>{heading}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// Letters of the widest cell of each column, within limits: on a narrow screen the columns share its width by them.
fn widths(table: &Table) -> Vec<usize> {
    let letters = |text: &str| text.chars().count();
    // Bold ones are wider.
    let bold = |row: &Row| usize::from(row.kind == RowKind::Overall);
    let widest = |(place, column): (usize, &Column)| {
        let cells = table.rows.iter().filter_map(|row| Some(letters(&row.cells.get(place)?.text.raw()) + bold(row)));
        let title = column.title.split(' ').map(letters);
        cells.chain(title).max().unwrap_or(0).clamp(4, 14)
    };
    table.columns.iter().enumerate().map(widest).collect()
}

fn classes(column: &Column, heat: &str) -> String {
    let kind = match column.kind {
        ColumnKind::Name => "",
        ColumnKind::Number => "n",
        ColumnKind::Prose => "wide",
    };
    let more = if column.priority > 0 { "more" } else { "" };
    let all: Vec<&str> = [kind, more, heat].into_iter().filter(|class| !class.is_empty()).collect();
    if all.is_empty() { String::new() } else { format!(" class=\"{}\"", all.join(" ")) }
}

/// The classes of a cell of a map, and how strong its colour is: full from a factor of 2 on, a quarter without a verdict.
fn heated(heat: Heat) -> (&'static str, String) {
    let class = if heat.ratio < 1.0 { "heat slower" } else { "heat faster" };
    let most = if heat.is_decided { 60.0 } else { 15.0 };
    (class, format!(" style=\"--heat:{:.0}%\"", most * heat.ratio.log2().abs().min(1.0)))
}

fn heading(column: &Column) -> String {
    format!("<th scope=\"col\"{}>{}</th>", classes(column, ""), escape(&column.title))
}

fn row(columns: &[Column], row: &Row) -> String {
    let class = match row.kind {
        RowKind::Plain => "",
        RowKind::Overall => " class=\"overall\"",
        RowKind::Failed => " class=\"failed\"",
        RowKind::Different => " class=\"different\"",
        RowKind::First => " class=\"first\"",
    };
    let cells: String = columns
        .iter()
        .zip(&row.cells)
        .enumerate()
        .map(|(place, (column, cell))| self::cell(place, column, cell))
        .collect();
    format!("<tr{class}>{cells}</tr>\n")
}

fn cell(place: usize, column: &Column, cell: &Cell) -> String {
    let (class, style) = cell.heat.map_or(("", String::new()), heated);
    let classes = classes(column, class) + &style;
    let key = cell.key.map_or(String::new(), |key| format!(" data-key=\"{key}\""));
    let text = spans(&cell.text);
    match place {
        0 => format!("<th scope=\"row\"{classes}{key}>{text}</th>"),
        _ if column.priority > 0 || column.kind == ColumnKind::Prose => {
            format!("<td{classes}{key} data-label=\"{}\">{text}</td>", escape(&column.title))
        }
        _ => format!("<td{classes}{key}>{text}</td>"),
    }
}

/// Names as they are; elsewhere a number and its percent sign stay on one line.
fn spans(text: &Text) -> String {
    let escaped = |text: &str| escape(text).replace(" %", "\u{a0}%");
    let span = |span: &Span| match span {
        Span::Plain(text) => escaped(text),
        Span::Name(name) => format!("<span class=\"name\">{}</span>", escape(name)),
        Span::Judgement(tone, text) => format!("<span class=\"{} word\">{}</span>", tone.class(), escaped(text)),
        Span::Quiet(text) => format!("<span class=\"quiet\">{}</span>", escaped(text)),
    };
    text.0.iter().map(span).collect()
}
