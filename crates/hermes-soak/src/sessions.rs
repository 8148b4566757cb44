//! Many sessions of one turn each.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::client::{Api, read_chat};
use crate::model::Question;

/// Sessions that are begun at the same time.
const AT_ONCE: usize = 4;

/// Begins so many sessions, a few at a time, each with the question of its number.
pub(crate) fn begin_sessions(api: &Api, count: usize, question: impl Fn(usize) -> Question + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let question = question(number);
                    let answer = api.chat(&question.text()).unwrap();
                    assert_eq!(read_chat(answer), Ok(question.answer()));
                }
            });
        }
    });
}
