//! Reads the `[[ladder]]` tables: contenders that are made of the one below and a change.
//!
//! A rung becomes a contender like any other, so later steps do not depend on how it came about.
//! So does every configuration that only shows what a step is worth elsewhere: the highest rung without it
//! (`ablation`).

use std::collections::BTreeMap;
use std::ops::Range;

use engine::Engine;
use toml::Spanned;

use super::contenders::{read_server, read_settings, read_storage};
use super::keys::{RUNG_KEYS, names};
use super::mistakes::suggestion;
use super::section::{Reader, Section, shortened};
use super::vocabulary::Known;
use super::{Contender, CpuList, MASK, Origin, Storage, VersionRequest, is_secret_key, quantity};
use record::format::ladder::{ChangeKind, ChangeRecord, DropRecord, LadderRecord, RungRecord};
use record::setting_value::plain;

/// What one table changes.
#[derive(Clone, Default)]
struct Step {
    name: String,
    server: Option<OtherServer>,
    settings: BTreeMap<String, String>,
    storage: Option<Storage>,
    cores: Option<CpuList>,
    memory_bytes: Option<u64>,
}

/// Another engine, version or source of the server.
#[derive(Clone)]
struct OtherServer {
    kind: &'static dyn Engine,
    engine: String,
    version: VersionRequest,
    origin: Origin,
}

/// The steps on one contender, and what its rungs are so far.
struct Climb {
    base: Contender,
    steps: Vec<Step>,
    rungs: Vec<(Contender, Vec<ChangeRecord>)>,
}

impl Climb {
    fn highest(&self) -> &Contender {
        self.rungs.last().map_or(&self.base, |(contender, _)| contender)
    }

    /// The highest rung without one of its steps.
    fn without(&self, left_out: usize) -> Contender {
        let kept = self.steps.iter().enumerate().filter(|(place, _)| *place != left_out);
        kept.fold(self.base.clone(), |below, (_, step)| step.on(&below))
    }
}

/// All ladders of the file; their rungs are added to the contenders.
pub fn read_ladders<'a>(
    reader: &mut Reader<'a>,
    top: &Section<'a>,
    known: &Known,
    contenders: &mut Vec<Contender>,
    baseline: &str,
) -> Vec<LadderRecord> {
    let sections = reader.tables(top, "ladder");
    let ablation = read_ablation(reader, top, !sections.is_empty());
    let mut climbs: Vec<Climb> = Vec::new();
    let mut names: BTreeMap<String, Range<usize>> = BTreeMap::new();
    for section in &sections {
        let Some(base) = read_base(reader, section, contenders, climbs.last(), baseline) else { continue };
        let at = climbs.iter().position(|climb| climb.base.name == base.name).unwrap_or_else(|| {
            climbs.push(Climb { base, steps: Vec::new(), rungs: Vec::new() });
            climbs.len() - 1
        });
        // The ladder that a table names is the one that the next table goes on with.
        let climb = climbs.remove(at);
        climbs.push(climb);
        let climb = climbs.last_mut().expect("it was just put there");
        let Some((step, rung)) = read_rung(reader, section, known, climb.highest()) else { continue };
        refuse_taken_name(reader, section, &rung.0.name, contenders, &mut names);
        climb.steps.push(step);
        climb.rungs.push(rung);
    }
    let place = |climb: &Climb| contenders.iter().position(|one| one.name == climb.base.name);
    climbs.sort_by_key(place);
    for climb in &climbs {
        contenders.extend(climb.rungs.iter().map(|(contender, _)| contender.clone()));
    }
    let several = climbs.len() > 1;
    let mut dropped = |climb: &Climb| if ablation { dropped(climb, several, contenders) } else { Vec::new() };
    climbs.iter().map(|climb| ladder(climb, dropped(climb))).collect()
}

/// `ablation` stands in `[method]` and means nothing without a ladder.
fn read_ablation<'a>(reader: &mut Reader<'a>, top: &Section<'a>, has_ladder: bool) -> bool {
    let Some(table) = top.value("method").and_then(|method| method.get_ref().as_table()) else { return false };
    let section = Section::new("[method]", 0..0, table);
    if let (Some(value), false) = (section.value("ablation"), has_ladder) {
        let what = "`ablation` in [method] has no use: there is no ladder";
        reader.reject(&value.span(), what, "add [[ladder]] tables, one for each step, or take it out");
    }
    reader.flag(&section, "ablation").unwrap_or(false)
}

/// Which contender a rung climbs from: the one it names, else that of the table before, else the baseline.
fn read_base<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    contenders: &[Contender],
    before: Option<&Climb>,
    baseline: &str,
) -> Option<Contender> {
    let named = reader.text(section, "on");
    let name = named.as_deref().or(before.map(|climb| climb.base.name.as_str())).unwrap_or(baseline);
    let span = section.value("on").map_or(section.span.clone(), Spanned::span);
    let Some(base) = contenders.iter().find(|one| one.name == name) else {
        if !contenders.is_empty() {
            let note = suggestion(name, contenders.iter().map(|one| one.name.as_str()));
            reader.reject(&span, format!("`on` in [[ladder]] names no [[contender]]: \"{name}\""), note);
        }
        return None;
    };
    if let Origin::Target(_) = base.origin {
        let what =
            format!("no ladder climbs from `{name}`: dbduel changes nothing on a server that it does not manage");
        reader.reject(&span, what, "name a contender with an `engine`, or take the ladder out");
        return None;
    }
    Some(base.clone())
}

/// A step and the rung that it leads to.
fn read_rung<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    known: &Known,
    below: &Contender,
) -> Option<(Step, (Contender, Vec<ChangeRecord>))> {
    reader.check_keys(section, &names(RUNG_KEYS), &[]);
    let server = read_other_server(reader, section, known, below.kind);
    if server.is_none() && OF_THE_SERVER.iter().any(|key| section.value(key).is_some()) {
        return None;
    }
    let kind = server.as_ref().map_or(below.kind, |server| server.kind);
    let mut step = Step {
        name: String::new(),
        settings: read_settings(reader, section, kind),
        storage: read_storage(reader, section),
        cores: reader.cpu_list(section, "cores"),
        memory_bytes: reader.bytes(section, "memory"),
        server,
    };
    let changes = changes(below, &step.on(below), kind.dialect().bare_sizes_are_bytes());
    if changes.is_empty() {
        let what = format!("this rung changes nothing of what stands below it, `{}`", below.name);
        reader.reject(&section.span, what, "give it settings, engine, image, storage, cores or memory that differ");
        return None;
    }
    let described = || changes.iter().map(|change| format!("{} = {}", change.name, change.after)).collect::<Vec<_>>();
    step.name = reader.name(section, "name").unwrap_or_else(|| shortened(described().join(", ")));
    let rung = (step.on(below), changes);
    Some((step, rung))
}

/// Keys of a rung that name another server.
const OF_THE_SERVER: [&str; 5] = ["engine", "image", "archive", "basedir", "server"];

fn read_other_server<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    known: &Known,
    below: &'static dyn Engine,
) -> Option<OtherServer> {
    OF_THE_SERVER.iter().find(|key| section.value(key).is_some())?;
    let (kind, engine, version, origin) = read_server(reader, section, known, Some(below))?;
    Some(OtherServer { kind, engine, version, origin })
}

fn refuse_taken_name<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    name: &str,
    contenders: &[Contender],
    names: &mut BTreeMap<String, Range<usize>>,
) {
    let span = section.value("name").map_or(section.span.clone(), Spanned::span);
    let taken_by = match names.get(name) {
        Some(first) => Some(format!("the rung in line {}", reader.line(first))),
        None => contenders.iter().any(|one| one.name == name).then(|| "a [[contender]]".to_owned()),
    };
    match taken_by {
        Some(other) => {
            let what = format!("rung `{name}` has the name of {other}");
            reader.reject(&span, what, "give each [[ladder]] table its own `name`");
        }
        None => drop(names.insert(name.to_owned(), span)),
    }
}

impl Step {
    /// What stands below, and this change.
    fn on(&self, below: &Contender) -> Contender {
        let mut rung = Contender { name: self.name.clone(), ..below.clone() };
        if let Some(OtherServer { kind, engine, version, origin }) = self.server.clone() {
            rung = Contender { kind, engine, version, origin, ..rung };
        }
        for (name, value) in &self.settings {
            // A server takes `a-b` and `a_b` for the same, and would obey one of the two.
            rung.settings.retain(|known, _| plain(known) != plain(name));
            rung.settings.insert(name.clone(), value.clone());
        }
        rung.storage = self.storage.clone().unwrap_or(rung.storage);
        rung.cores = self.cores.clone().or(rung.cores);
        rung.memory_bytes = self.memory_bytes.or(rung.memory_bytes);
        rung
    }
}

/// What is different on a rung, the coarsest change first.
fn changes(below: &Contender, rung: &Contender, bare_is_bytes: bool) -> Vec<ChangeRecord> {
    let bytes = |contender: &Contender| contender.memory_bytes.map(quantity::bytes_text);
    let cores = |contender: &Contender| contender.cores.as_ref().map(ToString::to_string);
    let pair = |kind, name: &str, before: Option<String>, after: Option<String>| {
        let after = after.filter(|after| before.as_ref() != Some(after))?;
        Some(ChangeRecord { kind, name: name.to_owned(), before, after })
    };
    let whole = [
        pair(ChangeKind::Engine, server_key(rung), Some(server(below)), Some(server(rung))),
        pair(ChangeKind::Storage, "storage", Some(below.storage.word()), Some(rung.storage.word())),
        pair(ChangeKind::Cores, "cores", cores(below), cores(rung)),
        pair(ChangeKind::Memory, "memory", bytes(below), bytes(rung)),
    ];
    let settings = rung.settings.iter().filter_map(|(name, value)| {
        let shown = |value: &String| if is_secret_key(name) { MASK.to_owned() } else { value.clone() };
        let before = below.settings.iter().find(|(known, _)| plain(known) == plain(name)).map(|(_, value)| value);
        let differs = before.is_none_or(|before| !quantity::same_value(before, value, bare_is_bytes));
        differs.then(|| ChangeRecord {
            kind: ChangeKind::Setting,
            name: name.clone(),
            before: before.map(shown),
            after: shown(value),
        })
    });
    whole.into_iter().flatten().chain(settings).collect()
}

/// The key that names the server of a rung.
fn server_key(contender: &Contender) -> &'static str {
    match contender.origin {
        Origin::Image(_) => "image",
        Origin::Archive(_) => "archive",
        Origin::Basedir(_) => "basedir",
        Origin::Managed | Origin::Target(_) => "engine",
    }
}

fn server(contender: &Contender) -> String {
    match &contender.origin {
        Origin::Image(image) => image.reference.clone(),
        Origin::Archive(archive) => archive.file.display().to_string(),
        Origin::Basedir(folder) => folder.display().to_string(),
        Origin::Managed | Origin::Target(_) => contender.engine.clone(),
    }
}

fn ladder(climb: &Climb, ablation: Vec<DropRecord>) -> LadderRecord {
    let rung = |(contender, changes): &(Contender, Vec<ChangeRecord>)| RungRecord {
        contender: contender.name.clone(),
        changes: changes.clone(),
    };
    LadderRecord { base: climb.base.name.clone(), rungs: climb.rungs.iter().map(rung).collect(), ablation }
}

/// The highest rung without each step but the last, without which it is the rung below. Each is a contender of its
/// own, with the name of its ladder in front where there are several.
fn dropped(climb: &Climb, several: bool, contenders: &mut Vec<Contender>) -> Vec<DropRecord> {
    let prefix = if several { format!("{}: ", climb.base.name) } else { String::new() };
    let without = |step: usize| {
        let name = &climb.steps[step].name;
        let contender = format!("{prefix}all but {name}");
        contenders.push(Contender { name: contender.clone(), ..climb.without(step) });
        DropRecord { without: name.clone(), contender }
    };
    (0..climb.steps.len().saturating_sub(1)).map(without).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse::tests::{parse, parsed};
    use super::*;

    const BASE: &str = "workload = \"oltp_read_write\"\ncontender = [{ engine = \"mysql@5.5.9\" }]\n";

    const RUNGS: &str = "[[ladder]]\nname = \"new\"\nengine = \"mysql@5.6.24\"\n\
        [[ladder]]\nname = \"pool\"\nsettings = { innodb-buffer-pool-size = \"1G\", flush = true }\n\
        [[ladder]]\nname = \"more\"\nsettings = { innodb_buffer_pool_size = \"2G\" }\nstorage = \"tmpfs\"\nmemory = \"8GiB\"\n";

    #[test]
    fn a_rung_may_take_its_server_from_an_image() {
        let rungs = "[[ladder]]\nname = \"image\"\nimage = \"mysql:8.4\"\npull = \"never\"\n\
                     [[ladder]]\nname = \"pool\"\nsettings = { innodb_buffer_pool_size = \"1G\" }\n";
        let experiment = parsed(&format!("{BASE}{rungs}"));
        let [_, image, pool] = &experiment.contenders[..] else { panic!("three contenders") };
        let Origin::Image(source) = &image.origin else { panic!("an image: {image:?}") };
        assert_eq!((source.reference.as_str(), &pool.origin), ("mysql:8.4", &image.origin));
        let change = &experiment.ladders[0].rungs[0].changes[0];
        assert_eq!((change.name.as_str(), change.before.as_deref()), ("image", Some("mysql@5.5.9")));
        assert_eq!(change.after, "mysql:8.4");
    }

    #[test]
    fn each_rung_is_the_one_below_and_its_change() {
        let experiment = parsed(&format!("{BASE}{RUNGS}"));
        let names: Vec<&str> = experiment.contenders.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["mysql@5.5.9", "new", "pool", "more"]);
        let [_, new, pool, more] = &experiment.contenders[..] else { panic!("four contenders") };
        assert_eq!((new.engine.as_str(), pool.engine.as_str()), ("mysql@5.6.24", "mysql@5.6.24"));
        assert_eq!((pool.settings["flush"].as_str(), pool.storage.clone()), ("ON", Storage::Disk));
        // `a-b` and `a_b` are one setting.
        assert_eq!(more.settings.keys().collect::<Vec<_>>(), ["flush", "innodb_buffer_pool_size"]);
        assert_eq!((more.storage.clone(), more.memory_bytes), (Storage::Tmpfs, Some(8 << 30)));
        let described = |rung: usize| {
            let changes = experiment.ladders[0].rungs[rung].changes.iter();
            changes.map(|one| format!("{} {:?} {}", one.name, one.before, one.after)).collect::<Vec<_>>()
        };
        assert_eq!(described(0), ["engine Some(\"mysql@5.5.9\") mysql@5.6.24"]);
        assert_eq!(described(1), ["flush None ON", "innodb-buffer-pool-size None 1G"]);
        let last = ["storage Some(\"disk\") tmpfs", "memory None 8.0 GiB", "innodb_buffer_pool_size Some(\"1G\") 2G"];
        assert_eq!(described(2), last);
    }

    #[test]
    fn ablation_leaves_out_each_step_but_the_last() {
        let experiment = parsed(&format!("{BASE}method.ablation = true\n{RUNGS}"));
        let ladder = &experiment.ladders[0];
        let dropped: Vec<(&str, &str)> =
            ladder.ablation.iter().map(|drop| (drop.without.as_str(), drop.contender.as_str())).collect();
        assert_eq!(dropped, [("new", "all but new"), ("pool", "all but pool")]);
        let without_new = experiment.contenders.iter().find(|one| one.name == "all but new").unwrap();
        assert_eq!((without_new.engine.as_str(), without_new.storage.clone()), ("mysql@5.5.9", Storage::Tmpfs));
        let without_pool = experiment.contenders.iter().find(|one| one.name == "all but pool").unwrap();
        assert_eq!(without_pool.settings.len(), 1);
    }

    #[test]
    fn two_ladders_climb_from_the_contenders_that_they_name() {
        let experiment = parsed(
            "workload = \"oltp_read_write\"\ncontender = [{ name = \"m\", engine = \"mysql\" }, { name = \"p\", engine = \"postgres\" }]\n\
             method.ablation = true\n\
             [[ladder]]\nname = \"m1\"\nsettings.xa = 1\n[[ladder]]\nname = \"p1\"\non = \"p\"\nsettings.xb = true\n\
             [[ladder]]\nname = \"p2\"\nsettings.xc = 1\n[[ladder]]\nname = \"m2\"\non = \"m\"\nsettings.xd = 1\n",
        );
        let rungs = |ladder: usize| experiment.ladders[ladder].contenders().join(" ");
        assert_eq!((rungs(0), rungs(1)), ("m m1 m2".to_owned(), "p p1 p2".to_owned()));
        assert_eq!(experiment.ladders[1].ablation[0].contender, "p: all but p1");
        let p1 = experiment.contenders.iter().find(|one| one.name == "p1").unwrap();
        assert_eq!(p1.settings["xb"], "on");
    }

    #[test]
    fn what_makes_no_ladder_is_refused_in_its_line() {
        let check = |more: &str, line: usize, expected: &str| {
            let mistakes = parse(&format!("{BASE}{more}")).unwrap_err();
            assert_eq!(mistakes.list.len(), 1, "{mistakes}");
            assert!(mistakes.list[0].line == Some(line) && mistakes.to_string().contains(expected), "{mistakes}");
        };
        check("[[ladder]]\nname = \"x\"\n", 3, "changes nothing");
        check("[[ladder]]\nname = \"x\"\nengine = \"mysql@5.5.9\"\n", 3, "changes nothing");
        check("[[ladder]]\nsettings.xb = \"256M\"\n[[ladder]]\nsettings.xb = 268435456\n", 5, "changes nothing");
        check("[[ladder]]\non = \"5.6\"\nsettings.xa = 1\n", 4, "names no [[contender]]");
        check("[[ladder]]\nname = \"mysql@5.5.9\"\nsettings.xa = 1\n", 4, "has the name of a [[contender]]");
        check("[[ladder]]\nname = \"x\"\nsetings.a = 1\nstorage = \"tmpfs\"\n", 5, "did you mean `settings`");
        check("[[ladder]]\nmemory = 8\nstorage = \"tmpfs\"\n", 4, "a number without its unit");
        check("[method]\nablation = true\n", 4, "there is no ladder");
    }
}
