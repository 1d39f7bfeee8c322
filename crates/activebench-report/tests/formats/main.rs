//! Every format on the same runs: snapshots, the JSON schema, and hostile text.

mod acceptance;
mod compare;
mod exports;
mod glance;
mod history;
mod hostile;
mod html;
mod json;
mod junit;
mod markdown;
mod parts;
mod replication;
mod samples;
mod sarif;
mod series;
mod tables;
mod text;
mod timelines;
mod wording;
