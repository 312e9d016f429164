//! `cargo xtask tidy`.
fn main() {}
