//! Whether clients of a pooler share sessions of the server, by the numbers that the server gives its sessions.

use driver::{Admin, Error};

/// Rounds of questions by which sessions of the server are told apart: one that other clients use at this moment is
/// given to nobody else.
pub const ROUNDS: usize = 4;

/// The session of the server that serves a client at this moment, by a question which the server itself answers.
pub fn session_behind(admin: &mut Admin, question: &str) -> Result<Option<u64>, Error> {
    Ok(admin.value(question)?.and_then(|number| number.parse().ok()))
}

/// Whether two clients that are connected at the same time are served by one session, or one of them by two. Asked three
/// at a time, so that a pooler which gives its sessions out in turn is seen too.
pub fn shares(first: &mut Admin, second: &mut Admin, question: &str) -> Result<bool, Error> {
    let (mut of_first, mut of_second) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        of_first.extend(session_behind(first, question)?);
        of_second.extend(session_behind(second, question)?);
        of_second.extend(session_behind(second, question)?);
    }
    let is_one = |sessions: &[u64]| sessions.iter().all(|one| *one == sessions[0]);
    Ok(!is_one(&of_first) || !is_one(&of_second) || of_first.iter().any(|one| of_second.contains(one)))
}
