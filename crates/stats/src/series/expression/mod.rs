//! Expressions over values: `(a - b) / a * 100`.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = sign { ("*" | "/") sign }
//! sign    = { "+" | "-" } atom
//! atom    = number | name | function "(" sum { "," sum } ")" | "(" sum ")"
//! ```
//!
//! A name is a letter: `a` for the first given path, `b` for the second, and so on. The functions are `sum`,
//! `mean` (or `avg`), `min`, `max` and `sqrt`.

mod apply;
mod parse;
mod tokens;

pub use parse::Expression;
