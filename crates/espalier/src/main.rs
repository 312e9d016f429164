//! The `espalier` command.

fn main() {}
