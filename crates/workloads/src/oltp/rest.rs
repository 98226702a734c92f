//! How statements travel, and the rests of 0.4's user between those of one request.
//!
//! Rests are a type of the client, so that one without rests has no code for them: to wait for nothing before each
//! statement would cost an eighth of all that a statement costs us.

use driver::{Answer, Connection, Error, Statement, Value};

use super::sql::Template;
use load::{Clock, MonotonicClock, Rng};

/// How one statement travels.
pub enum Form {
    Prepared(Statement),
    Text(Template),
}

/// How a user sends statements other than BEGIN and COMMIT.
pub trait Habit {
    fn send<C: Connection>(
        &mut self,
        connection: &mut C,
        text: &mut String,
        form: &Form,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Answer, Error>>;
}

/// One after the other.
pub struct NoRest;

impl Habit for NoRest {
    fn send<C: Connection>(
        &mut self,
        connection: &mut C,
        text: &mut String,
        form: &Form,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Answer, Error>> {
        send(connection, text, form, values)
    }
}

/// Behind rests of a random length between two bounds.
pub struct Rest {
    least_us: u64,
    span_us: u64,
    clock: MonotonicClock,
    /// Apart from the inputs, which are the same with rests and without.
    rng: Rng,
}

impl Rest {
    pub fn new((least_us, most_us): (u64, u64), clock: MonotonicClock, rng: Rng) -> Rest {
        Rest { least_us, span_us: most_us - least_us + 1, clock, rng }
    }
}

impl Habit for Rest {
    async fn send<C: Connection>(
        &mut self,
        connection: &mut C,
        text: &mut String,
        form: &Form,
        values: &[Value<'_>],
    ) -> Result<Answer, Error> {
        let rest_us = self.least_us + self.rng.below(self.span_us);
        self.clock.wait_until(self.clock.now_ns() + rest_us * 1_000).await;
        send(connection, text, form, values).await
    }
}

pub async fn send<C: Connection>(
    connection: &mut C,
    text: &mut String,
    form: &Form,
    values: &[Value<'_>],
) -> Result<Answer, Error> {
    match form {
        Form::Prepared(statement) => connection.execute(*statement, values).await,
        Form::Text(template) => {
            template.fill(values, text);
            connection.query(text).await
        }
    }
}
