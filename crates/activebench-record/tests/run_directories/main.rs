//! Run directories and redacted copies: written, read again, cut and garbled.

mod earlier_formats;
mod redaction;
mod run_directory;
