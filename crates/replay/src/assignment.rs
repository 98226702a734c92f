//! Sessions of the log on clients: as few as the log had sessions at once.
//!
//! A client replays the next session when the one before has ended in the replay. That one ended in the log before the
//! next began, so this wait is one of those that the order of transactions has as well.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The sessions of each client, from when each began and ended.
pub fn assigned(sessions: &[(i64, i64)]) -> Vec<Vec<u32>> {
    let mut by_begin: Vec<u32> = (0..sessions.len() as u32).collect();
    by_begin.sort_by_key(|one| sessions[*one as usize]);
    let mut clients: Vec<Vec<u32>> = Vec::new();
    let mut free: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    for session in by_begin {
        let (begin, end) = sessions[session as usize];
        let client = match free.peek_mut() {
            Some(first) if first.0.0 < begin => PeekMut::pop(first).0.1,
            _ => {
                clients.push(Vec::new());
                clients.len() - 1
            }
        };
        clients[client].push(session);
        free.push(Reverse((end, client)));
    }
    clients
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_share_a_client_only_one_after_the_other() {
        assert_eq!(assigned(&[(0, 10), (5, 8), (9, 20), (11, 12)]), [vec![0, 3], vec![1, 2]]);
        assert_eq!(assigned(&[(0, 10), (10, 20)]).len(), 2, "whether one had ended is not known");
        assert!(assigned(&[]).is_empty());
    }
}
