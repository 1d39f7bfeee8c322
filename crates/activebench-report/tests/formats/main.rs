//! Every format on the same runs: snapshots, the JSON schema, and hostile text.

mod courses;
mod hostile;
mod html;
mod json;
mod markdown;
mod parts;
mod samples;
mod series;
mod text;
