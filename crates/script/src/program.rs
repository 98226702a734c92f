//! A script, compiled: commands in a row with their jumps resolved, variables numbered, statements split.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::eval::{Expr, Scalar};
use crate::expression::{Names, Parser, unknown_variable};
use crate::fault::{Fault, Faults, Source, nearest};
use crate::statement::{
    Ending, Expectation, Gather, Piece, Role, SqlStatement, column_names, name_in_quotes, names_after_colons, scan,
    with_names_in_quotes,
};

/// Variables that every script has, by their numbers.
pub const AUTOMATIC: [&str; 4] = ["client_id", "scale", "random_seed", "default_seed"];
pub const CLIENT_ID: usize = 0;
pub const RANDOM_SEED: usize = 2;
pub const DEFAULT_SEED: usize = 3;

/// How statements reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// As text, with the values in it.
    Simple,
    /// Parsed anew each time, with the values beside it.
    Extended,
    /// Parsed once by each client.
    #[default]
    Prepared,
}

impl Protocol {
    pub const ALL: [Protocol; 3] = [Protocol::Simple, Protocol::Extended, Protocol::Prepared];

    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Simple => "simple",
            Protocol::Extended => "extended",
            Protocol::Prepared => "prepared",
        }
    }
}

/// Parameters of one statement: they are handed over from the stack.
pub const PARAMETERS_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    Set {
        slot: usize,
        to: Expr,
    },
    JumpUnless {
        condition: Expr,
        to: usize,
    },
    Jump(usize),
    /// Microseconds are `count` of so many.
    Sleep {
        count: Expr,
        unit_us: u64,
    },
    Run(usize),
    /// Keeps a statement back until the pipeline's end.
    Queue(usize),
    /// Sends what was kept back; it is timed like a statement, and has no text.
    EndPipeline(usize),
    /// Runs a program; the number that it prints may be kept.
    Shell {
        words: Vec<Piece>,
        keep: Option<usize>,
    },
}

/// Mistakes of one file that are printed; the rest is counted.
pub const FAULTS_MAX: usize = 20;

/// One transaction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Program {
    pub ops: Vec<Op>,
    pub statements: Vec<SqlStatement>,
    /// The line of each command.
    pub lines: Vec<usize>,
    /// What is allowed and may be a mistake, each with its place.
    pub warnings: Vec<String>,
    /// Every command as it is listed, those included that jumps have resolved.
    pub listing: Vec<Listing>,
    /// By command: its place in the listing.
    pub listed: Vec<usize>,
    /// By variable.
    pub names: Vec<String>,
}

/// The first line of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    pub text: String,
    pub statement: Option<usize>,
}

impl Program {
    /// What each statement is called: its label or its line, and behind the first on a line its place there.
    pub fn statement_names(&self) -> Vec<String> {
        let name = |(at, one): (usize, &SqlStatement)| {
            let line = one.line;
            let before =
                self.statements[..at].iter().filter(|other| other.label.is_none() && other.line == line).count();
            match (&one.label, before) {
                (Some(label), _) => label.clone(),
                (None, 0) => line.to_string(),
                (None, before) => format!("{line}.{}", before + 1),
            }
        };
        self.statements.iter().enumerate().map(name).collect()
    }
}

/// The variables of a workload, numbered: the automatic ones, those of the experiment, and those that scripts set.
#[derive(Debug, Clone)]
pub struct Variables {
    names: Vec<String>,
    /// What they are before a transaction; scripts' own are undefined.
    pub initial: Vec<Scalar>,
    /// Those that were given as text, which statements send as it is.
    pub texts: Vec<(usize, String)>,
    /// Set where scripts follow pgbench's rules for names in SQL, with its way to send them.
    pub pgbench: Option<Protocol>,
    /// Commands that run programs are no mistakes.
    pub allows_shell: bool,
    /// Statements travel as text, which has room for any number of values.
    pub as_text: bool,
}

impl Variables {
    pub fn new(given: &BTreeMap<String, Scalar>) -> Variables {
        let mut variables = Variables {
            names: Vec::new(),
            initial: Vec::new(),
            texts: Vec::new(),
            pgbench: None,
            allows_shell: false,
            as_text: false,
        };
        for name in AUTOMATIC {
            variables.add(name, given.get(name).copied().unwrap_or(Scalar::Int(1)));
        }
        for (name, value) in given.iter().filter(|(name, _)| !AUTOMATIC.contains(&name.as_str())) {
            variables.add(name, *value);
        }
        variables
    }

    /// For scripts that follow pgbench's rules; of values that were given as text the text is kept.
    pub fn of_pgbench(
        given: &BTreeMap<String, Scalar>,
        texts: &BTreeMap<String, String>,
        protocol: Protocol,
    ) -> Variables {
        let mut variables = Variables { pgbench: Some(protocol), ..Variables::new(given) };
        let texts = texts.iter().filter_map(|(name, text)| Some((variables.find(name)?, text.clone())));
        variables.texts = texts.collect();
        variables
    }

    /// Gives every name of a text a place: pgbench looks for their values when it runs.
    fn add_all(&mut self, text: &str) {
        for name in names_after_colons(text) {
            if self.find(name).is_none() {
                self.add(name, Scalar::Undefined);
            }
        }
    }

    fn add(&mut self, name: &str, value: Scalar) -> usize {
        self.names.push(name.to_owned());
        self.initial.push(value);
        self.names.len() - 1
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn is_fixed(&self, name: &str) -> bool {
        self.find(name).is_some_and(|slot| self.initial[slot] != Scalar::Undefined)
    }
}

/// The commands that there are, and those that run programs.
const COMMANDS: &[&str] =
    &["set", "gset", "aset", "if", "elif", "else", "endif", "sleep", "startpipeline", "endpipeline"];
const COMMANDS_OF_SHELL: &[&str] = &["shell", "setshell"];
const NOTES: &[&str] = &["expect", "label"];

/// An `\if` whose `\endif` has not come yet.
struct Open {
    at: usize,
    /// The jump behind the condition under way, to be told where the next branch is.
    skip: Option<usize>,
    /// Jumps from the ends of branches to the end of it all.
    ends: Vec<usize>,
    has_else: bool,
}

struct Compiler<'a> {
    source: &'a Source,
    variables: &'a mut Variables,
    /// Those that this script has set so far, or has from the beginning.
    visible: Vec<bool>,
    program: Program,
    open: Vec<Open>,
    /// Where the pipeline under way begins.
    pipeline: Option<usize>,
    expectations: Vec<Expectation>,
    label: Option<String>,
    faults: Vec<Fault>,
}

/// Compiles a script, or lists everything that is wrong with it.
pub fn compile(source: &Source, variables: &mut Variables) -> Result<Program, Faults> {
    if variables.pgbench.is_some() {
        variables.add_all(&source.text);
    }
    let is_visible = |value: &Scalar| *value != Scalar::Undefined || variables.pgbench.is_some();
    let visible = variables.initial.iter().map(is_visible).collect();
    let program = Program::default();
    let mut compiler = Compiler {
        source,
        variables,
        visible,
        program,
        open: Vec::new(),
        pipeline: None,
        expectations: Vec::new(),
        label: None,
        faults: Vec::new(),
    };
    compiler.read();
    let Compiler { program, faults, variables, .. } = compiler;
    if faults.is_empty() {
        return Ok(Program { names: variables.names().to_vec(), ..program });
    }
    let more = faults.len().saturating_sub(FAULTS_MAX);
    let more = (more > 0).then(|| format!("{}: {more} more mistakes", source.path));
    Err(Faults(faults.iter().take(FAULTS_MAX).map(|fault| source.told(fault)).chain(more).collect()))
}

impl Compiler<'_> {
    fn read(&mut self) {
        let mut at = if self.source.text.starts_with('\u{feff}') { 3 } else { 0 };
        while at < self.source.text.len() {
            let read = self.piece(at);
            at = read.unwrap_or_else(|fault| {
                self.faults.push(fault);
                line_end(&self.source.text, at)
            });
        }
        if let Some(open) = self.open.pop() {
            self.faults.push(Fault::new(open.at, "\\if without its \\endif", "expected \\endif before the end"));
        }
        if let Some(line) = self.program.open_at_end().filter(|_| self.variables.pgbench.is_none()) {
            let what = "the transaction that begins here may be open at the file's end";
            self.program.warnings.push(warning(self.source, line, what, "expected COMMIT or ROLLBACK on every path"));
        }
        if let Some(at) =
            self.source.text.to_ascii_lowercase().find("debug(").filter(|_| self.variables.pgbench.is_none())
        {
            self.warn(at, "debug() prints nothing in the measured time", "expected `dbduel pgbench`, which prints it");
        }
        if let Some(at) = self.pipeline {
            let expected = "expected \\endpipeline before the end";
            self.faults.push(Fault::new(at, "\\startpipeline without its \\endpipeline", expected));
        }
        if self.faults.is_empty() && self.program.statements.is_empty() {
            self.faults.push(Fault::new(0, "the script has no statement", "expected SQL"));
        }
    }

    /// Reads what begins at `at`; returns where the next piece begins.
    fn piece(&mut self, at: usize) -> Result<usize, Fault> {
        let text = &self.source.text;
        let rest = &text[at..];
        if rest.starts_with(char::is_whitespace) || rest.starts_with(';') {
            return Ok(at + rest.chars().next().map_or(1, char::len_utf8));
        }
        if rest.starts_with("--") {
            let end = line_end(text, at);
            self.note(at, &text[at + 2..end]).map(|()| end)
        } else if rest.starts_with('\\') {
            self.command(at)
        } else {
            self.statement(at)
        }
    }

    fn warn(&mut self, at: usize, what: &str, expected: &str) {
        self.program.warnings.push(warning(self.source, self.source.line(at), what, expected));
    }

    /// What pgbench understands in another way, or not at all.
    fn warn_of_statement(&mut self, at: usize, end: usize, ending: Ending) {
        let known = |name: &str| self.variables.find(name).filter(|slot| self.visible[*slot]).is_some();
        if let Some((place, name)) = name_in_quotes(&self.source.text[..end], at, &known) {
            let what = format!("`:{name}` in quotes stays as it is");
            self.warn(place, &what, "expected a variable outside of them, or another text");
        }
        if ending == Ending::TextsEnd {
            self.warn(at, "the last statement has no `;`", "expected one at its end");
        }
    }

    fn push(&mut self, op: Op, at: usize) -> usize {
        self.program.ops.push(op);
        self.program.lines.push(self.source.line(at));
        self.program.listed.push(self.program.listing.len().saturating_sub(1));
        self.program.ops.len() - 1
    }

    /// Lists a command, which ends at `end`, by its first line.
    fn list(&mut self, at: usize, end: usize, statement: Option<usize>) {
        let text = self.source.text[at..end].trim().lines().next().unwrap_or_default();
        let text = if statement.is_some() { text.replace("\\;", ";") } else { text.to_owned() };
        self.program.listing.push(Listing { text: text.trim_end().to_owned(), statement });
    }

    fn statement(&mut self, at: usize) -> Result<usize, Fault> {
        let source = self.source;
        let mut unknown = None;
        let (variables, visible) = (&*self.variables, &self.visible);
        let known = |name: &str| variables.find(name).filter(|slot| visible[*slot]);
        let mut find = |name: &str, place: usize| {
            let slot = known(name);
            if slot.is_none() {
                unknown.get_or_insert_with(|| unknown_variable(name, place, &seen(variables, visible)));
            }
            slot
        };
        let joins = variables.pgbench == Some(Protocol::Simple);
        let (mut pieces, end, ending) = scan(&source.text, at, joins, &mut find)?;
        if variables.pgbench == Some(Protocol::Simple) {
            pieces = pieces.into_iter().flat_map(|piece| with_names_in_quotes(piece, &known)).collect();
        }
        let next = if ending == Ending::Semicolon { end + 1 } else { end };
        if self.variables.pgbench.is_none() {
            self.warn_of_statement(at, end, ending);
        }
        if let Some(fault) = unknown {
            self.faults.push(fault);
        }
        if source.text[end..].starts_with("\\;") {
            let what = "`\\;` joins statements into one text, which cannot be prepared";
            let expected = match self.variables.pgbench {
                Some(_) => "expected `;`, or protocol simple",
                None => "expected `;`: only `dbduel pgbench -M simple` sends several statements as one",
            };
            return Err(Fault::new(end, what, expected));
        }
        let mut statement = SqlStatement {
            expectations: std::mem::take(&mut self.expectations),
            label: self.label.take(),
            line: source.line(at),
            ..SqlStatement::of(pieces)
        };
        let count = statement.prepared(driver::Dialect::MySql).1.len();
        if count > PARAMETERS_MAX && !joins && !self.variables.as_text {
            let what = format!("{count} parameters in one statement are not built yet");
            let expected = format!("expected {PARAMETERS_MAX} at most, or protocol simple, which sends values as text");
            return Err(Fault::new(at, what, expected));
        }
        let next = self.gather(&mut statement, at, end)?.unwrap_or(next);
        let is_value = |one: &Expectation| matches!(one, Expectation::Value(_));
        statement.reads_values = statement.gather.is_some() || statement.expectations.iter().any(is_value);
        let number = self.program.statements.len();
        self.list(at, if ending == Ending::Semicolon { end + 1 } else { end }, Some(number));
        if self.pipeline.is_some() {
            self.expect_unread(&statement, at)?;
            self.push(Op::Queue(number), at);
        } else {
            self.push(Op::Run(number), at);
        }
        self.program.statements.push(statement);
        Ok(next)
    }

    /// What comes back for a statement of a pipeline is one sum for all.
    fn expect_unread(&self, statement: &SqlStatement, at: usize) -> Result<(), Fault> {
        let expected = "expected it behind \\endpipeline";
        if statement.gather.is_some() {
            return Err(Fault::new(at, "\\gset or \\aset in a pipeline", expected));
        }
        match statement.expectations.is_empty() {
            true => Ok(()),
            false => Err(Fault::new(at, "a note on a statement in a pipeline", expected)),
        }
    }

    /// `\gset [prefix]` or `\aset [prefix]` behind a statement; returns where it ends.
    fn gather(&mut self, statement: &mut SqlStatement, at: usize, command: usize) -> Result<Option<usize>, Fault> {
        let source = self.source;
        let is = |word: &str| source.text[command..].strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_name));
        let last = is("\\aset");
        if !last && !is("\\gset") {
            return Ok(None);
        }
        let end = line_end(&source.text, command);
        let prefix = source.text[command + "\\gset".len()..end].trim();
        if !prefix.is_empty() && !is_variable_name(prefix) {
            return Err(Fault::new(command, format!("`{prefix}` is no prefix"), "expected letters, digits and _"));
        }
        statement.gather = Some(if self.variables.pgbench.is_some() {
            Gather::Named { prefix: prefix.to_owned(), last }
        } else {
            let columns = column_names(&statement.pieces);
            let columns = columns.map_err(|why| Fault::new(at, why, "expected named columns"))?;
            let slots = columns.iter().map(|column| self.assign(&format!("{prefix}{column}"), command));
            Gather::Columns { slots: slots.collect::<Result<_, _>>()?, last }
        });
        Ok(Some(end))
    }

    /// The variable that a command sets.
    fn assign(&mut self, name: &str, at: usize) -> Result<usize, Fault> {
        if !is_variable_name(name) {
            let what = format!("`{name}` is no name of a variable");
            return Err(Fault::new(at, what, "expected letters, digits and _, without a digit in front"));
        }
        if self.variables.is_fixed(name) && self.variables.pgbench.is_none() {
            let what = format!("`{name}` has its value from outside");
            return Err(Fault::new(at, what, "expected another name: every transaction begins with that value"));
        }
        let slot = self.variables.find(name).unwrap_or_else(|| self.variables.add(name, Scalar::Undefined));
        self.visible.resize(self.variables.names.len(), false);
        self.visible[slot] = true;
        Ok(slot)
    }

    fn expression(&self, from: usize, to: usize) -> Result<Expr, Fault> {
        let (variables, visible) = (&*self.variables, &self.visible);
        let resolve = |name: &str| variables.find(name).filter(|slot| visible[*slot]);
        let known = || seen(variables, visible);
        let names = Names { resolve: &resolve, known: &known, bare: false, default_seed: DEFAULT_SEED };
        Parser::new(&self.source.text[from..to], from, &names)?.whole()
    }

    fn command(&mut self, at: usize) -> Result<usize, Fault> {
        let text = &self.source.text;
        let end = command_end(text, at);
        let name_end = at + 1 + text[at + 1..end].find(|c: char| !is_name(c)).unwrap_or(end - at - 1);
        self.list(at, end, None);
        match &text[at + 1..name_end] {
            "set" => self.set(at, name_end, end)?,
            "if" => {
                let skip = Some(self.condition(at, name_end, end)?);
                self.open.push(Open { at, skip, ends: Vec::new(), has_else: false });
            }
            word @ ("elif" | "else") => self.other_branch(word, at, name_end, end)?,
            "endif" => self.endif(at)?,
            "sleep" => self.sleep(at, name_end, end)?,
            "startpipeline" => self.start_pipeline(at)?,
            "endpipeline" => self.end_pipeline(at)?,
            word @ ("gset" | "aset") => {
                let what = format!("\\{word} without a statement");
                return Err(Fault::new(at, what, "expected it behind SQL, in place of `;`"));
            }
            word if COMMANDS_OF_SHELL.contains(&word) && self.variables.allows_shell => {
                self.shell(at, name_end, end, word == "setshell")?;
            }
            word if COMMANDS_OF_SHELL.contains(&word) => {
                let expected = match self.variables.pgbench {
                    Some(_) => "expected --allow-shell: it runs a program inside the measured time",
                    None => "take it out: it runs a program inside the measured time",
                };
                return Err(Fault::new(at, format!("`\\{word}` is refused"), expected));
            }
            word => {
                let near = nearest(word, COMMANDS.iter().copied());
                return Err(Fault::new(
                    at,
                    format!("unknown command `\\{word}`"),
                    format!("expected a command; {near}"),
                ));
            }
        }
        Ok(end)
    }

    fn start_pipeline(&mut self, at: usize) -> Result<(), Fault> {
        if self.variables.pgbench == Some(Protocol::Simple) {
            let what = "protocol simple has no pipelines";
            return Err(Fault::new(at, what, "expected protocol extended or prepared"));
        }
        match self.pipeline.replace(at) {
            None => Ok(()),
            Some(_) => Err(Fault::new(at, "\\startpipeline in a pipeline", "expected \\endpipeline before it")),
        }
    }

    fn end_pipeline(&mut self, at: usize) -> Result<(), Fault> {
        if self.pipeline.take().is_none() {
            return Err(Fault::new(at, "\\endpipeline without its \\startpipeline", "expected it before"));
        }
        let number = self.program.statements.len();
        self.program.statements.push(SqlStatement { line: self.source.line(at), ..SqlStatement::of(Vec::new()) });
        if let Some(listing) = self.program.listing.last_mut() {
            listing.statement = Some(number);
        }
        self.push(Op::EndPipeline(number), at);
        Ok(())
    }

    fn set(&mut self, at: usize, name_end: usize, end: usize) -> Result<(), Fault> {
        let source = self.source;
        let text = &source.text[name_end..end];
        let start = name_end + (text.len() - text.trim_start().len());
        let text = &source.text[start..end];
        let length = text.find(char::is_whitespace).unwrap_or(text.len());
        if length == 0 {
            return Err(Fault::new(start, "\\set without a name", "expected a variable and an expression"));
        }
        // The expression first: it sees the variable as it was.
        let to = self.expression(start + length, end);
        let slot = self.assign(&source.text[start..start + length], start)?;
        self.push(Op::Set { slot, to: to? }, at);
        Ok(())
    }

    /// A jump over the branch whose condition stands here.
    fn condition(&mut self, at: usize, from: usize, to: usize) -> Result<usize, Fault> {
        let condition = self.expression(from, to)?;
        Ok(self.push(Op::JumpUnless { condition, to: usize::MAX }, at))
    }

    fn other_branch(&mut self, word: &str, at: usize, from: usize, to: usize) -> Result<(), Fault> {
        let Some(mut open) = self.open.pop() else {
            return Err(Fault::new(at, format!("\\{word} without its \\if"), "expected \\if before it"));
        };
        if open.has_else {
            return Err(Fault::new(at, format!("\\{word} behind \\else"), "expected \\endif"));
        }
        open.ends.push(self.push(Op::Jump(usize::MAX), at));
        self.land(open.skip.take());
        let made = if word == "elif" { self.condition(at, from, to).map(Some) } else { Ok(None) };
        open.has_else = word == "else";
        let made = made.map(|skip| open.skip = skip);
        self.open.push(open);
        made
    }

    fn endif(&mut self, at: usize) -> Result<(), Fault> {
        let Some(open) = self.open.pop() else {
            return Err(Fault::new(at, "\\endif without its \\if", "expected \\if before it"));
        };
        open.ends.into_iter().chain(open.skip).for_each(|jump| self.land(Some(jump)));
        Ok(())
    }

    /// Lets a jump end at the next command.
    fn land(&mut self, jump: Option<usize>) {
        let next = self.program.ops.len();
        if let Some(Op::Jump(to) | Op::JumpUnless { to, .. }) = jump.map(|at| &mut self.program.ops[at]) {
            *to = next;
        }
    }

    fn sleep(&mut self, at: usize, from: usize, end: usize) -> Result<(), Fault> {
        let text = self.source.text[from..end].trim();
        let start = from + self.source.text[from..end].find(text).unwrap_or(0);
        let mut words = text.split_whitespace();
        let (count, unit) = (words.next().unwrap_or_default(), words.next());
        // `\sleep 5ms` is one word in pgbench, too.
        let digits = count.find(|c: char| !c.is_ascii_digit()).filter(|_| !count.starts_with(':'));
        let (count, unit) = match (digits, unit) {
            (Some(at), None) if at > 0 && !count[at..].starts_with('.') => (&count[..at], Some(&count[at..])),
            _ => (count, unit),
        };
        let unit_us = match unit {
            None | Some("s") => 1_000_000,
            Some("ms") => 1_000,
            Some("us") => 1,
            Some(other) => {
                return Err(Fault::new(start, format!("unknown unit of time `{other}`"), "expected us, ms or s"));
            }
        };
        let is_whole = count.starts_with(':') || !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
        if !is_whole || words.next().is_some() {
            return Err(Fault::new(start, "no time to sleep", "expected a whole number or :variable, and us, ms or s"));
        }
        let count = self.expression(start, start + count.len())?;
        self.push(Op::Sleep { count, unit_us }, at);
        Ok(())
    }

    /// `\shell command` or `\setshell variable command`; a word `:name` is a variable's value, `::name` is `:name`.
    fn shell(&mut self, at: usize, from: usize, end: usize, keeps: bool) -> Result<(), Fault> {
        let source = self.source;
        let mut words = source.text[from..end].split_whitespace().filter(|word| *word != "\\");
        let missing = |what: &str| Fault::new(at, format!("no {what} to run"), "expected words of a shell behind it");
        let keep = match keeps {
            true => Some(self.assign(words.next().ok_or_else(|| missing("variable and no command"))?, at)?),
            false => None,
        };
        let word = |word: &str| match word.strip_prefix(':') {
            Some(literal) if literal.starts_with(':') => Piece::Text(literal.to_owned()),
            Some(name) => match self.variables.find(name) {
                Some(slot) => Piece::Variable(slot),
                None => Piece::Text(word.to_owned()),
            },
            None => Piece::Text(word.to_owned()),
        };
        let words: Vec<Piece> = words.map(word).collect();
        if words.is_empty() {
            return Err(missing("command"));
        }
        self.push(Op::Shell { words, keep }, at);
        Ok(())
    }

    /// A comment that may be a note: `expect: 1 row`; pgbench has none.
    fn note(&mut self, at: usize, comment: &str) -> Result<(), Fault> {
        let comment = comment.trim();
        if self.variables.pgbench.is_some() {
            return Ok(());
        }
        let Some((word, asked)) = comment.split_once(':').filter(|(word, _)| word.chars().all(is_name)) else {
            return Ok(());
        };
        let asked = asked.trim();
        match word {
            "expect" => {
                let expectation = self.expectation(at, asked)?;
                self.expectations.push(expectation);
            }
            "label" => self.label = Some(self.new_label(at, asked)?),
            other => {
                let near = NOTES.iter().find(|note| strsim::damerau_levenshtein(note, other) == 1);
                if let Some(near) = near {
                    let expected = format!("expected `{near}:`, or other words in a comment");
                    self.warn(at, &format!("unknown note `{other}`"), &expected);
                }
            }
        }
        Ok(())
    }

    /// A name for the next statement, which no other has.
    fn new_label(&self, at: usize, label: &str) -> Result<String, Fault> {
        if !label.starts_with(char::is_alphabetic) || label.chars().any(char::is_control) {
            let what = format!("`{label}` is no label");
            return Err(Fault::new(at, what, "expected a name that begins with a letter"));
        }
        let twin = self.program.statements.iter().find(|one| one.label.as_deref() == Some(label));
        match twin {
            Some(twin) => {
                let what = format!("the statement in line {} has the label `{label}`, too", twin.line);
                Err(Fault::new(at, what, "expected another label"))
            }
            None => Ok(label.to_owned()),
        }
    }

    fn expectation(&self, at: usize, asked: &str) -> Result<Expectation, Fault> {
        const FORMS: &str = "expected `N rows`, `N..M rows`, `some rows`, `changed N`, `changed N..M` or `value :x`";
        let words: Vec<&str> = asked.split_whitespace().collect();
        let fault = || Fault::new(at, format!("`{asked}` cannot be expected"), FORMS);
        match words[..] {
            ["some", "rows"] => Ok(Expectation::Rows(1..=u64::MAX)),
            [count, "row" | "rows"] => range(count).map(Expectation::Rows).ok_or_else(fault),
            ["changed", count] => range(count).map(Expectation::Changed).ok_or_else(fault),
            ["value", name] if name.starts_with(':') => {
                let slot = self.variables.find(&name[1..]).filter(|slot| self.visible[*slot]);
                let unknown = || unknown_variable(&name[1..], at, &seen(self.variables, &self.visible));
                slot.map(Expectation::Value).ok_or_else(unknown)
            }
            _ => Err(fault()),
        }
    }
}

/// `3` or `0..100`.
fn range(text: &str) -> Option<RangeInclusive<u64>> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let (least, most) = (least.parse().ok()?, most.parse().ok()?);
    (least <= most).then_some(least..=most)
}

fn seen(variables: &Variables, visible: &[bool]) -> Vec<String> {
    variables.names.iter().zip(visible).filter(|(_, visible)| **visible).map(|(name, _)| name.clone()).collect()
}

/// `order.sql:4: what; what was expected`
fn warning(source: &Source, line: usize, what: &str, expected: &str) -> String {
    format!("{}:{line}: {what}; {expected}", source.path)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_variable_name(name: &str) -> bool {
    name.chars().all(is_name) && name.starts_with(|c: char| !c.is_ascii_digit())
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

/// A command runs to the line's end; a backslash before it continues the command.
fn command_end(text: &str, at: usize) -> usize {
    let mut end = line_end(text, at);
    while end < text.len() && text[at + 1..end].trim_end_matches('\r').ends_with('\\') {
        end = line_end(text, end + 1);
    }
    end
}

impl Program {
    /// The line of a BEGIN that a path through the commands leaves without COMMIT and ROLLBACK.
    fn open_at_end(&self) -> Option<usize> {
        // By command, and behind the last: whether it can be reached, and the BEGIN that may then be open.
        let mut reached = vec![(false, None); self.ops.len() + 1];
        reached[0].0 = true;
        // Jumps lead forward only.
        for (at, op) in self.ops.iter().enumerate() {
            let (true, open) = reached[at] else { continue };
            let mut go = |to: usize, open: Option<usize>| {
                // A jump of an `\if` without its end leads nowhere.
                if let Some(place) = reached.get_mut(to) {
                    *place = (true, place.1.or(open));
                }
            };
            match op {
                Op::Jump(to) => go(*to, open),
                Op::JumpUnless { to, .. } => {
                    go(*to, open);
                    go(at + 1, open);
                }
                Op::Set { .. } | Op::Sleep { .. } | Op::EndPipeline(_) | Op::Shell { .. } => go(at + 1, open),
                Op::Run(statement) | Op::Queue(statement) => match self.statements[*statement].opens {
                    Some(true) => go(at + 1, Some(self.lines[at])),
                    Some(false) => go(at + 1, None),
                    None => go(at + 1, open),
                },
            }
        }
        reached[self.ops.len()].1
    }

    pub fn has_pipeline(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::EndPipeline(_)))
    }

    /// Whether the names of columns decide which variables they fill.
    pub fn reads_names(&self) -> bool {
        self.statements.iter().any(|statement| matches!(statement.gather, Some(Gather::Named { .. })))
    }

    pub fn joins_statements(&self) -> bool {
        self.statements.iter().any(|statement| statement.is_joined)
    }

    pub fn only_reads(&self) -> bool {
        let changes = |statement: &SqlStatement| {
            matches!(statement.role, Role::Write | Role::Other) && !statement.pieces.is_empty()
        };
        !self.statements.iter().any(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(text: &str) -> Result<Program, String> {
        let source = Source { path: "order.sql".to_owned(), text: text.to_owned() };
        let given = BTreeMap::from([("hot".to_owned(), Scalar::Double(1.2)), ("scale".to_owned(), Scalar::Int(10))]);
        compile(&source, &mut Variables::new(&given)).map_err(|faults| faults.to_string())
    }

    #[test]
    fn names_in_sql_follow_pgbench_where_that_is_asked_for() {
        let pieces = |text: &str, protocol| {
            let source = Source { path: "a.sql".to_owned(), text: format!("\\set x 1\n\\set scale 2\n{text}") };
            let given = BTreeMap::from([("scale".to_owned(), Scalar::Int(10))]);
            let mut variables = Variables::of_pgbench(&given, &BTreeMap::new(), protocol);
            let program = compile(&source, &mut variables).unwrap();
            program.statements[0].prepared(driver::Dialect::MySql).0
        };
        let text = "SELECT ':x', :x, :y, x::int, '12:30', ':y';";
        assert_eq!(pieces(text, Protocol::Simple), "SELECT '?', ?, ?, x::int, '12:30', '?'");
        assert_eq!(pieces(text, Protocol::Prepared), "SELECT ':x', ?, ?, x::int, '12:30', ':y'");
    }

    #[test]
    fn a_script_becomes_commands_in_a_row() {
        let text = "\\set id random(1, 10 * :scale)\r\n-- expect: 1 row\r\n-- label: read\r\nSELECT a, b FROM t WHERE id = :id \\gset t_\r\n\
            \\if :t_a > 3\nUPDATE t SET a = :t_b;\n\\elif :t_a = 3\nSELECT 1;\n\\else\n\\sleep 5 ms\n\\endif\nCOMMIT";
        let program = compiled(text).unwrap();
        let kinds = program.ops.iter().map(|op| match op {
            Op::Set { .. } => "set".to_owned(),
            Op::JumpUnless { to, .. } => format!("unless {to}"),
            Op::Jump(to) => format!("jump {to}"),
            Op::Sleep { unit_us, .. } => format!("sleep {unit_us}"),
            Op::Run(statement) => format!("run {statement}"),
            Op::Queue(statement) => format!("queue {statement}"),
            Op::EndPipeline(statement) => format!("end {statement}"),
            Op::Shell { .. } => "shell".to_owned(),
        });
        let expected =
            ["set", "run 0", "unless 5", "run 1", "jump 9", "unless 8", "run 2", "jump 9", "sleep 1000", "run 3"];
        assert_eq!(kinds.collect::<Vec<_>>(), expected);
        let first = &program.statements[0];
        assert_eq!((first.expectations.as_slice(), first.line), ([Expectation::Rows(1..=1)].as_slice(), 4));
        assert_eq!(first.label.as_deref(), Some("read"));
        assert!(matches!(&first.gather, Some(Gather::Columns { slots, last: false }) if slots.len() == 2));
        assert_eq!(program.statements[3].role, Role::End);
        assert!(!program.only_reads());
    }

    fn kinds(program: &Program) -> Vec<String> {
        program.ops.iter().map(|op| format!("{op:?}")).collect()
    }

    #[test]
    fn a_pipeline_keeps_its_statements_back() {
        let program = compiled("\\startpipeline\nBEGIN;\nSELECT 1;\nCOMMIT;\n\\endpipeline\nSELECT 2;").unwrap();
        assert_eq!(kinds(&program), ["Queue(0)", "Queue(1)", "Queue(2)", "EndPipeline(3)", "Run(4)"]);
        let listed: Vec<&str> = program.listing.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(listed, ["\\startpipeline", "BEGIN;", "SELECT 1;", "COMMIT;", "\\endpipeline", "SELECT 2;"]);
        assert_eq!(program.listed, [1, 2, 3, 4, 5]);
        assert!(program.has_pipeline() && program.only_reads());
    }

    #[test]
    fn statements_are_joined_where_they_travel_as_text() {
        let of = |text: &str, protocol| {
            let source = Source { path: "a.sql".to_owned(), text: text.to_owned() };
            compile(&source, &mut Variables::of_pgbench(&BTreeMap::new(), &BTreeMap::new(), protocol))
        };
        let program = of("BEGIN\\; UPDATE t SET a = :a \\; SELECT 1 AS x \\gset p_\nEND;", Protocol::Simple).unwrap();
        let first = &program.statements[0];
        assert_eq!(first.prepared(driver::Dialect::MySql).0, "BEGIN; UPDATE t SET a = ? ; SELECT 1 AS x");
        assert_eq!((first.role, first.opens, first.is_joined), (Role::Write, Some(true), true));
        assert_eq!(first.gather, Some(Gather::Named { prefix: "p_".to_owned(), last: false }));
        assert_eq!((program.statements[1].opens, program.joins_statements()), (Some(false), true));
        assert_eq!(program.listing[0].text, "BEGIN; UPDATE t SET a = :a ; SELECT 1 AS x");
        assert!(of("SELECT 1\\; SELECT 2;", Protocol::Prepared).is_err());
        assert!(of("\\startpipeline\nSELECT 1;\n\\endpipeline", Protocol::Simple).is_err());
    }

    #[test]
    fn what_may_be_a_mistake_is_a_warning() {
        let warnings = |text: &str| compiled(text).unwrap().warnings;
        assert_eq!(warnings("-- expect: 1 row\nSELECT ':unknown', \":hot\", '12:30' /* :hot */;\n"), [""; 0]);
        let quoted =
            "order.sql:2: `:hot` in quotes stays as it is; expected a variable outside of them, or another text";
        assert_eq!(warnings("SELECT 1,\n  ':hot x', :hot;"), [quoted]);
        let note = "order.sql:1: unknown note `expct`; expected `expect:`, or other words in a comment";
        assert_eq!(warnings("-- expct: 1 row\nSELECT 1;"), [note]);
        let last = "order.sql:2: the last statement has no `;`; expected one at its end";
        assert_eq!(warnings("SELECT 1;\nSELECT 2\n"), [last]);
        let open = |text: &str| {
            let warnings = warnings(text);
            assert!(warnings.iter().all(|one| one.contains("may be open at the file's end")), "{warnings:?}");
            warnings.first().map(|one| one["order.sql:".len()..].split(':').next().unwrap().to_owned())
        };
        assert_eq!(open("BEGIN;\nSELECT 1;\nCOMMIT;"), None);
        assert_eq!(open("SELECT 1;\nBEGIN;\nSELECT 1;").as_deref(), Some("2"));
        assert_eq!(open("BEGIN;\n\\if :scale > 1\nCOMMIT;\n\\else\nROLLBACK;\n\\endif\n"), None);
        assert_eq!(open("BEGIN;\n\\if :scale > 1\nCOMMIT;\n\\endif\n").as_deref(), Some("1"));
        assert_eq!(open("\\if :scale > 1\nBEGIN;\n\\endif\nSELECT 1;\nCOMMIT;"), None);
    }

    #[test]
    fn mistakes_have_a_place_a_line_and_what_was_expected() {
        let check = |text: &str, expected: &str| {
            let found = compiled(text).unwrap_err();
            assert!(found.starts_with(expected), "{text}\n{found}");
        };
        check(
            "SELECT 1;\n  \\set item random_zipf(1, 1000, 1.1)\n",
            "order.sql:2:13: unknown function `random_zipf`\n  \\set item random_zipf(1, 1000, 1.1)\n            ^ expected a function; nearest is random_zipfian",
        );
        check(
            "SELECT :scal;",
            "order.sql:1:8: unknown variable `scal`\nSELECT :scal;\n       ^ expected a variable; nearest is scale",
        );
        check("SELECT :x;\n\\set x 1\n", "order.sql:1:8: unknown variable `x`");
        check(
            "\\sett x 1\nSELECT 1;",
            "order.sql:1:1: unknown command `\\sett`\n\\sett x 1\n^ expected a command; nearest is set",
        );
        check("\\set 1x 1\nSELECT 1;", "order.sql:1:6: `1x` is no name of a variable");
        check("\\set scale 1\nSELECT 1;", "order.sql:1:6: `scale` has its value from outside");
        check("\\set x\nSELECT 1;", "order.sql:1:7: the expression ends here");
        check("\\if true\nSELECT 1;", "order.sql:1:1: \\if without its \\endif");
        check("SELECT 1;\n\\endif", "order.sql:2:1: \\endif without its \\if");
        check("\\if true\n\\else\n\\elif true\n\\endif\nSELECT 1;", "order.sql:3:1: \\elif behind \\else");
        check("\\shell ls\nSELECT 1;", "order.sql:1:1: `\\shell` is refused");
        check("\\startpipeline\nSELECT 1;", "order.sql:1:1: \\startpipeline without its \\endpipeline");
        check("SELECT 1 \\; SELECT 2;", "order.sql:1:10: `\\;` joins statements into one text");
        check("SELECT 'a;", "order.sql:1:8: a text without its end");
        check("-- nothing\n", "order.sql:1:1: the script has no statement");
        check("\\sleep 0.01\nSELECT 1;", "order.sql:1:8: no time to sleep");
        check("-- expect: one row\nSELECT 1;", "order.sql:1:1: `one row` cannot be expected");
        check("SELECT count(*) FROM t \\gset", "order.sql:1:1: column 1 has no name");
        check("\\gset\nSELECT 1;", "order.sql:1:1: \\gset without a statement");
        let both = compiled("\\set x 1/0\nSELECT :y;\n").unwrap_err();
        assert!(both.contains("order.sql:1:9: division by zero") && both.contains("order.sql:2:8: unknown"), "{both}");
        assert!(compiled("-- a comment: with a colon\n-- Note: this\nSELECT 1").is_ok());
    }
}
