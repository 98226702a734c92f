//! The profile: where clients waited and where the CPU went, side by side.
//!
//! One trial of each contender has no interval, so nothing here is a comparison.

use std::collections::{BTreeMap, BTreeSet};

use analysis::flame_graph::{Frame, frames, leaves};
use record::format::{DiagnosticRecord, PlanRecord, ProfileRecord, WaitsRecord, WaitsUnit, point_text};

use super::Topic;
use crate::Evidence;
use crate::document::{Block, Section, Table};
use crate::render::svg::escape;
use crate::render::text::shortened;
use crate::wording;

/// Rows of a table.
const ROWS: usize = 8;
/// Below it nobody waited.
const WAIT_MIN: f64 = 0.0005;
const WIDTH: f64 = 1200.0;
const ROW_HEIGHT: f64 = 17.0;
/// What a letter takes of a frame.
const LETTER: f64 = 7.0;
/// A share that grew by so much is drawn in full colour.
const FULL_COLOR: f64 = 0.05;

const ABOUT: &str = "One trial of each contender behind the verdict, profiled and not measured: no intervals.";

pub struct Profile;

impl Topic for Profile {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let (plan, profiles) = (&evidence.plan, evidence.profiles.as_slice());
        if profiles.is_empty() {
            return None;
        }
        let mut body = vec![Block::note(ABOUT)];
        for Beside { title, heading, rows } in tables(plan, profiles) {
            body.extend([Block::heading(title), Block::Table(Table::of_numbers(heading).with_rows(rows))]);
        }
        body.extend(
            flame_graphs(plan, profiles)
                .into_iter()
                .map(|one| Block::Drawing { title: one.title.into(), svg: one.svg }),
        );
        body.extend(Block::list(not_visible(profiles)));
        Section::of("profile", "Profile", body)
    }
}

/// A table of what contenders show side by side.
struct Beside {
    title: String,
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Of each workload: where clients waited, a table for each unit that a server has, and where the CPU was.
fn tables(plan: &PlanRecord, profiles: &[DiagnosticRecord]) -> Vec<Beside> {
    let of_workload = |label: &str| {
        let of_one = in_order(plan, profiles).into_iter().filter(|record| record.workload == label);
        let records: Vec<&DiagnosticRecord> = of_one.collect();
        let units = [WaitsUnit::Share, WaitsUnit::MsPerTransaction];
        units.into_iter().filter_map(|unit| waits(unit, &records)).chain(functions(&records)).collect::<Vec<_>>()
    };
    plan.workloads.iter().flat_map(|workload| of_workload(&workload.label)).collect()
}

/// As the plan has workloads and contenders; they were profiled in random order.
fn in_order<'a>(plan: &PlanRecord, profiles: &'a [DiagnosticRecord]) -> Vec<&'a DiagnosticRecord> {
    let place = |record: &&DiagnosticRecord| {
        let workload = plan.workloads.iter().position(|one| one.label == record.workload);
        (workload, plan.contenders.iter().position(|one| one.name == record.contender))
    };
    let mut records: Vec<&DiagnosticRecord> = profiles.iter().collect();
    records.sort_by_key(place);
    records
}

/// What does not stand in the tables, each with its reason.
fn not_visible(profiles: &[DiagnosticRecord]) -> Vec<String> {
    let of_record = |record: &DiagnosticRecord| -> Vec<String> {
        let line = |(what, why): (&String, &String)| {
            format!("`{}`, {}: {what} not visible here: {why}", record.contender, record.workload)
        };
        record.not_visible.iter().map(line).collect()
    };
    profiles.iter().flat_map(of_record).collect()
}

/// Those of the contenders whose servers have this unit, for the events with the largest values.
fn waits<'a>(unit: WaitsUnit, records: &[&'a DiagnosticRecord]) -> Option<Beside> {
    let of_unit = |record: &&DiagnosticRecord| record.waits.as_ref().is_some_and(|waits| waits.unit == unit);
    let records: Vec<&'a DiagnosticRecord> = records.iter().copied().filter(of_unit).collect();
    let waits: Vec<&'a WaitsRecord> = records.iter().filter_map(|record| record.waits.as_ref()).collect();
    let (title, figure): (String, fn(f64) -> String) = match unit {
        WaitsUnit::Share => {
            let samples = waits.iter().map(|waits| waits.samples.unwrap_or_default());
            (format!("where active sessions were, share of {} samples", counts(samples)), wording::percent)
        }
        WaitsUnit::MsPerTransaction => {
            ("what was waited for, ms of all sessions per transaction".to_owned(), wording::number)
        }
    };
    let events = |waits: &&'a WaitsRecord| waits.events.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let mut rows = rows(&waits.iter().map(events).collect::<Vec<_>>());
    let most = |row: &(&str, Vec<f64>)| row.1.iter().copied().fold(0.0, f64::max);
    rows.retain(|row| most(row) >= WAIT_MIN);
    rows.sort_by(|one, next| most(next).total_cmp(&most(one)));
    beside(&title, "event", &records, rows, figure)
}

/// The functions whose shares lie furthest apart; there are none of one contender alone.
fn functions(records: &[&DiagnosticRecord]) -> Option<Beside> {
    let records: Vec<&DiagnosticRecord> = records.iter().copied().filter(|record| record.profile.is_some()).collect();
    let stacks: Vec<&BTreeMap<String, u64>> =
        records.iter().filter_map(|record| Some(&record.profile.as_ref()?.stacks)).collect();
    let mut rows = rows(&stacks.iter().map(|stacks| leaves(stacks)).collect::<Vec<_>>());
    let apart = |row: &(&str, Vec<f64>)| {
        let ends = row.1.iter().fold((1.0f64, 0.0f64), |(least, most), share| (least.min(*share), most.max(*share)));
        ends.1 - ends.0
    };
    rows.sort_by(|one, next| apart(next).total_cmp(&apart(one)));
    let samples = counts(stacks.iter().map(|stacks| stacks.values().sum()));
    let title = format!("where the server's CPU was, share of {samples} samples, what differs most");
    beside(&title, "function", &records, rows, wording::percent).filter(|_| records.len() > 1)
}

/// Every name with its value in each column.
fn rows<'a>(columns: &[BTreeMap<&'a str, f64>]) -> Vec<(&'a str, Vec<f64>)> {
    let names: BTreeSet<&str> = columns.iter().flat_map(|column| column.keys().copied()).collect();
    let values = |name: &str| columns.iter().map(|column| column.get(name).copied().unwrap_or(0.0)).collect();
    names.into_iter().map(|name| (name, values(name))).collect()
}

/// `221, 209 and 191`.
fn counts(samples: impl Iterator<Item = u64>) -> String {
    wording::joined(samples.map(wording::integer).collect())
}

/// None where no contender has anything of it.
fn beside(
    title: &str,
    what: &str,
    records: &[&DiagnosticRecord],
    rows: Vec<(&str, Vec<f64>)>,
    figure: fn(f64) -> String,
) -> Option<Beside> {
    let first = records.first()?;
    let title = format!("{}, {}: {title}", first.workload, point_text(&first.point));
    let names = records.iter().map(|record| record.contender.clone());
    let row = |(name, values): (&str, Vec<f64>)| {
        [name.to_owned()].into_iter().chain(values.into_iter().map(figure)).collect::<Vec<_>>()
    };
    Some(Beside {
        title,
        heading: [what.to_owned()].into_iter().chain(names).collect(),
        rows: rows.into_iter().take(ROWS).map(row).collect(),
    })
}

/// Of each workload: the baseline's trial and a candidate's.
fn pairs<'a>(plan: &PlanRecord, records: &[&'a DiagnosticRecord]) -> Vec<(&'a DiagnosticRecord, &'a DiagnosticRecord)> {
    let candidates = records.iter().filter(|record| record.contender != plan.baseline);
    let pair = |candidate: &&'a DiagnosticRecord| {
        let is_baseline =
            |record: &&&DiagnosticRecord| record.workload == candidate.workload && record.contender == plan.baseline;
        Some((*records.iter().find(is_baseline)?, *candidate))
    };
    candidates.filter_map(pair).collect()
}

/// A flame graph.
pub struct Drawing {
    /// The trial that it is drawn from, and the file's name in its folder.
    pub trial: u32,
    pub file: &'static str,
    pub title: String,
    /// Holds no script, and no text that was not escaped.
    pub svg: String,
}

/// One for each profile, and one of each candidate against the baseline.
pub fn flame_graphs(plan: &PlanRecord, profiles: &[DiagnosticRecord]) -> Vec<Drawing> {
    let (mut drawings, records) = (Vec::new(), in_order(plan, profiles));
    for record in &records {
        let Some(profile) = &record.profile else { continue };
        let title = format!("`{}`, {}: {}", record.contender, record.workload, sampled(profile));
        drawings.push(drawing(record.trial, "flame.svg", title, &frames(&profile.stacks, None)));
    }
    for (baseline, candidate) in pairs(plan, &records) {
        let (Some(one), Some(other)) = (&baseline.profile, &candidate.profile) else { continue };
        let title = format!(
            "`{}` against `{}`, {}: red where a share grew, blue where it fell; what only `{}` did has no place",
            candidate.contender, baseline.contender, candidate.workload, baseline.contender
        );
        let frames = frames(&other.stacks, Some(&one.stacks));
        drawings.push(drawing(candidate.trial, "flame-difference.svg", title, &frames));
    }
    drawings
}

fn drawing(trial: u32, file: &'static str, title: String, frames: &[Frame]) -> Drawing {
    Drawing { svg: svg(&title, frames), trial, file, title }
}

fn sampled(profile: &ProfileRecord) -> String {
    let samples: u64 = profile.stacks.values().sum();
    format!("{samples} samples of {} at {} Hz", profile.event, profile.samples_per_s)
}

/// A drawing without script or outside resources; names are escaped, since they come from a server's binary.
fn svg(title: &str, frames: &[Frame]) -> String {
    let depth = frames.iter().map(|frame| frame.depth).max().unwrap_or(0) as f64;
    let height = (depth + 1.0) * ROW_HEIGHT;
    let drawn: String = frames.iter().map(|frame| drawn(frame, height)).collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<title>{}</title>\n{drawn}</svg>\n",
        escape(title)
    )
}

fn drawn(frame: &Frame, height: f64) -> String {
    let (x, width) = (frame.from * WIDTH, frame.width * WIDTH);
    let top = height - (frame.depth as f64 + 1.0) * ROW_HEIGHT;
    let share = wording::percent(frame.width);
    let against = frame.other.map_or(String::new(), |other| format!(", against {}", wording::percent(other)));
    let title = escape(&frame.name);
    let letters = ((width / LETTER) as usize).saturating_sub(1);
    let label = match frame.name.chars().count() > letters && letters < 4 {
        true => String::new(),
        false => format!(
            "<text x=\"{:.1}\" y=\"{:.0}\" fill=\"#111\">{}</text>",
            x + 3.0,
            top + ROW_HEIGHT - 4.0,
            escape(&shortened(&frame.name, letters))
        ),
    };
    format!(
        "<g><title>{title}: {share}{against}</title><rect x=\"{x:.1}\" y=\"{top:.0}\" width=\"{width:.1}\" height=\"16\" \
         fill=\"{}\"/>{label}</g>\n",
        fill(frame)
    )
}

/// Warm where there is one profile, by name so that neighbours differ; red and blue where there are two.
fn fill(frame: &Frame) -> String {
    let Some(other) = frame.other else {
        let hash = frame.name.bytes().fold(0u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
        return format!("hsl({}, 80%, {}%)", 15 + hash % 40, 62 + hash / 64 % 12);
    };
    let grown = ((frame.width - other) / FULL_COLOR).clamp(-1.0, 1.0);
    let hue = if grown > 0.0 { 5 } else { 215 };
    format!("hsl({hue}, {:.0}%, {:.0}%)", grown.abs() * 85.0, 88.0 - grown.abs() * 28.0)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use fixtures::{BASELINE, CANDIDATE, Story, stored_run};
    use record::format::{Point, WaitsRecord};

    fn record(trial: u32, contender: &str, waits: &[(&str, f64)], stacks: &[(&str, u64)]) -> DiagnosticRecord {
        let profile = |stacks: &[(&str, u64)]| ProfileRecord {
            event: "cpu-clock".into(),
            samples_per_s: 99,
            stacks: stacks.iter().map(|(stack, samples)| ((*stack).to_owned(), *samples)).collect(),
        };
        let events = waits.iter().map(|(event, value)| ((*event).to_owned(), *value)).collect();
        DiagnosticRecord {
            trial,
            workload: "oltp_read_write".into(),
            contender: contender.into(),
            point: Point::from([("clients".into(), 64)]),
            profile: (!stacks.is_empty()).then(|| profile(stacks)),
            waits: Some(WaitsRecord { unit: WaitsUnit::Share, samples: Some(100), events }),
            not_visible: BTreeMap::new(),
        }
    }

    /// Profiles of both sides of the made-up run.
    pub fn profiled() -> Vec<DiagnosticRecord> {
        vec![
            record(90, CANDIDATE, &[("running", 0.4), ("IO:WALSync", 0.6)], &[("t;a<b>;sync", 6), ("t;run", 4)]),
            record(
                91,
                BASELINE,
                &[("running", 0.97), ("IO:WALSync", 0.03), ("no", 0.0001)],
                &[("t;run", 9), ("t;a<b>;sync", 1)],
            ),
        ]
    }

    fn plan() -> PlanRecord {
        stored_run(&Story::default()).plan
    }

    #[test]
    fn both_sides_stand_beside_each_other_the_baseline_first() {
        let tables = tables(&plan(), &profiled());
        assert_eq!(tables.len(), 2);
        assert_eq!(tables[0].heading, ["event", BASELINE, CANDIDATE]);
        assert_eq!(tables[0].rows, [["running", "97 %", "40 %"], ["IO:WALSync", "3 %", "60 %"]]);
        assert_eq!(tables[1].rows, [["run", "90 %", "40 %"], ["sync", "10 %", "60 %"]]);
    }

    #[test]
    fn a_drawing_is_inert_and_escapes_what_a_binary_calls_its_functions() {
        let drawings = flame_graphs(&plan(), &profiled());
        let names: Vec<(u32, &str)> = drawings.iter().map(|drawing| (drawing.trial, drawing.file)).collect();
        assert_eq!(names, [(91, "flame.svg"), (90, "flame.svg"), (90, "flame-difference.svg")]);
        for Drawing { file: name, svg, .. } in &drawings {
            assert!(svg.contains("a&lt;b&gt;") && !svg.contains("a<b>"), "{name}");
            assert!(!svg.contains("<script") && !svg.contains("href") && !svg.contains("url("), "{name}");
        }
        assert!(drawings[2].svg.contains("sync: 60 %, against 10 %"), "{}", drawings[2].svg);
    }

    #[test]
    fn what_is_not_visible_is_said_with_its_reason_and_makes_no_table() {
        let (plan, mut profiles) = (plan(), profiled());
        profiles[0].profile = None;
        profiles[0].not_visible = [("profile".to_owned(), "perf is not installed here".to_owned())].into();
        assert_eq!((tables(&plan, &profiles).len(), flame_graphs(&plan, &profiles).len()), (1, 1));
        let said = not_visible(&profiles);
        assert!(
            said.len() == 1 && said[0].ends_with("profile not visible here: perf is not installed here"),
            "{said:?}"
        );
    }

    #[test]
    fn waits_of_different_units_have_tables_of_their_own() {
        let mut profiles = profiled();
        profiles[1].waits.as_mut().unwrap().unit = WaitsUnit::MsPerTransaction;
        let tables = tables(&plan(), &profiles);
        let headings: Vec<&[String]> = tables.iter().map(|table| table.heading.as_slice()).collect();
        assert_eq!(
            headings,
            [vec!["event", CANDIDATE], vec!["event", BASELINE], vec!["function", BASELINE, CANDIDATE]]
        );
        assert_eq!(tables[1].rows[0], ["running", "0.970"]);
    }
}
