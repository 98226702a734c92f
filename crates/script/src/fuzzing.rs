//! What must hold of any text at all; the fuzz targets and the tests feed it.

use std::collections::BTreeMap;

use driver::Dialect;
use load::Rng;

use crate::eval::{Scalar, Slot};
use crate::fault::Source;
use crate::program::{Op, Program, Variables, compile};

fn compiled(text: String) -> Option<(Program, Variables)> {
    let mut variables = Variables::new(&BTreeMap::new());
    let source = Source { path: "a.sql".to_owned(), text };
    let program = compile(&source, &mut variables).inspect_err(|faults| assert!(!faults.0.is_empty())).ok()?;
    Some((program, variables))
}

/// A script is refused with its mistakes, or jumps land inside it and its parameters are variables.
pub fn parse(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let _ = crate::statement::plain(&text);
    let Some((program, variables)) = compiled(text) else { return };
    let commands = program.ops.len();
    for op in &program.ops {
        match op {
            Op::Jump(to) | Op::JumpUnless { to, .. } => assert!(*to <= commands),
            Op::Run(statement) | Op::Queue(statement) | Op::EndPipeline(statement) => {
                assert!(*statement < program.statements.len());
            }
            Op::Set { slot, .. } => assert!(*slot < variables.names().len()),
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
    let Some((program, variables)) = compiled(script) else { return };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of the language's own pieces, put together at random: what a fuzzer would take hours to find.
    fn texts(count: u64, pieces: &'static [&'static str]) -> impl Iterator<Item = String> {
        (0..count).map(move |number| {
            let mut rng = Rng::stream(number, 1, 1);
            let length = 1 + rng.below(14);
            (0..length).map(|_| pieces[rng.below(pieces.len() as u64) as usize]).collect::<Vec<_>>().join(" ")
        })
    }

    #[test]
    fn no_text_breaks_the_parser() {
        const PIECES: &[&str] = &[
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
        ];
        texts(20_000, PIECES).for_each(|text| parse(text.as_bytes()));
    }

    #[test]
    fn no_expression_breaks_the_evaluator() {
        const PIECES: &[&str] = &[
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
        texts(20_000, PIECES).for_each(|text| evaluate(text.as_bytes()));
    }
}
