//! Opening: the check of the format, and the engine, this process's handle of a key space.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use espalier_keyspace::{Error, ErrorKind, Lens, Result};
use mongodb::bson::{Document, doc};
use parking_lot::{Mutex, RwLock};

use super::commit_chain::Chain;
use super::connection::{Server, WriteConcern};
use super::error::corrupt;
use super::fields::version_in;
use super::pages::{PageCache, page_cache};
use crate::mongo::config::{Config, KEEP};

/// The layout of documents that this code reads and writes. Format 1 had a document for each row, format 2
/// compressed pages with LZ4.
const FORMAT: i32 = 3;

/// A key space in MongoDB.
pub(in crate::mongo) struct Engine {
    pub(in crate::mongo) server: Server,
    pub(in crate::mongo) chain: Chain,
    /// Pages that were read or written last.
    pub(super) page_cache: PageCache,
    /// Approximate bytes of a page.
    pub(in crate::mongo) page_bytes: usize,
    /// Maximum bytes of commits that are not in the tree yet.
    pub(in crate::mongo) tail_bytes: usize,
    /// Locked by the current commit of this process. The version after which it is this process's turn: a turn
    /// that this version reserves does not delay it.
    pub(in crate::mongo) turn: Mutex<Option<u64>>,
    /// Write-locked by a streamed write, read-locked by a commit.
    pub(in crate::mongo) streamed_write: RwLock<()>,
    /// How long replaced data is kept.
    pub(in crate::mongo) keep: Duration,
    /// When this process deleted old versions last.
    pub(in crate::mongo) pruned_at: Mutex<Instant>,
    /// Decodes rows for human readers, if the key space has documents for them.
    pub(in crate::mongo) lens: RwLock<Option<Arc<dyn Lens>>>,
    pub(in crate::mongo) is_readable: AtomicBool,
}

/// Whether a key space exists, in any format.
pub(in crate::mongo) fn exists(config: &Config) -> Result<bool> {
    Ok(format_document(&Server::open(config)?)?.is_some())
}

/// The document with the format of the key space.
fn format_document(server: &Server) -> Result<Option<Document>> {
    server.get("state", "format")
}

impl Engine {
    /// Connects, and creates the key space if it does not exist.
    pub(in crate::mongo) fn open(config: &Config) -> Result<Self> {
        let server = Server::open(config)?;
        let keep = check_format(&server, config.keep)?;
        let engine = Self {
            server,
            chain: Chain::new(keep),
            page_cache: page_cache(config.page_bytes),
            page_bytes: config.page_bytes,
            tail_bytes: config.tail_bytes,
            turn: Mutex::new(None),
            streamed_write: RwLock::new(()),
            keep,
            pruned_at: Mutex::new(Instant::now()),
            lens: RwLock::new(None),
            is_readable: AtomicBool::new(false),
        };
        engine.set_readable(config.readable)?;
        let (newest, _) = engine.newest()?;
        engine.prune_leftovers(&newest);
        Ok(engine)
    }
}

/// Checks the format of the key space, or creates the key space. Returns how long replaced data is kept: all
/// processes have to agree on that, so it is stored when the key space is created.
fn check_format(server: &Server, keep: Option<Duration>) -> Result<Duration> {
    let insert = |document| {
        let inserted = server.insert("state", vec![document], WriteConcern::Majority);
        inserted.map_err(|failure| failure.error)
    };
    loop {
        let Some(found) = format_document(server)? else {
            let keep_ms = keep.unwrap_or(KEEP).as_millis() as i64;
            insert(doc! { "_id": "floor", "version": 0_i64 })?;
            insert(doc! { "_id": "format", "format": FORMAT, "keep_ms": keep_ms })?;
            continue;
        };
        let address = &server.address;
        let message = match found.get_i32("format") {
            Ok(FORMAT) => {
                let kept = version_in(&found, "keep_ms").map(Duration::from_millis);
                let kept = kept.ok_or_else(|| corrupt("invalid format document"))?;
                if keep.is_some_and(|keep| keep != kept) {
                    let keep_ms = kept.as_millis();
                    tracing::warn!(
                        keep_ms,
                        "the key space was created with a different keep_ms, which is used"
                    );
                }
                return Ok(kept);
            }
            Ok(older @ 1..FORMAT) => format!(
                "the key space in MongoDB at {address} has format {older} of an earlier version; this \
                 program reads format {FORMAT}; copy the key space with the program that wrote it"
            ),
            found => {
                let found = found.map_or("unknown".to_owned(), |format| format.to_string());
                format!(
                    "the key space in MongoDB at {address} has format {found}; this program reads \
                     format {FORMAT}; use a newer version"
                )
            }
        };
        return Err(Error::new(ErrorKind::WrongVersion, message));
    }
}
