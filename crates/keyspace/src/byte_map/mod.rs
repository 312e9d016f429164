//! An in-memory ordered map of byte keys and values: a B+ tree with constant-time clones.
//!
//! All in-memory data of this project is stored in it: the memory driver, the file driver, caches of the
//! memory policies, the rows of documents. The workload is millions of short keys and values, of which one
//! at a time is read or changed while other threads read older states.
//!
//! A node is a [`page`] of packed bytes, not an array of pointers to keys. A search touches a few cache
//! lines instead of one per comparison; copying a node is two memory copies instead of a reference count
//! per key and value; the overhead per key is 20 bytes. Nodes are shared between clones (copy on write); a
//! node that is not shared is changed in place.

mod cursor;
mod map;
mod node;
mod page;
mod slot;

pub use cursor::ByteMapCursor;
pub use map::ByteMap;
pub use node::CounterUpdate;
