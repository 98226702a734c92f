//! Releases by range, and an experiment over all of them.

use anyhow::{Result, anyhow, ensure};
use toml::{Table, Value};

use crate::Known;
use engine::{Cache, by_version};

/// Whether a release is the name of a container image: `mysql:8.4`, `registry.example/db/mysql:8.4`.
pub fn is_image(release: &str) -> bool {
    release.contains([':', '/'])
}

/// `mysql@5.5.9` …, the oldest first, of `mysql@5.5.9,5.6.24` or `postgres@9.6..18`; or images as they stand.
pub fn releases(known: &Known, wanted: &str) -> Result<Vec<String>> {
    if is_image(wanted) {
        let images: Vec<String> = wanted.split(',').map(|image| image.trim().to_owned()).collect();
        ensure!(images.len() >= 2, "`{wanted}` is one image, and a history needs two");
        return Ok(images);
    }
    let (kind, versions) = wanted.split_once('@').ok_or_else(|| {
        anyhow!("`{wanted}` names no engine\n  next: write it as postgres@9.6..18 or mysql@5.5.9,5.6.24")
    })?;
    let found = match versions.split_once("..") {
        Some((first, last)) => range(known, kind, first, last)?,
        None => versions.split(',').map(|version| version.trim().to_owned()).collect(),
    };
    ensure!(
        found.len() >= 2,
        "`{wanted}` is {} release, and a history needs two\n  next: `dbduel list engines` lists those of the catalogue",
        found.len()
    );
    Ok(found.into_iter().map(|version| format!("{kind}@{version}")).collect())
}

/// All of the catalogue from one version to another, both included: `18` includes `18.1`.
fn range(known: &Known, kind: &str, first: &str, last: &str) -> Result<Vec<String>> {
    let of_kind: Vec<String> = known
        .engines
        .list(&Cache::open()?)
        .into_iter()
        .filter(|listed| listed.kind == kind)
        .map(|listed| listed.version)
        .collect();
    ensure!(!of_kind.is_empty(), "there is no engine `{kind}`\n  next: `dbduel list engines` lists them");
    let is_within = |version: &&String| {
        let is_last = *version == last || version.starts_with(&format!("{last}."));
        by_version(version, first).is_ge() && (is_last || by_version(version, last).is_le())
    };
    let mut found: Vec<String> = of_kind.iter().filter(is_within).cloned().collect();
    found.sort_by(|one, other| by_version(one, other));
    found.dedup();
    Ok(found)
}

/// The experiment with releases for contenders: the first one the base, each other a rung on the one before. What else
/// its first contender says holds for all of them.
pub fn over_releases(source: &str, releases: &[String]) -> Result<String> {
    let mut file: Table = source.parse()?;
    let oldest = contenders(&file, releases).into_iter().next().ok_or_else(|| anyhow!("no release"))?;
    let rungs = contenders(&Table::new(), &releases[1..]);
    ["baseline", "ladder"].iter().for_each(|key| drop(file.remove(*key)));
    file.insert("contender".into(), vec![oldest].into());
    file.insert("ladder".into(), rungs.into());
    Ok(toml::to_string(&file)?)
}

/// A contender for each release, with what else the file's first contender says.
pub fn contenders(file: &Table, releases: &[String]) -> Vec<Table> {
    let first = file.get("contender").and_then(Value::as_array).and_then(|all| all.first()).and_then(Value::as_table);
    let mut base = first.cloned().unwrap_or_default();
    let of_the_server = [
        "name",
        "target",
        "basedir",
        "archive",
        "sha256",
        "image",
        "pull",
        "platform",
        "server",
        "password_file",
        "password_env",
        "password_command",
    ];
    of_the_server.iter().for_each(|key| drop(base.remove(*key)));
    let of = |release: &String| {
        let mut table = base.clone();
        table.insert("name".into(), release.as_str().into());
        if is_image(release) {
            table.insert("image".into(), release.as_str().into());
            // The version is the image's.
            let kind = table.get("engine").and_then(Value::as_str).and_then(|engine| engine.split('@').next());
            let kind = kind.map(str::to_owned);
            kind.into_iter().for_each(|kind| drop(table.insert("engine".into(), kind.into())));
        } else {
            table.insert("engine".into(), release.as_str().into());
        }
        table
    };
    releases.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::known;

    #[test]
    fn a_list_is_taken_as_it_stands_and_a_range_from_the_catalogue() {
        assert_eq!(releases(&known(), "mysql@5.5.9,8.0.31").unwrap(), ["mysql@5.5.9", "mysql@8.0.31"]);
        let range = releases(&known(), "postgres@9.6..18").unwrap();
        assert!(range.len() >= 5 && range[0].starts_with("postgres@9.6"), "{range:?}");
        assert!(range.last().is_some_and(|last| last.starts_with("postgres@18")), "{range:?}");
        assert_eq!(releases(&known(), "mysql:8.0.20, mysql:8.4").unwrap(), ["mysql:8.0.20", "mysql:8.4"]);
        for (wrong, says) in [("mysql", "names no engine"), ("mysql@5.5.9", "needs two"), ("nosuch@1..2", "no engine")]
        {
            assert!(releases(&known(), wrong).unwrap_err().to_string().contains(says), "{wrong}");
        }
    }

    #[test]
    fn settings_of_the_first_contender_hold_for_all_releases() {
        let source = "workload = \"oltp_read_write\"\nbaseline = \"a\"\n[[contender]]\nname = \"a\"\nengine = \"mysql@5.5\"\n\
                      settings = { innodb_buffer_pool_size = \"1G\" }\n[[contender]]\nname = \"b\"\nengine = \"mysql@5.6\"\n";
        let text =
            over_releases(source, &["mysql@5.5.9".into(), "mysql@5.6.24".into(), "mysql@8.0.31".into()]).unwrap();
        let file: Table = text.parse().unwrap();
        assert_eq!(file["contender"].as_array().map(Vec::len), Some(1));
        assert_eq!(file["contender"][0]["settings"]["innodb_buffer_pool_size"].as_str(), Some("1G"));
        let rungs: Vec<_> =
            file["ladder"].as_array().unwrap().iter().map(|rung| rung["engine"].as_str().unwrap()).collect();
        assert_eq!(rungs, ["mysql@5.6.24", "mysql@8.0.31"]);
        assert!(!file.contains_key("baseline"));
        let text = over_releases(source, &["mysql:8.0".into(), "mysql:8.4".into()]).unwrap();
        let file: Table = text.parse().unwrap();
        let text = |table: &Value, key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
        let (base, rung) = (&file["contender"][0], &file["ladder"][0]);
        assert_eq!(
            (text(base, "image").as_deref(), text(base, "engine").as_deref()),
            (Some("mysql:8.0"), Some("mysql"))
        );
        assert_eq!((text(rung, "image").as_deref(), text(rung, "engine")), (Some("mysql:8.4"), None));
    }
}
