//! Opens an engine by its URL, regardless of its contents.

use std::sync::Arc;

use espalier_drivers::{EffectiveDurability, ResolvedUrl};
use espalier_keyspace::{Direction, Driver, KeyRange, ReadOnly};

use super::local::store_on;
use crate::settings::Settings;
use espalier_terminal::{Failure, Result, url_name};

/// The scheme of the engine with files that users may edit.
const FILE_SCHEME: &str = "file:";

/// The scheme of the engine that is in memory only.
const MEMORY_SCHEME: &str = "memory:";

/// The option with which an engine is read into memory and written in memory only.
const RAM_OPTION: &str = "policy=ram";

/// Why a command cannot write under `policy=ram`.
const RAM_REFUSAL: &str = "under policy=ram the engine is not written to, and what this command changes would be gone \
     when it ends: leave policy=ram out, or write through a server (espalier serve --store URL, then --server URL)";

/// What happens if the store does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Opening fails: a mistyped name must not become an empty store.
    Existing,
    /// The store is created.
    Create,
}

impl OpenMode {
    /// The mode of commands that write: a store is created if modules are named for it.
    pub fn for_write(settings: &Settings) -> Self {
        match settings.yang.is_empty() || settings.dry_run {
            true => Self::Existing,
            false => Self::Create,
        }
    }
}

/// Opens the engine at a URL.
pub fn open_engine(url: &str, open_mode: OpenMode) -> Result<Arc<dyn Driver>> {
    if open_mode == OpenMode::Existing {
        require_existing(url)?;
    }
    let failed = |error| cannot_open(url, &error);
    let driver = espalier_drivers::open(url).map_err(failed)?;
    if open_mode == OpenMode::Existing && driver.capability().durable {
        let snapshot = driver.snapshot().map_err(failed)?;
        let mut cursor = snapshot
            .scan(&KeyRange::all(), Direction::Forward)
            .map_err(failed)?;
        if cursor.next().map_err(failed)?.is_none() {
            return Err(no_store(&resolve(url)?));
        }
    }
    Ok(driver)
}

/// Opens the engine at a URL for one command. Under `policy=ram` it is read-only and is not created.
pub fn open_for_command(url: &str, open_mode: OpenMode) -> Result<Arc<dyn Driver>> {
    if !is_ram(url) {
        return open_engine(url, open_mode);
    }
    if open_mode == OpenMode::Create && !resolve(url)?.exists {
        return Err(Failure::usage(RAM_REFUSAL));
    }
    let driver = open_engine(url, open_mode)?;
    Ok(Arc::new(ReadOnly::with_reason(driver, RAM_REFUSAL)))
}

/// Opens the engine at a URL as the source of a copy. If its files may have been edited by hand, the edits are
/// imported or rejected first.
pub fn open_source(url: &str) -> Result<Arc<dyn Driver>> {
    let driver = open_engine(url, OpenMode::Existing)?;
    if url.starts_with(FILE_SCHEME) {
        store_on(Arc::clone(&driver))?;
    }
    Ok(driver)
}

/// Opens the engine at a URL as the target of a copy. Fails if the engine does not keep the data.
pub fn open_target(url: &str) -> Result<Arc<dyn Driver>> {
    // Checked before opening, which creates the engine.
    if !url.starts_with(MEMORY_SCHEME) && !is_ram(url) {
        let driver = open_engine(url, OpenMode::Create)?;
        if driver.capability().durable {
            return Ok(driver);
        }
    }
    let name = url_name(url);
    Err(Failure::usage(format!(
        "what is written to {name} is gone when this command ends"
    )))
}

/// Returns whether a URL has `policy=ram`: writes go to memory only, in any engine.
fn is_ram(url: &str) -> bool {
    let options = url.rsplit_once('?').map_or("", |(_, options)| options);
    options.split('&').any(|option| option == RAM_OPTION)
}

/// Fails if there is no store at a URL. Creates nothing.
pub fn require_existing(url: &str) -> Result<()> {
    let resolved = resolve(url)?;
    match resolved.exists {
        true => Ok(()),
        false => Err(no_store(&resolved)),
    }
}

/// The effective durability of commits in the engine at a URL.
pub fn effective_durability(url: &str) -> Result<EffectiveDurability> {
    espalier_drivers::effective_durability(url).map_err(|error| cannot_open(url, &error))
}

fn resolve(url: &str) -> Result<ResolvedUrl> {
    espalier_drivers::resolve(url).map_err(|error| cannot_open(url, &error))
}

fn cannot_open(url: &str, error: &espalier_keyspace::Error) -> Failure {
    let name = url_name(url);
    Failure::data(format!("the store {name} cannot be opened: {error}"))
}

fn no_store(resolved: &ResolvedUrl) -> Failure {
    let name = &resolved.url;
    let message = format!("there is no store at {name}: nothing was ever written there");
    let hint =
        "check the name; what writes makes a store where modules are named: --yang FILE|DIR|NAME";
    Failure::no_store(message).hint(hint)
}

/// Returns whether two URLs name the same file or folder, also by different paths. URLs of servers are not compared
/// here, but by their open engines.
pub fn is_same_store(one: &str, other: &str) -> bool {
    let location = |url: &str| {
        let (scheme, rest) = url.split_once(':')?;
        let location = rest.rsplit_once('?').map_or(rest, |(location, _)| location);
        let path = std::fs::canonicalize(location).ok()?;
        Some((scheme.to_owned(), path))
    };
    location(one).is_some_and(|one| Some(one) == location(other))
}
