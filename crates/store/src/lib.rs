//! Trees laid out in the key space and changed atomically. The only crate that knows both.
