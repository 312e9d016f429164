//! Opens stores, and the trees, collections and statistics in them, under the default names of the command
//! `espalier`.

use std::sync::Arc;

#[cfg(feature = "documents")]
use espalier_documents::Documents;
#[cfg(feature = "notifications")]
use espalier_service::SessionDatastore;
#[cfg(feature = "stats")]
use espalier_stats::Stats;
#[cfg(any(feature = "documents", feature = "stats"))]
use espalier_store::Subspace;
use espalier_store::{Datastore, Error, Result, Store, SystemClock, Tree, UpgradeOptions};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::{DataError, ErrorTag};

/// The name of the dataspace, of the schema set and of the anchor that [`tree`] uses.
pub const DEFAULT_NAME: &str = "default";

/// Opens the store at a URL, such as `embedded:DIR`; creates it if it does not exist.
///
/// # Errors
/// [`Error::Engine`] if the URL is invalid, its engine is not in this build, or the engine fails; the errors of
/// [`Store::open`].
pub fn open(url: &str) -> Result<Store> {
    let driver = espalier_drivers::open(url)?;
    Store::open(driver, Arc::new(SystemClock))
}

/// Opens the running datastore of the tree that these YANG modules describe; creates it if it does not exist. If the
/// store has the tree under other modules, its data are converted to these.
///
/// Imported modules must be given too, unless they are built in ([`espalier_yang::standard`]).
///
/// # Errors
/// [`Error::Data`] for modules that do not compile; [`Error::Upgrade`] for data that are invalid under the modules.
/// Nothing is changed then.
pub fn tree(store: &Store, modules: &[&str]) -> Result<Tree> {
    let source = SchemaSource {
        modules: modules
            .iter()
            .map(|text| module(text))
            .collect::<Result<_>>()?,
        ..SchemaSource::default()
    };
    let name = DEFAULT_NAME;
    ignoring_existing(store.create_dataspace(name))?;
    match store.create_schema_set(name, name, &source) {
        Err(Error::Exists { .. }) => {
            store.upgrade_schema_set(name, name, &source, UpgradeOptions::default())?;
        }
        result => result.map(drop)?,
    }
    ignoring_existing(store.create_anchor(name, name, name))?;
    store.tree(name, name, Datastore::Running)
}

/// A tree as a session of this program sees it, to whom no access rules apply: it sends notifications and subscribes to
/// them.
///
/// ```
/// use std::time::Duration;
/// use espalier::notifications::{Delivery, Encoding, Notification, SubscriptionOptions};
///
/// const MODULE: &str = "module m { namespace urn:m; prefix m;
///   notification alarm { leaf text { type string; } } }";
/// let store = espalier::open("memory:")?;
/// let running = espalier::session(&espalier::tree(&store, &[MODULE])?)?;
/// let mut received = running.subscribe(SubscriptionOptions::default())?;
///
/// let alarm = br#"{"m:alarm":{"text":"hot"}}"#;
/// running.notify(Notification::parse_json(running.schema(), "", alarm, None)?)?;
/// let Some(Delivery::Event(event)) = received.next(Duration::from_secs(10))? else { panic!("no event") };
/// assert_eq!(event.name(), "alarm");
/// assert!(event.document(Encoding::Json).ends_with(br#""m:alarm":{"text":"hot"}}}"#));
/// # Ok::<(), espalier::Error>(())
/// ```
///
/// # Errors
/// `operation-failed` if the operating system gives no random bytes.
#[cfg(feature = "notifications")]
pub fn session(tree: &Tree) -> Result<SessionDatastore> {
    SessionDatastore::of_program(tree.clone())
}

fn module(text: &str) -> Result<ModuleSource> {
    ModuleSource::from_text(text).ok_or_else(|| {
        let message = "the text does not begin with `module NAME {` or `submodule NAME {`";
        DataError::new(ErrorTag::InvalidValue, message).into()
    })
}

/// The document collections of a store.
#[cfg(feature = "documents")]
pub fn documents(store: &Store) -> Documents {
    Documents::new(Arc::clone(store.driver()), &Subspace::Documents.key())
}

/// The statistics of a store.
///
/// # Errors
/// Those of [`Stats::open`].
#[cfg(feature = "stats")]
pub fn statistics(store: &Store) -> espalier_stats::Result<Stats> {
    let clock = Arc::new(espalier_stats::SystemClock);
    Stats::open(
        Arc::clone(store.driver()),
        &Subspace::Statistics.key(),
        clock,
    )
}

fn ignoring_existing<T>(result: Result<T>) -> Result<()> {
    match result {
        Err(Error::Exists { .. }) => Ok(()),
        result => result.map(drop),
    }
}
