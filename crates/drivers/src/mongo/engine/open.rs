//! Opening: the format, and what this process keeps of the key space.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use espalier_keyspace::{Error, ErrorKind, Lens, Result};
use mongodb::bson::{Document, doc};
use parking_lot::{Mutex, RwLock};

use super::chain::Chain;
use super::connection::{Server, Sure};
use super::names::Kind;
use super::recent::Recent;
use crate::mongo::config::Config;

/// Bytes of one transaction: 2 MiB. The limit of MongoDB is 16 MiB a document, and keys and values
/// grow on their way.
pub const REQUEST_BYTES: usize = 2 << 20;

/// The index of versions by their end, and then by `_id`: those that have none are together.
pub(super) const LIVE: &str = "live";

/// The layout of documents that this code writes and reads.
const FORMAT: i32 = 1;

/// A key space in MongoDB.
pub(in crate::mongo) struct Engine {
    pub(in crate::mongo) server: Server,
    pub(in crate::mongo) chain: Chain,
    /// What was read last, for the commit that follows.
    pub(in crate::mongo) recent: Mutex<Recent>,
    /// Held by the transaction of this process that is under way.
    pub(in crate::mongo) turn: Mutex<()>,
    /// How long old versions are kept.
    pub(in crate::mongo) keep: Duration,
    /// Operations of one transaction.
    pub(in crate::mongo) operations: usize,
    /// When this process deleted old versions last.
    pub(in crate::mongo) pruned: Mutex<Instant>,
    /// What people read, where versions have fields for that.
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
        let engine = Self {
            server: Server::open(config)?,
            chain: Chain::new(config.keep),
            recent: Mutex::default(),
            turn: Mutex::new(()),
            keep: config.keep,
            operations: config.operations,
            pruned: Mutex::new(Instant::now()),
            lens: RwLock::new(None),
            is_readable: AtomicBool::new(false),
        };
        engine.check_format()?;
        engine.make_live()?;
        engine.set_readable(config.readable)?;
        engine.prune_leftovers()?;
        Ok(engine)
    }

    /// Makes the index that reads go by; older programs made another.
    fn make_live(&self) -> Result<()> {
        for kind in Kind::ALL.into_iter().filter(|kind| kind.has_past()) {
            let key = doc! { "until": 1, "_id": 1 };
            self.server.make_index(kind.name(), LIVE, key)?;
        }
        Ok(())
    }

    fn check_format(&self) -> Result<()> {
        let Some(found) = format(&self.server)? else {
            for kind in Kind::ALL {
                let pending = doc! { "pending": 1 };
                self.server.make_index(kind.name(), "pending", pending)?;
            }
            let format = doc! { "_id": "format", "format": FORMAT };
            let made = self.server.insert("state", vec![format], Sure::Last);
            return match made {
                Ok(_) => Ok(()),
                Err(trouble) => Err(trouble.error),
            };
        };
        match found.get_i32("format") {
            Ok(FORMAT) => Ok(()),
            found => {
                let found = found.map_or("unknown".to_owned(), |format| format.to_string());
                let message = format!(
                    "the key space in MongoDB at {} has format {found}; this program reads \
                     {FORMAT}; use a newer one",
                    self.server.place
                );
                Err(Error::new(ErrorKind::WrongVersion, message))
            }
        }
    }
}
