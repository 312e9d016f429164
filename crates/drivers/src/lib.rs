//! Storage engines behind the key space contract, one folder per engine, with the same files in each.
//!
//! | file | holds |
//! |---|---|
//! | `config.rs` | the options, and their form in a URL |
//! | `driver.rs` | the implementation of [`Driver`](espalier_keyspace::Driver) |
//! | `engine/` | the engine and everything specific to it |
//! | `snapshot.rs` | snapshots and cursors |
//! | `commit.rs` | applying batches and writes |
//! | `watch.rs` | reporting changes |
//!
//! Every driver is a Cargo feature of the same name. A URL selects the engine, see [`open`].

// With fewer engines, some of the code that they share is not used.
#![cfg_attr(not(feature = "all"), allow(dead_code, unused_imports))]

mod boot_id;
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
mod buffered;
mod credentials;
mod durability;
mod effective_durability;
#[cfg(feature = "embedded")]
pub mod embedded;
mod error_chain;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(feature = "file")]
pub mod file;
mod file_identity;
#[cfg(feature = "tls")]
mod file_verifier;
mod files;
mod foreign_files;
mod group_commit;
mod group_commit_queue;
#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "mongo")]
pub mod mongo;
mod page;
mod paged_cursor;
mod partial_cache;
#[cfg(feature = "memory")]
mod policy;
mod polled_watch;
#[cfg(feature = "postgres")]
pub mod postgres;
mod prefetched;
mod range_set;
mod readable_columns;
mod recent_commits;
mod redact;
#[cfg(feature = "redis")]
pub mod redis;
mod registry;
mod resolved_url;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "etcd")]
mod staged;
mod store_files;
mod streamed_write;
#[cfg(feature = "tls")]
mod tls_hints;
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
mod tls_probe;
mod url;
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
mod url_authority;

pub use durability::Durability;
pub use effective_durability::EffectiveDurability;
#[cfg(feature = "tls")]
pub use file_verifier::FileVerifier;
#[cfg(feature = "memory")]
pub use policy::under_policy;
pub use redact::{redacted, redacted_url};
pub use registry::{
    Scheme, effective_durability, exposed_files, is_store_file, open, resolve, schemes,
};
pub use resolved_url::ResolvedUrl;
pub use store_files::{ExposedFile, enclosing_store};
#[cfg(feature = "tls")]
pub use tls_hints::certificate_problem;
