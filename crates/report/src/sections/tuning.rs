//! A search over settings: which candidates were measured, when and why each was dropped, and the winner.
//!
//! Ratios of the search stand here to show how the choice was made. The winner was selected by them, so they overstate
//! its gain and get neither a verdict nor an interval; the gain is measured by the duel that follows.

use std::collections::BTreeMap;

use super::{Topic, stopped};
use crate::Evidence;
use crate::document::{Block, Column, Section, Table};
use crate::sentences::one_line;
use crate::wording::{number, percent};
use record::format::RecoveryRecord;
use record::format::figures::signed_percent;
use record::format::tuning::{CandidateRecord, OutCause, RoundRecord, SearchRecord};
use record::format::{DecisionKind, Purpose, TrialRecord, point_text};

const ABOUT: &str =
    "The winner was selected by these figures, so they overstate its gain: only the duel that follows measures it.";

pub struct Search;

impl Topic for Search {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let search = evidence.run.search.as_ref()?;
        // Without a duel the first screen has the outcome.
        let outcome = Block::list(stopped(about(search).into_iter().chain(ending(search)).collect()))
            .filter(|_| search.run.is_some());
        let mut body: Vec<Block> = outcome.into_iter().collect();
        body.push(Block::Table(candidates(search)));
        body.push(Block::note(ABOUT));
        body.extend(Block::table(rounds(search)));
        body.extend(Block::list(stopped(space(search).into_iter().chain(recovery(evidence)).collect())));
        Section::of("search", "The search over settings", body)
    }

    fn is_of_a_race(&self) -> bool {
        true
    }
}

/// The first screen of a race, which has no verdict.
pub fn first(evidence: &Evidence) -> Section {
    let search = evidence.run.search.as_ref();
    let lines = search.map(|search| stopped(ending(search).into_iter().chain(about(search)).collect()));
    let body = lines.and_then(Block::list).into_iter().collect();
    Section { id: "verdict", title: "Outcome".to_owned(), body }
}

fn candidates(search: &SearchRecord) -> Table {
    let columns = [
        Column::name("candidate", 0),
        Column::number("blocks", 2),
        Column::number("ahead by", 0),
        Column::number(format!("evidence, {:.0} needed", evidence_needed(search)), 1),
        Column::prose("result", 0),
        Column::prose("settings", 0),
    ];
    let row = |(cells, settings): (Vec<String>, String)| cells.into_iter().chain([settings]);
    Table::new(columns).with_rows(rows(search).into_iter().map(row))
}

fn rounds(search: &SearchRecord) -> Table {
    let columns =
        [Column::name("round", 0), Column::name("blocks", 0), Column::number("measured", 0), Column::prose("kept", 0)];
    Table::new(columns).with_rows(round_rows(search))
}

/// The first lines: what was searched, where, and what the figures are good for.
fn about(search: &SearchRecord) -> Vec<String> {
    let rules = &search.rules;
    let raced = search.candidates.iter().filter(|candidate| candidate.blocks > 0).count();
    let place = format!("{}, {}", search.workload, point_text(&search.point));
    let mut lines = vec![format!(
        "{raced} of {} candidates were measured against `{}` ({place}); the slower half is dropped after each {} blocks, at most {} blocks",
        search.candidates.len(),
        search.incumbent,
        rules.blocks_per_round,
        rules.blocks_max
    )];
    lines.extend(search.notes.iter().cloned());
    lines.extend(search.run.iter().map(|run| format!("The trials of the search are kept in run {run}")));
    lines
}

/// How the race ended.
fn ending(search: &SearchRecord) -> Vec<String> {
    let Some(outcome) = &search.outcome else {
        return vec![
            "The search is not finished: it is running, or was interrupted; continue it with `dbduel tune --resume RUN`"
                .to_owned(),
        ];
    };
    let Some(winner) = &outcome.winner else {
        let seen = match outcome.mde {
            Some(mde) => format!("; the smallest detectable gain was {}", percent(mde)),
            None => String::new(),
        };
        return vec![format!("No candidate was faster than `{}`{seen}", search.incumbent)];
    };
    let shown = match outcome.shown {
        true => "the search shows it to be faster",
        false => "it was ahead at the end, but the search does not show it to be faster",
    };
    let mut lines = vec![format!("`{winner}` won ({}): {shown}", ended_by(&outcome.ended_by))];
    lines.extend(
        search.candidates.iter().find(|one| one.name == *winner).map(|one| format!("`{winner}`: {}", changes(one))),
    );
    lines.extend(outcome.duel.iter().map(|duel| format!("The duel with `{}` is run {duel}", search.incumbent)));
    lines.extend(outcome.crashes.iter().map(|run| format!("Recovery times and classes of both are in run {run}")));
    lines
}

fn ended_by(word: &str) -> &'static str {
    match word {
        "budget" => "stopped at the budget",
        "blocks" => "all blocks were measured",
        "nobody left" => "no candidate left",
        _ => "decided",
    }
}

/// What a candidate has otherwise than the incumbent.
fn changes(candidate: &CandidateRecord) -> String {
    pairs(&candidate.settings)
}

fn pairs(settings: &BTreeMap<String, String>) -> String {
    settings.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// A row and its settings for each candidate, those with most blocks first.
fn rows(search: &SearchRecord) -> Vec<(Vec<String>, String)> {
    let mut list: Vec<&CandidateRecord> = search.candidates.iter().collect();
    list.sort_by(|one, other| {
        let rank = |candidate: &CandidateRecord| (candidate.blocks, candidate.ratio.unwrap_or(0.0));
        rank(other).partial_cmp(&rank(one)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let told = |candidate: &CandidateRecord| format!("{} ({})", changes(candidate), candidate.how);
    list.into_iter().map(|candidate| (row(search, candidate), told(candidate))).collect()
}

/// The evidence that shows a candidate to be faster.
fn evidence_needed(search: &SearchRecord) -> f64 {
    search.candidates.len() as f64 / search.rules.alpha
}

fn row(search: &SearchRecord, candidate: &CandidateRecord) -> Vec<String> {
    let evidence = if candidate.blocks == 0 { String::new() } else { number(candidate.evidence) };
    vec![
        candidate.name.clone(),
        candidate.blocks.to_string(),
        candidate.ratio.map_or_else(String::new, |ratio| signed_percent(ratio - 1.0, 1)),
        evidence,
        fate(search, candidate),
    ]
}

fn fate(search: &SearchRecord, candidate: &CandidateRecord) -> String {
    let Some(out) = &candidate.out else {
        let Some(outcome) = &search.outcome else { return "not decided yet".to_owned() };
        let is_winner = outcome.winner.as_ref() == Some(&candidate.name);
        return if is_winner { "won".to_owned() } else { "measured to the end".to_owned() };
    };
    let when = match out.after_block {
        0 => "dropped at the start".to_owned(),
        block => format!("dropped after block {block}"),
    };
    format!("{when}: {}", one_line(&why(&out.cause, &search.incumbent)))
}

fn why(cause: &OutCause, incumbent: &str) -> String {
    let mib = |bytes: f64| bytes / f64::from(1u32 << 20);
    match cause {
        OutCause::Refused { why } => why.clone(),
        OutCause::Failed { failure: Some(failure) } => {
            format!("its trial failed at `{}`: {}", failure.step, failure.message)
        }
        OutCause::Failed { failure: None } => "its trial failed".to_owned(),
        OutCause::TooSlow { seconds, allowed_s } => {
            format!("its trial took {seconds:.0} s, and {allowed_s:.0} s were allowed")
        }
        OutCause::TooLarge { bytes, allowed_bytes } => {
            format!("its files took {:.0} MiB, and {:.0} MiB were allowed", mib(*bytes), mib(*allowed_bytes))
        }
        OutCause::Slower => format!("shown to be slower than `{incumbent}`"),
        OutCause::Halved => "in the slower half of its round".to_owned(),
        OutCause::Behind => format!("the last one, and not ahead of `{incumbent}`"),
    }
}

/// A row for each round.
fn round_rows(search: &SearchRecord) -> Vec<Vec<String>> {
    let row = |round: &RoundRecord| {
        vec![
            round.round.to_string(),
            format!("{} to {}", round.first_block, round.last_block),
            round.began.len().to_string(),
            if round.stayed.is_empty() { "none".to_owned() } else { round.stayed.join(", ") },
        ]
    };
    search.rounds.iter().map(row).collect()
}

/// Which settings were varied, and which never are.
fn space(search: &SearchRecord) -> Vec<String> {
    let range = |(name, values): (&String, &Vec<String>)| format!("{name} ({})", values.join(", "));
    let mut lines =
        vec![format!("Settings that were varied: {}", search.space.iter().map(range).collect::<Vec<_>>().join("; "))];
    lines.extend(search.refused.iter().map(|one| {
        format!("Not tried, because the server refuses it: {} = {} ({})", one.setting, one.value, one_line(&one.why))
    }));
    if !search.held.is_empty() {
        lines.push(format!(
            "Never varied, because they decide durability or the layout of files: {}",
            search.held.join(", ")
        ));
    }
    if !search.held_out.is_empty() {
        let labels: Vec<String> = search.held_out.iter().map(|label| format!("`{label}`")).collect();
        lines.push(format!("Workloads that are no part of the search: {}", labels.join(", ")));
    }
    lines
}

/// How long both servers took to recover after kills under load.
fn recovery(evidence: &Evidence) -> Vec<String> {
    let is_ours = |purpose: &Purpose| matches!(purpose, Purpose::Recovery { .. });
    let left_out =
        evidence.run.decided(DecisionKind::LeftOut).filter(|one| is_ours(&one.purpose)).map(|one| one.because.clone());
    let failure = |trial: &TrialRecord| Some(format!("`{}`: {}", trial.contender, trial.failure.as_ref()?.message));
    let failed = evidence.trials.of(is_ours).filter_map(failure);
    let not_measured = left_out.chain(failed).map(|why| format!("Recovery after a kill was not measured: {why}"));
    let elsewhere = evidence.run.search.as_ref().filter(|search| search.has_crashes).map(|_| {
        "Recovery after crashes is measured in a run of its own behind this one, as [recovery] asks".to_owned()
    });
    let not_measured = not_measured.chain(elsewhere);
    RecoveryRecord::all(evidence.trials.probes()).iter().map(recovery_of).chain(not_measured).collect()
}

fn recovery_of(record: &RecoveryRecord) -> String {
    let range = |values: &[f64]| {
        let ends =
            values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
        format!("{:.2} to {:.2} s", ends.0, ends.1)
    };
    let longest = record.load_s.iter().copied().fold(0.0, f64::max);
    format!(
        "`{}` killed under load ({}, {}): first login after {}, first commit after {} (range of {} kills, after at most {longest:.0} s of load)",
        record.contender,
        record.workload,
        point_text(&record.point),
        range(&record.t_conn_s),
        range(&record.t_rw_s),
        record.t_rw_s.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::evidence_of;
    use fixtures::{Story, duel_after_search, search};
    use record::StoredTrials;
    use record::format::DecisionRecord;

    fn told() -> SearchRecord {
        duel_after_search(&Story::default()).run.search.unwrap()
    }

    #[test]
    fn candidates_are_told_with_what_became_of_them() {
        let rows = rows(&told());
        assert_eq!(rows[0].0, ["c1", "12", "+12.0 %", "400", "won"]);
        assert_eq!(rows[0].1, "innodb_log_file_size = 1G (one change)");
        assert_eq!(rows[1].0[4], "dropped after block 2: in the slower half of its round");
        assert_eq!(
            rows[2].0[1..],
            ["0", "", "", "dropped at the start: it said: <b>&unknown variable"].map(String::from)
        );
    }

    #[test]
    fn what_takes_a_candidate_out_is_told_with_its_figures() {
        let check = |cause: OutCause, expected: &str| assert_eq!(why(&cause, "default"), expected);
        let failure = record::format::Failure {
            step: "check".into(),
            message: "the data are wrong".into(),
            ..record::format::Failure::default()
        };
        check(OutCause::Failed { failure: Some(failure) }, "its trial failed at `check`: the data are wrong");
        let slow = OutCause::TooSlow { seconds: 240.2, allowed_s: 120.0 };
        check(slow, "its trial took 240 s, and 120 s were allowed");
        let large = OutCause::TooLarge { bytes: 1e12, allowed_bytes: 1e9 };
        check(large, "its files took 953674 MiB, and 954 MiB were allowed");
        check(OutCause::Slower, "shown to be slower than `default`");
        check(OutCause::Behind, "the last one, and not ahead of `default`");
    }

    #[test]
    fn a_search_that_nobody_won_says_what_it_could_have_seen() {
        let mut none = told();
        none.outcome.as_mut().unwrap().winner = None;
        assert_eq!(ending(&none), ["No candidate was faster than `5.5`; the smallest detectable gain was 3 %"]);
        assert!(ending(&search(1))[0].starts_with("The search is not finished"));
    }

    #[test]
    fn a_value_that_the_server_refuses_is_named_with_its_reason() {
        let line = "Not tried, because the server refuses it: innodb_log_file_size = 3G (cannot start mysql; it said: <b>&too large)";
        assert!(space(&told()).iter().any(|one| one == line), "{:?}", space(&told()));
        assert!(!space(&search(1)).iter().any(|one| one.contains("refuses")));
    }

    #[test]
    fn recovery_is_told_as_a_range_with_how_often() {
        let mut evidence = evidence_of(duel_after_search(&Story::default()));
        let lines = recovery(&evidence);
        assert!(lines[0].contains("first commit after 0.90 to 1.10 s (range of 3 kills"), "{lines:?}");
        let first = evidence.trials.probes()[0].clone();
        evidence.trials = StoredTrials::default();
        evidence.run.decisions.push(DecisionRecord {
            purpose: first.purpose,
            workload: first.workload,
            contender: first.contender,
            point: first.point,
            ..DecisionRecord::new(DecisionKind::LeftOut, "there is no server")
        });
        assert_eq!(recovery(&evidence), ["Recovery after a kill was not measured: there is no server"]);
    }
}
