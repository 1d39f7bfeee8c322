//! Tests of activity, facts, profiles and time series, from invented runs with known results.

mod activity;
mod courses;
mod durability;
mod facts;
mod names;
mod pace;
mod payload;
mod profile;
mod shape;
mod story;
mod surroundings;
