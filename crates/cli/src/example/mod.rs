//! Examples that the binary can write, to start from.

mod network;

pub use network::files;
