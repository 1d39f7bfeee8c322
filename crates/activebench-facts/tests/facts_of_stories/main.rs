//! Tests of activity, facts, profiles and time series, from invented runs with known results.

mod activity;
mod durability;
mod facts;
mod host_counters;
mod names;
mod observed_passes;
mod payload;
mod rates_over_time;
mod readings;
mod serving;
mod shape;
mod story;
mod thread_time;
mod timelines;
