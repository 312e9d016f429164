//! Keys and values in memory, in order of the keys: a B+ tree whose clones are made in constant
//! time.
//!
//! Every engine of ours that is in memory is one of these: the memory driver, files, what the
//! policies keep, the rows of documents. It is made for what these do: millions of short keys and
//! values, one of which is found or changed, while others read what was before.
//!
//! The decision behind it: a node is a [`page`] of packed bytes, not an array of pointers to keys.
//! A search touches some cache lines of it instead of one for each comparison, a copy is two copies of
//! memory instead of a count taken of each key and value, and a key takes 20 bytes beside its own.
//! Nodes are shared between clones, and a node that nobody else holds is changed where it is.

mod map;
mod node;
mod page;
mod pairs;
mod place;

pub use map::ByteMap;
pub use node::Added;
pub use pairs::Pairs;
