//! Plans of the queries of a pass. Its tables are gone when it is over, so they are filled once more, as fast as that goes.

use std::collections::BTreeMap;
use std::time::Instant;

use driver::{AnyConnection, Dialect, Error};
use load::{HasPlans, NamedStatement};

use super::Pass;
use super::asking::Asking;
use super::bench::{Bench, Program, Stop};
use super::options::SqlBench;
use super::session::Session;

/// Programs of definitions and changes.
const WITHOUT_QUERIES: [&str; 3] = ["alter-table", "create", "transactions"];

impl HasPlans for Pass {
    fn explained_statements(&self, _: Dialect) -> Vec<NamedStatement> {
        Vec::new()
    }

    fn finds_statements(&self) -> bool {
        true
    }

    fn find_statements(
        &self,
        connect: &mut dyn FnMut() -> Result<AnyConnection, Error>,
        until: Instant,
        found: &mut dyn FnMut(NamedStatement),
    ) -> Result<(), Error> {
        let mut session = Session::new(connect()?);
        let mut counts = BTreeMap::new();
        for program in self.programs.iter().filter(|program| !WITHOUT_QUERIES.contains(&program.name)) {
            let options = self.options.reporting(program);
            let asking = Asking { until, found: &mut *found, counts: &mut counts };
            // A program ends at what its server lacks; the next one makes its own tables.
            if let Err(Stop::Pass(_)) = (program.run)(&mut Bench::new(&options, &mut session, None).asking(asking)) {
                break;
            }
        }
        Ok(())
    }
}

impl SqlBench {
    /// Those of its operations that are asked for, by name: queries that no operation reports are not run.
    fn reporting(&self, program: &Program) -> SqlBench {
        let wanted = program.operations.iter().filter(|name| self.reports(name));
        SqlBench { operations: wanted.map(|name| (*name).to_owned()).collect(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use driver::{Endpoint, Login};
    use load::{OptionValue, Options};

    use super::super::options::OPTIONS;
    use super::super::programs;
    use super::*;

    /// What the small test of some programs hands over, each with what SQLite explains of it.
    fn found(programs: &[&str], limit: Duration) -> Vec<(String, String, bool)> {
        let folder = tempfile::tempdir().unwrap();
        let file = Endpoint::File(folder.path().join("bench.db"));
        let connect = || AnyConnection::connect(Dialect::Sqlite, &file, &Login::default(), Duration::from_secs(1));
        let names = programs.iter().map(|name| (*name).to_owned()).collect();
        let given = [("programs", OptionValue::List(names)), ("small", OptionValue::Flag(true))];
        let given = given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let options = Options::new(OPTIONS, &given).unwrap();
        let pass = Pass { programs: programs::chosen(&options).unwrap(), options: SqlBench::new(&options).unwrap() };
        let mut beside = Session::new(connect().unwrap());
        let mut all = Vec::new();
        let until = Instant::now() + limit;
        pass.find_statements(&mut || connect(), until, &mut |one| {
            let is_explained =
                beside.rows(&format!("explain query plan {}", one.sql)).is_ok_and(|rows| !rows.is_empty());
            all.push((one.name, one.sql, is_explained));
        })
        .unwrap();
        all
    }

    #[test]
    fn every_reading_operation_has_its_queries_and_their_tables_are_there() {
        let all = found(&["ATIS", "insert", "select", "wisconsin"], Duration::from_secs(60));
        assert!(all.iter().all(|(.., explained)| *explained), "{all:?}");
        let first = |name: &str| all.iter().find(|(seen, ..)| seen == name).map(|(_, sql, _)| sql.as_str());
        assert_eq!(first("count_distinct_group"), Some("select grp,count(distinct rev_idn) from bench1 group by grp"));
        assert_eq!(first("order_by_big"), Some("select id from bench1 order by id2,id3"));
        let count = |name: &str| {
            let further = format!("{name} (");
            all.iter().filter(|(seen, ..)| seen == name || seen.starts_with(&further)).count()
        };
        // Six in `insert`, and seven in `select`.
        assert_eq!(count("min_max_on_key"), 6 + 7);
        assert_eq!((count("wisc_benchmark"), count("update_big"), count("insert")), (9, 0, 0));
        let reads: Vec<&str> = all.iter().filter_map(|(name, ..)| name.split(' ').next()).collect();
        for name in
            ["select_join", "select_group", "prepared_select", "outer_join_found", "count_on_key", "select_range"]
        {
            assert!(reads.contains(&name), "{name} in {reads:?}");
        }
    }

    #[test]
    fn behind_its_limit_nothing_is_run_and_everything_is_named() {
        let all = found(&["select"], Duration::ZERO);
        assert!(all.len() > 20 && all.iter().all(|(.., explained)| !explained), "{all:?}");
    }
}
