//! An engine outside the lists of dbduel: a file with one setting, `durable`, inside the client's process.
//!
//! It takes the SQL of SQLite, since a driver and a dialect belong together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use driver::{Admin, Dialect, Endpoint, Login};
use engine::{
    Agreement, Cost, Effective, Engine, Found, Installation, Launch, Release, Reserved, Site, StartFiles, StartOptions,
    Surroundings, Whereabouts,
};

pub static TOY: &[&dyn Engine] = &[&Toy];

static RESERVED: Reserved = Reserved { always: &[], paths: &[], commands: &[], prefixes: &[], abbreviates: false };
static COST: Cost = Cost {
    start_ms: 10,
    stop_ms: 10,
    initialise: &[(&[], 10)],
    template_bytes: 4096,
    server_bytes: 1 << 20,
    connection_bytes: 1 << 20,
    buffers: &[],
    logs: &[],
};
const FILE: &str = "toy.db";
const DURABLE: &str = "durable";

struct Toy;

fn is_durable(settings: &BTreeMap<String, String>) -> bool {
    settings.get(DURABLE).is_none_or(|value| value == "on")
}

fn login(settings: &BTreeMap<String, String>) -> Login {
    let level = if is_durable(settings) { "FULL" } else { "OFF" };
    let on_connect = vec!["PRAGMA busy_timeout = 30000".to_owned(), format!("PRAGMA synchronous = {level}")];
    Login { on_connect, ..Login::default() }
}

impl Engine for Toy {
    fn kind(&self) -> &'static str {
        "toy"
    }
    fn title(&self) -> &'static str {
        "Toy"
    }
    fn description(&self) -> &'static str {
        "an engine of the tests"
    }
    fn example(&self) -> &'static str {
        "toy"
    }
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
    fn releases(&self) -> &'static [Release] {
        &[]
    }
    fn installed(&self) -> Vec<Found> {
        vec![Found { version: "1.0".to_owned(), server: PathBuf::new(), basedir: None }]
    }
    fn locate(&self, _: &Path) -> Result<PathBuf> {
        bail!("a toy has no folder")
    }
    fn version_of(&self, _: &Path, _: &Surroundings) -> Result<String> {
        Ok("1.0".to_owned())
    }
    fn initialise(&self, site: &Site, shaping: &BTreeMap<String, String>) -> Result<()> {
        let file = Endpoint::File(site.data.join(FILE));
        Admin::connect(Dialect::Sqlite, &file, &login(shaping), Duration::from_secs(60))?.run("VACUUM")?;
        Ok(())
    }
    fn reserved(&self) -> &'static Reserved {
        &RESERVED
    }
    fn launch(&self, _: &Installation, options: &StartOptions, _: &StartFiles) -> Result<Launch> {
        let access = (Endpoint::File(options.data.join(FILE)), login(options.settings));
        Ok(Launch { arguments: None, admin: access.clone(), load: access, asked: options.settings.clone() })
    }
    fn read_settings(&self, admin: &mut Admin) -> Result<Effective> {
        let level = admin.value("PRAGMA synchronous")?;
        let durable = if level.as_deref() == Some("0") { "off" } else { "on" };
        Ok(Effective { values: [(DURABLE.to_owned(), durable.to_owned())].into(), ..Effective::default() })
    }
    fn whereabouts(&self, admin: &mut Admin, _: &Effective) -> Result<Whereabouts> {
        let rows = admin.rows("PRAGMA database_list")?;
        let file = rows.into_iter().next().and_then(|row| row.into_iter().nth(2)).flatten().context("no file")?;
        let data = Path::new(&file).parent().context("a file without a folder")?.to_owned();
        Ok(Whereabouts { data, socket: None, port: None })
    }
    fn agreement(&self, effective: &Effective, name: &str, asked: &str) -> Agreement {
        let Some(actual) = effective.values.get(name) else { return Agreement::Unknown };
        Agreement::of(actual == asked, actual)
    }
    fn check_settings(&self, _: &Site, settings: &BTreeMap<String, String>) -> Result<()> {
        let unknown = settings.keys().find(|name| *name != DURABLE);
        unknown.map_or(Ok(()), |name| bail!("a toy has no setting `{name}`"))
    }
    fn durability_class(&self, effective: &BTreeMap<String, String>) -> &'static str {
        if is_durable(effective) { "D3" } else { "D0" }
    }
    fn notable_settings(&self) -> &'static [&'static str] {
        &[DURABLE]
    }
    fn cost(&self) -> &'static Cost {
        &COST
    }
}
