//! Execution plans of PostgreSQL, as JSON. Steps are called as in its plans of text.

use anyhow::Result;
use driver::Admin;
use engine::{Explained, PlanSwitch};
use record::format::PlanNode;

use crate::json_text::Json;

const fn switch(setting: &'static str, instead_of: &'static str, step: fn(&PlanNode) -> bool) -> PlanSwitch {
    PlanSwitch { setting, off: "off", step, instead_of }
}

/// A step is avoided rather than forbidden: where there is no other way, the server takes it anyway.
pub const SWITCHES: &[PlanSwitch] = &[
    switch("enable_seqscan", "read", |node| node.operator == "Seq Scan"),
    switch("enable_indexscan", "read", |node| node.operator.starts_with("Index Scan")),
    switch("enable_indexonlyscan", "read", |node| node.operator.starts_with("Index Only Scan")),
    switch("enable_bitmapscan", "read", |node| node.operator == "Bitmap Heap Scan"),
    switch("enable_nestloop", "join", |node| node.operator.starts_with("Nested Loop")),
    switch("enable_hashjoin", "join", |node| is_join(node, "Hash ")),
    switch("enable_mergejoin", "join", |node| is_join(node, "Merge ")),
    switch("enable_hashagg", "groups", |node| node.operator.ends_with("HashAggregate")),
    switch("enable_sort", "sort", |node| node.operator == "Sort"),
    switch("enable_incremental_sort", "sort", |node| node.operator == "Incremental Sort"),
    switch("enable_material", "rows kept", |node| node.operator == "Materialize"),
    switch("enable_memoize", "rows kept", |node| node.operator == "Memoize"),
    switch("enable_parallel_hash", "shared hash", |node| node.parallel && node.operator == "Hash"),
    PlanSwitch {
        setting: "max_parallel_workers_per_gather",
        off: "0",
        step: |node| node.operator.starts_with("Gather"),
        instead_of: "workers",
    },
];

fn is_join(node: &PlanNode, method: &str) -> bool {
    node.operator.starts_with(method) && node.operator.ends_with("Join")
}

pub fn explain(admin: &mut Admin, sql: &str) -> Result<Explained> {
    let rows = admin.rows(&format!("EXPLAIN (FORMAT JSON) {sql}"))?;
    let text: Vec<String> = rows.into_iter().flatten().flatten().collect();
    let text = text.join("\n");
    Ok(Explained { tree: read(&text), lines: text.lines().map(str::to_owned).collect() })
}

pub fn read(text: &str) -> Result<PlanNode, String> {
    let answer = Json::read(text).ok_or("the server's answer is no JSON that can be read")?;
    let plans: Vec<&Json> = answer.items().iter().filter_map(|one| one.get("Plan")).collect();
    match plans.as_slice() {
        [] => Err("the server's answer has no `Plan`".to_owned()),
        [only] => Ok(node(only)),
        // A rule may make several statements of one.
        several => Ok(PlanNode {
            children: several.iter().map(|one| node(one)).collect(),
            ..PlanNode::of(record::format::QUERY)
        }),
    }
}

fn node(json: &Json) -> PlanNode {
    let text = |name: &str| json.get(name).and_then(Json::text);
    let kind = text("Node Type").unwrap_or("?");
    let children: Vec<PlanNode> = json.get("Plans").map_or(&[][..], Json::items).iter().map(node).collect();
    let table = ["Relation Name", "CTE Name", "Function Name"].iter().find_map(|name| text(name));
    let table = table.or_else(|| text("Alias").filter(|_| kind.ends_with("Scan")));
    let number = |name: &str| json.get(name).and_then(Json::number);
    let read = PlanNode {
        operator: operator(kind, &text),
        table: table.map(str::to_owned),
        index: text("Index Name").map(str::to_owned),
        parallel: json.get("Parallel Aware").is_some_and(Json::is_true),
        estimated_rows: number("Plan Rows"),
        estimated_cost: number("Total Cost"),
        children,
        ..PlanNode::default()
    };
    if kind == "Bitmap Heap Scan" { with_its_index(read) } else { read }
}

/// As plans of text have it: `HashAggregate`, `Hash Left Join`, `Index Scan Backward`, `Update`.
fn operator<'a>(kind: &str, text: &impl Fn(&str) -> Option<&'a str>) -> String {
    match kind {
        "Aggregate" => {
            let strategy = match text("Strategy") {
                Some("Hashed") => "HashAggregate",
                Some("Sorted") => "GroupAggregate",
                Some("Mixed") => "MixedAggregate",
                _ => "Aggregate",
            };
            match text("Partial Mode") {
                Some(mode @ ("Partial" | "Finalize")) => format!("{mode} {strategy}"),
                _ => strategy.to_owned(),
            }
        }
        "SetOp" => match (text("Strategy"), text("Command")) {
            (Some("Hashed"), Some(command)) => format!("HashSetOp {command}"),
            (_, command) => format!("SetOp {}", command.unwrap_or_default()),
        },
        "ModifyTable" => text("Operation").unwrap_or(kind).to_owned(),
        "Hash Join" | "Merge Join" | "Nested Loop" => match text("Join Type") {
            None | Some("Inner") => kind.to_owned(),
            Some(join) if kind == "Nested Loop" => format!("{kind} {join} Join"),
            Some(join) => kind.replace("Join", &format!("{join} Join")),
        },
        _ if text("Scan Direction") == Some("Backward") => format!("{kind} Backward"),
        _ => kind.to_owned(),
    }
}

/// One index below a heap is how the heap is read.
fn with_its_index(mut heap: PlanNode) -> PlanNode {
    let is_index = |child: &PlanNode| child.operator == "Bitmap Index Scan";
    if let Some(at) = heap.children.iter().position(is_index) {
        heap.index = heap.children.remove(at).index;
    }
    heap
}
