//! Answers of real servers to EXPLAIN, one file for each release and form: all of one schema with the same rows, and of
//! the same statements. Below each answer stands what is read from it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;

/// Statements whose tables of 11.8 are read in the same way, by whom: what one form of a release does not show.
const NOT_IN_ROWS: &[&str] = &[];

struct Golden {
    file: String,
    form: PlanForm,
    plans: Vec<Plan>,
}

struct Plan {
    name: String,
    sql: String,
    answer: String,
    tree: String,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans")
}

fn goldens() -> Vec<Golden> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names.into_iter().map(golden).collect()
}

fn golden(file: String) -> Golden {
    let form = match file.split('-').collect::<Vec<_>>().as_slice() {
        ["sqlite", ..] => PlanForm::SqliteLines,
        ["postgres", ..] => PlanForm::PostgresJson,
        [.., "json"] => PlanForm::MysqlJson,
        _ => PlanForm::MysqlRows,
    };
    let text = std::fs::read_to_string(folder().join(&file)).unwrap();
    let plan = |part: &str| {
        let (name, rest) = part.split_once('\n').unwrap();
        let (sql, rest) = rest.split_once("\n-- answer\n").unwrap();
        let (answer, tree) = rest.split_once("\n-- tree\n").unwrap_or((rest, ""));
        let tree = tree.trim_end().to_owned();
        Plan { name: name.to_owned(), sql: sql.to_owned(), answer: answer.trim_end_matches('\n').to_owned(), tree }
    };
    Golden { form, plans: text.split("== ").skip(1).map(plan).collect(), file }
}

/// A line for each step, as it is compared.
fn drawn(node: &PlanNode, depth: usize, lines: &mut Vec<String>) {
    let mut line = format!("{}{}", "  ".repeat(depth), node.operator);
    let named = [("table", &node.table), ("index", &node.index), ("join", &node.join)];
    for (name, value) in named {
        line += &value.as_ref().map_or(String::new(), |value| format!(", {name} {value}"));
    }
    let marks = [
        (node.index_only, "index only"),
        (node.sort, "sort"),
        (node.temporary_table, "temporary table"),
        (node.parallel, "parallel"),
    ];
    for (_, mark) in marks.iter().filter(|(is_set, _)| *is_set) {
        line += &format!(", {mark}");
    }
    lines.push(line);
    node.children.iter().for_each(|child| drawn(child, depth + 1, lines));
}

fn tree(form: PlanForm, answer: &str) -> String {
    let mut lines = Vec::new();
    match form.read(answer) {
        Ok(root) => drawn(&root, 0, &mut lines),
        Err(why) => lines.push(format!("not read: {why}")),
    }
    lines.join("\n")
}

#[test]
fn answers_of_real_servers_are_read_as_expected() {
    for Golden { file, form, plans } in goldens() {
        let part = |plan: &Plan| {
            let Plan { name, sql, answer, .. } = plan;
            format!("== {name}\n{sql}\n-- answer\n{answer}\n-- tree\n{}\n", tree(form, answer))
        };
        if std::env::var_os("DBDUEL_BLESS").is_some() {
            std::fs::write(folder().join(&file), plans.iter().map(part).collect::<String>()).unwrap();
        }
        assert!(plans.len() > 15, "{file}");
        for plan in golden(file.clone()).plans {
            assert!(!plan.tree.contains("not read"), "{file}, {}", plan.name);
            assert_eq!(tree(form, &plan.answer), plan.tree, "{file}, {}", plan.name);
        }
    }
}

#[test]
fn rows_and_json_of_one_release_are_read_alike() {
    let goldens = goldens();
    let rows: BTreeMap<&str, &Golden> =
        goldens.iter().filter_map(|golden| Some((golden.file.strip_suffix("-table")?, golden))).collect();
    let mut compared = 0;
    for json in goldens.iter().filter(|golden| golden.form == PlanForm::MysqlJson) {
        let rows = rows[json.file.strip_suffix("-json").unwrap()];
        for plan in json.plans.iter().filter(|plan| !NOT_IN_ROWS.contains(&plan.name.as_str())) {
            let Some(same) = rows.plans.iter().find(|one| one.name == plan.name) else { continue };
            let trees = [tree(json.form, &plan.answer), tree(rows.form, &same.answer)];
            assert_eq!(trees[0], trees[1], "{}, {}", json.file, plan.name);
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn the_deepest_plans_that_are_read_can_be_stored_and_deeper_ones_are_refused() {
    let nested = |open: &str, close: &str, depth: usize| format!("{}{}", open.repeat(depth), close.repeat(depth));
    let mysql = |depth: usize| {
        nested(r#"{"query_block":{"table":{"access_type":"ALL","table_name":"t","materialized":"#, "}}}", depth)
            .replace(":}", ":null}")
    };
    let postgres =
        |depth: usize| format!("[{{\"Plan\":{}]", nested(r#"{"Node Type":"Sort","Plans":["#, "]}", depth) + "}");
    for (form, text) in [(1, &mysql as &dyn Fn(usize) -> String), (2, &postgres)] {
        let read = |depth: usize| PlanForm::ALL[form].read(&text(depth));
        let deepest = (1..60).filter(|depth| read(*depth).is_ok()).max().unwrap();
        assert!(deepest > 20 && read(10_000).is_err(), "{form}: {deepest}");
        (1..=deepest).for_each(|depth| read_any(&[&[form as u8], text(depth).as_bytes()].concat()));
    }
    let rows: String =
        (1..1000).map(|id| format!("{id}\tDERIVED\t<derived{}>\tALL\tNULL\tNULL\tNULL\tNULL\t9\t\n", id + 1)).collect();
    read_any(&[b"\0", rows.as_bytes()].concat());
    let lines: String = (1..1000).map(|id| format!("{}|{}|0|SCAN t\n", id, id - 1)).collect();
    read_any(&[b"\x03", lines.as_bytes()].concat());
}

#[test]
fn an_answer_that_is_cut_off_anywhere_is_refused_or_read_and_no_more() {
    for Golden { form, plans, .. } in goldens() {
        for plan in plans {
            let cuts = (0..plan.answer.len()).step_by(7).filter(|at| plan.answer.is_char_boundary(*at));
            cuts.for_each(|at| drop(form.read(&plan.answer[..at])));
        }
    }
}
