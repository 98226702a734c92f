//! A plan as JSON: objects around tables, whose names differ between releases and between MySQL and MariaDB.

use record::format::{PlanNode, QUERY};

use super::words::{INSERT, NO_TABLE, UNION, access, join, merged, own_table, with_subqueries};
use crate::json_text::Json;

/// Kept in a table of the server's own, from the block that this holds.
const MATERIALIZED: &[&str] = &["materialized_from_subquery", "materialized"];
/// Sizes and conditions: nothing in them is a step.
const NO_STEPS: &[&str] = &["cost_info", "used_columns", "possible_keys", "ref", "used_key_parts", "rowid_filter"];

pub fn read(text: &str) -> Result<PlanNode, String> {
    let answer = Json::read(text).ok_or("the server's answer is no JSON that can be read")?;
    let block = answer.get("query_block").ok_or("the server's answer has no `query_block`")?;
    let mut subqueries = Vec::new();
    let root = self::block(block, &mut subqueries);
    Ok(with_subqueries(root, subqueries))
}

type Subqueries = Vec<(u64, PlanNode)>;

fn block(json: &Json, subqueries: &mut Subqueries) -> PlanNode {
    let mut node = PlanNode::of(QUERY);
    let cost = json.get("cost_info").and_then(|cost| cost.get("query_cost")).or(json.get("cost"));
    node.estimated_cost = cost.and_then(Json::number);
    steps(json, None, &mut node, subqueries);
    match node.children.as_slice() {
        // What holds nothing but a union is the union.
        [only] if only.operator == UNION && !node.sort => only.clone(),
        _ => node,
    }
}

/// The tables of a block, in the order in which they are joined, and what is done with their rows.
fn steps(json: &Json, joined: Option<&str>, node: &mut PlanNode, subqueries: &mut Subqueries) {
    for item in json.items() {
        steps(item, joined, node, subqueries);
    }
    for (name, value) in json.entries() {
        match name.as_str() {
            name if NO_STEPS.contains(&name) => {}
            "using_filesort" => node.sort |= value.is_true(),
            "using_temporary_table" => node.temporary_table |= value.is_true(),
            "table" => {
                let read = table(value, joined, node, subqueries);
                node.children.push(read);
            }
            "union_result" => {
                let blocks = value.get("query_specifications").map_or(&[][..], Json::items);
                let blocks = blocks.iter().filter_map(|one| one.get("query_block"));
                let blocks = blocks.map(|one| block(one, subqueries)).collect();
                node.children.push(PlanNode { children: blocks, ..PlanNode::of(UNION) });
            }
            "message" => node.children.push(PlanNode::of(NO_TABLE)),
            "query_block" => {
                let number = value.get("select_id").and_then(Json::number).unwrap_or(0.0) as u64;
                let block = block(value, subqueries);
                subqueries.push((number, block));
            }
            "filesort" | "temporary_table" => {
                node.sort |= name == "filesort";
                node.temporary_table |= name == "temporary_table";
                steps(value, joined, node, subqueries);
            }
            "block-nl-join" => {
                let kind = value.get("join_type").and_then(Json::text).unwrap_or_default();
                steps(value, Some(join(kind)), node, subqueries);
            }
            _ => steps(value, joined, node, subqueries),
        }
    }
}

fn table(json: &Json, joined: Option<&str>, block: &mut PlanNode, subqueries: &mut Subqueries) -> PlanNode {
    let text = |name: &str| json.get(name).and_then(Json::text);
    let is = |name: &str| json.get(name).is_some_and(Json::is_true);
    let materialized = MATERIALIZED.iter().find_map(|name| json.get(name)?.get("query_block"));
    let children: Vec<PlanNode> = materialized.map(|one| self::block(one, subqueries)).into_iter().collect();
    for (name, value) in json.entries() {
        // Beside what it is read from, a table may hold subqueries of its condition, and sort what it reads.
        let is_own = MATERIALIZED.contains(&name.as_str()) || ["index_merge", "table_name"].contains(&name.as_str());
        if !is_own && !NO_STEPS.contains(&name.as_str()) {
            steps(value, None, block, subqueries);
        }
    }
    let name = text("table_name").map(|name| match own_table(name) {
        Some(own) => own.to_owned(),
        None if children.is_empty() => name.to_owned(),
        None => "<derived>".to_owned(),
    });
    let is_insert = ["insert", "replace"].into_iter().any(is);
    let Some(word) = text("access_type").filter(|_| !is_insert) else {
        let operator = if name.is_some() { INSERT } else { NO_TABLE };
        return PlanNode { table: name, ..PlanNode::of(operator) };
    };
    let rows = ["rows_examined_per_scan", "rows"].iter().find_map(|name| json.get(name)?.number());
    let cost = json.get("cost_info").and_then(|cost| cost.get("prefix_cost")).or(json.get("cost"));
    PlanNode {
        index: index(json).filter(|_| name.as_deref().and_then(own_table).is_none()),
        table: name,
        index_only: is("using_index"),
        join: text("using_join_buffer").map(join).or(joined).map(str::to_owned),
        estimated_rows: rows,
        estimated_cost: cost.and_then(Json::number),
        children,
        ..PlanNode::of(&access(word))
    }
}

fn index(json: &Json) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(merge) = json.get("index_merge") {
        keys(merge, &mut parts);
        return Some(parts.join(","));
    }
    json.get("key").and_then(Json::text).map(merged)
}

/// Every `key` below, as MariaDB lists what it merges.
fn keys<'a>(json: &'a Json, found: &mut Vec<&'a str>) {
    json.items().iter().for_each(|item| keys(item, found));
    for (name, value) in json.entries() {
        match value.text() {
            Some(key) if name == "key" => found.push(key),
            _ => keys(value, found),
        }
    }
}
