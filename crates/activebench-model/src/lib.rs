//! The nouns of activebench and their units.
//!
//! This crate has the types that cross crate borders: claims, calls, phases, facts, findings,
//! verdicts, the report. It does not do I/O, judge or parse: adapters create claims,
//! `activebench-facts` computes facts, `activebench-detect` judges. One container is here, too:
//! [`grouped`], values by key.

pub mod acceptance;
pub mod acceptance_batch;
pub mod activity;
pub mod advice;
pub mod bound;
pub mod call;
pub mod ceiling;
pub mod claim;
pub mod command;
pub mod compare;
pub mod coverage;
pub mod daemon;
pub mod direction;
pub mod errno;
pub mod event;
pub mod fact;
pub mod figures;
pub mod finding;
pub mod grouped;
pub mod hardware;
pub mod history;
pub mod hook;
pub mod host;
pub mod library;
pub mod limiter;
pub mod log;

pub mod measurement;
pub mod observed_pass;
pub mod output;
pub mod phase;
pub mod preparation;
pub mod program_times;
pub mod readings;
pub mod remedy;
pub mod replication;
pub mod report;
pub mod run;
pub mod script_figure;
pub mod sentence;
pub mod series;
pub mod sha256;
pub mod source;
pub mod table;
pub mod target;
pub mod thread_stacks;
pub mod timeline;
pub mod units;
pub mod verdict;
pub mod watch;
