//! The JSON Schema (2020-12) of an experiment file, made from the table of keys and the options of the workloads.
//!
//! It holds what an editor can check: names, types, words to choose from, quantities with their units. What needs more
//! than one key, or a server, `dbduel plan` checks.

use load::{OptionSpec, OptionValue, WorkloadKind};
use serde_json::{Map, Value, json};

use super::defaults::DEFAULT_EXPERIMENT;
use super::keys::{Key, TABLES, Table, WORKLOAD_KEYS};
use super::vocabulary::Known;
use super::workloads::default_value;

/// The schema of the files that a program with these workloads reads.
pub fn schema(known: &Known) -> Value {
    let defaults: toml::Table = DEFAULT_EXPERIMENT.parse().expect("the defaults are TOML");
    let mut top = object(table(""), &defaults, known);
    top["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    top["title"] = "dbduel experiment".into();
    top["required"] = json!(["contender", "workload"]);
    top
}

fn table(name: &str) -> &'static Table {
    TABLES.iter().find(|table| table.name == name).expect("TABLES holds every table that a key names")
}

/// One table of the file.
fn object(table: &Table, defaults: &toml::Table, known: &Known) -> Value {
    let property =
        |key: &Key| (key.name.to_owned(), described(key, form(table, key, defaults, known), table, defaults));
    let properties: Map<String, Value> = table.keys.iter().map(property).collect();
    let mut object = closed(properties, table.keys.iter().filter(|key| key.default == "required").map(|key| key.name));
    object["description"] = table.meaning.into();
    if table.name == "contender" {
        // A target is named by its URL, a server out of an image or an archive by that, and every other one by `engine`.
        object.as_object_mut().expect("an object").remove("required");
        object["anyOf"] =
            ["engine", "image", "archive", "target"].map(|key| json!({ "required": [key] })).to_vec().into();
    }
    object
}

fn closed<'a>(properties: Map<String, Value>, required: impl Iterator<Item = &'a str>) -> Value {
    let required: Vec<&str> = required.collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The form of a value with the key's meaning, and its default where that is one value.
fn described(key: &Key, mut form: Value, table: &Table, defaults: &toml::Table) -> Value {
    let default = match key.default {
        "" | "required" => String::new(),
        default => format!(" Default: {default}."),
    };
    form["description"] = format!("{}.{default}", key.meaning).into();
    if let Some(value) = defaults.get(table.name).and_then(|values| values.get(key.name)) {
        form["default"] = serde_json::to_value(value).expect("a TOML value is a JSON value");
    }
    form
}

fn form(of: &Table, key: &Key, defaults: &toml::Table, known: &Known) -> Value {
    let nested = |name: &str| object(table(name), defaults, known);
    match (of.name, key.name) {
        ("", "workload") => workloads(known),
        ("workload", "name") => json!({ "enum": workload_names(known) }),
        ("", "contender" | "ladder") => json!({ "type": "array", "minItems": 1, "items": nested(key.name) }),
        ("", "sweep" | "method" | "clients" | "cluster" | "gate" | "recovery") => nested(key.name),
        ("gate", "latency") => nested("gate.latency"),
        _ => written(key.value).unwrap_or_else(|| panic!("no form for `{}`: {}", key.name, key.value)),
    }
}

/// The form of a value from the words that the table of keys describes it with.
fn written(value: &str) -> Option<Value> {
    if let Some(words) = choice(value) {
        let numbers: Option<Vec<f64>> = words.iter().map(|word| word.parse().ok()).collect();
        return Some(numbers.map_or_else(|| json!({ "enum": words }), |numbers| json!({ "enum": numbers })));
    }
    if let Some((least, most)) = value.split_once(" to ").and_then(|(a, b)| Some((number(a)?, number(b)?))) {
        return Some(json!({ "type": "integer", "minimum": least, "maximum": most }));
    }
    Some(match value.split(" such as ").next()? {
        "text"
        | "name of a contender"
        | "folder"
        | "file"
        | "path"
        | "variable"
        | "command"
        | "URL"
        | "`disk`, `tmpfs` or an existing folder" => text(),
        "true or false" => json!({ "type": "boolean" }),
        "whole number" => json!({ "type": "integer", "minimum": 0 }),
        "transactions per second" => json!({ "type": "integer", "minimum": 1 }),
        "time" => time(),
        "time or `auto`" => json!({ "oneOf": [{ "const": "auto" }, time()] }),
        "size" => pattern(r"^\s*[0-9]+(\.[0-9]+)?\s*([kKmMgGtT][iI]?)?[bB]?\s*$"),
        "percentage" => pattern(r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$"),
        "image" => pattern(r"^[^\s]+$"),
        "CPU list" => pattern(r"^[0-9]+(-[0-9]+)?(\s*,\s*[0-9]+(-[0-9]+)?)*$"),
        "table of short texts" => json!({ "type": "object", "additionalProperties": text() }),
        "table of the server's own settings, its file" => {
            let part = json!({ "oneOf": [settings(), pattern("^@.")] });
            json!({ "oneOf": [settings(), pattern("^@."), list_of(part)] })
        }
        "tables with the names of presets" => {
            let presets = crate::preset_names().into_iter().map(|name| (name, json!({ "type": "object" })));
            json!({ "type": "object", "properties": presets.collect::<Map<_, _>>(), "additionalProperties": false })
        }
        "list of texts" => json!({ "type": "array", "items": text() }),
        "list of whole numbers" => json!({ "type": "array", "items": whole() }),
        "list or range" => json!({ "oneOf": [list_of(whole()), range()] }),
        "list, range, `per-core` or `cores`" => {
            let word = json!({ "enum": ["per-core", "cores"] });
            json!({ "oneOf": [list_of(json!({ "oneOf": [whole(), { "const": "cores" }] })), range(), word] })
        }
        _ => return None,
    })
}

/// The words of "`a`, `b` or `c`".
fn choice(value: &str) -> Option<Vec<&str>> {
    let between = value.split('`').step_by(2);
    let is_choice = value.contains('`') && between.into_iter().all(|part| ["", ", ", " or "].contains(&part));
    is_choice.then(|| value.split('`').skip(1).step_by(2).collect())
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn pattern(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

fn time() -> Value {
    pattern(r"^\s*([0-9]+(\.[0-9]+)?\s*(ms|s|min|m|h)\s*)+$")
}

/// Names with dots may be tables: PostgreSQL's extensions have them.
fn settings() -> Value {
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    let nested = json!({ "type": "object", "additionalProperties": scalar });
    json!({ "type": "object", "additionalProperties": { "anyOf": [scalar, nested] } })
}

fn whole() -> Value {
    json!({ "type": "integer", "minimum": 1 })
}

fn list_of(item: Value) -> Value {
    json!({ "type": "array", "items": item, "minItems": 1, "uniqueItems": true })
}

fn range() -> Value {
    let bounds: Map<String, Value> =
        ["from", "to", "step"].map(|name| (name.to_owned(), whole())).into_iter().collect();
    closed(bounds, ["from", "to", "step"].into_iter())
}

fn workload_names(known: &Known) -> Vec<&'static str> {
    known.workloads.0.iter().map(|kind| kind.name).collect()
}

/// A name, a table, or several tables; the options of a table are those of its workload.
fn workloads(known: &Known) -> Value {
    let one = json!({ "oneOf": known.workloads.0.iter().map(workload).collect::<Vec<_>>() });
    let several = json!({ "type": "array", "minItems": 1, "items": one });
    json!({ "oneOf": [{ "enum": workload_names(known) }, one, several] })
}

fn workload(kind: &WorkloadKind) -> Value {
    let defaults = toml::Table::new();
    let common = |key: &Key| {
        let form = match key.name {
            "name" => json!({ "const": kind.name }),
            _ => written(key.value).unwrap_or_else(|| panic!("no form for `{}`: {}", key.name, key.value)),
        };
        (key.name.to_owned(), described(key, form, table("workload"), &defaults))
    };
    let names = |spec: &'static OptionSpec| spec.names().map(|name| (name.to_owned(), option(spec)));
    let properties = kind.options.iter().flat_map(names).chain(WORKLOAD_KEYS.iter().map(common)).collect();
    let mut workload = closed(properties, ["name"].into_iter());
    workload["description"] = kind.description.into();
    workload
}

/// The type of an option is the type of its default; what a structure may hold is the workload's own knowledge.
fn option(spec: &OptionSpec) -> Value {
    let (mut form, default) = match default_value(spec.default) {
        OptionValue::Number(default) if default < 0 => (json!({ "type": "integer" }), json!(default)),
        OptionValue::Number(default) => (json!({ "type": "integer", "minimum": 0 }), json!(default)),
        OptionValue::Real(default) => (json!({ "type": "number" }), json!(default)),
        OptionValue::Flag(default) => (json!({ "enum": [true, false, "on", "off"] }), json!(default)),
        OptionValue::Text(default) => (text(), json!(default)),
        OptionValue::List(default) => (json!({ "type": "array", "items": text() }), json!(default)),
        OptionValue::File { .. } | OptionValue::Items(_) | OptionValue::Table(_) => (json!({}), Value::Null),
    };
    form["description"] = spec.help.into();
    if !default.is_null() {
        form["default"] = default;
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::known;

    #[test]
    fn every_key_has_a_form_and_its_meaning() {
        let schema = schema(&known());
        for table in TABLES.iter().filter(|table| !["", "workload", "gate.latency"].contains(&table.name)) {
            let place = &schema["properties"][table.name];
            let properties = place.get("items").unwrap_or(place)["properties"].as_object().unwrap();
            assert_eq!(properties.len(), table.keys.len(), "{}", table.name);
            for key in table.keys {
                assert!(properties[key.name]["description"].as_str().unwrap().starts_with(key.meaning), "{}", key.name);
            }
        }
        assert_eq!(schema["properties"]["method"]["properties"]["margin"]["default"], "1%");
        assert_eq!(schema["properties"]["method"]["properties"]["rule"]["enum"], json!(["exact", "t"]));
        assert_eq!(
            schema["properties"]["gate"]["properties"]["latency"]["required"],
            json!(["quantile", "max_slowdown"])
        );
    }

    #[test]
    fn words_to_choose_from_are_told_from_prose_with_code() {
        assert_eq!(choice("`a`, `b` or `c`"), Some(vec!["a", "b", "c"]));
        assert_eq!(choice("`disk`, `tmpfs` or an existing folder"), None);
        assert_eq!(choice("time or `auto`"), None);
        assert_eq!(written("`50` or `99.9`"), Some(json!({ "enum": [50.0, 99.9] })));
        assert_eq!(written("something new"), None);
    }
}
