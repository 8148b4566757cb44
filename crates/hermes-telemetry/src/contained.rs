//! Catching the panics of one piece of work, so that the rest of the process goes on.
//!
//! The program's panic hook ends the process. It asks [`is_contained`] first and leaves such a panic
//! to [`contained`].

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs `action`; a panic in it becomes an error with its text. The caller must then give up what
/// the action worked on, because it may be half done.
pub fn contained<T>(action: impl FnOnce() -> T) -> Result<T, String> {
    let _depth = Depth::deeper();
    catch_unwind(AssertUnwindSafe(action)).map_err(|panic| text_of(panic.as_ref()).to_owned())
}

/// Whether a panic of this thread, now, would end in [`contained`].
pub fn is_contained() -> bool {
    DEPTH.get() > 0
}

struct Depth;

impl Depth {
    fn deeper() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_text_and_the_thread_goes_on() {
        assert!(!is_contained());
        assert_eq!(contained(|| 2), Ok(2));
        let inner = contained(|| {
            assert!(is_contained());
            let failed: Result<(), String> = contained(|| panic!("on {}", "purpose"));
            assert!(is_contained(), "the outer one still holds");
            failed
        });
        assert_eq!(inner, Ok(Err("on purpose".to_owned())));
        assert!(!is_contained());
    }
}
