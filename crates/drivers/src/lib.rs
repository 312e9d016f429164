//! Storage engines behind the key space contract, one folder each, the same files in each.
//!
//! | file | holds |
//! |---|---|
//! | `config.rs` | the options, and how they stand in a URL |
//! | `driver.rs` | the [`Driver`](espalier_keyspace::Driver) itself |
//! | `engine/` | the engine itself, and all that only it needs |
//! | `snapshot.rs` | snapshots and cursors |
//! | `commit.rs` | how batches and writes are applied |
//! | `watch.rs` | how changes are told |
//!
//! Every driver is a Cargo feature of its name. Which engine to use is a URL, see [`open`].

#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
mod authority;
#[cfg(any(feature = "embedded", feature = "file"))]
mod boot;
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
mod buffered;
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
#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(feature = "file")]
pub mod file;
#[cfg_attr(
    not(all(feature = "embedded", feature = "file", feature = "sqlite")),
    allow(dead_code)
)]
mod files;
#[cfg(any(feature = "embedded", feature = "file", feature = "sqlite"))]
#[cfg_attr(
    not(all(feature = "embedded", feature = "file", feature = "sqlite")),
    allow(dead_code)
)]
mod group;
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
mod identity;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod known;
#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "mongo")]
pub mod mongo;
#[cfg(any(feature = "embedded", feature = "file", feature = "sqlite"))]
mod opened;
#[cfg(any(
    feature = "sqlite",
    feature = "postgres",
    feature = "redis",
    feature = "mongo"
))]
mod pages;
#[cfg(any(feature = "memory", feature = "postgres", feature = "redis"))]
mod partly;
#[cfg(feature = "tls")]
mod pinned;
#[cfg(feature = "memory")]
mod policy;
#[cfg(any(feature = "embedded", feature = "sqlite", feature = "mongo"))]
#[cfg_attr(not(any(feature = "embedded", feature = "sqlite")), allow(dead_code))]
mod polled;
#[cfg(feature = "postgres")]
pub mod postgres;
mod promise;
#[cfg(any(
    feature = "embedded",
    feature = "file",
    feature = "sqlite",
    feature = "postgres"
))]
mod queue;
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
mod range_set;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mongo"))]
mod readable;
#[cfg_attr(
    not(any(
        feature = "memory",
        feature = "embedded",
        feature = "sqlite",
        feature = "postgres"
    )),
    allow(dead_code, unused_imports)
)]
mod recent;
mod redact;
#[cfg(feature = "redis")]
pub mod redis;
mod registry;
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
mod said;
mod site;
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
mod speech;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "etcd")]
mod staged;
#[cfg_attr(
    not(all(feature = "embedded", feature = "file", feature = "sqlite")),
    allow(dead_code)
)]
mod store_files;
#[cfg_attr(
    not(all(feature = "embedded", feature = "file", feature = "sqlite")),
    allow(dead_code)
)]
mod strangers;
#[cfg(feature = "tls")]
mod trust;
mod url;

pub use durability::Durability;
#[cfg(feature = "tls")]
pub use pinned::FileVerifier;
#[cfg(feature = "memory")]
pub use policy::under_policy;
pub use promise::Promise;
pub use redact::{redacted, redacted_url};
pub use registry::{Scheme, exposed, is_file_of, look, open, promise, schemes};
pub use site::Site;
pub use store_files::{Exposed, store_around};
#[cfg(feature = "tls")]
pub use trust::certificate_problem;
