//! Renderers: a document in, one format out. They know blocks and no topic.

pub mod html;
pub mod markdown;
pub(crate) mod svg;
pub mod text;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::*;

    const HOSTILE: &str = "<i>\u{1b}[2J&\"'";

    fn axis(scale: Scale) -> Axis {
        Axis { title: HOSTILE.to_owned(), scale, ticks: Vec::new() }
    }

    fn chart(plot: Plot, table: Option<Table>) -> Block {
        Block::chart(Chart {
            title: HOSTILE.to_owned(),
            plot,
            legend: vec![Key::series(HOSTILE, 7), Key::tone(Tone::Mixed, HOSTILE)],
            caption: Text::plain(HOSTILE),
            alt: format!("alt {HOSTILE}"),
            table,
        })
    }

    fn plane(style: Style) -> Plot {
        let dot = |x: f64| Dot { x, y: x, low: Some(0.5 * x), high: Some(90.0 * x), title: HOSTILE.to_owned() };
        let series = Series {
            name: HOSTILE.to_owned(),
            color: 7,
            style,
            dots: vec![dot(1.0), dot(2.0)],
            law: vec![(1.0, 1.0), (2.0, 2.0)],
            marks: vec![1.5],
            mark_title: HOSTILE.to_owned(),
        };
        let (x, y) = (axis(Scale::Logarithmic), axis(Scale::Ratio));
        Plot::Plane(Plane { x, y, series: vec![series], band: Some((0.9, 1.1)), estimate: Some(1.0) })
    }

    fn rows() -> Plot {
        let bar = Bar {
            label: HOSTILE.to_owned(),
            tone: Tone::Same,
            strong: true,
            span: Some((1.0, 1.2)),
            estimate: Some(1.2),
            thick: Some((1.1, 1.3)),
            thin: Some((0.001, 90.0)),
            numbers: HOSTILE.to_owned(),
            title: HOSTILE.to_owned(),
        };
        Plot::Rows(Rows { x: axis(Scale::Ratio), bars: vec![bar], margin: Some((0.99, 1.01)) })
    }

    fn strip() -> Plot {
        let mark = Mark { lane: 0, from: 0.0, to: 1.0, class: "plain", title: HOSTILE.to_owned() };
        Plot::Strip(Strip { x: axis(Scale::Zero), lanes: 1, lines: vec![0.0], marks: vec![mark] })
    }

    fn table() -> Table {
        let columns = [Column::name(HOSTILE, 0), Column::number(HOSTILE, 1), Column::prose(HOSTILE, 2)];
        Table { sortable: true, ..Table::new(columns).with_rows([[HOSTILE, "1", HOSTILE]]) }
    }

    /// One of each kind.
    fn document() -> Document {
        let text = || Text(vec![Span::Name(HOSTILE.into()), Span::Quiet(HOSTILE.into()), Span::Plain("text".into())]);
        let body = vec![
            Block::Heading(text()),
            Block::Judgement { tone: Tone::Faster, sentences: vec![text(), text()] },
            Block::Para(text()),
            Block::Note(text()),
            Block::List(vec![text()]),
            Block::Table(table()),
            chart(plane(Style::Curve), Some(table())),
            chart(plane(Style::Line), None),
            chart(plane(Style::Dots), None),
            chart(plane(Style::FaintDots), None),
            chart(rows(), None),
            chart(strip(), None),
            Block::Finding { title: HOSTILE.to_owned(), text: text(), evidence: vec![HOSTILE.to_owned()] },
            Block::fold(text(), vec![Block::Code(HOSTILE.to_owned())]),
            Block::Drawing { title: text(), svg: "<svg></svg>".to_owned() },
            Block::OnPage(vec![Block::para("only on the page")]),
            Block::OffPage(vec![Block::para("nowhere on it")]),
        ];
        let section = |id, body| Section { id, title: HOSTILE.to_owned(), body };
        Document {
            name: HOSTILE.to_owned(),
            question: Some(HOSTILE.to_owned()),
            note: Some(HOSTILE.to_owned()),
            first: section("verdict", vec![Block::para("first")]),
            sections: vec![section("all", body)],
            folder: HOSTILE.to_owned(),
        }
    }

    #[test]
    fn every_block_and_every_chart_is_written_by_every_renderer_and_escaped_once() {
        let document = document();
        let page = html::render(&document, "{}");
        let text = text::full(&document, text::Layout::new(80, false));
        let markdown = markdown::render(&document);
        for (name, written) in [("page", &page), ("text", &text), ("markdown", &markdown)] {
            assert!(!written.contains('\u{1b}') && written.contains("\\u001b"), "{name} shows control characters");
            assert!(written.contains("text"), "{name}");
        }
        assert!(!page.contains("<i>") && !page.contains("&amp;amp;") && !page.contains("&amp;lt;"), "{page}");
        assert!(page.contains("&lt;i&gt;\\u001b[2J&amp;&quot;&#39;"), "{page}");
        assert_eq!(page.matches("<svg viewBox").count(), 6, "a drawing for each chart");
        assert_eq!(
            (page.matches("<title>").count(), page.matches("<desc>").count() > 5),
            (page.matches("</title>").count(), true)
        );
        assert!(page.contains("only on the page") && !text.contains("only on the page"));
        assert!(
            !page.contains("nowhere on it") && text.contains("nowhere on it") && markdown.contains("nowhere on it")
        );
        assert_eq!(text.matches("alt <i>").count(), 5, "what a chart without a table shows: {text}");
        assert!(markdown.contains("&lt;i&gt;") && markdown.contains("| 1 |"), "{markdown}");
    }

    #[test]
    fn headings_are_in_order_and_every_table_names_its_columns_and_rows() {
        let page = html::render(&document(), "{}");
        assert_eq!((page.matches("<h1>").count(), page.matches("<h2>").count(), page.contains("<h4")), (1, 2, false));
        assert_eq!(page.matches("<th scope=\"col\"").count(), 3 * page.matches("<thead>").count());
        assert_eq!(page.matches("<th scope=\"row\"").count(), page.matches("<tbody>").count());
        assert!(page.contains("<a href=\"#all\">") && page.contains("<section id=\"all\">"));
    }
}
