//! What is told of a search over settings: who raced, who was out when and why, and what became of the winner.
//!
//! Ratios of the race stand here to show how the choice was made. They chose what they praise, so no word and
//! no interval belongs to them; what was gained is the duel's to say.

use std::collections::BTreeMap;

use super::Topic;
use crate::Evidence;
use crate::document::{Block, Column, Section, Table};
use crate::sentences::one_line;
use crate::wording::percent;
use record::format::figures::signed_percent;
use record::format::tuning::{CandidateRecord, OutCause, RecoveryRecord, RoundRecord, SearchRecord};
use record::format::{DecisionKind, Purpose, TrialRecord, point_text};

const ABOUT: &str =
    "Figures of the race chose its winner, so they praise it: only the duel's blocks show what was gained.";

pub struct Search;

impl Topic for Search {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let search = evidence.run.search.as_ref()?;
        // Without a duel the first screen has the outcome.
        let outcome =
            Block::list(about(search).into_iter().chain(ending(search)).collect()).filter(|_| search.run.is_some());
        let mut body: Vec<Block> = outcome.into_iter().collect();
        body.push(Block::Table(candidates(search)));
        body.push(Block::note(ABOUT));
        body.extend(Block::table(rounds(search)));
        body.extend(Block::list(space(search).into_iter().chain(recovery(evidence)).collect()));
        Section::of("search", "The search over settings", body)
    }

    fn is_of_a_race(&self) -> bool {
        true
    }
}

/// The first screen of a race, which has no verdict.
pub fn first(evidence: &Evidence) -> Section {
    let search = evidence.run.search.as_ref();
    let lines = search.map(|search| ending(search).into_iter().chain(about(search)).collect());
    let body = lines.and_then(Block::list).into_iter().collect();
    Section { id: "verdict", title: "Outcome".to_owned(), body }
}

fn candidates(search: &SearchRecord) -> Table {
    let columns = [
        Column::name("candidate", 0),
        Column::number("blocks", 2),
        Column::number("ahead by", 0),
        Column::number("evidence", 1),
        Column::prose("result", 0),
        Column::prose("settings", 0),
    ];
    let row = |(cells, settings): (Vec<String>, String)| cells.into_iter().chain([settings]);
    Table::new(columns).with_rows(rows(search).into_iter().map(row))
}

fn rounds(search: &SearchRecord) -> Table {
    let columns =
        [Column::name("round", 0), Column::name("blocks", 0), Column::number("raced", 0), Column::prose("stayed", 0)];
    Table::new(columns).with_rows(round_rows(search))
}

/// The first lines: what was searched, where, and what the figures are good for.
fn about(search: &SearchRecord) -> Vec<String> {
    let rules = &search.rules;
    let raced = search.candidates.iter().filter(|candidate| candidate.blocks > 0).count();
    let place = format!("{}, {}", search.workload, point_text(&search.point));
    let mut lines = vec![format!(
        "{raced} of {} candidates raced against `{}` ({place}); the slower half goes after each {} blocks, {} blocks at most",
        search.candidates.len(),
        search.incumbent,
        rules.blocks_per_round,
        rules.blocks_max
    )];
    lines.extend(search.notes.iter().cloned());
    lines.extend(search.run.iter().map(|run| format!("its trials are kept in run {run}")));
    lines
}

/// How the race ended.
fn ending(search: &SearchRecord) -> Vec<String> {
    let Some(outcome) = &search.outcome else {
        return vec![
            "the search is not over: it goes on, or was interrupted, and `dbduel tune --resume` goes on with it"
                .to_owned(),
        ];
    };
    let Some(winner) = &outcome.winner else {
        let seen = match outcome.mde {
            Some(mde) => format!("; a gain below {} would not have been seen (MDE)", percent(mde)),
            None => String::new(),
        };
        return vec![format!("no candidate came out ahead of `{}`{seen}", search.incumbent)];
    };
    let shown = match outcome.shown {
        true => "shown to be faster by the race",
        false => "ahead, which the race alone does not show",
    };
    let mut lines = vec![format!("{winner} was left ({}): {shown}", ended_by(&outcome.ended_by))];
    lines.extend(
        search.candidates.iter().find(|one| one.name == *winner).map(|one| format!("{winner}: {}", changes(one))),
    );
    lines.extend(outcome.duel.iter().map(|duel| format!("it met `{}` again in run {duel}", search.incumbent)));
    lines
}

fn ended_by(word: &str) -> &'static str {
    match word {
        "budget" => "time was over",
        "blocks" => "blocks were used up",
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

/// A row and its settings for each candidate, those who raced longest first.
fn rows(search: &SearchRecord) -> Vec<(Vec<String>, String)> {
    let mut list: Vec<&CandidateRecord> = search.candidates.iter().collect();
    list.sort_by(|one, other| {
        let rank = |candidate: &CandidateRecord| (candidate.blocks, candidate.ratio.unwrap_or(0.0));
        rank(other).partial_cmp(&rank(one)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let told = |candidate: &CandidateRecord| format!("{} ({})", changes(candidate), candidate.how);
    list.into_iter().map(|candidate| (row(search, candidate), told(candidate))).collect()
}

fn row(search: &SearchRecord, candidate: &CandidateRecord) -> Vec<String> {
    let enough = search.candidates.len() as f64 / search.rules.alpha;
    let evidence = match candidate.blocks {
        0 => String::new(),
        _ if candidate.evidence < 10.0 => format!("{:.2} of {enough:.0}", candidate.evidence),
        _ => format!("{:.0} of {enough:.0}", candidate.evidence),
    };
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
        let is_winner = search.outcome.as_ref().is_some_and(|outcome| outcome.winner.as_ref() == Some(&candidate.name));
        return if is_winner { "won".to_owned() } else { "still raced at the end".to_owned() };
    };
    let when = match out.after_block {
        0 => "out at once".to_owned(),
        block => format!("out after block {block}"),
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

/// What could be moved, and what never is.
fn space(search: &SearchRecord) -> Vec<String> {
    let range = |(name, values): (&String, &Vec<String>)| format!("{name} ({})", values.join(", "));
    let mut lines = vec![format!("settings moved: {}", search.space.iter().map(range).collect::<Vec<_>>().join("; "))];
    lines.extend(search.refused.iter().map(|one| {
        format!("not tried, because the server refuses it: {} = {} ({})", one.setting, one.value, one_line(&one.why))
    }));
    if !search.held.is_empty() {
        lines.push(format!(
            "never moved, because they decide what a commit promises or shape the files: {}",
            search.held.join(", ")
        ));
    }
    if !search.held_out.is_empty() {
        let labels: Vec<String> = search.held_out.iter().map(|label| format!("`{label}`")).collect();
        lines.push(format!("had no part in the search: {}", labels.join(", ")));
    }
    lines
}

/// How long both sides were away after kills under load.
fn recovery(evidence: &Evidence) -> Vec<String> {
    let is_ours = |purpose: &Purpose| matches!(purpose, Purpose::Recovery { .. });
    let left_out =
        evidence.run.decided(DecisionKind::LeftOut).filter(|one| is_ours(&one.purpose)).map(|one| one.because.clone());
    let failure = |trial: &TrialRecord| Some(format!("`{}`: {}", trial.contender, trial.failure.as_ref()?.message));
    let failed = evidence.trials.of(is_ours).filter_map(failure);
    let not_measured = left_out.chain(failed).map(|why| format!("recovery after a kill was not measured: {why}"));
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
        "`{}` killed under load ({}, {}): first login after {}, first commit after {} (range of n = {}, after {longest:.0} s of load at most)",
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
    use fixtures::{Story, search, tell_duel_of_a_search};
    use record::StoredTrials;
    use record::format::DecisionRecord;

    fn told() -> SearchRecord {
        tell_duel_of_a_search(&Story::default()).run.search.unwrap()
    }

    #[test]
    fn candidates_are_told_with_what_became_of_them() {
        let rows = rows(&told());
        assert_eq!(rows[0].0, ["c1", "12", "+12.0 %", "400 of 60", "won"]);
        assert_eq!(rows[0].1, "innodb_log_file_size = 1G (one change)");
        assert_eq!(rows[1].0[4], "out after block 2: in the slower half of its round");
        assert_eq!(rows[2].0[1..], ["0", "", "", "out at once: it said: <b>&unknown variable"].map(String::from));
    }

    #[test]
    fn what_takes_a_candidate_out_is_told_with_its_figures() {
        let check = |cause: OutCause, expected: &str| assert_eq!(why(&cause, "default"), expected);
        let failure = record::format::Failure { step: "check".into(), message: "the data are wrong".into() };
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
        assert_eq!(
            ending(&none),
            ["no candidate came out ahead of `5.5`; a gain below 3 % would not have been seen (MDE)"]
        );
        assert!(ending(&search(1))[0].starts_with("the search is not over"));
    }

    #[test]
    fn a_value_that_the_server_refuses_is_named_with_its_reason() {
        let line = "not tried, because the server refuses it: innodb_log_file_size = 3G (cannot start mysql; it said: <b>&too large)";
        assert!(space(&told()).iter().any(|one| one == line), "{:?}", space(&told()));
        assert!(!space(&search(1)).iter().any(|one| one.contains("refuses")));
    }

    #[test]
    fn recovery_is_told_as_a_range_with_how_often() {
        let mut evidence = evidence_of(tell_duel_of_a_search(&Story::default()));
        let lines = recovery(&evidence);
        assert!(lines[0].contains("first commit after 0.90 to 1.10 s (range of n = 3"), "{lines:?}");
        let first = evidence.trials.probes()[0].clone();
        evidence.trials = StoredTrials::default();
        evidence.run.decisions.push(DecisionRecord {
            purpose: first.purpose,
            workload: first.workload,
            contender: first.contender,
            point: first.point,
            ..DecisionRecord::new(DecisionKind::LeftOut, "there is no server")
        });
        assert_eq!(recovery(&evidence), ["recovery after a kill was not measured: there is no server"]);
    }
}
