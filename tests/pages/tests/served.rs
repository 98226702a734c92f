//! The pages of `dbduel serve` in a headless Chromium.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use fixtures::{StoredRun, Story, stored_run};
use pages::{Media, Page};
use record::RunDir;

const HOSTILE: &str = "<img src=x onerror=document.title='struck'>";
const WINDOW: (u32, u32) = (1280, 900);

/// A server of a folder of runs, which ends with it.
struct Served {
    address: String,
    interrupted: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn of(runs: &Path) -> Served {
        let server = web::Server::bind("127.0.0.1:0".parse().unwrap(), runs.to_owned(), "runs").unwrap();
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        let address = format!("http://{}", server.address());
        Served { address, interrupted, thread: Some(std::thread::spawn(move || server.run(&flag).unwrap())) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.interrupted.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

fn created(runs: &Path, name: &str, at: &str, stored: &StoredRun) -> RunDir {
    let run = RunDir::create(runs, name, at.parse().unwrap()).unwrap();
    run.write_plan(&stored.plan).unwrap();
    run.write_run(&stored.run).unwrap();
    run
}

/// All that is shown comes from the server, and the browser has nothing to complain of: no policy is broken.
fn expect_clean(page: &Page, address: &str) {
    let foreign: Vec<String> = page
        .requests()
        .into_iter()
        .filter(|url| !url.starts_with(&format!("\"{address}")) && !url.starts_with("\"data:"))
        .collect();
    assert_eq!((foreign, page.complaints()), (Vec::new(), Vec::new()));
}

#[test]
fn runs_are_listed_reported_compared_and_followed_over_time() {
    let runs = tempfile::tempdir().unwrap();
    let mut stored = stored_run(&Story::default());
    stored.run.labels.insert("commit".to_owned(), HOSTILE.to_owned());
    for (name, day) in [("first", "2031-05-04T10:15:00Z"), ("second", "2031-05-05T10:15:00Z")] {
        let run = created(runs.path(), name, day, &stored);
        stored.trials.iter().for_each(|trial| run.append(trial).unwrap());
    }
    let served = Served::of(runs.path());
    let mut page = Page::blank().unwrap();
    page.resize(WINDOW.0, WINDOW.1).unwrap();
    page.show_on(Media::Light).unwrap();

    page.visit(&format!("{}/", served.address)).unwrap();
    assert_eq!(page.value("document.querySelectorAll('tbody tr').length").unwrap(), 2);
    assert!(
        page.texts("[...document.querySelectorAll('td')].map((one) => one.textContent)")
            .unwrap()
            .iter()
            .any(|text| text.contains(HOSTILE))
    );
    assert_eq!(page.value("document.querySelectorAll('img').length").unwrap(), 0);
    expect_clean(&page, &served.address);
    page.value("const box = document.getElementById('search'); box.value = '20310505'; box.form.submit()").unwrap();
    page.wait_for("location.search !== '' && document.querySelectorAll('tbody tr').length === 1").unwrap();

    page.visit(&format!("{}/report?run=first-20310504T101500Z", served.address)).unwrap();
    page.wait_for(
        // Charts and verdict are there before the script that goes through them.
        "document.readyState === 'complete' && document.querySelectorAll('svg').length > 0 && document.querySelector('.verdict .claim').textContent !== ''",
    )
    .unwrap();
    // Its script runs under the policy: a legend hides its series.
    page.value("document.querySelector('.legend button').click()").unwrap();
    assert_eq!(page.value("document.querySelector('.legend button').getAttribute('aria-pressed')").unwrap(), "false");
    expect_clean(&page, &served.address);

    page.visit(&format!("{}/", served.address)).unwrap();
    page.value("for (const [name, at] of [['first', 1], ['second', 0]]) document.querySelectorAll(`input[name=${name}]`)[at].checked = true; document.querySelector('.right button').click()").unwrap();
    page.wait_for("location.pathname === '/compare' && document.querySelector('pre').textContent.includes('first-20310504T101500Z beside second-20310505T101500Z')").unwrap();
    assert_eq!(page.value("document.documentElement.scrollWidth <= innerWidth").unwrap(), true);
    expect_clean(&page, &served.address);

    page.visit(&format!("{}/history?name={}", served.address, stored.plan.name)).unwrap();
    page.wait_for("document.querySelectorAll('svg').length > 0").unwrap();
    expect_clean(&page, &served.address);
}

#[test]
fn curves_and_interval_move_and_outlive_the_run_and_a_kill() {
    let runs = tempfile::tempdir().unwrap();
    let mut stored = stored_run(&Story::default());
    stored.plan.question = Some(format!("Is {HOSTILE} faster?"));
    stored.run.finished_at = None;
    let run = created(runs.path(), "live", "2031-05-04T10:15:00Z", &stored);
    let name = run.name();
    let served = Served::of(runs.path());
    let mut page = Page::blank().unwrap();
    page.resize(WINDOW.0, WINDOW.1).unwrap();
    page.visit(&format!("{}/live?run={name}", served.address)).unwrap();
    page.wait_for("document.getElementById('state').textContent.startsWith('Setting up')").unwrap();

    let blocks =
        |first: u32, last: u32| stored.trials.iter().filter(move |trial| (first..=last).contains(&trial.block));
    blocks(1, 4).for_each(|trial| run.append(trial).unwrap());
    page.wait_for("document.getElementById('state').textContent.startsWith('Block 5 of')").unwrap();
    let marks = "document.querySelectorAll('#workloads svg .dot, #workloads svg .curve').length";
    // The page draws what has come in one go, and that may be the first three blocks.
    page.wait_for(
        "[...document.querySelectorAll('figcaption')].some((one) => one.textContent.includes('after block 4'))",
    )
    .unwrap();
    let drawn = page.value(marks).unwrap().as_u64().unwrap();
    assert!(drawn > 0);
    let state = page.texts("[document.getElementById('state').textContent]").unwrap();
    assert!(state[0].contains(" At most about ") && state[0].ends_with(" are left."), "{state:?}");
    let scale = "[...document.querySelector('#workloads svg').querySelectorAll('text')].map((one) => one.textContent)";
    let scale = page.texts(scale).unwrap();
    assert!(["1", "2", "3", "4"].iter().all(|block| scale.iter().any(|text| text == block)), "whole blocks: {scale:?}");
    assert!(!scale.iter().any(|text| text == "0.5" || text == "1.5"), "{scale:?}");
    // Another style of line for each load level, and the scale of ratios is logarithmic: 1.05 is as far from 1 as 1 / 1.05.
    assert!(page.value("document.querySelectorAll('#workloads .through.level1').length").unwrap().as_u64() > Some(0));
    let heights = "(() => { const { y } = frame('', '', [0, 1], [0.5, 2], { ratio: true }); return [y(2), y(1), y(0.5), y(0.001)]; })()";
    let heights = page.value(heights).unwrap();
    let height = |at: usize| heights[at].as_f64().unwrap();
    assert!((height(0) + height(2) - 2.0 * height(1)).abs() < 1e-6, "{heights}");
    assert_eq!(heights[2], heights[3], "what lies outside of the scale is cut");
    // The first intervals do not set the scale of the whole run.
    let scale = "(() => {
        const kept = seen.intervals;
        const one = (block, low, high) => ({ ...kept[0], block, low, high, ratio: 1.1 });
        seen.intervals = [one(2, 0.004, 663), one(8, 1, 1.2)];
        const chart = narrowing(kept[0].workload);
        seen.intervals = kept;
        return [...chart.querySelectorAll('text[text-anchor=end]')].map((one) => one.textContent);
    })()";
    let scale: Vec<f64> = page.texts(scale).unwrap().iter().filter_map(|text| text.parse().ok()).collect();
    assert!(scale.len() > 1 && scale.iter().all(|ratio| (0.4..2.5).contains(ratio)), "{scale:?}");

    // The process is gone; another one goes on with it.
    drop(run);
    page.wait_for("document.getElementById('live').dataset.state === 'abandoned'").unwrap();
    assert_eq!(page.value(marks).unwrap(), drawn, "what was measured stays");
    let run = RunDir::open_to_write(runs.path(), &name).unwrap();
    page.wait_for("document.getElementById('live').dataset.state === 'running'").unwrap();
    blocks(5, u32::MAX).for_each(|trial| run.append(trial).unwrap());
    stored.run.finished_at = Some("2031-05-04T12:00:00Z".to_owned());
    run.write_run(&stored.run).unwrap();
    drop(run);
    page.wait_for("document.getElementById('live').dataset.state === 'ended'").unwrap();
    page.wait_for(&format!("{marks} > {drawn}")).unwrap();
    assert_eq!(
        page.value("document.title === 'struck' || document.querySelectorAll('img').length > 0").unwrap(),
        false
    );
    expect_clean(&page, &served.address);
    if let Some(folder) = std::env::var_os("DBDUEL_SCREENSHOTS") {
        page.screenshot(&Path::new(&folder).join("live.png"), true).unwrap();
        for (name, target) in [("list", "/".to_owned()), ("report", format!("/report?run={name}"))] {
            page.visit(&format!("{}{target}", served.address)).unwrap();
            page.screenshot(&Path::new(&folder).join(format!("{name}.png")), false).unwrap();
        }
    }
}
