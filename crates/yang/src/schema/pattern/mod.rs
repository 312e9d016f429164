//! XSD regular expressions (XML Schema part 2, appendix F), as used by YANG's `pattern`, on the `regex` crate: matching
//! takes time linear in the value, for every pattern.
//!
//! The translation parses the XSD grammar and writes an equivalent expression; no part of the pattern is passed to the
//! engine unparsed. The differences between the two languages:
//!
//! - a pattern matches the whole value; `^` and `$` are ordinary characters (as in libyang);
//! - `.` is any character but line feed and carriage return;
//! - `\d \w \s \i \c` and their complements have XSD's Unicode meaning;
//! - `\p{IsBlock}` is written out as a range, `[a-z-[aeiou]]` as the engine's own difference;
//! - lazy quantifiers, back-references, look-around and the like do not exist in XSD and are rejected with their
//!   column.
//!
//! Two things are more liberal than XSD, because published models need them: a backslash before any ASCII punctuation
//! stands for that character, and an opening bracket in a class is a character. Where libyang (through PCRE2) differs
//! from XSD, this module follows XSD: libyang's `\w` has `_` and lacks symbols, its `\s` has all Unicode spaces, its
//! `.` matches a carriage return, and it supports neither `\i`, `\c` nor class subtraction.

mod block;
mod class;
mod error;
mod lazy;
mod translate;

pub use error::PatternError;
pub use lazy::LazyRegex;
pub use translate::{
    COMPILED_BYTES_MAX, PATTERN_CHARS_MAX, PATTERN_DEPTH_MAX, REPEAT_MAX, translate,
};
