//! Charts as SVG. Colours and fonts come from the page's style sheet and follow its light or dark theme.
//!
//! Nothing is computed here but places on the paper. An interval that is far wider than the data is cut, with a mark,
//! and never sets the scale.

use std::borrow::Cow;
use std::fmt::Write;
use terminal::visible;

use super::text::shortened;
use crate::document::{Axis, Bar, Chart, Dot, Plane, Plot, Rows, Scale, Series, Strip, Style, series_class};

/// Paper in user units. The page scales it, so this only fixes proportions.
const LEFT: f64 = 88.0;
const RIGHT: f64 = 544.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 250.0;
const WIDTH: f64 = 560.0;
const PLANE_HEIGHT: f64 = 300.0;
/// Letters of a label that fit beside the bars, on a phone as well.
const LABEL_LETTERS: usize = 23;
/// Between a label and its bar.
const LABEL_GAP: f64 = 10.0;
const ROW: f64 = 28.0;
/// Length of the arrow of an interval that is cut.
const ARROW: f64 = 9.0;
/// Room of the axis below.
const AXIS: f64 = 48.0;
/// Labels on an axis that do not crowd each other.
const TICKS: f64 = 5.0;
/// What a letter of a label takes on a phone, and a bold one.
const LETTER: f64 = 10.0;
const BOLD_LETTER: f64 = 11.5;
/// Intervals end at so many times the data.
const REACH_MAX: f64 = 1.5;
/// Past this span of ratios, round ratios of a logarithmic scale are easier to read than equal steps.
const WIDE_SPAN: f64 = 4.0;
/// A trial of a long run would be thinner than a line.
const MARK_MIN: f64 = 1.5;

/// The drawing with its title and what it shows.
pub fn draw(chart: &Chart) -> String {
    let (body, height) = match &chart.plot {
        Plot::Plane(plane) => (self::plane(plane), PLANE_HEIGHT),
        Plot::Rows(rows) => (self::rows(rows), rows_bottom(rows) + AXIS),
        Plot::Strip(strip) => (self::strip(strip), strip_bottom(strip) + AXIS),
    };
    let lines = match &chart.plot {
        Plot::Plane(plane) => lines(plane),
        _ => String::new(),
    };
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\"{lines}><title>{}</title><desc>{}</desc>\n{body}</svg>\n",
        escape(&chart.title),
        escape(&chart.alt)
    )
}

/// Where lines without dots begin and end, and at which values: their values are shown at the pointer.
fn lines(plane: &Plane) -> String {
    if !plane.series.iter().any(|series| series.style == Style::Line) {
        return String::new();
    }
    let x = x_map(plane);
    format!(" data-lines=\"{} {} {} {}\"", x.start, x.end, x.low, x.high)
}

/// Maps values onto a stretch of the paper.
struct Map {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
    is_logarithmic: bool,
}

impl Map {
    fn new(axis: &Axis, values: impl Iterator<Item = f64>, (start, end): (f64, f64)) -> Map {
        let is_logarithmic = matches!(axis.scale, Scale::Logarithmic | Scale::Ratio);
        let values: Vec<f64> = values.filter(|one| one.is_finite() && (!is_logarithmic || *one > 0.0)).collect();
        let low = values.iter().copied().min_by(f64::total_cmp).unwrap_or(1.0);
        let high = values.iter().copied().max_by(f64::total_cmp).unwrap_or(1.0);
        let (low, high) = match axis.scale {
            Scale::Span | Scale::Logarithmic => (low, high),
            Scale::Zero => (0.0, if high > 0.0 { high * 1.05 } else { 1.0 }),
            Scale::Ratio => {
                // Some air around the values and around 1.
                let (low, high) = (low.min(0.985), high.max(1.015));
                let air = (high / low).powf(0.04);
                (low / air, high * air)
            }
        };
        Map { low, high, start, end, is_logarithmic }
    }

    fn place(&self, value: f64) -> f64 {
        let position = |value: f64| if self.is_logarithmic { value.ln() } else { value };
        let width = position(self.high) - position(self.low);
        let share = if width == 0.0 { 0.5 } else { (position(value) - position(self.low)) / width };
        ((self.start + share * (self.end - self.start)) * 10.0).round() / 10.0
    }

    fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    fn cut(&self, value: f64) -> f64 {
        self.place(value.clamp(self.low, self.high))
    }

    /// Round values within the scale, about [`TICKS`] of them, and how far they are apart.
    fn ticks(&self, axis: &Axis) -> Vec<f64> {
        if !axis.ticks.is_empty() {
            return axis.ticks.clone();
        }
        if self.is_logarithmic && self.high / self.low > WIDE_SPAN {
            let decades = (-3..6).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
            return decades.filter(|value| self.holds(*value)).collect();
        }
        let rough = (self.high - self.low) / TICKS;
        if rough <= 0.0 {
            return vec![self.low];
        }
        let magnitude = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * magnitude);
        let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.low / step - 1e-9).ceil() as i64;
        (first..).map(|index| index as f64 * step).take_while(|tick| *tick <= self.high + step * 1e-9).collect()
    }
}

/// `0.5`, `2500`, `10 k`: the shortest exact form.
fn tick_text(value: f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, " G"),
        size if size >= 1e6 => (value / 1e6, " M"),
        size if size >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{unit}", if text == "-0" { "0" } else { text })
}

/// Numbers below, as many as do not overlap.
fn x_axis(svg: &mut String, axis: &Axis, x: &Map, (left, right): (f64, f64), bottom: f64) {
    let mut free = f64::NEG_INFINITY;
    for tick in x.ticks(axis) {
        let (place, text) = (x.place(tick), tick_text(tick));
        let half = text.chars().count() as f64 * LETTER / 2.0;
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{place}\" x2=\"{place}\" y1=\"{bottom}\" y2=\"{}\"/>",
            bottom + 5.0
        );
        if place - half >= free {
            let _ = writeln!(svg, "<text x=\"{place}\" y=\"{}\" text-anchor=\"middle\">{text}</text>", bottom + 20.0);
            free = place + half + LETTER / 2.0;
        }
    }
    // In the middle of its axis, unless it would be cut there.
    let half = (axis.title.chars().count() as f64 * LETTER / 2.0).min(WIDTH / 2.0);
    let middle = ((left + right) / 2.0).clamp(half, WIDTH - half);
    let _ = writeln!(
        svg,
        "<line class=\"axis\" x1=\"{left}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\n<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        tidy(middle),
        bottom + 42.0,
        escape(&axis.title)
    );
}

fn y_axis(svg: &mut String, axis: &Axis, y: &Map) {
    for tick in y.ticks(axis) {
        let place = y.place(tick);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{place}\" y2=\"{place}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            place + 4.0,
            tick_text(tick)
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"label\" transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        (TOP + BOTTOM) / 2.0,
        escape(&axis.title)
    );
}

fn line(svg: &mut String, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(svg, "<line class=\"{class}\" x1=\"{x1}\" x2=\"{x2}\" y1=\"{y1}\" y2=\"{y2}\"/>");
}

fn plane(plane: &Plane) -> String {
    let dots = || plane.series.iter().flat_map(|series| &series.dots);
    let values = || dots().map(|dot| dot.y).chain(plane.estimate);
    let bounds =
        dots().flat_map(|dot| [dot.low, dot.high]).flatten().chain(plane.band.into_iter().flat_map(|(a, b)| [a, b]));
    let y = Map::new(&plane.y, with_reach(values(), bounds).into_iter(), (BOTTOM, TOP));
    let x = x_map(plane);
    let mut svg = String::new();
    if let Some((low, high)) = plane.band {
        let (top, bottom) = (y.cut(high), y.cut(low));
        let _ = writeln!(
            svg,
            "<rect class=\"margin\" x=\"{LEFT}\" width=\"{}\" y=\"{top}\" height=\"{}\"/>",
            RIGHT - LEFT,
            tidy(bottom - top)
        );
    }
    y_axis(&mut svg, &plane.y, &y);
    x_axis(&mut svg, &plane.x, &x, (LEFT, RIGHT), BOTTOM);
    if plane.y.scale == Scale::Ratio {
        line(&mut svg, "one", (LEFT, y.place(1.0)), (RIGHT, y.place(1.0)));
    }
    if let Some(estimate) = plane.estimate {
        line(&mut svg, "middle", (LEFT, y.place(estimate)), (RIGHT, y.place(estimate)));
    }
    plane.series.iter().for_each(|series| self::series(&mut svg, series, &x, &y));
    svg
}

fn x_map(plane: &Plane) -> Map {
    let values = plane.series.iter().flat_map(|series| &series.dots).map(|dot| dot.x);
    Map::new(&plane.x, values.chain(plane.x.ticks.iter().copied()), (LEFT + 14.0, RIGHT - 14.0))
}

/// The values, and of their intervals so much as lies near them.
fn with_reach(values: impl Iterator<Item = f64>, bounds: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    let low = values.iter().copied().min_by(f64::total_cmp).unwrap_or(1.0);
    let high = values.iter().copied().max_by(f64::total_cmp).unwrap_or(1.0);
    values.extend(bounds.map(|bound| bound.clamp(low.min(low / REACH_MAX), high.max(high * REACH_MAX))));
    values
}

fn series(svg: &mut String, series: &Series, x: &Map, y: &Map) {
    let _ = writeln!(svg, "<g class=\"{}\">", series_class(series.color));
    for mark in series.marks.iter().filter(|mark| x.holds(**mark)) {
        let place = x.place(*mark);
        let title = escape(&series.mark_title);
        let _ = writeln!(
            svg,
            "<line class=\"checkpoint\" x1=\"{place}\" x2=\"{place}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"><title>{title}</title></line>"
        );
    }
    match series.style {
        Style::Curve => {
            band(svg, &series.dots, x, y);
            polyline(svg, "curve", series.dots.iter().map(|dot| (dot.x, dot.y)), x, y);
            polyline(svg, "law", series.law.iter().copied(), x, y);
            series.dots.iter().for_each(|one| dot(svg, "dot", 4.5, one, x, y));
        }
        Style::Line => polyline(svg, "curve", series.dots.iter().map(|dot| (dot.x, dot.y)), x, y),
        Style::Dots => {
            polyline(svg, "law", series.law.iter().copied(), x, y);
            for (dot, low, high) in series.dots.iter().filter_map(|dot| Some((dot, dot.low?, dot.high?))) {
                polyline(svg, "curve", [(dot.x, low), (dot.x, high)].into_iter(), x, y);
            }
            series.dots.iter().for_each(|one| dot(svg, "pair", 5.0, one, x, y));
        }
        Style::FaintDots => series.dots.iter().for_each(|one| dot(svg, "faint", 3.0, one, x, y)),
    }
    svg.push_str("</g>\n");
}

fn polyline(svg: &mut String, class: &str, places: impl Iterator<Item = (f64, f64)>, x: &Map, y: &Map) {
    let points: Vec<String> = places.map(|(at, value)| format!("{},{}", x.place(at), y.cut(value))).collect();
    if !points.is_empty() {
        let _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
    }
}

/// The interval of each value; an arrow where it is cut.
fn band(svg: &mut String, dots: &[Dot], x: &Map, y: &Map) {
    let bounded = || dots.iter().filter_map(|dot| Some((dot, dot.low?, dot.high?)));
    let upper = bounded().map(|(dot, _, high)| format!("{},{}", x.place(dot.x), y.cut(high)));
    let lower = bounded().map(|(dot, low, _)| format!("{},{}", x.place(dot.x), y.cut(low)));
    let lower: Vec<String> = lower.collect();
    let points: Vec<String> = upper.chain(lower.into_iter().rev()).collect();
    if points.is_empty() {
        return;
    }
    let _ = writeln!(svg, "<polygon class=\"band\" points=\"{}\"/>", points.join(" "));
    let mut arrow = |dot: &Dot, (tip, length): (f64, f64), title: String| {
        let at = x.place(dot.x).clamp(LEFT + 6.0, RIGHT - 6.0);
        let _ = writeln!(svg, "<path class=\"cut\" d=\"M{at} {tip}l-6 {length}h12z\"><title>{title}</title></path>");
    };
    for (dot, low, high) in bounded() {
        if high > y.high {
            arrow(dot, (TOP, ARROW), format!("the interval reaches up to {}", tick_text(high.round())));
        }
        if low < y.low {
            arrow(dot, (BOTTOM, -ARROW), format!("the interval reaches down to {}", tick_text(low)));
        }
    }
}

fn dot(svg: &mut String, class: &str, radius: f64, dot: &Dot, x: &Map, y: &Map) {
    let _ = writeln!(
        svg,
        "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"{radius}\"><title>{}</title></circle>",
        x.place(dot.x),
        y.cut(dot.y),
        escape(&dot.title)
    );
}

fn rows_bottom(rows: &Rows) -> f64 {
    TOP + ROW * rows.bars.len() as f64
}

fn rows(rows: &Rows) -> String {
    let ends = |pair: Option<(f64, f64)>| pair.into_iter().flat_map(|(low, high)| [low, high]);
    let values = rows.bars.iter().flat_map(|bar| ends(bar.span).chain(bar.estimate));
    let bounds = rows.bars.iter().flat_map(|bar| ends(bar.thick).chain(ends(bar.thin)));
    let x = Map::new(&rows.x, with_reach(values, bounds).into_iter(), between_labels(rows));
    let bottom = rows_bottom(rows);
    let mut svg = String::new();
    if let Some((low, high)) = rows.margin {
        let (from, to) = (x.cut(low), x.cut(high));
        let _ = writeln!(
            svg,
            "<rect class=\"margin\" x=\"{from}\" width=\"{}\" y=\"{TOP}\" height=\"{}\"/>",
            tidy(to - from),
            bottom - TOP
        );
    }
    x_axis(&mut svg, &rows.x, &x, (x.start, x.end), bottom);
    line(&mut svg, "one", (x.place(1.0), TOP), (x.place(1.0), bottom));
    for (place, bar) in rows.bars.iter().enumerate() {
        self::bar(&mut svg, bar, TOP + ROW * (place as f64 + 0.5), &x);
    }
    svg
}

/// What labels and numbers leave to the bars.
fn between_labels(rows: &Rows) -> (f64, f64) {
    let width = |bar: &Bar, text: &str| text.chars().count() as f64 * if bar.strong { BOLD_LETTER } else { LETTER };
    let widest = |text: &dyn Fn(&Bar) -> f64| rows.bars.iter().map(text).fold(0.0, f64::max);
    let labels = widest(&|bar| width(bar, &shortened(&bar.label, LABEL_LETTERS)));
    let numbers = widest(&|bar| width(bar, &bar.numbers));
    (labels + LABEL_GAP + 4.0, WIDTH - numbers - LABEL_GAP - 4.0)
}

fn bar(svg: &mut String, bar: &Bar, y: f64, x: &Map) {
    let strong = if bar.strong { " strong" } else { "" };
    let _ = writeln!(
        svg,
        "<g class=\"{}\"><title>{}</title>\n<text class=\"label{strong}\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
        bar.tone.class(),
        escape(&bar.title),
        tidy(x.start - LABEL_GAP),
        y + 4.0,
        escape(&shortened(&bar.label, LABEL_LETTERS))
    );
    if let Some((from, to)) = bar.span {
        let (start, end) = (x.cut(from.min(to)), x.cut(from.max(to)));
        let width = tidy(end - start);
        let _ = writeln!(svg, "<rect class=\"bar\" x=\"{start}\" width=\"{width}\" y=\"{}\" height=\"16\"/>", y - 8.0);
        line(svg, "end", (x.cut(to), y - 8.0), (x.cut(to), y + 8.0));
    }
    interval(svg, "thick", bar.thick, y, x);
    interval(svg, "thin", bar.thin, y, x);
    if let Some(estimate) = bar.estimate {
        let at = x.cut(estimate);
        let _ = match bar.strong {
            true => writeln!(svg, "<path class=\"estimate\" d=\"M{} {y}l7 -7l7 7l-7 7z\"/>", tidy(at - 7.0)),
            false => writeln!(svg, "<circle class=\"estimate\" cx=\"{at}\" cy=\"{y}\" r=\"5\"/>"),
        };
    }
    let (at, numbers) = (tidy(x.end + LABEL_GAP), escape(&bar.numbers));
    let _ = writeln!(svg, "<text class=\"label{strong}\" x=\"{at}\" y=\"{}\">{numbers}</text></g>", y + 4.0);
}

/// With an arrow at an end that is cut.
fn interval(svg: &mut String, class: &str, bounds: Option<(f64, f64)>, y: f64, x: &Map) {
    let Some((low, high)) = bounds else { return };
    let (is_cut_low, is_cut_high) = (low < x.low, high > x.high);
    // A line up to the tip would cover the arrow.
    let from = x.cut(low) + if is_cut_low { ARROW } else { 0.0 };
    let to = x.cut(high) - if is_cut_high { ARROW } else { 0.0 };
    line(svg, class, (tidy(from), y), (tidy(to), y));
    if is_cut_low {
        let _ = writeln!(svg, "<path class=\"cut\" d=\"M{} {y}l{ARROW} -6v12z\"/>", x.start);
    }
    if is_cut_high {
        let _ = writeln!(svg, "<path class=\"cut\" d=\"M{} {y}l-{ARROW} -6v12z\"/>", x.end);
    }
}

fn strip_bottom(strip: &Strip) -> f64 {
    TOP + ROW * strip.lanes as f64
}

fn strip(strip: &Strip) -> String {
    let bottom = strip_bottom(strip);
    let ends = strip.marks.iter().flat_map(|mark| [mark.from, mark.to]);
    let x = Map::new(&strip.x, ends.chain([0.0, 0.1]), (20.0, WIDTH - 20.0));
    let mut svg = String::new();
    strip.lines.iter().for_each(|from| line(&mut svg, "grid", (x.place(*from), TOP), (x.place(*from), bottom)));
    for mark in &strip.marks {
        let (from, to) = (x.place(mark.from), x.place(mark.to));
        let _ = writeln!(
            svg,
            "<rect class=\"mark {} k{}\" x=\"{from}\" width=\"{}\" y=\"{}\" height=\"{}\"><title>{}</title></rect>",
            mark.class,
            mark.lane % 6,
            tidy((to - from).max(MARK_MIN)),
            TOP + ROW * mark.lane as f64 + 4.0,
            ROW - 8.0,
            escape(&mark.title)
        );
    }
    x_axis(&mut svg, &strip.x, &x, (x.start, x.end), bottom);
    svg
}

/// Tenths of a unit are finer than any screen.
fn tidy(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The one escaping function: text between tags and inside quoted attributes.
pub fn escape(text: &str) -> Cow<'_, str> {
    let text = visible(text);
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            letter => escaped.push(letter),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale) -> Axis {
        Axis { title: String::new(), scale, ticks: Vec::new() }
    }

    /// Of a path that begins with `M`: where its tip is.
    fn tips(svg: &str) -> Vec<(f64, f64)> {
        let of_path = |path: &str| {
            let (x, y) = path.split_once('l')?.0.split_once([' ', ','])?;
            Some((x.parse().ok()?, y.parse().ok()?))
        };
        svg.split("class=\"cut\" d=\"M").skip(1).filter_map(of_path).collect()
    }

    #[test]
    fn the_arrow_of_a_cut_interval_is_inside_the_drawing_and_no_line_covers_it() {
        let bar = Bar {
            label: "1 client".into(),
            tone: crate::document::Tone::Open,
            strong: false,
            span: None,
            estimate: Some(1.0),
            thick: Some((0.001, 900.0)),
            thin: None,
            numbers: "1.0x".into(),
            title: String::new(),
        };
        let drawn = rows(&Rows { x: axis(Scale::Ratio), bars: vec![bar], margin: None });
        let [(left, _), (right, _)] = tips(&drawn)[..] else { panic!("{drawn}") };
        let thick = drawn.lines().find(|line| line.contains("class=\"thick\"")).unwrap();
        let end = |name: &str| {
            let from = thick.split(&format!("{name}=\"")).nth(1).unwrap();
            from.split('"').next().unwrap().parse::<f64>().unwrap()
        };
        assert!(left >= 0.0 && right <= WIDTH, "{drawn}");
        assert_eq!((end("x1"), end("x2")), (left + ARROW, right - ARROW), "{drawn}");
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let check = |scale, low, high, expected: &[f64]| {
            let axis = axis(scale);
            assert_eq!(Map::new(&axis, [low, high].into_iter(), (0.0, 100.0)).ticks(&axis), expected);
        };
        check(Scale::Zero, 0.0, 1480.0, &[0.0, 500.0, 1000.0, 1500.0]);
        check(Scale::Span, 0.0, 9.0, &[0.0, 2.0, 4.0, 6.0, 8.0]);
        check(Scale::Span, 3.0, 3.0, &[3.0]);
        check(Scale::Logarithmic, 1.0, 10.0, &[1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn numbers_of_an_axis_are_short_and_exact() {
        for (value, expected) in [
            (0.5, "0.5"),
            (0.0, "0"),
            (2500.0, "2500"),
            (10_000.0, "10 k"),
            (12_500.0, "12.5 k"),
            (-0.0, "0"),
            (1e6, "1 M"),
        ] {
            assert_eq!(tick_text(value), expected);
        }
    }

    #[test]
    fn a_wide_interval_does_not_set_the_scale() {
        let values = with_reach([100.0, 200.0].into_iter(), [1.0, 50_000.0].into_iter());
        assert!(values.iter().all(|value| (66.0..=300.0).contains(value)), "{values:?}");
    }
}
