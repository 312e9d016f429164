//! Opening: the format, and what this process keeps of the key space.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use espalier_keyspace::{Error, ErrorKind, Lens, Result};
use mongodb::bson::{Document, doc};
use parking_lot::{Mutex, RwLock};

use super::chain::Chain;
use super::connection::{Server, Sure};
use super::error::corrupt;
use super::fields::version_in;
use super::pages::{Kept, kept};
use crate::mongo::config::{Config, KEEP};

/// The layout of documents that this code writes and reads. Format 1 had a document for each row, format 2
/// compressed them with LZ4.
const FORMAT: i32 = 3;

/// A key space in MongoDB.
pub(in crate::mongo) struct Engine {
    pub(in crate::mongo) server: Server,
    pub(in crate::mongo) chain: Chain,
    /// Pages that were read or made last.
    pub(super) kept: Kept,
    /// Bytes of a page, about.
    pub(in crate::mongo) page_bytes: usize,
    /// Bytes of commits that are not in the tree yet.
    pub(in crate::mongo) tail_bytes: usize,
    /// Held by the commit of this process that is under way: the version after which it is its turn,
    /// whatever that asks of others.
    pub(in crate::mongo) turn: Mutex<Option<u64>>,
    /// Held for writing by a streamed write, for reading by a commit.
    pub(in crate::mongo) writing: RwLock<()>,
    /// How long what is replaced is kept.
    pub(in crate::mongo) keep: Duration,
    /// When this process deleted old versions last.
    pub(in crate::mongo) pruned: Mutex<Instant>,
    /// What people read, where there are documents for that.
    pub(in crate::mongo) lens: RwLock<Option<Arc<dyn Lens>>>,
    pub(in crate::mongo) is_readable: AtomicBool,
}

/// Whether there is a key space, whatever its format.
pub(in crate::mongo) fn exists(config: &Config) -> Result<bool> {
    Ok(format(&Server::open(config)?)?.is_some())
}

/// The document that says which format a key space has.
fn format(server: &Server) -> Result<Option<Document>> {
    server.get("state", "format")
}

impl Engine {
    /// Connects, and makes the key space where there is none.
    pub(in crate::mongo) fn open(config: &Config) -> Result<Self> {
        let server = Server::open(config)?;
        let keep = check_format(&server, config.keep)?;
        let engine = Self {
            server,
            chain: Chain::new(keep),
            kept: kept(config.page_bytes),
            page_bytes: config.page_bytes,
            tail_bytes: config.tail_bytes,
            turn: Mutex::new(None),
            writing: RwLock::new(()),
            keep,
            pruned: Mutex::new(Instant::now()),
            lens: RwLock::new(None),
            is_readable: AtomicBool::new(false),
        };
        engine.set_readable(config.readable)?;
        let (newest, _) = engine.newest()?;
        engine.prune_leftovers(&newest);
        Ok(engine)
    }
}

/// Reads the format of a key space, or makes it. Returns how long what is replaced is kept: all processes
/// have to agree on that, so it stands there since the key space was made.
fn check_format(server: &Server, keep: Option<Duration>) -> Result<Duration> {
    let insert = |document| {
        let made = server.insert("state", vec![document], Sure::Always);
        made.map_err(|trouble| trouble.error)
    };
    loop {
        let Some(found) = format(server)? else {
            let keep_ms = keep.unwrap_or(KEEP).as_millis() as i64;
            insert(doc! { "_id": "floor", "version": 0_i64 })?;
            insert(doc! { "_id": "format", "format": FORMAT, "keep_ms": keep_ms })?;
            continue;
        };
        let place = &server.place;
        let message = match found.get_i32("format") {
            Ok(FORMAT) => {
                let kept = version_in(&found, "keep_ms").map(Duration::from_millis);
                let kept = kept.ok_or_else(|| corrupt("the format"))?;
                if keep.is_some_and(|keep| keep != kept) {
                    let keep_ms = kept.as_millis();
                    tracing::warn!(keep_ms, "the key space was made with another keep_ms");
                }
                return Ok(kept);
            }
            Ok(older @ 1..FORMAT) => format!(
                "the key space in MongoDB at {place} has format {older}, of an earlier version; this \
                 program reads {FORMAT}; copy it to a new one with the program that wrote it"
            ),
            found => {
                let found = found.map_or("unknown".to_owned(), |format| format.to_string());
                format!(
                    "the key space in MongoDB at {place} has format {found}; this program reads \
                     {FORMAT}; use a newer one"
                )
            }
        };
        return Err(Error::new(ErrorKind::WrongVersion, message));
    }
}
