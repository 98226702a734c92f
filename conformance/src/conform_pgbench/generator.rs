//! Random expressions whose types mostly fit: one that does not ends a client of the real pgbench.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub struct Generator {
    rng: ChaCha8Rng,
}

#[derive(Clone, Copy, PartialEq)]
enum Type {
    Int,
    Double,
    Boolean,
}

const DEPTH_MAX: u32 = 4;
/// How often a part has any type instead of the one that fits.
const MISFIT: f64 = 0.01;
const NULL: f64 = 0.02;

const INTS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "10",
    "63",
    "64",
    "100",
    "1000003",
    "4294967296",
    "9223372036854775807",
    "-1",
    "-3",
    "-9223372036854775808",
    ":i",
    ":neg",
];
const DOUBLES: &[&str] = &["0.0", "0.5", "1.5", "2.5", "-0.5", "1e10", "1e-10", "123.456", "1e300", ":d", ":e", "pi()"];

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator { rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    pub fn expression(&mut self) -> String {
        let of = self.any_type();
        self.of(of, DEPTH_MAX)
    }

    fn any_type(&mut self) -> Type {
        [Type::Int, Type::Double, Type::Boolean][self.rng.random_range(0..3)]
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.rng.random_range(0..from.len())]
    }

    fn of(&mut self, of: Type, depth: u32) -> String {
        let is_misfit = self.rng.random_bool(MISFIT);
        let of = if is_misfit { self.any_type() } else { of };
        if self.rng.random_bool(NULL) {
            return self.pick(&["null", ":n"]).to_owned();
        }
        let text = match (depth, of) {
            (0, Type::Int) => self.pick(INTS).to_owned(),
            (0, Type::Double) => self.pick(DOUBLES).to_owned(),
            (0, Type::Boolean) => self.pick(&["true", "false", ":t", ":yes", ":off"]).to_owned(),
            _ if self.rng.random_bool(0.1) => self.case(of, depth - 1),
            (_, Type::Int) => self.int(depth - 1),
            (_, Type::Double) => self.double(depth - 1),
            (_, Type::Boolean) => self.boolean(depth - 1),
        };
        // Without parentheses precedence is compared, too; two comparisons in one sum would chain, which is no expression.
        if is_misfit || self.rng.random_bool(0.5) { format!("({text})") } else { text }
    }

    fn case(&mut self, of: Type, depth: u32) -> String {
        let mut text = "case".to_owned();
        for _ in 0..self.rng.random_range(1..3) {
            let condition = self.any_type();
            text += &format!(" when {} then {}", self.of(condition, depth), self.of(of, depth));
        }
        if self.rng.random_bool(0.7) {
            text += &format!(" else {}", self.of(of, depth));
        }
        text + " end"
    }

    fn arguments(&mut self, of: Type, count: usize, depth: u32) -> String {
        (0..count).map(|_| self.of(of, depth)).collect::<Vec<_>>().join(", ")
    }

    fn int(&mut self, depth: u32) -> String {
        match self.rng.random_range(0..10) {
            0..5 => {
                let sign = self.pick(&["+", "-", "*", "/", "%", "|", "&", "#", "<<", ">>"]);
                format!("{} {sign} {}", self.of(Type::Int, depth), self.of(Type::Int, depth))
            }
            5 => format!("{} {}", self.pick(&["-", "~", "+"]), self.of(Type::Int, depth)),
            6 => {
                // Of a boolean the real one takes the bits for a double: the sum refuses it before.
                let name = self.pick(&["abs(0 + ", "int(", "hash(", "hash_fnv1a(", "hash_murmur2("]);
                format!("{name}({}))", self.of(Type::Int, depth))
            }
            7 => {
                let name = self.pick(&["mod", "hash", "hash_fnv1a", "permute"]);
                format!("{name}({})", self.arguments(Type::Int, 2, depth))
            }
            8 => {
                let (name, count) = (self.pick(&["greatest", "least"]), self.rng.random_range(1..5));
                format!("{name}({})", self.arguments(Type::Int, count, depth))
            }
            _ => format!("int({})", self.of(Type::Double, depth)),
        }
    }

    fn double(&mut self, depth: u32) -> String {
        match self.rng.random_range(0..10) {
            0..5 => {
                let sign = self.pick(&["+", "-", "*", "/"]);
                let right = if self.rng.random_bool(0.5) { Type::Int } else { Type::Double };
                format!("{} {sign} {}", self.of(Type::Double, depth), self.of(right, depth))
            }
            5 => format!("- {}", self.of(Type::Double, depth)),
            6 | 7 => {
                let name = self.pick(&["sqrt(", "exp(", "ln(", "double(", "abs(0 + "]);
                format!("{name}({}))", self.of(Type::Double, depth))
            }
            8 => format!("pow({})", self.arguments(Type::Double, 2, depth)),
            _ => {
                let (name, count) = (self.pick(&["greatest", "least"]), self.rng.random_range(1..4));
                format!("{name}({})", self.arguments(Type::Double, count, depth))
            }
        }
    }

    fn boolean(&mut self, depth: u32) -> String {
        match self.rng.random_range(0..8) {
            0..3 => {
                let sign = self.pick(&["=", "<>", "!=", "<", "<=", ">", ">="]);
                let of = if self.rng.random_bool(0.7) { Type::Int } else { Type::Double };
                // Comparisons do not chain: both sides in parentheses.
                format!("({}) {sign} ({})", self.of(of, depth), self.of(of, depth))
            }
            3 => format!("{} and {}", self.of(Type::Boolean, depth), self.of(Type::Boolean, depth)),
            4 => format!("{} or {}", self.of(Type::Boolean, depth), self.of(Type::Boolean, depth)),
            5 => format!("not {}", self.of(Type::Boolean, depth)),
            _ => {
                let of = self.any_type();
                let is = self.pick(&["is null", "is not null", "is true", "is not false", "isnull", "notnull"]);
                format!("({}) {is}", self.of(of, depth))
            }
        }
    }
}
