//! What servers do otherwise than each other, and what stands before them: sentences and lines of evidence.

use analysis::{BehindPooler, WorkDiffers};

use crate::wording::joined;

pub fn behind_pooler(all: &[BehindPooler]) -> String {
    let names: Vec<String> = all.iter().map(|one| format!("`{}`", one.contender)).collect();
    match all {
        [one] => format!("`{}` was reached through {}.", one.contender, one.pooler),
        _ => format!("{} were reached through poolers.", joined(names)),
    }
}

pub fn behind_pooler_line(one: &BehindPooler) -> String {
    let sessions = match one.sessions {
        Some(sessions) => format!(
            "behind it the server had {sessions:.0} sessions in the mean of its busiest trial, dbduel's own included"
        ),
        None => "how many sessions the server had behind it cannot be seen".to_owned(),
    };
    format!("`{}`: {}; {sessions}", one.contender, one.pooler)
}

pub fn work_differs(all: &[WorkDiffers]) -> String {
    let mut names: Vec<String> = all.iter().map(|one| format!("`{}`", one.setting)).collect();
    names.sort();
    names.dedup();
    format!("The contenders have different {}.", joined(names))
}

pub fn work_differs_line(one: &WorkDiffers) -> String {
    let shown = |value: &str| if value.is_empty() { "empty".to_owned() } else { value.to_owned() };
    format!(
        "{}: {} ({}), {} ({})",
        one.setting,
        shown(&one.of_baseline),
        one.baseline,
        shown(&one.of_candidate),
        one.candidate
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pooler_is_named_with_the_sessions_behind_it_where_they_can_be_seen() {
        let behind = |contender: &str, sessions| BehindPooler {
            contender: contender.to_owned(),
            pooler: "PgBouncer 1.18.0 (transaction mode)".to_owned(),
            sessions,
        };
        assert_eq!(behind_pooler(&[behind("a", None)]), "`a` was reached through PgBouncer 1.18.0 (transaction mode).");
        assert_eq!(
            behind_pooler_line(&behind("a", Some(4.2))),
            "`a`: PgBouncer 1.18.0 (transaction mode); behind it the server had 4 sessions in the mean of its busiest trial, dbduel's own included"
        );
        assert!(behind_pooler_line(&behind("a", None)).ends_with("cannot be seen"));
    }

    #[test]
    fn settings_that_change_the_work_are_named_with_both_values() {
        let one = WorkDiffers {
            setting: "sql_mode".to_owned(),
            baseline: "old".to_owned(),
            candidate: "new".to_owned(),
            of_baseline: String::new(),
            of_candidate: "STRICT_TRANS_TABLES".to_owned(),
        };
        assert_eq!(work_differs(&[one.clone(), one.clone()]), "The contenders have different `sql_mode`.");
        assert_eq!(work_differs_line(&one), "sql_mode: empty (old), STRICT_TRANS_TABLES (new)");
    }
}
