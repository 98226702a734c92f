//! Settings of a whole server asked for, changed, put back, and read back.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use driver::{Admin, Dialect};

use crate::log::pairs;
use crate::plan::{Plan, Source, reload, set};
use crate::server::Tapped;
use crate::state::State;
use crate::{mysql, postgres};

/// How long a server that does not answer is asked again.
const PATIENCE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(500);
/// PostgreSQL reads its files again a moment after it was asked to.
const RELOAD_LIMIT: Duration = Duration::from_secs(5);
const RELOAD_POLL: Duration = Duration::from_millis(20);

/// Asks what the server has now; nothing is changed.
pub fn plan(admin: &mut Admin, source: Source) -> Result<Plan> {
    match source {
        Source::Slow | Source::General => mysql::plan(admin, source),
        Source::Log => postgres::plan(admin),
    }
}

/// Makes the changes of a plan, and sees that they hold.
pub fn switch_on(server: &Tapped, plan: &Plan) -> Result<()> {
    let mut admin = server.session()?;
    for change in &plan.changes {
        let statement = set(plan.dialect, &change.name, Some(&change.after));
        admin.run(&statement).with_context(|| {
            let by_hand = plan.statements().join("; ");
            format!(
                "the account may not change `{}`\n  next: let an administrator run these, and make the capture with --from \
                 LOG: {by_hand}",
                change.name
            )
        })?;
    }
    reload(plan.dialect).map_or(Ok(0), |statement| admin.run(&statement))?;
    let wanted = plan.changes.iter().map(|change| (change.name.as_str(), change.after.as_str()));
    differences(server, &wanted.collect::<Vec<_>>())?.first().map_or(Ok(()), |first| {
        Err(anyhow!("{first}\n  next: look whether the command line or another file of the server sets it"))
    })
}

/// Puts every setting back, and reads each one back; gives those that are not as they were found.
pub fn put_back(server: &Tapped, state: &State) -> Result<Vec<String>> {
    let since = Instant::now();
    loop {
        match once(server, state) {
            Err(_) if since.elapsed() < PATIENCE => sleep(RETRY),
            ended => return ended,
        }
    }
}

/// What the account may not set was not changed either: how the settings are read back decides.
fn once(server: &Tapped, state: &State) -> Result<Vec<String>> {
    let mut admin = server.session()?;
    let refused = |statement: &String| admin.run(statement).err().map(|error| format!("{statement}: {error}"));
    let refused: Vec<String> = state.statements_back().iter().filter_map(refused).collect();
    let wanted = state.changes.iter().map(|change| (change.name.as_str(), change.shown.as_str()));
    let different = differences(server, &wanted.collect::<Vec<_>>())?;
    match refused.into_iter().next() {
        Some(first) if !different.is_empty() => bail!("{first}"),
        _ => Ok(different),
    }
}

/// Settings that do not have these values, each as a sentence. An older session may show what it began with.
fn differences(server: &Tapped, wanted: &[(&str, &str)]) -> Result<Vec<String>> {
    let (since, dialect) = (Instant::now(), server.dialect());
    loop {
        let mut admin = server.session()?;
        let mut other = Vec::new();
        for (name, value) in wanted {
            let shown = shown(&mut admin, dialect, name)?;
            let is_same = shown == *value || shown.parse::<f64>().is_ok_and(|number| Ok(number) == value.parse());
            if !is_same {
                other.push(format!("{name} is `{shown}` and not `{value}`"));
            }
        }
        if other.is_empty() || dialect != Dialect::Postgres || since.elapsed() > RELOAD_LIMIT {
            return Ok(other);
        }
        sleep(RELOAD_POLL);
    }
}

/// The value of one setting of the server now; a session may have its own.
fn shown(admin: &mut Admin, dialect: Dialect, name: &str) -> Result<String> {
    let question = match dialect {
        Dialect::Postgres => format!("SELECT name, reset_val FROM pg_settings WHERE name = '{name}'"),
        _ => format!("SHOW GLOBAL VARIABLES LIKE '{name}'"),
    };
    pairs(admin, &question)?.into_values().next().with_context(|| format!("the server has no {name}"))
}
