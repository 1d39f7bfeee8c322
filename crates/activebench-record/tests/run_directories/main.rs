//! Run directories and redacted copies: written, read again, cut and garbled.

mod redaction;
mod run_directory;
