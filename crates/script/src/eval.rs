//! Expressions and their values, by pgbench's rules: 64-bit integers that overflow with an error, doubles, booleans
//! and NULL.
//!
//! An expression is a tree with its variables numbered and its constants folded. Evaluating one looks nothing up by
//! name and allocates nothing.

use std::cell::Cell;

use load::Rng;

use crate::pgbench::AsPgbench;
use crate::random;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    Null,
    Int(i64),
    Double(f64),
    Bool(bool),
    /// What a query brought and is no number; the text lies beside, in the variable.
    Text,
    /// A variable that no command has set yet.
    Undefined,
}

/// Why an expression has no value, in pgbench's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvalError(pub &'static str);

pub const UNDEFINED: EvalError = EvalError("undefined variable");

type Evaluated<T = Scalar> = Result<T, EvalError>;

/// A variable of one client.
#[derive(Debug, Clone)]
pub struct Slot {
    pub value: Scalar,
    /// Its value as text where that is not an integer; keeps its memory.
    pub text: String,
    /// Statements send the text as it came, whatever number it means.
    pub is_text: bool,
}

impl Slot {
    pub fn new(value: Scalar) -> Slot {
        Slot { value, text: String::new(), is_text: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Abs,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Mod,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
    /// Its argument, which is printed where the user watches.
    Debug,
}

/// Names, functions, and how many arguments they take.
pub const FUNCTIONS: &[(&str, Function, std::ops::RangeInclusive<usize>)] = &[
    ("abs", Function::Abs, 1..=1),
    ("debug", Function::Debug, 1..=1),
    ("double", Function::Double, 1..=1),
    ("exp", Function::Exp, 1..=1),
    ("greatest", Function::Greatest, 1..=ARGUMENTS_MOST),
    ("hash", Function::HashMurmur2, 1..=2),
    ("hash_fnv1a", Function::HashFnv1a, 1..=2),
    ("hash_murmur2", Function::HashMurmur2, 1..=2),
    ("int", Function::Int, 1..=1),
    ("least", Function::Least, 1..=ARGUMENTS_MOST),
    ("ln", Function::Ln, 1..=1),
    ("mod", Function::Mod, 2..=2),
    ("permute", Function::Permute, 2..=3),
    ("pi", Function::Pi, 0..=0),
    ("pow", Function::Power, 2..=2),
    ("power", Function::Power, 2..=2),
    ("random", Function::Random, 2..=2),
    ("random_exponential", Function::RandomExponential, 3..=3),
    ("random_gaussian", Function::RandomGaussian, 3..=3),
    ("random_zipfian", Function::RandomZipfian, 3..=3),
    ("sqrt", Function::Sqrt, 1..=1),
];

/// The command whose values `debug()` prints, and by what.
#[derive(Clone, Copy)]
pub struct Debugged {
    pub print: fn(&str),
    pub script: usize,
    pub command: usize,
}

thread_local! {
    /// Of the client that evaluates on this thread; without it `debug()` prints nothing.
    pub static DEBUGGED: Cell<Option<Debugged>> = const { Cell::new(None) };
}

#[cold]
fn debug(value: Scalar) {
    if let Some(Debugged { print, script, command }) = DEBUGGED.get() {
        print(&format!("debug(script={script},command={command}): {}", shown(value)));
    }
}

/// A value with its type, as pgbench's `debug()` shows it.
pub fn shown(value: Scalar) -> String {
    match value {
        Scalar::Int(number) => format!("int {number}"),
        Scalar::Double(number) => format!("double {}", AsPgbench(number)),
        Scalar::Bool(flag) => format!("boolean {flag}"),
        Scalar::Null | Scalar::Text | Scalar::Undefined => "null".to_owned(),
    }
}

impl Function {
    pub fn draws(self) -> bool {
        use Function::{Random, RandomExponential, RandomGaussian, RandomZipfian};
        matches!(self, Random | RandomExponential | RandomGaussian | RandomZipfian)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Constant(Scalar),
    Variable(usize),
    Binary(Operator, Box<[Expr; 2]>),
    Not(Box<Expr>),
    And(Box<[Expr; 2]>),
    Or(Box<[Expr; 2]>),
    /// Of the same type and value.
    Is(Box<Expr>, Scalar),
    Case(Vec<(Expr, Expr)>, Box<Expr>),
    Call(Function, Vec<Expr>),
}

/// What `greatest` and `least` take; all others take [`ARGUMENTS_MAX`].
pub const ARGUMENTS_MOST: usize = 16;
const ARGUMENTS_MAX: usize = 3;

impl Expr {
    /// The first variable in it that has no value.
    pub fn undefined(&self, slots: &[Slot]) -> Option<usize> {
        let first = |all: &[Expr]| all.iter().find_map(|one| one.undefined(slots));
        match self {
            Expr::Constant(_) => None,
            Expr::Variable(slot) => (slots[*slot].value == Scalar::Undefined).then_some(*slot),
            Expr::Binary(_, sides) | Expr::And(sides) | Expr::Or(sides) => first(&**sides),
            Expr::Not(of) | Expr::Is(of, _) => of.undefined(slots),
            Expr::Case(branches, otherwise) => {
                let branch = |(when, then): &(Expr, Expr)| when.undefined(slots).or_else(|| then.undefined(slots));
                branches.iter().find_map(branch).or_else(|| otherwise.undefined(slots))
            }
            Expr::Call(_, arguments) => first(arguments),
        }
    }

    pub fn evaluate(&self, slots: &[Slot], rng: &mut Rng) -> Evaluated {
        match self {
            Expr::Constant(value) => Ok(*value),
            Expr::Variable(slot) => match slots[*slot].value {
                Scalar::Undefined => Err(UNDEFINED),
                value => Ok(value),
            },
            Expr::Binary(operator, sides) => {
                let left = sides[0].evaluate(slots, rng)?;
                binary(*operator, left, sides[1].evaluate(slots, rng)?)
            }
            Expr::Not(of) => match of.evaluate(slots, rng)? {
                Scalar::Null => Ok(Scalar::Null),
                value => Ok(Scalar::Bool(!boolean(value)?)),
            },
            Expr::And(sides) => lazy(sides, false, slots, rng),
            Expr::Or(sides) => lazy(sides, true, slots, rng),
            Expr::Is(of, wanted) => Ok(Scalar::Bool(of.evaluate(slots, rng)? == *wanted)),
            Expr::Case(branches, otherwise) => {
                for (condition, then) in branches {
                    if is_true(condition.evaluate(slots, rng)?) {
                        return then.evaluate(slots, rng);
                    }
                }
                otherwise.evaluate(slots, rng)
            }
            Expr::Call(function, arguments) => call(*function, arguments, slots, rng),
        }
    }
}

/// Of a condition: whatever is not zero; NULL is false.
pub fn is_true(value: Scalar) -> bool {
    match value {
        Scalar::Bool(flag) => flag,
        Scalar::Int(number) => number != 0,
        Scalar::Double(number) => number != 0.0,
        Scalar::Null | Scalar::Text | Scalar::Undefined => false,
    }
}

/// AND and OR end at the first side when it `decides`, and are NULL when that is NULL.
fn lazy(sides: &[Expr; 2], decides: bool, slots: &[Slot], rng: &mut Rng) -> Evaluated {
    let left = sides[0].evaluate(slots, rng)?;
    if left == Scalar::Null {
        return Ok(Scalar::Null);
    }
    if boolean(left)? == decides {
        return Ok(Scalar::Bool(decides));
    }
    match sides[1].evaluate(slots, rng)? {
        Scalar::Null => Ok(Scalar::Null),
        right => boolean(right).map(Scalar::Bool),
    }
}

fn boolean(value: Scalar) -> Evaluated<bool> {
    match value {
        Scalar::Bool(flag) => Ok(flag),
        Scalar::Int(_) => Err(EvalError("cannot coerce int to boolean")),
        Scalar::Double(_) => Err(EvalError("cannot coerce double to boolean")),
        _ => Err(EvalError("cannot coerce text to boolean")),
    }
}

pub fn int(value: Scalar) -> Evaluated<i64> {
    match value {
        Scalar::Int(number) => Ok(number),
        Scalar::Double(number) => {
            let rounded = number.round_ties_even();
            // 2^63 is a double, and the largest integer is none.
            let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded);
            if fits { Ok(rounded as i64) } else { Err(EvalError("double to int overflow")) }
        }
        Scalar::Bool(_) => Err(EvalError("cannot coerce boolean to int")),
        _ => Err(EvalError("cannot coerce text to int")),
    }
}

pub fn double(value: Scalar) -> Evaluated<f64> {
    match value {
        Scalar::Int(number) => Ok(number as f64),
        Scalar::Double(number) => Ok(number),
        Scalar::Bool(_) => Err(EvalError("cannot coerce boolean to double")),
        _ => Err(EvalError("cannot coerce text to double")),
    }
}

fn binary(operator: Operator, left: Scalar, right: Scalar) -> Evaluated {
    use Operator::{BitAnd, BitOr, BitXor, Remainder, ShiftLeft, ShiftRight};
    if left == Scalar::Null || right == Scalar::Null {
        return Ok(Scalar::Null);
    }
    let of_ints = matches!(operator, Remainder | BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight);
    if !of_ints && (matches!(left, Scalar::Double(_)) || matches!(right, Scalar::Double(_))) {
        return Ok(of_doubles(operator, double(left)?, double(right)?));
    }
    of_integers(operator, int(left)?, int(right)?)
}

fn of_doubles(operator: Operator, left: f64, right: f64) -> Scalar {
    match operator {
        Operator::Add => Scalar::Double(left + right),
        Operator::Subtract => Scalar::Double(left - right),
        Operator::Multiply => Scalar::Double(left * right),
        Operator::Divide => Scalar::Double(left / right),
        Operator::Equal => Scalar::Bool(left == right),
        Operator::Unequal => Scalar::Bool(left != right),
        Operator::Less => Scalar::Bool(left < right),
        _ => Scalar::Bool(left <= right),
    }
}

fn of_integers(operator: Operator, left: i64, right: i64) -> Evaluated {
    let whole = |result: Option<i64>, why| result.map(Scalar::Int).ok_or(EvalError(why));
    match operator {
        Operator::Add => whole(left.checked_add(right), "bigint add out of range"),
        Operator::Subtract => whole(left.checked_sub(right), "bigint sub out of range"),
        Operator::Multiply => whole(left.checked_mul(right), "bigint mul out of range"),
        Operator::Divide | Operator::Remainder if right == 0 => Err(EvalError("division by zero")),
        Operator::Divide => whole(left.checked_div(right), "bigint div out of range"),
        Operator::Remainder => Ok(Scalar::Int(left.wrapping_rem(right))),
        Operator::Equal => Ok(Scalar::Bool(left == right)),
        Operator::Unequal => Ok(Scalar::Bool(left != right)),
        Operator::Less => Ok(Scalar::Bool(left < right)),
        Operator::LessOrEqual => Ok(Scalar::Bool(left <= right)),
        Operator::BitAnd => Ok(Scalar::Int(left & right)),
        Operator::BitOr => Ok(Scalar::Int(left | right)),
        Operator::BitXor => Ok(Scalar::Int(left ^ right)),
        Operator::ShiftLeft => Ok(Scalar::Int(left.wrapping_shl(right as u32))),
        Operator::ShiftRight => Ok(Scalar::Int(left.wrapping_shr(right as u32))),
    }
}

fn call(function: Function, arguments: &[Expr], slots: &[Slot], rng: &mut Rng) -> Evaluated {
    if matches!(function, Function::Greatest | Function::Least) {
        return extreme(function, arguments, slots, rng);
    }
    if function == Function::Debug {
        let value = arguments[0].evaluate(slots, rng)?;
        debug(value);
        return Ok(value);
    }
    let mut values = [Scalar::Undefined; ARGUMENTS_MAX];
    let mut has_null = false;
    for (value, argument) in values.iter_mut().zip(arguments) {
        *value = argument.evaluate(slots, rng)?;
        has_null |= *value == Scalar::Null;
    }
    if has_null {
        return Ok(Scalar::Null);
    }
    let [first, second, third] = values;
    let real = |result: f64| Ok(Scalar::Double(result));
    match function {
        Function::Abs => Ok(match first {
            Scalar::Int(number) => Scalar::Int(number.wrapping_abs()),
            other => Scalar::Double(double(other)?.abs()),
        }),
        Function::Double => real(double(first)?),
        Function::Exp => real(double(first)?.exp()),
        Function::HashFnv1a => Ok(Scalar::Int(random::fnv1a(int(first)? as u64, int(second)? as u64))),
        Function::HashMurmur2 => Ok(Scalar::Int(random::murmur2(int(first)? as u64, int(second)? as u64))),
        Function::Int => int(first).map(Scalar::Int),
        Function::Ln => real(double(first)?.ln()),
        Function::Mod => binary(Operator::Remainder, first, second),
        Function::Permute => permute(int(first)?, int(second)?, int(third)?),
        Function::Pi => real(std::f64::consts::PI),
        Function::Power => real(double(first)?.powf(double(second)?)),
        Function::Sqrt => real(double(first)?.sqrt()),
        _ => draw(function, [first, second, third], rng),
    }
}

fn permute(value: i64, size: i64, seed: i64) -> Evaluated {
    if size < 1 {
        return Err(EvalError("permute size parameter must be greater than zero"));
    }
    Ok(Scalar::Int(random::permute(value, size, seed)))
}

fn draw(function: Function, [low, high, parameter]: [Scalar; 3], rng: &mut Rng) -> Evaluated {
    let (low, high) = range(low, high)?;
    let drawn = match (function, shape(function, parameter)?) {
        (Function::RandomExponential, parameter) => random::exponential(rng, low, high, parameter),
        (Function::RandomGaussian, width) => random::gaussian(rng, low, high, width),
        (Function::RandomZipfian, exponent) => random::zipfian(rng, low, high, exponent),
        _ => random::uniform(rng, low, high),
    };
    Ok(Scalar::Int(drawn))
}

/// Both ends of a range to draw from.
pub fn range(low: Scalar, high: Scalar) -> Evaluated<(i64, i64)> {
    let (low, high) = (int(low)?, int(high)?);
    if low > high {
        return Err(EvalError("empty range given to random"));
    }
    let size = high.checked_sub(low).and_then(|distance| distance.checked_add(1));
    size.map(|_| (low, high)).ok_or(EvalError("random range is too large"))
}

/// The parameter of a distribution, if it is in its bounds.
pub fn shape(function: Function, parameter: Scalar) -> Evaluated<f64> {
    let check = |is_in: fn(f64) -> bool, why| {
        let parameter = double(parameter)?;
        if is_in(parameter) { Ok(parameter) } else { Err(EvalError(why)) }
    };
    match function {
        Function::RandomExponential => check(|p| p > 0.0, "exponential parameter must be greater than zero"),
        Function::RandomGaussian => check(|p| p >= random::GAUSSIAN_MIN, "gaussian parameter must be at least 2.0"),
        Function::RandomZipfian => {
            check(|p| (random::ZIPFIAN.0..=random::ZIPFIAN.1).contains(&p), "zipfian parameter must be 1.001 to 1000")
        }
        _ => Ok(0.0),
    }
}

/// A double as soon as one argument is one. A later NaN wins, an earlier one loses, as with pgbench's comparisons.
fn extreme(function: Function, arguments: &[Expr], slots: &[Slot], rng: &mut Rng) -> Evaluated {
    let mut values = [Scalar::Undefined; ARGUMENTS_MOST];
    for (value, argument) in values.iter_mut().zip(arguments) {
        *value = argument.evaluate(slots, rng)?;
    }
    let values = &values[..arguments.len()];
    if values.contains(&Scalar::Null) {
        return Ok(Scalar::Null);
    }
    let is_least = function == Function::Least;
    if !values.iter().any(|value| matches!(value, Scalar::Double(_))) {
        let pick = if is_least { i64::min } else { i64::max };
        let first = int(values[0])?;
        return values[1..].iter().try_fold(first, |best, value| Ok(pick(best, int(*value)?))).map(Scalar::Int);
    }
    let pick = |best: f64, next: f64| if if is_least { best < next } else { best > next } { best } else { next };
    let first = double(values[0])?;
    values[1..].iter().try_fold(first, |best, value| Ok(pick(best, double(*value)?))).map(Scalar::Double)
}
