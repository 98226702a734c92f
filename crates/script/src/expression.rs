//! The parser of expressions: pgbench's grammar, and the constants folded.

use load::Rng;

use crate::eval::{self, Expr, FUNCTIONS, Function, Operator, Scalar};
use crate::fault::{Fault, nearest};

#[derive(Debug, Clone, PartialEq)]
pub enum Token<'a> {
    Word(&'a str),
    /// `:name`, without the colon.
    Variable(&'a str),
    Int(u64),
    Double(f64),
    /// Between single quotes; only generators of rows have texts.
    Text(&'a str),
    Sign(&'static str),
    End,
}

/// Signs, the longer ones first.
const SIGNS: &[&str] =
    &["<>", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%", "=", "<", ">", "|", "&", "#", "~", "(", ")", ","];

/// Finds the variable of a name.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Option<usize>;
/// Lists the variables that there are, for messages.
pub type Known<'a> = &'a dyn Fn() -> Vec<String>;

/// Reads tokens of `text`, whose first byte is byte `base` of its file.
pub struct Parser<'a> {
    text: &'a str,
    base: usize,
    /// Behind the current token.
    next: usize,
    pub token: Token<'a>,
    /// Where the current token stands in the file.
    pub at: usize,
    resolve: Resolve<'a>,
    known: Known<'a>,
    /// Variables are written without a colon.
    bare: bool,
    default_seed: usize,
    /// Inside so many parts that are evaluated only if a condition is met: what has no value there is no mistake.
    conditional: u32,
}

pub struct Names<'a> {
    pub resolve: Resolve<'a>,
    pub known: Known<'a>,
    pub bare: bool,
    /// The variable that hashes and permutations take their seed from when none is given.
    pub default_seed: usize,
}

/// How tightly operators bind, from pgbench's grammar.
mod level {
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const NOT: u8 = 3;
    pub const IS: u8 = 4;
    pub const COMPARE: u8 = 5;
    pub const BITS: u8 = 6;
    pub const SUM: u8 = 7;
    pub const PRODUCT: u8 = 8;
    pub const SIGN: u8 = 9;
}

/// 2^63: a number only behind a minus.
const BEHIND_THE_LARGEST: u64 = 1 << 63;

impl<'a> Parser<'a> {
    pub fn new(text: &'a str, base: usize, names: &Names<'a>) -> Result<Parser<'a>, Fault> {
        let &Names { resolve, known, bare, default_seed } = names;
        let mut parser = Parser {
            text,
            base,
            next: 0,
            token: Token::End,
            at: base,
            resolve,
            known,
            bare,
            default_seed,
            conditional: 0,
        };
        parser.advance()?;
        Ok(parser)
    }

    /// A whole expression, with nothing behind it.
    pub fn whole(mut self) -> Result<Expr, Fault> {
        let expr = self.expression(0)?;
        match self.token {
            Token::End => Ok(expr),
            _ => Err(self.unexpected("an operator or the end of the expression")),
        }
    }

    pub fn advance(&mut self) -> Result<(), Fault> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.next).is_some_and(u8::is_ascii_whitespace) || continues(&bytes[self.next..]) {
            self.next += 1;
        }
        self.at = self.base + self.next;
        let rest = &self.text[self.next..];
        let Some(first) = rest.chars().next() else {
            self.token = Token::End;
            return Ok(());
        };
        let word_length = |text: &str| text.find(|c: char| !is_of_name(c)).unwrap_or(text.len());
        let length = if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            self.number(rest)?
        } else if is_of_name(first) {
            let length = word_length(rest);
            self.token = Token::Word(&rest[..length]);
            length
        } else if first == ':' && rest[1..].starts_with(is_of_name) {
            let length = word_length(&rest[1..]);
            self.token = Token::Variable(&rest[1..=length]);
            length + 1
        } else if first == '\'' && self.bare {
            let end =
                rest[1..].find('\'').ok_or_else(|| Fault::new(self.at, "a text without its end", "expected '"))?;
            self.token = Token::Text(&rest[1..=end]);
            end + 2
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| {
                Fault::new(
                    self.at,
                    format!("`{first}` has no place in an expression"),
                    "expected an operator or a value",
                )
            })?;
            self.token = Token::Sign(sign);
            sign.len()
        };
        self.next += length;
        Ok(())
    }

    /// Reads a number at the start of `rest`; returns its length.
    fn number(&mut self, rest: &'a str) -> Result<usize, Fault> {
        let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
        let mut length = digits(0);
        let mut is_double = false;
        if rest[length..].starts_with('.') {
            is_double = true;
            length += 1 + digits(length + 1);
        }
        if rest[length..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
            let exponent = digits(length + 1 + sign);
            if exponent > 0 {
                is_double = true;
                length += 1 + sign + exponent;
            }
        }
        let text = &rest[..length];
        let too_large = || {
            Fault::new(self.at, format!("{text} is too large or too small"), "expected a 64-bit integer or a double")
        };
        self.token = if is_double {
            let number: f64 = text.parse().map_err(|_| too_large())?;
            let digits = text.split(['e', 'E']).next().unwrap_or(text);
            let is_too_small = number < f64::MIN_POSITIVE && digits.contains(|c| matches!(c, '1'..='9'));
            if number.is_infinite() || is_too_small {
                return Err(too_large());
            }
            Token::Double(number)
        } else {
            Token::Int(text.parse().ok().filter(|number| *number <= BEHIND_THE_LARGEST).ok_or_else(too_large)?)
        };
        Ok(length)
    }

    pub fn unexpected(&self, expected: &str) -> Fault {
        let what = match &self.token {
            Token::End => "the expression ends here".to_owned(),
            _ => {
                let end = self.next.min(self.text.len());
                format!("`{}` was not expected", &self.text[self.at - self.base..end])
            }
        };
        Fault::new(self.at, what, format!("expected {expected}"))
    }

    pub fn is_sign(&self, sign: &str) -> bool {
        self.token == Token::Sign(sign_of(sign))
    }

    /// A parenthesis follows the current token.
    pub fn is_called(&self) -> bool {
        self.text[self.next..].trim_start().starts_with('(')
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.token, Token::Word(found) if found.eq_ignore_ascii_case(word))
    }

    fn take_word(&mut self, word: &str) -> Result<bool, Fault> {
        let found = self.is_word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub fn expect_sign(&mut self, sign: &str) -> Result<(), Fault> {
        if !self.is_sign(sign) {
            return Err(self.unexpected(&format!("`{sign}`")));
        }
        self.advance()
    }

    fn expect_word(&mut self, word: &str) -> Result<(), Fault> {
        if self.take_word(word)? { Ok(()) } else { Err(self.unexpected(&word.to_ascii_uppercase())) }
    }

    /// An expression whose operators bind at least as tightly as `least`.
    pub fn expression(&mut self, least: u8) -> Result<Expr, Fault> {
        let mut left = self.prefixed()?;
        loop {
            let at = self.at;
            if self.is_word("or") || self.is_word("and") {
                let is_or = self.is_word("or");
                let own = if is_or { level::OR } else { level::AND };
                if own < least {
                    return Ok(left);
                }
                self.advance()?;
                let sides = Box::new([left, self.conditionally(|parser| parser.expression(own + 1))?]);
                left = self.folded(if is_or { Expr::Or(sides) } else { Expr::And(sides) }, at)?;
            } else if self.is_word("is") || self.is_word("isnull") || self.is_word("notnull") {
                if level::IS < least {
                    return Ok(left);
                }
                left = self.is(left)?;
            } else if let Some((own, operator, turned)) = self.operator() {
                if own < least {
                    return Ok(left);
                }
                self.advance()?;
                let right = self.expression(own + 1)?;
                let sides = if turned { [right, left] } else { [left, right] };
                left = self.folded(Expr::Binary(operator, Box::new(sides)), at)?;
                if own == level::COMPARE && matches!(self.operator(), Some((level::COMPARE, ..))) {
                    return Err(self.unexpected("AND or OR: comparisons do not chain"));
                }
            } else {
                return Ok(left);
            }
        }
    }

    /// The operator here: its level, what it does, and whether its sides change places.
    fn operator(&self) -> Option<(u8, Operator, bool)> {
        let Token::Sign(sign) = self.token else { return None };
        let (own, operator, turned) = match sign {
            "=" => (level::COMPARE, Operator::Equal, false),
            "<>" | "!=" => (level::COMPARE, Operator::Unequal, false),
            "<" => (level::COMPARE, Operator::Less, false),
            "<=" => (level::COMPARE, Operator::LessOrEqual, false),
            ">" => (level::COMPARE, Operator::Less, true),
            ">=" => (level::COMPARE, Operator::LessOrEqual, true),
            "|" => (level::BITS, Operator::BitOr, false),
            "#" => (level::BITS, Operator::BitXor, false),
            "&" => (level::BITS, Operator::BitAnd, false),
            "<<" => (level::BITS, Operator::ShiftLeft, false),
            ">>" => (level::BITS, Operator::ShiftRight, false),
            "+" => (level::SUM, Operator::Add, false),
            "-" => (level::SUM, Operator::Subtract, false),
            "*" => (level::PRODUCT, Operator::Multiply, false),
            "/" => (level::PRODUCT, Operator::Divide, false),
            "%" => (level::PRODUCT, Operator::Remainder, false),
            _ => return None,
        };
        Some((own, operator, turned))
    }

    /// `IS [NOT] NULL | TRUE | FALSE`, `ISNULL`, `NOTNULL`.
    fn is(&mut self, left: Expr) -> Result<Expr, Fault> {
        let at = self.at;
        let (wanted, negated) = if self.take_word("isnull")? {
            (Scalar::Null, false)
        } else if self.take_word("notnull")? {
            (Scalar::Null, true)
        } else {
            self.expect_word("is")?;
            let negated = self.take_word("not")?;
            let words = [("null", Scalar::Null), ("true", Scalar::Bool(true)), ("false", Scalar::Bool(false))];
            let found = words.into_iter().find(|(word, _)| self.is_word(word));
            let (_, wanted) = found.ok_or_else(|| self.unexpected("NULL, TRUE or FALSE"))?;
            self.advance()?;
            (wanted, negated)
        };
        let is = Expr::Is(Box::new(left), wanted);
        self.folded(if negated { Expr::Not(Box::new(is)) } else { is }, at)
    }

    fn prefixed(&mut self) -> Result<Expr, Fault> {
        let at = self.at;
        if self.take_word("not")? {
            let of = self.expression(level::NOT)?;
            return self.folded(Expr::Not(Box::new(of)), at);
        }
        if self.is_sign("+") {
            self.advance()?;
            return self.expression(level::SIGN);
        }
        if self.is_sign("~") {
            self.advance()?;
            let of = self.expression(level::BITS + 1)?;
            return self.folded(Expr::Binary(Operator::BitXor, Box::new([of, Expr::Constant(Scalar::Int(-1))])), at);
        }
        if self.is_sign("-") {
            self.advance()?;
            if self.token == Token::Int(BEHIND_THE_LARGEST) {
                self.advance()?;
                return Ok(Expr::Constant(Scalar::Int(i64::MIN)));
            }
            let of = self.expression(level::SIGN)?;
            return self.folded(Expr::Binary(Operator::Subtract, Box::new([Expr::Constant(Scalar::Int(0)), of])), at);
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Expr, Fault> {
        let at = self.at;
        let constant = |value| Ok(Expr::Constant(value));
        match self.token.clone() {
            Token::Int(number) => {
                self.advance()?;
                let number = i64::try_from(number).map_err(|_| {
                    Fault::new(at, format!("{number} is too large"), "expected a 64-bit integer or a double")
                })?;
                constant(Scalar::Int(number))
            }
            Token::Double(number) => {
                self.advance()?;
                constant(Scalar::Double(number))
            }
            Token::Variable(name) => {
                self.advance()?;
                self.variable(name, at)
            }
            Token::Sign("(") => {
                self.advance()?;
                let inner = self.expression(0)?;
                self.expect_sign(")")?;
                Ok(inner)
            }
            Token::Word(word) => self.word(word, at),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn word(&mut self, word: &'a str, at: usize) -> Result<Expr, Fault> {
        self.advance()?;
        let constant = |value| Ok(Expr::Constant(value));
        match word.to_ascii_lowercase().as_str() {
            "true" => constant(Scalar::Bool(true)),
            "false" => constant(Scalar::Bool(false)),
            "null" => constant(Scalar::Null),
            "case" => self.case(at),
            _ if self.is_sign("(") => self.call(word, at),
            _ if self.bare => self.variable(word, at),
            _ if (self.resolve)(word).is_some() => {
                Err(Fault::new(at, format!("`{word}` is a variable"), format!("expected :{word}")))
            }
            lower => {
                let functions = FUNCTIONS.iter().map(|(name, ..)| *name);
                let what = format!("unknown word `{word}`");
                Err(Fault::new(at, what, format!("expected a value; {}", nearest(lower, functions))))
            }
        }
    }

    fn variable(&self, name: &str, at: usize) -> Result<Expr, Fault> {
        (self.resolve)(name).map(Expr::Variable).ok_or_else(|| unknown_variable(name, at, &(self.known)()))
    }

    fn case(&mut self, at: usize) -> Result<Expr, Fault> {
        let (branches, otherwise) = self.conditionally(Self::branches)?;
        self.expect_word("end")?;
        self.folded(Expr::Case(branches, Box::new(otherwise)), at)
    }

    fn branches(&mut self) -> Result<(Vec<(Expr, Expr)>, Expr), Fault> {
        let mut branches = Vec::new();
        while self.take_word("when")? {
            let condition = self.expression(0)?;
            self.expect_word("then")?;
            branches.push((condition, self.expression(0)?));
        }
        if branches.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = if self.take_word("else")? { self.expression(0)? } else { Expr::Constant(Scalar::Null) };
        Ok((branches, otherwise))
    }

    /// Reads a part that is evaluated only if a condition is met.
    fn conditionally<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.conditional += 1;
        let part = read(self);
        self.conditional -= 1;
        part
    }

    fn call(&mut self, name: &str, at: usize) -> Result<Expr, Fault> {
        let lower = name.to_ascii_lowercase();
        let Some((_, function, takes)) = FUNCTIONS.iter().find(|(known, ..)| *known == lower) else {
            let near = nearest(&lower, FUNCTIONS.iter().map(|(known, ..)| *known));
            return Err(Fault::new(at, format!("unknown function `{name}`"), format!("expected a function; {near}")));
        };
        self.expect_sign("(")?;
        let mut arguments = Vec::new();
        while !self.is_sign(")") {
            if !arguments.is_empty() {
                self.expect_sign(",")?;
            }
            arguments.push(self.expression(0)?);
        }
        self.advance()?;
        if !takes.contains(&arguments.len()) {
            let what = format!("{lower} takes {}, got {}", number_of_arguments(takes), arguments.len());
            return Err(Fault::new(at, what, "expected another number of arguments"));
        }
        let takes_seed = matches!(function, Function::HashFnv1a | Function::HashMurmur2 | Function::Permute);
        if takes_seed && arguments.len() < *takes.end() {
            arguments.push(Expr::Variable(self.default_seed));
        }
        if self.conditional == 0 {
            check_constants(*function, &arguments, at)?;
        }
        self.folded(Expr::Call(*function, arguments), at)
    }

    /// Its value in place of an expression that is constant.
    fn folded(&self, expr: Expr, at: usize) -> Result<Expr, Fault> {
        if matches!(expr, Expr::Constant(_)) || !is_constant(&expr) {
            return Ok(expr);
        }
        match expr.evaluate(&[], &mut Rng::stream(0, 0, 0)) {
            Ok(value) => Ok(Expr::Constant(value)),
            Err(_) if self.conditional > 0 => Ok(expr),
            Err(why) => Err(Fault::new(at, why.0, "expected an expression that has a value")),
        }
    }
}

pub fn unknown_variable(name: &str, at: usize, known: &[String]) -> Fault {
    let near = nearest(name, known.iter().map(String::as_str));
    Fault::new(at, format!("unknown variable `{name}`"), format!("expected a variable; {near}"))
}

fn number_of_arguments(takes: &std::ops::RangeInclusive<usize>) -> String {
    match (*takes.start(), *takes.end()) {
        (1, 1) => "1 argument".to_owned(),
        (least, most) if least == most => format!("{least} arguments"),
        (least, eval::ARGUMENTS_MOST) => format!("{least} to {} arguments", eval::ARGUMENTS_MOST),
        (least, most) => format!("{least} or {most} arguments"),
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// The same text with the life of the table of signs.
fn sign_of(sign: &str) -> &'static str {
    SIGNS.iter().find(|known| **known == sign).copied().unwrap_or("")
}

/// Constants that a distribution cannot have.
fn check_constants(function: Function, arguments: &[Expr], at: usize) -> Result<(), Fault> {
    if !function.draws() {
        return Ok(());
    }
    let fault = |why: eval::EvalError, got: String| Fault::new(at, format!("{}{got}", why.0), "expected other values");
    if arguments.contains(&Expr::Constant(Scalar::Null)) {
        return Ok(());
    }
    if let [Expr::Constant(low), Expr::Constant(high), ..] = arguments {
        eval::range(*low, *high).map_err(|why| fault(why, String::new()))?;
    }
    if let Some(Expr::Constant(parameter)) = arguments.get(2) {
        let got = eval::double(*parameter).map_or(String::new(), |number| format!(", got {number:?}"));
        eval::shape(function, *parameter).map_err(|why| fault(why, got))?;
    }
    Ok(())
}

/// Has no variables and draws nothing.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Constant(_) => true,
        Expr::Variable(_) => false,
        Expr::Binary(_, sides) | Expr::And(sides) | Expr::Or(sides) => sides.iter().all(is_constant),
        Expr::Not(of) | Expr::Is(of, _) => is_constant(of),
        Expr::Case(branches, otherwise) => {
            is_constant(otherwise) && branches.iter().all(|(when, then)| is_constant(when) && is_constant(then))
        }
        Expr::Call(Function::Debug, _) => false,
        Expr::Call(function, arguments) => !function.draws() && arguments.iter().all(is_constant),
    }
}

/// A backslash before the end of a line.
fn continues(rest: &[u8]) -> bool {
    rest.starts_with(b"\\\n") || rest.starts_with(b"\\\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Slot;

    fn evaluate(text: &str) -> Result<Scalar, String> {
        let resolve = |name: &str| ["seed", "n", "b"].iter().position(|known| *known == name);
        let known = || vec!["n".to_owned(), "b".to_owned()];
        let names = Names { resolve: &resolve, known: &known, bare: false, default_seed: 0 };
        let expr = Parser::new(text, 0, &names).and_then(Parser::whole).map_err(|fault| fault.what)?;
        let slots = [Scalar::Int(7), Scalar::Int(3), Scalar::Bool(true)];
        let slots = slots.map(Slot::new);
        expr.evaluate(&slots, &mut Rng::stream(1, 2, 3)).map_err(|why| why.0.to_owned())
    }

    #[test]
    fn expressions_have_the_values_of_pgbench() {
        use Scalar::{Bool, Double, Int, Null};
        for (text, expected) in [
            ("5/2", Int(2)),
            ("-5/2", Int(-2)),
            ("-5%3", Int(-2)),
            ("5.0/0", Double(f64::INFINITY)),
            ("-9223372036854775808", Int(i64::MIN)),
            ("1<<64", Int(1)),
            ("1<<-1", Int(i64::MIN)),
            ("int(1.7)", Int(2)),
            ("int(0.5)", Int(0)),
            ("int(1.5)", Int(2)),
            ("1 = 1.0", Bool(true)),
            ("null + 1", Null),
            ("true and null", Null),
            ("null or true", Null),
            ("true or null", Bool(true)),
            ("false and null", Bool(false)),
            ("ln(0)", Double(f64::NEG_INFINITY)),
            ("mod(5.5,2)", Int(0)),
            ("greatest(1,null)", Null),
            ("greatest(1, 3, 2)", Int(3)),
            ("least(1,2.5)", Double(1.0)),
            ("case when false then 1 end", Null),
            ("CASE WHEN 0 THEN 1 WHEN 2.0 THEN 3 ELSE 4 END", Int(3)),
            ("2 is true", Bool(false)),
            ("1 = 1 is true", Bool(true)),
            ("null isnull", Bool(true)),
            ("1 notnull", Bool(true)),
            ("1 is not null", Bool(true)),
            ("abs(-9223372036854775808)", Int(i64::MIN)),
            ("hash_murmur2(42,7)", Int(1_340_367_696_533_541_376)),
            ("hash(42)", Int(1_340_367_696_533_541_376)),
            ("hash_fnv1a(42,7)", Int(2_765_047_632_110_736_392)),
            ("hash(1.5,0)", Int(-4_083_905_729_319_787_502)),
            ("hash(NULL)", Null),
            ("permute(0,10,5432)", Int(6)),
            ("permute(5,1000000,3)", Int(68_733)),
            ("2 + 3 * 4", Int(14)),
            ("-2 * -3", Int(6)),
            ("1 | 2 + 4", Int(7)),
            ("~ 1 + 2", Int(-4)),
            ("not 1 = 2", Bool(true)),
            ("not true or true", Bool(true)),
            ("6 # 3", Int(5)),
            ("7 & 3 | 8", Int(11)),
            (".5 + 5.", Double(5.5)),
            ("1.5e3", Double(1500.0)),
            ("2 > 1", Bool(true)),
            ("2 <= 1", Bool(false)),
            ("1 <> 2 and 1 != 2", Bool(true)),
            (":n * 2", Int(6)),
            (":b", Bool(true)),
            ("pow(2, 10)", Double(1024.0)),
            ("random(5, 5)", Int(5)),
            ("random(1.5, 2)", Int(2)),
            ("double(3)", Double(3.0)),
            ("- 0.0", Double(0.0)),
        ] {
            assert_eq!(evaluate(text), Ok(expected), "{text}");
        }
        assert!(matches!(evaluate("sqrt(-1)"), Ok(Double(number)) if number.is_nan()));
    }

    #[test]
    fn what_has_no_value_is_an_error_of_pgbench() {
        for (text, expected) in [
            ("5/0", "division by zero"),
            ("5%0", "division by zero"),
            (":n/0", "division by zero"),
            ("9223372036854775807+1", "bigint add out of range"),
            ("9223372036854775807*2", "bigint mul out of range"),
            ("-9223372036854775808/-1", "bigint div out of range"),
            ("9223372036854775808", "9223372036854775808 is too large"),
            ("int(2.5e20)", "double to int overflow"),
            ("1 + true", "cannot coerce boolean to int"),
            ("true = true", "cannot coerce boolean to int"),
            ("not 1", "cannot coerce int to boolean"),
            ("1 and 0", "cannot coerce int to boolean"),
            (":n and :b", "cannot coerce int to boolean"),
            ("1 < 2 < 3", "`<` was not expected"),
            ("2 ^ 3", "`^` has no place in an expression"),
            ("1 || 2", "`|` was not expected"),
            ("1 between 0 and 2", "`between` was not expected"),
            ("'text'", "`'` has no place in an expression"),
            ("0x10", "`x10` was not expected"),
            ("ceil(1.5)", "unknown function `ceil`"),
            ("random_zipf(1, 10, 1.1)", "unknown function `random_zipf`"),
            ("random(1, 2, 3)", "random takes 2 arguments, got 3"),
            ("random(2, 1)", "empty range given to random"),
            ("random(-9223372036854775808, 9223372036854775807)", "random range is too large"),
            ("random_zipfian(1, 10, 1.0)", "zipfian parameter must be 1.001 to 1000, got 1.0"),
            ("random_gaussian(1, 10, 1.9)", "gaussian parameter must be at least 2.0, got 1.9"),
            ("random_exponential(1, 10, 0)", "exponential parameter must be greater than zero, got 0.0"),
            ("permute(1, 0, 1)", "permute size parameter must be greater than zero"),
            (":nn", "unknown variable `nn`"),
            ("n", "`n` is a variable"),
            ("1 +", "the expression ends here"),
            ("(1", "the expression ends here"),
            ("greatest()", "greatest takes 1 to 16 arguments, got 0"),
            ("debug()", "debug takes 1 argument, got 0"),
            ("case 1 when 1 then 2 end", "`1` was not expected"),
        ] {
            assert_eq!(evaluate(text), Err(expected.to_owned()), "{text}");
        }
    }
}
