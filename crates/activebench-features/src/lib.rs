//! Holds no code. Its manifest gives `xtask`, the product and the tests one set of features for each third-party
//! crate that they share, so that nothing is compiled twice (`Cargo.toml` beside this folder says how).
