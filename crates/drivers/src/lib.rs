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

#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
mod authority;
#[cfg(any(feature = "embedded", feature = "file"))]
mod boot_id;
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
mod buffered;
#[cfg(any(
    feature = "embedded",
    feature = "file",
    feature = "sqlite",
    feature = "postgres"
))]
mod commit_queue;
#[cfg(any(
    feature = "postgres",
    feature = "redis",
    feature = "mongo",
    feature = "etcd"
))]
#[cfg_attr(
    not(any(feature = "redis", feature = "mongo", feature = "etcd")),
    allow(dead_code)
)]
mod credentials;
#[cfg_attr(
    not(any(
        feature = "embedded",
        feature = "file",
        feature = "sqlite",
        feature = "postgres",
        feature = "redis",
        feature = "mongo"
    )),
    allow(dead_code)
)]
mod durability;
mod effective_durability;
#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(any(
    feature = "postgres",
    feature = "redis",
    feature = "mongo",
    feature = "etcd"
))]
#[cfg_attr(
    not(all(feature = "postgres", feature = "mongo", feature = "etcd")),
    allow(dead_code)
)]
mod error_chain;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(feature = "file")]
pub mod file;
#[cfg(any(feature = "embedded", feature = "file", feature = "sqlite"))]
mod file_identity;
#[cfg(feature = "tls")]
mod file_verifier;
#[cfg_attr(
    not(all(feature = "embedded", feature = "file", feature = "sqlite")),
    allow(dead_code)
)]
mod files;
#[cfg_attr(
    not(all(feature = "embedded", feature = "file", feature = "sqlite")),
    allow(dead_code)
)]
mod foreign_files;
#[cfg(any(feature = "embedded", feature = "file", feature = "sqlite"))]
#[cfg_attr(
    not(all(feature = "embedded", feature = "file", feature = "sqlite")),
    allow(dead_code)
)]
mod group_commit;
#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "mongo")]
pub mod mongo;
#[cfg(any(
    feature = "sqlite",
    feature = "postgres",
    feature = "redis",
    feature = "mongo"
))]
mod paged_cursor;
#[cfg(any(feature = "memory", feature = "postgres", feature = "redis"))]
mod partial_cache;
#[cfg(feature = "memory")]
mod policy;
#[cfg(any(feature = "embedded", feature = "sqlite", feature = "mongo"))]
#[cfg_attr(not(any(feature = "embedded", feature = "sqlite")), allow(dead_code))]
mod polled_watch;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod prefetched;
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
mod range_set;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mongo"))]
mod readable_columns;
#[cfg_attr(
    not(any(
        feature = "memory",
        feature = "embedded",
        feature = "sqlite",
        feature = "postgres"
    )),
    allow(dead_code, unused_imports)
)]
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
#[cfg_attr(
    not(all(feature = "embedded", feature = "file", feature = "sqlite")),
    allow(dead_code)
)]
mod store_files;
#[cfg(feature = "tls")]
mod tls_hints;
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
mod tls_probe;
mod url;

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
