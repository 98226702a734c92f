//! Two servers' answers to the statements of a log, compared one by one.
//!
//! What the baseline answers otherwise the second time than the first follows from more than the data, and never counts
//! against a candidate.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::{Result, bail};
use load::{Answering, Asked, Came, Compared, OneAnswer, Warnings};
use record::format::answers::{AnswersRecord, Beside, BesideRows, DifferingAnswer, DigestAnswers, FidelityRecord, Way};

/// Answers of the baseline, from two passes over the same data.
pub struct Baseline<'a> {
    pub name: &'a str,
    pub answers: [&'a [OneAnswer]; 2],
}

/// Statements that are shown of a digest whose answers differ.
const EXAMPLES_MAX: usize = 5;

/// Digests named where a replay is not what the log recorded.
const MISSED_MAX: usize = 5;

/// So much of a log may be refused that was answered in production.
const REFUSED_MAX: f64 = 0.2;
/// Commonest errors that are named.
const ERRORS_NAMED: usize = 5;

/// How one answer stands to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Equal,
    TieOrder,
    Differs(Way),
}

pub fn compare(
    workload: &str,
    log: &dyn Answering,
    baseline: &Baseline,
    candidate: (&str, &[OneAnswer]),
) -> AnswersRecord {
    let (candidate, answers) = candidate;
    let mut record = AnswersRecord {
        workload: workload.to_owned(),
        baseline: baseline.name.to_owned(),
        candidate: candidate.to_owned(),
        ..AnswersRecord::default()
    };
    let (mut differing, mut environment) = (Digests::default(), Digests::default());
    let mut beside = BTreeMap::new();
    let [first, second] = baseline.answers;
    for (at, ((one, again), other)) in first.iter().zip(second).zip(answers).enumerate() {
        let Some(asked) = log.asked(at) else { continue };
        record.statements += 1;
        if let Some(why) = why_not(&asked, [one, again, other]) {
            *record.not_compared.entry(why.to_owned()).or_default() += 1;
            continue;
        }
        record.compared += 1;
        let found = found(&asked, one, other);
        let digests = if asked.compared == Compared::Apart { &mut environment } else { &mut differing };
        digests.count(&asked, found, || example(log, at, &asked, [text(one), text(other)]));
        if !matches!(found, Found::Differs(_)) {
            if asked.compared != Compared::Apart {
                count_beside(&mut beside, &asked, [one, again, other], |texts| example(log, at, &asked, texts));
            }
            record.equal += 1;
            record.tie_order += u64::from(found == Found::TieOrder);
            if asked.compared == Compared::Rows {
                *record.by_rows.entry(asked.class.to_owned()).or_default() += 1;
            }
        }
    }
    record.differing = differing.that_differ();
    record.beside = beside.into_values().collect();
    record.beside.sort_by_key(|one: &BesideRows| (one.what, Reverse(one.differ)));
    record.environment = environment.that_differ();
    record
}

/// What trials of a contender have all answered alike.
#[derive(Default)]
pub struct Steady {
    answers: Vec<OneAnswer>,
    pub trials: usize,
}

impl Steady {
    /// A statement that another trial answers otherwise counts as not sent.
    pub fn take(&mut self, log: &dyn Answering, trial: Vec<OneAnswer>) {
        self.trials += 1;
        if self.trials == 1 {
            self.answers = trial;
            return;
        }
        for (at, (known, other)) in self.answers.iter_mut().zip(&trial).enumerate() {
            let is_alike = log.asked(at).is_none_or(|asked| !matches!(found(&asked, known, other), Found::Differs(_)));
            if !is_alike {
                *known = OneAnswer::default();
            }
        }
    }
}

/// The same of timed trials: of what trials of either side have all answered alike, and the baseline in its pass too.
pub fn compare_trials(
    workload: &str,
    log: &dyn Answering,
    (baseline, pass): (&str, &[OneAnswer]),
    steady: &Steady,
    (candidate, of_candidate): (&str, &Steady),
) -> AnswersRecord {
    let baseline = Baseline { name: baseline, answers: [pass, &steady.answers] };
    let mut record = compare(workload, log, &baseline, (candidate, &of_candidate.answers));
    if let Some(count) = record.not_compared.remove(AnswersRecord::UNSENT) {
        record.not_compared.insert(AnswersRecord::UNSTEADY.to_owned(), count);
    }
    // Names follow from the statement, and numbers of new rows from who came first.
    AnswersRecord { trials: Some(of_candidate.trials), beside: Vec::new(), ..record }
}

/// Why a statement is not compared.
fn why_not(asked: &Asked, [one, again, other]: [&OneAnswer; 3]) -> Option<&'static str> {
    match () {
        () if asked.compared == Compared::Never => Some(asked.class),
        () if [one, again, other].iter().any(|answer| answer.came == Came::Unsent) => Some(AnswersRecord::UNSENT),
        () if matches!(found(asked, one, again), Found::Differs(_)) => Some(AnswersRecord::UNSTABLE),
        () => None,
    }
}

fn found(asked: &Asked, one: &OneAnswer, other: &OneAnswer) -> Found {
    match (one.came, other.came) {
        (Came::Error(code), Came::Error(other)) if code == other => return Found::Equal,
        (Came::Error(_), Came::Error(_)) => return Found::Differs(Way::OtherError),
        (_, Came::Error(_)) => return Found::Differs(Way::Error),
        (Came::Error(_), _) => return Found::Differs(Way::NoError),
        (one, other) if one != other => return Found::Differs(Way::Rows),
        _ if one.count != other.count => return Found::Differs(Way::Rows),
        _ => {}
    }
    match () {
        () if asked.compared == Compared::Rows || one.in_order == other.in_order => Found::Equal,
        () if one.any_order == other.any_order && asked.is_ordered => Found::TieOrder,
        () if one.any_order == other.any_order => Found::Equal,
        () if asked.is_ordered && asked.is_limited => Found::Differs(Way::ValuesAtLimit),
        () => Found::Differs(Way::Values),
    }
}

fn example(log: &dyn Answering, at: usize, asked: &Asked, [baseline, candidate]: [String; 2]) -> DifferingAnswer {
    DifferingAnswer { log: asked.log.to_owned(), line: asked.line, baseline, candidate, statement: log.shown(at) }
}

/// Names of columns, warnings and new keys of equal answers. What the baseline itself does not repeat is left out.
fn count_beside(
    beside: &mut BTreeMap<(Beside, String), BesideRows>,
    asked: &Asked,
    answers: [&OneAnswer; 3],
    example: impl Fn([String; 2]) -> DifferingAnswer,
) {
    let [one, again, other] = answers;
    let differs = |of: fn(&OneAnswer) -> u64| of(one) == of(again) && of(one) != of(other);
    let key = |answer: &OneAnswer| answer.new_key.to_string();
    let mut count = |what: Beside, texts: [String; 2]| {
        let first = || BesideRows { digest: asked.digest.to_owned(), what, differ: 0, first: example(texts) };
        beside.entry((what, asked.digest.to_owned())).or_insert_with(first).differ += 1;
    };
    if differs(|answer| answer.names) {
        count(Beside::Names, [String::new(), String::new()]);
    }
    if one.warnings == again.warnings && one.warnings != other.warnings {
        count(Beside::Warnings, [one.warnings, other.warnings].map(codes));
    }
    if differs(|answer| answer.new_key) {
        count(Beside::NewKey, [key(one), key(other)]);
    }
}

/// `1265, 1366`
fn codes(warnings: Warnings) -> String {
    let codes: Vec<String> = warnings.codes().map(|code| code.to_string()).collect();
    if codes.is_empty() { "none".to_owned() } else { codes.join(", ") }
}

/// Statements by their digests.
#[derive(Default)]
struct Digests(BTreeMap<String, Counted>);

#[derive(Default)]
struct Counted {
    class: &'static str,
    compared: u64,
    ways: BTreeMap<Way, u64>,
    examples: Vec<DifferingAnswer>,
}

impl Digests {
    fn count(&mut self, asked: &Asked, found: Found, example: impl FnOnce() -> DifferingAnswer) {
        let counted = self.0.entry(asked.digest.to_owned()).or_default();
        counted.class = asked.class;
        counted.compared += 1;
        let Found::Differs(way) = found else { return };
        *counted.ways.entry(way).or_default() += 1;
        if counted.examples.len() < EXAMPLES_MAX {
            counted.examples.push(example());
        }
    }

    /// Most often first.
    fn that_differ(self) -> Vec<DigestAnswers> {
        let digest = |(digest, Counted { class, compared, ways, examples }): (String, Counted)| {
            let differ = ways.values().sum();
            let mut examples = examples.into_iter();
            let first = examples.next()?;
            let more = examples.collect();
            Some(DigestAnswers { digest, class: class.to_owned(), compared, differ, ways, first, more })
        };
        let mut all: Vec<DigestAnswers> = self.0.into_iter().filter_map(digest).collect();
        all.sort_by_key(|one| Reverse(one.differ));
        all
    }
}

/// An answer without its values: they are customers' data.
fn text(answer: &OneAnswer) -> String {
    let rows = |count: u64| format!("{count} row{}", if count == 1 { "" } else { "s" });
    match answer.came {
        Came::Unsent => "not sent".to_owned(),
        Came::Rows => rows(answer.count),
        Came::Change => format!("{} changed", rows(answer.count)),
        Came::Error(code) => format!("error {}", String::from_utf8_lossy(code.trim_ascii_end())),
    }
}

/// A server that refuses much of a log does other work: nothing that it was timed at would mean anything. `hint` says where
/// to look.
pub fn expect_most(log: &dyn Answering, contender: &str, answers: &[OneAnswer], hint: &str) -> Result<()> {
    let mut errors: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut sent = 0;
    for (at, answer) in answers.iter().enumerate().filter(|(_, answer)| answer.came != Came::Unsent) {
        let Some(asked) = log.asked(at) else { continue };
        sent += 1;
        if let (Came::Error(code), None) = (answer.came, asked.error) {
            let code = String::from_utf8_lossy(code.trim_ascii_end()).into_owned();
            let place = || (0, format!("first {}:{}", asked.log, asked.line));
            errors.entry(code).or_insert_with(place).0 += 1;
        }
    }
    let refused: usize = errors.values().map(|(count, _)| count).sum();
    if (refused as f64) <= REFUSED_MAX * f64::from(sent) {
        return Ok(());
    }
    let mut errors: Vec<(String, (usize, String))> = errors.into_iter().collect();
    errors.sort_by_key(|(_, (count, _))| Reverse(*count));
    let named =
        errors.iter().take(ERRORS_NAMED).map(|(code, (count, first))| format!("{count} times {code} ({first})"));
    bail!(
        "`{contender}` refuses {refused} of {sent} statements of the log: {}\n  next: {hint}; answers = \"off\" in [workload] measures all the same",
        named.collect::<Vec<_>>().join(", ")
    )
}

/// The outcome of each statement beside the one that the log recorded.
pub fn fidelity(workload: &str, log: &dyn Answering, contender: &str, answers: &[OneAnswer]) -> FidelityRecord {
    let mut record =
        FidelityRecord { workload: workload.to_owned(), contender: contender.to_owned(), ..FidelityRecord::default() };
    let mut missed: BTreeMap<String, u64> = BTreeMap::new();
    for (at, answer) in answers.iter().enumerate() {
        let Some(asked) = log.asked(at) else { continue };
        let Some(is_same) = is_as_logged(&asked, answer) else { continue };
        record.recorded += 1;
        record.same += u64::from(is_same);
        if !is_same {
            *missed.entry(asked.digest.to_owned()).or_default() += 1;
        }
    }
    record.missed = missed.into_iter().collect();
    record.missed.sort_by_key(|(_, count)| Reverse(*count));
    record.missed.truncate(MISSED_MAX);
    record
}

/// None where the log does not have the outcome, or the statement's answer does not follow from the data.
fn is_as_logged(asked: &Asked, answer: &OneAnswer) -> Option<bool> {
    if matches!(asked.compared, Compared::Never | Compared::Apart) {
        return None;
    }
    match (answer.came, asked.error) {
        (Came::Unsent, _) => None,
        (Came::Error(code), Some(logged)) => Some(code == logged),
        (_, Some(_)) => Some(false),
        (Came::Error(_), None) if asked.knows_errors => Some(false),
        // A log without errors has no rows where one was.
        (Came::Error(_), None) => Some(asked.rows.or(asked.affected)? == 0 && asked.affected.unwrap_or(0) == 0),
        (Came::Rows, None) => asked.rows.map(|rows| rows == answer.count).or(asked.knows_errors.then_some(true)),
        (Came::Change, None) => asked.affected.map(|rows| rows == answer.count).or(asked.knows_errors.then_some(true)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use load::{AnswerLog, Workload};

    use super::*;

    struct Log(Vec<Asked<'static>>);

    impl Answering for Log {
        fn statements(&self) -> usize {
            self.0.len()
        }
        fn asked(&self, statement: usize) -> Option<Asked<'_>> {
            self.0.get(statement).cloned()
        }
        fn shown(&self, statement: usize) -> String {
            format!("statement {statement}")
        }
        fn expected_duration(&self) -> std::time::Duration {
            std::time::Duration::ZERO
        }
        fn noting(&self, _: Arc<AnswerLog>) -> Arc<dyn Workload> {
            unreachable!("nothing is replayed here")
        }
        fn keeps_trials(&self) -> bool {
            false
        }
        fn noting_trial(&self, _: Arc<AnswerLog>) -> Arc<dyn Workload> {
            unreachable!("nothing is replayed here")
        }
    }

    const ASKED: Asked<'static> = Asked {
        digest: "00000000000000d1",
        class: "plain",
        compared: Compared::Values,
        is_ordered: false,
        is_limited: false,
        log: "slow.log",
        line: 7,
        error: None,
        knows_errors: false,
        rows: None,
        affected: None,
    };

    fn rows(count: u64, in_order: u64, any_order: u64) -> OneAnswer {
        OneAnswer { came: Came::Rows, count, in_order, any_order, ..OneAnswer::default() }
    }

    fn error(code: &[u8; 5]) -> OneAnswer {
        OneAnswer { came: Came::Error(*code), ..OneAnswer::default() }
    }

    /// What comes of one statement, where the baseline answers the same twice.
    fn compared(asked: Asked<'static>, one: OneAnswer, other: OneAnswer) -> AnswersRecord {
        compared_again(asked, one, one, other)
    }

    fn compared_again(asked: Asked<'static>, one: OneAnswer, again: OneAnswer, other: OneAnswer) -> AnswersRecord {
        let baseline = Baseline { name: "old", answers: [&[one], &[again]] };
        compare("shop", &Log(vec![asked]), &baseline, ("new", &[other]))
    }

    #[test]
    fn what_differs_is_told_by_how_it_does() {
        let ordered = Asked { is_ordered: true, ..ASKED };
        let limited = Asked { is_limited: true, ..ordered.clone() };
        let check = |asked: &Asked<'static>, one: OneAnswer, other: OneAnswer, expected: Option<Way>| {
            let record = compared(asked.clone(), one, other);
            let way = record.differing.first().and_then(|digest| digest.ways.keys().next().copied());
            assert_eq!((way, record.equal), (expected, u64::from(expected.is_none())), "{asked:?} {one:?} {other:?}");
        };
        check(&ASKED, rows(2, 1, 5), rows(2, 1, 5), None);
        check(&ASKED, rows(2, 1, 5), rows(2, 9, 5), None);
        check(&ordered, rows(2, 1, 5), rows(2, 9, 5), None);
        check(&ASKED, rows(2, 1, 5), rows(2, 9, 6), Some(Way::Values));
        check(&ordered, rows(2, 1, 5), rows(2, 9, 6), Some(Way::Values));
        check(&limited, rows(2, 1, 5), rows(2, 9, 6), Some(Way::ValuesAtLimit));
        check(&ASKED, rows(2, 1, 5), rows(3, 1, 5), Some(Way::Rows));
        check(&ASKED, rows(2, 1, 5), error(b"1064 "), Some(Way::Error));
        check(&ASKED, error(b"1064 "), rows(2, 1, 5), Some(Way::NoError));
        check(&ASKED, error(b"1064 "), error(b"1062 "), Some(Way::OtherError));
        check(&ASKED, error(b"1064 "), error(b"1064 "), None);
    }

    #[test]
    fn names_warnings_and_new_keys_are_told_beside_equal_answers() {
        let one = OneAnswer { names: 7, warnings: Warnings::of([1265].into_iter()), ..rows(2, 1, 5) };
        let warned = Warnings::of([1366, 1265].into_iter());
        let other = OneAnswer { names: 8, new_key: 4, warnings: warned, ..one };
        let check = |again: OneAnswer, expected: &[(Beside, &str, &str)]| {
            let record = compared_again(ASKED, one, again, other);
            let found: Vec<(Beside, &str, &str)> =
                record.beside.iter().map(|one| (one.what, &*one.first.baseline, &*one.first.candidate)).collect();
            assert_eq!((found.as_slice(), record.equal, record.differ()), (expected, 1, 0));
        };
        let all = [(Beside::Names, "", ""), (Beside::Warnings, "1265", "1265, 1366"), (Beside::NewKey, "0", "4")];
        check(one, &all);
        // What the baseline does not repeat is nobody's fault.
        check(OneAnswer { warnings: warned, new_key: 9, ..one }, &all[..1]);
    }

    #[test]
    fn a_few_statements_of_a_digest_are_shown() {
        let answers: Vec<OneAnswer> = (0..9).map(|_| rows(2, 1, 5)).collect();
        let others: Vec<OneAnswer> = (0..9).map(|_| rows(3, 1, 5)).collect();
        let baseline = Baseline { name: "old", answers: [&answers, &answers] };
        let record = compare("shop", &Log(vec![ASKED; 9]), &baseline, ("new", &others));
        let [digest] = &record.differing[..] else { panic!("{record:?}") };
        let shown: Vec<&str> = digest.more.iter().map(|one| one.statement.as_str()).collect();
        assert_eq!((&*digest.first.statement, digest.differ), ("statement 0", 9));
        assert_eq!(shown, ["statement 1", "statement 2", "statement 3", "statement 4"]);
    }

    #[test]
    fn another_order_of_ties_is_no_difference_and_is_counted() {
        let ordered = Asked { is_ordered: true, ..ASKED };
        assert_eq!(compared(ordered, rows(2, 1, 5), rows(2, 9, 5)).tie_order, 1);
        assert_eq!(compared(ASKED, rows(2, 1, 5), rows(2, 9, 5)).tie_order, 0);
    }

    #[test]
    fn of_trials_what_all_of_them_answered_is_compared_with_the_pass() {
        let log = Log(vec![ASKED; 4]);
        let steady = |trials: &[[OneAnswer; 4]]| {
            let mut steady = Steady::default();
            trials.iter().for_each(|trial| steady.take(&log, trial.to_vec()));
            steady
        };
        let [a, b, c] = [1, 2, 3].map(|hash| rows(1, hash, hash));
        // Equal, otherwise on the candidate, otherwise under load already on the baseline, otherwise from trial to trial.
        let baseline = steady(&[[a, a, c, a], [a, a, c, a]]);
        let candidate = steady(&[[a, b, a, a], [a, b, a, b]]);
        let record = compare_trials("shop", &log, ("old", &[a; 4]), &baseline, ("new", &candidate));
        assert_eq!((record.trials, record.compared, record.equal, record.differ()), (Some(2), 2, 1, 1));
        let reasons = [(AnswersRecord::UNSTEADY.to_owned(), 1), (AnswersRecord::UNSTABLE.to_owned(), 1)];
        assert_eq!(record.not_compared, BTreeMap::from(reasons));
    }

    #[test]
    fn what_does_not_follow_from_the_data_is_not_compared() {
        let why = |record: AnswersRecord| record.not_compared.keys().next().cloned().unwrap_or_default();
        let random = Asked { class: "random", compared: Compared::Never, ..ASKED };
        assert_eq!(why(compared(random, rows(1, 1, 1), rows(1, 2, 2))), "random");
        assert_eq!(why(compared(ASKED, rows(1, 1, 1), OneAnswer::default())), AnswersRecord::UNSENT);
        let unstable = compared_again(ASKED, rows(1, 1, 1), rows(1, 2, 2), rows(1, 3, 3));
        assert_eq!((unstable.differ(), why(unstable)), (0, AnswersRecord::UNSTABLE.to_owned()));
    }

    #[test]
    fn a_class_may_be_compared_by_rows_alone_or_apart() {
        let by_rows = Asked { class: "clock", compared: Compared::Rows, ..ASKED };
        let record = compared(by_rows.clone(), rows(1, 1, 1), rows(1, 2, 2));
        assert_eq!((record.equal, record.by_rows.get("clock")), (1, Some(&1)));
        assert_eq!(compared(by_rows, rows(1, 1, 1), rows(2, 2, 2)).differ(), 1);
        let server = Asked { class: "server", compared: Compared::Apart, ..ASKED };
        let record = compared(server, rows(1, 1, 1), rows(1, 2, 2));
        assert_eq!((record.differ(), record.environment.len()), (0, 1));
    }

    #[test]
    fn a_difference_names_its_entry_and_no_value() {
        let record = compared(ASKED, rows(1, 1, 5), error(b"1146 "));
        let first = &record.differing[0].first;
        assert_eq!((first.log.as_str(), first.line), ("slow.log", 7));
        assert_eq!((first.baseline.as_str(), first.candidate.as_str()), ("1 row", "error 1146"));
    }

    #[test]
    fn fidelity_is_of_what_the_log_recorded() {
        let check = |asked: Asked<'static>, answer: OneAnswer, expected: (u64, u64)| {
            let record = fidelity("shop", &Log(vec![asked.clone()]), "old", &[answer]);
            assert_eq!((record.recorded, record.same), expected, "{asked:?} {answer:?}");
        };
        let change = OneAnswer { came: Came::Change, count: 1, ..OneAnswer::default() };
        let with = |rows, affected| Asked { rows, affected, ..ASKED };
        check(ASKED, rows(3, 0, 0), (0, 0));
        check(with(Some(3), None), rows(3, 0, 0), (1, 1));
        check(with(Some(3), None), rows(2, 0, 0), (1, 0));
        check(with(Some(0), Some(1)), change, (1, 1));
        check(with(Some(0), None), change, (0, 0));
        check(with(Some(0), Some(0)), error(b"1062 "), (1, 1));
        check(with(Some(3), Some(0)), error(b"1062 "), (1, 0));
        let known = Asked { knows_errors: true, ..ASKED };
        check(known.clone(), rows(3, 0, 0), (1, 1));
        check(known.clone(), error(b"42P01"), (1, 0));
        check(Asked { error: Some(*b"42P01"), ..known.clone() }, error(b"42P01"), (1, 1));
        check(Asked { error: Some(*b"42P01"), ..known }, rows(3, 0, 0), (1, 0));
        check(ASKED, OneAnswer::default(), (0, 0));
    }

    #[test]
    fn a_log_of_which_more_than_a_fifth_is_refused_ends_a_run_with_the_commonest_errors() {
        let refused = |count: usize| {
            let answers: Vec<OneAnswer> =
                (0..10).map(|at| if at < count { error(b"1146 ") } else { rows(1, 1, 1) }).collect();
            expect_most(&Log(vec![ASKED; 10]), "old", &answers, "look at its data")
        };
        refused(2).unwrap();
        assert_eq!(
            refused(3).unwrap_err().to_string(),
            "`old` refuses 3 of 10 statements of the log: 3 times 1146 (first slow.log:7)\n  \
             next: look at its data; answers = \"off\" in [workload] measures all the same"
        );
        // As it did in production.
        let failed = Asked { error: Some(*b"1146 "), ..ASKED };
        expect_most(&Log(vec![failed; 10]), "old", &[error(b"1146 "); 10], "").unwrap();
    }
}
