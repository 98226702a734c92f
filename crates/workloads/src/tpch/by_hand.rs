//! Queries and answers outside of a load: for the comparison before the first block, and for an oracle.

use std::collections::BTreeMap;
use std::time::Duration;

use driver::{Admin, Dialect, Error};

use super::answer::Shape;
use super::options::Tpch;
use super::queries::{QUERIES, Query};
use super::watch::Watch;

/// A query with the parameters that answers are validated by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationQuery {
    pub name: &'static str,
    /// What it is for.
    pub question: &'static str,
    pub sql: String,
    shape: Shape,
    dialect: Dialect,
}

pub fn validation_queries(scale_factor: f64, dialect: Dialect) -> Vec<ValidationQuery> {
    let one = |query: &Query| ValidationQuery {
        name: query.name,
        question: query.question(),
        sql: query.sql(dialect, &query.validation(scale_factor)),
        shape: query.shape(),
        dialect,
    };
    QUERIES.iter().map(one).collect()
}

impl ValidationQuery {
    /// A row of somebody else's answer in the same form; numbers are in wholes.
    pub fn text_of(&self, row: &[Option<String>]) -> String {
        self.shape.text_of(row)
    }

    /// The rows of the answer as texts, numbers to two places; in their order, or sorted where ORDER BY leaves several.
    pub fn rows(&self, admin: &mut Admin) -> Result<Vec<String>, Error> {
        let mut texts = texts(&self.shape, self.dialect, admin, &self.sql)?;
        if !self.shape.ordered {
            texts.sort_unstable();
        }
        Ok(texts)
    }
}

fn texts(shape: &Shape, dialect: Dialect, admin: &mut Admin, sql: &str) -> Result<Vec<String>, Error> {
    let mut texts = Vec::new();
    admin.each_row(sql, &mut |one| texts.push(shape.text(dialect, one, 0)))?;
    Ok(texts)
}

/// Each within the limit; a connection that is closed by it is replaced.
pub(super) fn answers(
    tpch: &Tpch,
    connect: &mut dyn FnMut() -> Result<Admin, Error>,
    dialect: Dialect,
) -> Result<BTreeMap<String, String>, Error> {
    let watch = Watch::start().map_err(|error| Error::lost(format!("no thread for the statement limit: {error}")))?;
    // Behind the limit a server may take its time to notice.
    let patience = Some(tpch.statement_limit + Duration::from_secs(3600));
    let mut connected = || {
        let mut admin = connect()?;
        admin.set_timeout(patience)?;
        Ok::<_, Error>(admin)
    };
    let (mut admin, mut answers) = (connected()?, BTreeMap::new());
    for query in &tpch.queries {
        let (sql, shape) = (query.sql(dialect, &query.validation(tpch.scale_factor)), query.shape());
        watch.arm(admin.closer(), tpch.statement_limit);
        let answered = texts(&shape, dialect, &mut admin, &sql);
        let at_the_limit = watch.disarm();
        match answered {
            Ok(rows) => drop(answers.insert(query.name.to_owned(), shape.answer(&rows).to_string())),
            Err(_) if at_the_limit => {}
            Err(error) => return Err(error),
        }
        if at_the_limit {
            admin = connected()?;
        }
    }
    Ok(answers)
}
