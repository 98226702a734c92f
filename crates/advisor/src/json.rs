//! Advice as a program reads it.

use serde_json::{Value, json};

use crate::advice::{Advice, Rung};
use engine::tunable::Machine;

pub fn advice(advice: &Advice) -> Value {
    let Machine { memory_bytes, cores, data_bytes } = advice.machine;
    json!({
        "engine": advice.engine.kind(),
        "version": advice.version,
        "memory_bytes": memory_bytes,
        "cores": cores,
        "data_bytes": data_bytes,
        "clients": advice.clients,
        "rungs": advice.rungs.iter().map(rung).collect::<Vec<_>>(),
        "left": advice.left.iter().map(|left| json!({ "setting": left.setting, "reason": left.reason })).collect::<Vec<_>>(),
        "memory_needed_bytes": {
            "defaults": advice.need_at_first.total_bytes(), "ladder": advice.need_at_last.total_bytes(),
        },
    })
}

fn rung(rung: &Rung) -> Value {
    let settings = rung.settings.iter().map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())));
    json!({
        "name": rung.name,
        "settings": settings.collect::<serde_json::Map<_, _>>(),
        "reason": rung.reason,
        "source": rung.source,
        "durability_class": rung.promise,
        "trade": rung.trade,
    })
}
