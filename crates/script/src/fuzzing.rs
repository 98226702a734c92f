//! What must hold of any text at all; the fuzz targets and the tests feed it.

use std::collections::BTreeMap;

use driver::Dialect;
use load::Rng;

use crate::eval::{Scalar, Slot};
use crate::fault::Source;
use crate::parts::parts;
use crate::program::{Op, Program, Protocol, Variables, compile};

fn compiled(source: &Source, mut variables: Variables) -> Option<(Program, Variables)> {
    let program = compile(source, &mut variables).inspect_err(|faults| assert!(!faults.0.is_empty())).ok()?;
    Some((program, variables))
}

/// A script is refused with its mistakes, or jumps land inside it and its parameters are variables.
pub fn parse(bytes: &[u8]) {
    let source = Source { path: "a.sql".to_owned(), text: String::from_utf8_lossy(bytes).into_owned() };
    let _ = crate::statement::plain(&source.text);
    if let Ok(parts) = parts(&source) {
        parts.iter().for_each(|part| drop(compiled(&part.source, Variables::new(&BTreeMap::new()))));
    }
    let by_pgbench = [Protocol::Simple, Protocol::Prepared].map(|protocol| {
        let mut variables = Variables::of_pgbench(&BTreeMap::new(), &BTreeMap::new(), protocol);
        variables.allows_shell = true;
        variables
    });
    for variables in by_pgbench.into_iter().chain([Variables::new(&BTreeMap::new())]) {
        compiled(&source, variables).iter().for_each(|(program, variables)| expect_sound(program, variables));
    }
}

fn expect_sound(program: &Program, variables: &Variables) {
    let commands = program.ops.len();
    for op in &program.ops {
        match op {
            Op::Jump(to) | Op::JumpUnless { to, .. } => assert!(*to <= commands),
            Op::Run(statement) | Op::Queue(statement) | Op::EndPipeline(statement) => {
                assert!(*statement < program.statements.len());
            }
            Op::Set { slot, .. } => assert!(*slot < variables.names().len()),
            Op::Shell { keep, .. } => assert!(keep.is_none_or(|slot| slot < variables.names().len())),
            Op::Sleep { .. } => {}
        }
    }
    for dialect in Dialect::ALL {
        let slots = program.statements.iter().flat_map(|one| one.prepared(dialect).1);
        assert!(slots.into_iter().all(|slot| slot < variables.names().len()));
    }
    assert_eq!(program.statement_names().len(), program.statements.len());
}

/// Whatever is an expression has a value or an error, and the same one for the same seed.
pub fn evaluate(bytes: &[u8]) {
    let expression = String::from_utf8_lossy(bytes).replace(['\n', '\r', '\\'], " ");
    let script = format!("\\set a random(1, 3)\n\\set b {expression}\nSELECT 1;");
    let source = Source { path: "a.sql".to_owned(), text: script };
    let Some((program, variables)) = compiled(&source, Variables::new(&BTreeMap::new())) else { return };
    let values = || {
        let mut slots: Vec<Slot> = variables.initial.iter().map(|value| Slot::new(*value)).collect();
        let mut rng = Rng::stream(1, 2, 3);
        let mut found = Vec::new();
        for op in &program.ops {
            let Op::Set { slot, to } = op else { continue };
            let value = to.evaluate(&slots, &mut rng);
            slots[*slot].value = value.unwrap_or(Scalar::Null);
            found.push(format!("{value:?}"));
        }
        found
    };
    assert_eq!(values(), values());
}

/// A fuzz target with the pieces of its language, from which inputs are made without a fuzzer: what a fuzzer would take
/// hours to find.
pub struct Target {
    pub name: &'static str,
    run: fn(&[u8]),
    pieces: &'static [&'static str],
}

pub const TARGETS: [Target; 2] = [
    Target { name: "script_parser", run: parse, pieces: PIECES_OF_SCRIPTS },
    Target { name: "script_expression", run: evaluate, pieces: PIECES_OF_EXPRESSIONS },
];

impl Target {
    /// Checks an input: pieces put together at random, in some of the inputs with bytes changed.
    pub fn check(&self, seed: u64, number: u64) {
        let mut rng = Rng::stream(seed, 1, number);
        let between = if rng.below(4) == 0 { "" } else { " " };
        let length = 1 + rng.below(14);
        let pieces = (0..length).map(|_| self.pieces[rng.below(self.pieces.len() as u64) as usize]);
        let mut text = pieces.collect::<Vec<_>>().join(between).into_bytes();
        for _ in 0..rng.below(2) * rng.below(4) {
            let at = rng.below(text.len() as u64 + 1) as usize;
            match (rng.below(3), text.get_mut(at)) {
                (0, Some(byte)) => *byte = rng.below(256) as u8,
                (1, Some(_)) => drop(text.remove(at)),
                _ => text.insert(at, rng.below(128) as u8),
            }
        }
        (self.run)(&text);
    }
}

const PIECES_OF_SCRIPTS: &[&str] = &[
    "\\set a",
    "\n",
    "1",
    "\\if",
    "\\endif",
    "\\else",
    "\\elif :a",
    "SELECT",
    ":a",
    ";",
    "'",
    "\"",
    "/*",
    "*/",
    "$$",
    "$é$",
    "--",
    "-- expect:",
    "1 row",
    "changed 1",
    "value :a",
    "-- label: x",
    "\\gset",
    "\\sleep 1 us",
    "é",
    "::int",
    "\\",
    "a AS b,",
    "FROM t",
    "BEGIN",
    "COMMIT",
    "\u{feff}",
    "\r\n",
    "`",
    "random(1, 2)",
    "-- transaction: a",
    "\\shell :a",
];

const PIECES_OF_EXPRESSIONS: &[&str] = &[
    "1",
    "-1",
    "0",
    ":a",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "&",
    "|",
    "#",
    "~",
    "(",
    ")",
    ",",
    "and",
    "or",
    "not",
    "is null",
    "isnull",
    "is true",
    "case when",
    "then",
    "else",
    "end",
    "1.5e308",
    "0.0",
    "=",
    "<>",
    "<=",
    "9223372036854775807",
    "random(",
    "random_zipfian(1, 5, ",
    "permute(",
    "hash(",
    "int(",
    "abs(",
    "greatest(",
    "mod(",
    "pow(",
    "null",
    "true",
    "sqrt(",
    ".5",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_input_breaks_a_target() {
        for target in TARGETS {
            (0..20_000).for_each(|number| target.check(1, number));
        }
    }
}
