//! One client's connection with its statements: how they are sent, and how they are counted.
//!
//! Statements are addressed by kind and table. Whether they travel prepared or as text is decided
//! when they are made; neither allocates later.

use driver::{Connection, Error, Value};

use super::rest::{Form, Habit, send};
use super::rules::{RollBack, Rules};
use super::script::Oltp;
use super::sql::{KINDS, Kind, Statements, Template};
use load::{Answers, Attempt};

/// Room for the text of any statement but one with a list: two strings and two numbers.
const TEXT_BYTES: usize = 1024;
/// Room for a value of a list, with what stands around it.
const LIST_VALUE_BYTES: usize = 40;

pub struct Session<C, H> {
    pub connection: C,
    rules: Rules,
    /// By kind, then by table; the kinds that the script lacks have none.
    statements: [Vec<Form>; KINDS],
    /// BEGIN and COMMIT, or what stands for them, where statements do not commit themselves.
    brackets: Option<(Form, Form)>,
    /// Where statements are written that are not prepared.
    text: String,
    habit: H,
    /// By kind.
    pub answers: [Answers; KINDS],
}

impl<C: Connection, H: Habit> Session<C, H> {
    /// Prepares BEGIN and COMMIT once, and each kind of statement once per table, as sysbench does.
    pub fn new(workload: &Oltp, mut connection: C, habit: H) -> Result<Session<C, H>, Error> {
        let dialect = connection.dialect();
        let mut form = |template: Template| {
            if workload.prepares {
                connection.prepare(&template.prepared(dialect)).map(Form::Prepared)
            } else {
                Ok(Form::Text(template))
            }
        };
        let brackets = if workload.transaction() {
            let texts = workload.bracket_texts(workload.classic.brackets, dialect);
            Some((form(Template::fixed(&texts.open))?, form(Template::fixed(&texts.close))?))
        } else {
            None
        };
        let sql = Statements::of(workload.schema.version);
        let list_values = workload.list_values();
        let mut statements: [Vec<Form>; KINDS] = Default::default();
        for kind in workload.kinds() {
            for table in 0..workload.schema.tables {
                let template = sql.template(kind, &workload.subject(kind, table), dialect, list_values);
                statements[kind as usize].push(form(template)?);
            }
        }
        let text = String::with_capacity(TEXT_BYTES + list_values * LIST_VALUE_BYTES);
        Ok(Session {
            connection,
            rules: workload.rules,
            statements,
            brackets,
            text,
            habit,
            answers: Default::default(),
        })
    }

    /// Opens a transaction, where the workload has any.
    pub async fn begin(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        let Some((begin, _)) = &self.brackets else { return Ok(()) };
        self.rules.count_sent(None, attempt);
        let answer = send(&mut self.connection, &mut self.text, begin, &[]).await?;
        self.rules.count_answered(None, answer, attempt);
        Ok(())
    }

    pub async fn commit(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        let Some((_, commit)) = &self.brackets else { return Ok(()) };
        attempt.committing = true;
        self.rules.count_sent(None, attempt);
        let answer = send(&mut self.connection, &mut self.text, commit, &[]).await?;
        attempt.committing = false;
        self.rules.count_answered(None, answer, attempt);
        Ok(())
    }

    pub async fn run(
        &mut self,
        kind: Kind,
        table: usize,
        values: &[Value<'_>],
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        // Outside a transaction a statement commits itself.
        attempt.committing = self.brackets.is_none() && !kind.is_read();
        self.rules.count_sent(Some(kind), attempt);
        let form = &self.statements[kind as usize][table];
        let answer = self.habit.send(&mut self.connection, &mut self.text, form, values).await?;
        attempt.committing = false;
        self.rules.count_answered(Some(kind), answer, attempt);
        self.answers[kind as usize].take(answer);
        Ok(())
    }

    /// A failed statement leaves some servers inside a transaction and others outside; ROLLBACK is
    /// right in the first case and refused, or ignored, in the second.
    pub async fn roll_back(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        let how = self.rules.roll_back(self.connection.dialect());
        if self.brackets.is_none() || how == RollBack::Unsaid {
            return Ok(());
        }
        match self.connection.query("ROLLBACK").await {
            Ok(_) | Err(Error::Refused { .. }) => {
                attempt.other += u64::from(how == RollBack::Counted);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
