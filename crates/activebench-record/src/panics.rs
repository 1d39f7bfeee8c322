//! Turns a panic over a stranger's data into an error that nobody sees printed.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// `Some` while a panic of this thread is expected: then its message, once it happened.
    static EXPECTED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Calls `work`; returns the message of its panic if it panics. The panic is not printed. Panics of other threads are
/// printed as before.
///
/// # Errors
/// When `work` panics.
pub fn without_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let earlier = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // A thread that is ending has no `EXPECTED` any more.
            let is_expected = EXPECTED.try_with(|expected| match &mut *expected.borrow_mut() {
                Some(message) => {
                    let place =
                        panic.location().map_or_else(String::new, |at| format!("{}:{}: ", at.file(), at.line()));
                    let payload = panic.payload();
                    let text = payload.downcast_ref::<String>().map(String::as_str);
                    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
                    *message = format!("{place}{}", text.unwrap_or("no message"));
                    true
                }
                None => false,
            });
            if !is_expected.unwrap_or(false) {
                earlier(panic);
            }
        }));
    });
    let before = EXPECTED.replace(Some(String::new()));
    let worked = catch_unwind(AssertUnwindSafe(work));
    let message = EXPECTED.replace(before);
    worked.map_err(|_| message.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message_also_inside_another() {
        assert_eq!(without_panic(|| 7), Ok(7));
        let outer = without_panic(|| {
            let inner = without_panic(|| -> u32 { panic!("inner") });
            assert!(inner.unwrap_err().contains("inner"));
            panic!("outer")
        });
        let said: String = outer.map(|(): ()| String::new()).unwrap_err();
        assert!(said.contains("outer") && said.contains("panics.rs"), "{said}");
    }
}
