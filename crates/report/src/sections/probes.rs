//! Trials that ran beside the plan.

use super::Topic;
use crate::document::{Block, Column, Section, Table};
use crate::{Evidence, probes};

pub struct Probes;

impl Topic for Probes {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let column = |(place, title): (usize, &str)| match place {
            6 => Column::prose(title, 0),
            // The point, the workload, the trial and its block, in this order.
            0 => Column::name(title, 4),
            3 => Column::name(title, 3),
            4 => Column::name(title, 2),
            5 => Column::name(title, 5),
            _ => Column::name(title, 0),
        };
        let columns: Vec<Column> = probes::HEADING.into_iter().enumerate().map(column).collect();
        let table = Table::new(columns).with_rows(probes::rows(evidence));
        let body = Block::table(table).map(|table| vec![Block::note(probes::ABOUT), table]);
        Section::of("probes", "Trials beside the plan", body.unwrap_or_default())
    }

    fn is_of_a_race(&self) -> bool {
        true
    }
}
