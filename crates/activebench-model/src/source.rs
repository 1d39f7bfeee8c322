//! Sources of the events of a run.

use std::error::Error;
use std::fmt;

use crate::call::{Call, PlainCall};
use crate::event_kinds;
use crate::library::LibraryCalls;
use crate::log::Totals;
use crate::thread_stacks::Stacks;

/// Error: events could not be read, with the reason from the code that read them.
#[derive(Debug)]
pub struct Unreadable(Box<dyn Error + Send + Sync>);

impl Unreadable {
    /// Creates the error for a reason.
    pub fn new(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Unreadable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Events in batches.
pub type Batches<'a, T> = Box<dyn Iterator<Item = Result<Vec<T>, Unreadable>> + 'a>;

fn none<'a, T: 'a>() -> Batches<'a, T> {
    Box::new(std::iter::empty())
}

/// Rows of one batch.
const BATCH: usize = 1 << 16;

fn batches<T: Clone>(rows: &[T]) -> Batches<'_, T> {
    Box::new(rows.chunks(BATCH).map(|batch| Ok(batch.to_vec())))
}

fn plain<'a>(calls: Batches<'a, Call>) -> Batches<'a, PlainCall> {
    Box::new(calls.map(|batch| batch.map(|calls| calls.iter().map(PlainCall::from).collect())))
}

fn structural<'a>(calls: Batches<'a, PlainCall>) -> Batches<'a, PlainCall> {
    let structural = |mut batch: Vec<PlainCall>| {
        batch.retain(|call| PlainCall::is_structural(call.op, call.kind));
        batch
    };
    Box::new(calls.map(move |batch| batch.map(structural)))
}

macro_rules! declare_source {
    ($(
        $(#[$doc:meta])* $kind:ident $method:ident from $from:ident: $event:ty, $table:literal, $class:expr, $about:literal;
    )*) => {
        /// The events of one run, in batches, which can be read any number of times. A source implements only the
        /// kinds that it has.
        ///
        /// The calls of one thread are chronological. The calls of different threads and all other
        /// events can be in any order.
        pub trait EventSource {
            $(
                $(#[$doc])*
                fn $method(&self) -> Batches<'_, $event> {
                    none()
                }
            )*

            /// The same calls without their costs. A source that reads them in less time than the whole calls does so.
            fn plain_calls(&self) -> Batches<'_, PlainCall> {
                plain(self.calls())
            }

            /// The calls for which [`PlainCall::is_structural`] returns `true`, in the order of [`EventSource::calls`].
            /// A source that finds them without reading all calls does so.
            fn structural_calls(&self) -> Batches<'_, PlainCall> {
                structural(self.plain_calls())
            }

            /// Returns the calls of library functions; `None` where they were not counted.
            ///
            /// # Errors
            /// Returns an error if they cannot be read or decoded.
            fn library(&self) -> Result<Option<LibraryCalls>, Unreadable> {
                Ok(None)
            }

            /// Returns the stacks that the samples refer to.
            ///
            /// # Errors
            /// Returns an error if they cannot be read.
            fn stacks(&self) -> Result<Stacks, Unreadable> {
                Ok(Stacks::default())
            }

            /// Returns the sums of the events past the log's cut; empty for a log that was not cut.
            ///
            /// # Errors
            /// Returns an error if they cannot be read.
            fn totals(&self) -> Result<Totals, Unreadable> {
                Ok(Totals::default())
            }
        }

        /// Events in memory: for tests, and for runs that are not stored.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Events {
            $($(#[$doc])* pub $method: Vec<$event>,)*
            /// See [`EventSource::stacks`].
            pub stacks: Stacks,
        }

        impl EventSource for Events {
            $(
                fn $method(&self) -> Batches<'_, $event> {
                    batches(&self.$method)
                }
            )*

            fn stacks(&self) -> Result<Stacks, Unreadable> {
                Ok(self.stacks.clone())
            }
        }
    };
}

event_kinds!(declare_source);
