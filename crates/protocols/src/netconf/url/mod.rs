//! The documents that the `url` parameters of operations name (RFC 6241 §8.8): files in one folder, and documents of named
//! HTTPS servers. The documents are `config` elements.
//!
//! | file | content |
//! |---|---|
//! | `url_access.rs` | what may be accessed, and by which scheme |
//! | `folder.rs` | files below a folder, without links |
//! | `https.rs` | documents of HTTPS servers |

mod folder;
mod https;
mod url_access;

pub use url_access::{UrlAccess, UrlSettings};
