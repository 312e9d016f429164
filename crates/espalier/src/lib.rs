//! A model-driven datastore as a library: data trees described by YANG modules, document collections with indexes,
//! and statistics in time buckets, on the storage engine of your choice.
//!
//! ```
//! use espalier::{Error, json};
//!
//! const MODULE: &str = "module network {
//!   namespace urn:example:network; prefix n;
//!   list device { key name; leaf name { type string; }
//!     leaf mtu { type uint16 { range 68..9216; } default 1500; } } }";
//!
//! let store = espalier::open("memory:")?;
//! let tree = espalier::tree(&store, &[MODULE])?;
//! json::merge(&tree, r#"{"network:device":[{"name":"core-1","mtu":9000}]}"#)?;
//! assert_eq!(json::get(&tree, "/network:device=core-1/mtu")?.as_deref(), Some(r#"{"network:mtu":9000}"#));
//!
//! let refused = json::merge(&tree, r#"{"network:device":[{"name":"core-1","mtu":40}]}"#);
//! let Err(Error::Data(errors)) = refused else { panic!("it was stored") };
//! assert_eq!(errors.iter().next().unwrap().path, "/network:device[name='core-1']/mtu");
//! # Ok::<(), Error>(())
//! ```
//!
//! A [`Store`] is a key space with a catalog of models and trees. A [`Tree`] is one datastore of such a tree:
//! running, candidate, startup or operational (RFC 8342). A [`View`] is a consistent snapshot of it. [`Tree::commit`]
//! changes it atomically: every constraint of the models is validated, at a cost that depends on the size of the
//! change, not on that of the tree.
//!
//! The scheme of the URL that [`open`] accepts selects the engine: `memory:`, `embedded:DIR` (LMDB), `file:DIR`,
//! `sqlite:FILE`, `postgres://…`, `redis://…`, `mongodb://…`, `etcd://…`. Each is a Cargo feature. The command
//! `espalier` works on the same stores.
//!
//! [`session`] gives the notifications of a tree: sending, and subscriptions with replay.
//!
//! Each part is a separate crate, re-exported here: [`yang`], [`store`], `documents`, `stats`, [`keyspace`],
//! [`drivers`].

pub mod json;
mod open;

#[cfg(feature = "documents")]
pub use espalier_documents as documents;
pub use espalier_drivers as drivers;
pub use espalier_keyspace as keyspace;
#[cfg(feature = "notifications")]
pub use espalier_service as service;
#[cfg(feature = "notifications")]
pub use espalier_service::notifications;
#[cfg(feature = "stats")]
pub use espalier_stats as stats;
pub use espalier_store as store;
pub use espalier_yang as yang;

pub use espalier_store::{
    Commit, CommitOptions, Datastore, Edit, Error, Event, Events, Result, Selection, Store, Tree,
    View,
};
pub use espalier_yang::{DataError, ErrorTag, Errors, InstancePath, Schema};
#[cfg(feature = "documents")]
pub use open::documents;
#[cfg(feature = "notifications")]
pub use open::session;
#[cfg(feature = "stats")]
pub use open::statistics;
pub use open::{DEFAULT_NAME, open, tree};
