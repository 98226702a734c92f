//! A document in GitHub's Markdown, for pull requests and summaries of jobs: tables in place of charts.

use terminal::visible;

use crate::document::{Block, Cell, Chart, ColumnKind, Document, Row, RowKind, Section, Span, Table, Text};

/// GitHub refuses more than 65,536 characters.
const BYTES_MAX: usize = 60_000;

pub fn render(document: &Document) -> String {
    let mut text = format!("# {}\n\n", prose(document.question.as_ref().unwrap_or(&document.name)));
    if let Some(note) = &document.note {
        text += &format!("note: {}\n\n", prose(note));
    }
    text += &body(&document.first.body);
    let mut left_out = 0;
    for section in &document.sections {
        let more = self::section(section);
        let fits = left_out == 0 && text.len() + more.len() < BYTES_MAX;
        if fits { text += &more } else { left_out += 1 }
    }
    if left_out > 0 {
        text += &format!("\nThe other {left_out} sections are in report.html.\n");
    }
    text.trim_end().to_owned() + "\n"
}

fn section(section: &Section) -> String {
    let body = body(&section.body);
    if body.is_empty() {
        return body;
    }
    format!("<details>\n<summary><b>{}</b></summary>\n\n{body}</details>\n\n", in_html(&section.title))
}

fn body(blocks: &[Block]) -> String {
    blocks.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(text) => format!("**{}**\n\n", spans(text)),
        Block::Judgement { sentences, .. } => {
            let sentences: Vec<String> = sentences.iter().map(spans).collect();
            format!("**{}**\n\n", sentences.join(" "))
        }
        Block::Para(text) | Block::Note(text) => format!("{}\n\n", spans(text)),
        Block::List(items) => items.iter().map(|item| format!("- {}\n", spans(item))).collect::<String>() + "\n",
        Block::Table(table) => self::table(table),
        Block::Chart(chart) => self::chart(chart),
        Block::Finding { title, text, evidence } => {
            let lines: String = evidence.iter().map(|line| format!("  - {}\n", spans(&line.as_str().into()))).collect();
            format!("- **{}**: {}\n{lines}\n", prose(title), spans(text))
        }
        Block::Fold { title, body: inner } => {
            format!("<details>\n<summary>{}</summary>\n\n{}</details>\n\n", in_html(&title.raw()), body(inner))
        }
        Block::Code(text) => code(text),
        Block::OffPage(inner) => body(inner),
        Block::Drawing { .. } | Block::OnPage(_) => String::new(),
    }
}

fn chart(chart: &Chart) -> String {
    match &chart.table {
        Some(table) => self::table(table),
        None => format!("{}\n\n", prose(&chart.alt)),
    }
}

pub fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heading = line(table.columns.iter().map(|column| prose(&column.title)).collect());
    let side = |kind: ColumnKind| if kind == ColumnKind::Number { "--:" } else { "---" }.to_owned();
    let rule = line(table.columns.iter().map(|column| side(column.kind)).collect());
    let row = |row: &Row| {
        let cell = |cell: &Cell| match (prose(&cell.text.raw()), row.kind) {
            (text, RowKind::Overall) if !text.trim().is_empty() => format!("**{}**", text.trim()),
            (text, _) => text,
        };
        line(row.cells.iter().map(cell).collect())
    };
    let rows = table.rows.iter().map(row);
    heading + &rule + &rows.collect::<String>() + "\n"
}

/// A fence that is longer than any in the text.
fn code(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}\n\n", visible(text))
}

fn spans(text: &Text) -> String {
    let span = |span: &Span| match span {
        Span::Name(name) if !name.contains(['`', '\n', '|']) => format!("`{}`", visible(name)),
        span => prose(span.raw()),
    };
    text.0.iter().map(span).collect()
}

/// Inside of tags, where GitHub reads no Markdown.
fn in_html(text: &str) -> String {
    let text = visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace(['\n', '\t'], " ").replace('@', "&#64;")
}

/// Nothing in it is markup, and it stays on its line.
fn prose(text: &str) -> String {
    let mut escaped = String::new();
    for letter in visible(text).chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '\n' | '\t' => escaped.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '@' => escaped.extend(['\\', letter]),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Column;

    #[test]
    fn titles_of_folds_are_html_and_names_in_evidence_are_code() {
        let finding = Block::Finding {
            title: "Failed trials".into(),
            text: Text::plain("1 failed."),
            evidence: vec!["p99 of `a_b` against `c`".into()],
        };
        let text = body(&[Block::fold("`a_b` <x>", vec![finding])]);
        assert!(text.contains("<summary>a_b &lt;x&gt;</summary>"), "{text}");
        assert!(text.contains("- **Failed trials**: 1 failed.\n  - p99 of `a_b` against `c`\n"), "{text}");
    }

    #[test]
    fn what_a_server_wrote_is_no_markup() {
        let hostile = "<script>|[x](y)`*_\n@all";
        let table = Table::new([Column::name(hostile, 0)]).with_rows([[hostile]]);
        let text = body(&[
            Block::Para(Text(vec![Span::Name(hostile.into())])),
            Block::Table(table),
            Block::Code("```\n<b>".into()),
        ]);
        assert!(
            text.lines().filter(|line| line.starts_with("| ")).all(|line| line.matches(" |").count() == 1),
            "{text}"
        );
        assert!(
            text.contains("````\n```\n<b>\n````") && text.contains("&lt;script&gt;\\|\\[x\\](y)\\`\\*\\_ \\@all"),
            "{text}"
        );
    }
}
