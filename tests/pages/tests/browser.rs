//! What a reader gets to see, held to in a headless Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;

use fixtures::{CANDIDATE, Story, many_passes_run, stored_run};
use pages::{Media, Page, evidence, html, runs};
use report::Evidence;
use serde_json::Value;

const DESKTOP: (u32, u32) = (1280, 800);
const PHONE: (u32, u32) = (400, 800);
/// A page of A4.
const PAPER: (u32, u32) = (794, 1123);

fn versions() -> Evidence {
    evidence(stored_run(&Story::default()))
}

fn open(evidence: &Evidence, size: (u32, u32), media: Media) -> Page {
    let mut page = Page::blank().unwrap();
    page.show(&html(evidence).unwrap(), size, media).unwrap();
    page
}

/// Shows each page of the made-up runs on each of these, in one browser.
fn on_every_page(shown: &[((u32, u32), Media)], mut check: impl FnMut(&str, &mut Page, (u32, u32), Media)) {
    let mut page = Page::blank().unwrap();
    for (name, evidence) in runs() {
        let html = html(&evidence).unwrap();
        for (size, media) in shown.iter().copied() {
            page.show(&html, size, media).unwrap();
            check(name, &mut page, size, media);
        }
    }
}

/// What is folded is measured too.
const UNFOLD: &str = "document.querySelectorAll('details').forEach((one) => one.open = true)";

fn number(page: &mut Page, expression: &str) -> f64 {
    page.value(expression).unwrap().as_f64().unwrap_or_else(|| panic!("{expression} is no number"))
}

/// Question, verdict, main chart (of several workloads their table), caveat, and how it was measured.
const FIRST_SCREEN: [&str; 5] =
    ["h1", ".verdict .claim", "header svg, header table", "header .list li", "header p.quiet:last-child"];

#[test]
fn the_first_screen_holds_question_verdict_chart_caveat_and_how() {
    let mut below = Vec::new();
    on_every_page(&[(DESKTOP, Media::Light), (PHONE, Media::Light)], |name, page, size, _| {
        // The verdicts and the table of two workloads fill a phone.
        let parts = if name == "levels" && size == PHONE { 2 } else { FIRST_SCREEN.len() };
        for part in &FIRST_SCREEN[..parts] {
            let bottom = number(page, &format!("document.querySelector({part:?}).getBoundingClientRect().bottom"));
            if bottom <= 0.0 || bottom > f64::from(size.1) {
                below.push(format!("{name} at {size:?}: {part} ends at {bottom}"));
            }
        }
    });
    assert_eq!(below, Vec::<String>::new());
}

#[test]
fn no_page_asks_for_anything_or_complains() {
    on_every_page(&[(DESKTOP, Media::Light), (DESKTOP, Media::Print)], |name, page, _, _| {
        let requests = page.requests();
        assert!(requests.len() == 1 && requests[0].starts_with("\"file:"), "{name} asks for {requests:?}");
        assert_eq!(page.complaints(), Vec::<String>::new(), "{name}");
    });
}

#[test]
fn a_legend_hides_its_series_and_shows_it_again() {
    let mut page = open(&versions(), DESKTOP, Media::Light);
    let figure = "document.querySelector('.legend button').closest('figure')";
    let shown =
        format!("[...{figure}.querySelectorAll('svg .k0')].filter((one) => one.style.display != 'none').length");
    let pressed = format!("{figure}.querySelector('.legend button').getAttribute('aria-pressed')");
    let click = format!("{figure}.querySelector('.legend button').click()");
    let before = number(&mut page, &shown);
    assert!(before > 0.0);
    page.value(&click).unwrap();
    assert_eq!((number(&mut page, &shown), page.value(&pressed).unwrap()), (0.0, "false".into()));
    page.value(&click).unwrap();
    assert_eq!((number(&mut page, &shown), page.value(&pressed).unwrap()), (before, "true".into()));
}

#[test]
fn a_heading_sorts_its_table_by_number_both_ways() {
    let mut page = open(&evidence(many_passes_run(&Story::default())), DESKTOP, Media::Light);
    page.value("window.sorted = [...document.querySelectorAll('table.sortable')].at(-1)").unwrap();
    let column =
        number(&mut page, "[...sorted.tHead.rows[0].cells].findLastIndex((cell) => cell.className.includes('n'))");
    let keys = format!(
        "[...sorted.tBodies[0].rows].map((row) => row.cells[{column}].dataset.key ?? row.cells[{column}].textContent)"
    );
    let sorted = |page: &mut Page| {
        page.value(&format!("sorted.tHead.rows[0].cells[{column}].querySelector('button').click()")).unwrap();
        let keys: Vec<f64> = page.texts(&keys).unwrap().iter().filter_map(|key| key.parse().ok()).collect();
        assert!(keys.len() > 10, "{keys:?}");
        keys
    };
    let up = sorted(&mut page);
    assert!(up.is_sorted(), "{up:?}");
    let down = sorted(&mut page);
    assert!(down.iter().rev().is_sorted(), "{down:?}");
}

#[test]
fn tables_are_copied_as_markdown_and_csv() {
    let mut page = open(&versions(), DESKTOP, Media::Light);
    page.value("navigator.clipboard.writeText = (text) => Promise.resolve(window.copied = text)").unwrap();
    let copied = |page: &mut Page, form: &str| {
        let button = format!(
            "[...document.querySelectorAll('.tools button')].find((one) => one.textContent == 'Copy as {form}')"
        );
        page.value(&format!("{button}.click()")).unwrap();
        page.value("copied").unwrap().as_str().unwrap().to_owned()
    };
    let markdown = copied(&mut page, "Markdown");
    let lines: Vec<&str> = markdown.lines().collect();
    let columns = lines[0].matches('|').count();
    assert!(columns > 3 && lines[1].starts_with("| --- |"), "{markdown}");
    assert!(lines.iter().all(|line| line.matches('|').count() == columns), "{markdown}");
    let csv = copied(&mut page, "CSV");
    assert_eq!((csv.lines().count(), csv.starts_with('"')), (lines.len() - 1, true), "{csv}");
}

/// Elements that reach out of the window although nothing scrolls around them.
const OVERFLOWING: &str =
    "[...document.querySelectorAll('main *')].filter((one) => !one.closest('svg, .wide, .scroll, pre')
    && one.getBoundingClientRect().right > innerWidth + 0.5).map((one) => one.outerHTML.slice(0, 200))";
/// Cells of the answer that a reader would have to scroll for.
const HIDDEN_CELLS: &str = "[...document.querySelectorAll('td:not(.more), tbody th:not(.more)')].filter((cell) => {
    const box = cell.getBoundingClientRect();
    return cell.checkVisibility() && cell.textContent && (box.right > innerWidth || box.width < 1);
}).map((cell) => cell.closest('tr').innerHTML.slice(0, 200))";

#[test]
fn a_narrow_window_hides_no_answer_and_scrolls_down_only() {
    on_every_page(&[(PHONE, Media::Light)], |name, page, _, _| {
        page.value(UNFOLD).unwrap();
        assert_eq!(number(page, "document.documentElement.scrollWidth"), 400.0, "{name} scrolls sideways");
        for hidden in [OVERFLOWING, HIDDEN_CELLS] {
            assert_eq!(page.texts(hidden).unwrap(), Vec::<String>::new(), "{name}");
        }
    });
}

/// Texts of one drawing whose boxes lie upon each other.
const OVERLAPPING: &str = "[...document.querySelectorAll('svg')].flatMap((svg) => {
    const texts = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
    const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 3 || b.bottom <= a.top + 3;
    const frame = svg.getBoundingClientRect();
    const cut = texts.filter(([, box]) => box.width && (box.left < frame.left - 1 || box.right > frame.right + 1));
    const over = texts.flatMap(([one, box], at) => texts.slice(at + 1).filter(([, other]) => box.width && !apart(box, other)).map(([two]) => `${one} / ${two}`));
    return [...cut.map(([text]) => `cut: ${text}`), ...over].map((what) => `${svg.querySelector('title').textContent}: ${what}`);
})";

#[test]
fn labels_of_charts_are_whole_and_apart() {
    on_every_page(&[(DESKTOP, Media::Light), (PHONE, Media::Light)], |name, page, size, _| {
        page.value(UNFOLD).unwrap();
        assert_eq!(page.texts(OVERLAPPING).unwrap(), Vec::<String>::new(), "{name} at {size:?}");
    });
}

#[test]
fn paper_has_no_folds() {
    let mut page = open(&versions(), PAPER, Media::Print);
    let folded = "[...document.querySelectorAll('details')].filter((one) => !one.open).length";
    assert!(number(&mut page, folded) > 0.0);
    let pdf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page.pdf");
    page.value(&format!("addEventListener('beforeprint', () => window.during = {folded})")).unwrap();
    page.pdf(&pdf).unwrap();
    assert_eq!(number(&mut page, "during"), 0.0, "all are open while the page is printed");
    assert!(number(&mut page, folded) > 0.0, "and closed again behind it");
}

#[test]
fn names_that_look_like_markup_stay_text() {
    let mut stored = stored_run(&Story::default());
    let hostile = "<img src=x onerror=\"window.owned=1\"></script><script>window.owned=1</script>";
    stored.plan.question = Some(hostile.into());
    stored.plan.contenders[1].source = hostile.into();
    stored.run.host.cpu_model = hostile.into();
    stored.trials[0].flags.push(hostile.into());
    let mut page = open(&evidence(stored), DESKTOP, Media::Light);
    assert_eq!(page.value("window.owned ?? null").unwrap(), Value::Null);
    assert_eq!(page.value("document.querySelector('h1').textContent").unwrap(), hostile);
    assert_eq!(number(&mut page, "document.querySelectorAll('img, h1 *').length"), 0.0);
    let named = format!("[...document.querySelectorAll('.name')].some((one) => one.textContent == {CANDIDATE:?})");
    assert_eq!(page.value(&named).unwrap(), true);
    assert_eq!(page.requests().len(), 1);
}

#[test]
fn the_page_decompresses_its_raw_records_itself() {
    let versions = versions();
    let unpacked = report::unpacked(&html(&versions).unwrap()).unwrap();
    let expected = unpacked.split_once("id=\"dbduel-records\">").unwrap().1;
    let mut page = open(&versions, DESKTOP, Media::Light);
    let records = page.value("rawRecords().then((blob) => blob.text())").unwrap();
    let records = records.as_str().unwrap();
    assert!(records.len() > 1000 && expected.starts_with(&format!("{records}</script>")));
    assert_eq!(page.value("document.getElementById('save-records').checkVisibility()").unwrap(), true);
    page.value(
        "HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href] };
        document.getElementById('save-records').click()",
    )
    .unwrap();
    let saved = page.value("new Promise((done) => { const look = () => window.saved ? done(saved) : requestAnimationFrame(look); look() })");
    let saved = saved.unwrap();
    assert!(saved[0] == "dbduel-records.json" && saved[1].as_str().unwrap().starts_with("blob:"), "{saved}");
}

const AXE: &str = "axe-core@4.14.1";

/// The accessibility checker, fetched once into the build's folder.
fn axe() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(AXE);
    let script: PathBuf = folder.join("node_modules/axe-core/axe.min.js");
    if !script.is_file() {
        let npm = Command::new("npm")
            .args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"])
            .args([&folder, Path::new(AXE)])
            .output()
            .expect("cannot start `npm`: the test of accessibility needs it (Debian package `npm`)");
        assert!(npm.status.success(), "npm cannot fetch {AXE}: {}", String::from_utf8_lossy(&npm.stderr));
    }
    std::fs::read_to_string(script).unwrap()
}

/// Further rows of a table are like those above, and take minutes to check.
const FEWER_ROWS: &str = "document.querySelectorAll('tr:nth-child(n + 12)').forEach((row) => row.remove())";
/// What the page does when sizes change is done.
const TWO_FRAMES: &str = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))";
const SERIOUS: &str = "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 5).map(({ html, any }) => html.slice(0, 200) + ' ' + (any[0]?.message ?? ''))}`))";

#[test]
fn no_page_has_a_serious_accessibility_finding() {
    let axe = axe();
    let check = |name: &str, page: &mut Page, size: (u32, u32), media: Media| {
        page.value(UNFOLD).unwrap();
        page.value(FEWER_ROWS).unwrap();
        page.value(TWO_FRAMES).unwrap();
        page.value(&axe).unwrap();
        assert_eq!(page.texts(SERIOUS).unwrap(), Vec::<String>::new(), "{name} at {size:?} in {media:?}");
    };
    on_every_page(&[(DESKTOP, Media::Dark)], check);
    // Kinds of runs differ in what a page holds, not in its colours.
    for (size, media) in [(DESKTOP, Media::Light), (PHONE, Media::Dark)] {
        check("versions", &mut open(&versions(), size, media), size, media);
    }
}

/// Drawings without anything to point at.
const MUTE: &str = "[...document.querySelectorAll('figure svg[viewBox]:not([data-lines])')]
    .filter((svg) => !svg.querySelector('circle title, g > title, rect title')).map((svg) => svg.querySelector('title').textContent)";
/// Drawings without a table behind or beside them.
const UNTABLED: &str = "[...document.querySelectorAll('figure svg[viewBox]')]
    .filter((svg) => !svg.closest('section, header').querySelector('table')).map((svg) => svg.querySelector('title').textContent)";

#[test]
fn every_chart_has_values_to_point_at_and_a_table() {
    on_every_page(&[(DESKTOP, Media::Light)], |name, page, _, _| {
        for lacking in [MUTE, UNTABLED] {
            assert_eq!(page.texts(lacking).unwrap(), Vec::<String>::new(), "{name}");
        }
    });
}

#[test]
fn lines_show_their_values_at_the_pointer() {
    let mut page = open(&versions(), DESKTOP, Media::Light);
    let moved = "(() => {
        const svg = document.querySelector('svg[data-lines]'), box = svg.getBoundingClientRect();
        svg.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + box.width / 2, clientY: box.top + 9 }));
        return svg.querySelector('.value').textContent;
    })()";
    let shown = page.value(moved).unwrap();
    let shown = shown.as_str().unwrap();
    assert!(shown.starts_with("second 1") && shown.contains(CANDIDATE), "{shown}");
    let second = shown.split([' ', ',']).nth(1).unwrap();
    let row = format!(
        "[...document.querySelectorAll('#seconds .figures tbody tr')].find((row) => row.cells[0].textContent == '{second}').cells[1].textContent"
    );
    let value = page.value(&row).unwrap();
    assert!(shown.contains(&format!("5.5 {}, ", value.as_str().unwrap())), "{shown} {value}");
}
