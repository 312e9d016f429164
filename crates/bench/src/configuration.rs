//! Where stores of the bench are made: on an engine, under a memory policy, with a durability.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Batch, Driver, KeyRange, Policy};
use tempfile::TempDir;

use super::engine::{Durability, Engine, LOCAL, MEMORY};
use super::raw::{self, Contents, RawEngine};
use super::recorder::Recorder;
use super::row::Environment;
use espalier_terminal::{Failure, Result};

/// How long those that follow an engine may take to notice that nobody needs them any more.
const FOLLOWERS_END: Duration = Duration::from_secs(1);

/// An engine, a policy, and a durability.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The engine.
    pub engine: Engine,
    /// How much of it is held in memory.
    pub policy: Policy,
    /// When commits are on disk.
    pub durability: Durability,
}

impl Configuration {
    /// Every engine with every policy and durability that it can have. Memory has none of them.
    pub fn all(engines: &[Engine], policies: &[Policy], durabilities: &[Durability]) -> Vec<Self> {
        let mut configurations = Vec::new();
        for engine in engines {
            if *engine == Engine::Memory {
                configurations.push(Self::memory());
                continue;
            }
            for &policy in policies {
                let can = durabilities.iter().copied();
                for durability in can.filter(|&durability| engine.takes(durability)) {
                    configurations.push(Self {
                        engine: engine.clone(),
                        policy,
                        durability,
                    });
                }
            }
        }
        configurations
    }

    /// The memory driver.
    pub fn memory() -> Self {
        Self {
            engine: Engine::Memory,
            policy: Policy::Ram,
            durability: Durability::None,
        }
    }

    /// An engine as it is; what is committed need not be on the disk when a commit returns, where
    /// the engine has that choice.
    pub fn relaxed(engine: Engine) -> Self {
        let durability = match engine.takes(Durability::Relaxed) {
            true => Durability::Relaxed,
            false => Durability::Durable,
        };
        match engine {
            Engine::Memory => Self::memory(),
            engine => Self {
                engine,
                policy: Policy::Uncached,
                durability,
            },
        }
    }

    /// As rows tell it.
    pub fn on(&self) -> Environment {
        Environment {
            driver: self.engine.scheme().to_owned(),
            policy: self.policy.name(),
            durability: self.durability.as_str(),
        }
    }

    /// A new, empty home for a store.
    pub fn location(&self) -> Result<StoreLocation> {
        let name = new_name();
        let folder = match &self.engine {
            Engine::Local { below, .. } => Some(new_folder(below)?),
            _ => None,
        };
        let durability = self.durability.as_str();
        let url = match (&self.engine, &folder) {
            (Engine::Local { scheme, .. }, Some(folder)) => {
                let file = LOCAL.iter().find(|(name, _)| name == scheme);
                let file = file.map_or("", |(_, file)| file);
                let folder = folder.path().display();
                format!("{scheme}:{folder}{file}?durability={durability}")
            }
            (Engine::Server { url }, _) => named_store(url, &name, self.durability)?,
            _ => format!("{MEMORY}:"),
        };
        Ok(StoreLocation {
            configuration: self.clone(),
            url,
            name,
            folder,
            driver: None,
        })
    }
}

/// A name that nothing has yet.
fn new_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("espalier_bench_{}_{number}", std::process::id())
}

/// The URL of a store of its own on a server.
fn named_store(url: &str, name: &str, durability: Durability) -> Result<String> {
    let (place, options) = url.split_once('?').unwrap_or((url, ""));
    let names_store =
        |option: &&str| option.starts_with("schema=") || option.starts_with("prefix=");
    let options = options.split('&').filter(|option| !option.is_empty());
    let options = options.filter(|option| !names_store(option));
    let mut options: Vec<String> = options.map(str::to_owned).collect();
    let scheme = url.split(':').next().unwrap_or_default();
    let mut place = place.trim_end_matches('/').to_owned();
    match scheme {
        "postgres" | "postgresql" => options.push(format!("schema={name}")),
        "redis" | "rediss" | "mongodb" => options.push(format!("prefix={name}")),
        "etcd" => place = format!("{place}/{name}"),
        _ => {
            let message = format!("the bench makes no stores of its own on {scheme}:");
            return Err(Failure::usage(message));
        }
    }
    let is_told = options
        .iter()
        .any(|options| options.contains("durability="));
    if scheme != "etcd" && !is_told {
        options.push(format!("durability={}", durability.as_str()));
    }
    let options = options.join("&");
    Ok(match options.as_str() {
        "" => place,
        options => format!("{place}?{options}"),
    })
}

/// Where one store lives; gone when dropped.
pub struct StoreLocation {
    configuration: Configuration,
    url: String,
    name: String,
    // Closed before its folder goes.
    driver: Option<Arc<dyn Driver>>,
    folder: Option<TempDir>,
}

impl StoreLocation {
    /// What the store is opened with: a recorder over the engine, and the policy over both, so that
    /// the recorder notes what the engine is asked for.
    pub fn open(&mut self) -> Result<(Arc<Recorder>, Arc<dyn Driver>)> {
        let engine = espalier_drivers::open(&self.url)?;
        let recorder = Arc::new(Recorder::new(engine));
        let below = Arc::clone(&recorder) as Arc<dyn Driver>;
        let driver = match self.configuration.policy {
            _ if self.configuration.engine == Engine::Memory => below,
            Policy::Uncached => below,
            policy => {
                let options = format!("policy={}", policy.name());
                espalier_drivers::under_policy(below, &options)?
            }
        };
        self.driver = Some(Arc::clone(&recorder) as Arc<dyn Driver>);
        Ok((recorder, driver))
    }

    /// The URL of its engine, without a policy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Lets go of the engine, which is closed when nobody else holds it.
    pub fn close(&mut self) {
        self.driver = None;
    }

    /// The engine's own client with what a driver holds now; none for memory.
    pub fn raw_copy(&self, driver: &dyn Driver) -> Result<Option<Raw>> {
        let raw = self.raw()?;
        if let Some(raw) = &raw {
            raw.engine.load(&Contents::of(driver)?)?;
        }
        Ok(raw)
    }

    /// The engine's own client, on an empty place of its own; none for memory.
    pub fn raw(&self) -> Result<Option<Raw>> {
        let folder = self.folder.as_ref().map(|folder| new_folder(folder.path()));
        let folder = folder.transpose()?;
        let place = folder.as_ref().map(TempDir::path);
        let engine = raw::open(
            &self.configuration.engine,
            place,
            &new_name(),
            self.configuration.durability,
        )?;
        Ok(engine.map(|engine| Raw {
            engine,
            _folder: folder,
        }))
    }
}

/// An engine's own client, and its folder.
pub struct Raw {
    /// The client.
    pub engine: Box<dyn RawEngine>,
    _folder: Option<TempDir>,
}

impl Drop for StoreLocation {
    fn drop(&mut self) {
        if let (Engine::Server { url }, Some(driver)) =
            (&self.configuration.engine, self.driver.take())
        {
            let mut batch = Batch::new();
            batch.delete_range(KeyRange::all());
            // What is left has a name of its own, and is in nobody's way.
            drop(driver.commit(batch));
            // Whoever follows the engine ends before its tables go.
            let began = Instant::now();
            while Arc::strong_count(&driver) > 1 && began.elapsed() < FOLLOWERS_END {
                thread::sleep(FOLLOWERS_END / 100);
            }
            drop(driver);
            drop(raw::remove(url, &self.name));
        }
    }
}

/// A folder below the one where stores are made; removed when dropped.
pub fn new_folder(below: &Path) -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix("espalier-bench-")
        .tempdir_in(below)
        .map_err(|error| {
            Failure::usage(format!("no store can be made: {error}")).in_file(below.display())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_store_of_a_server_has_a_name_of_its_own() {
        let cases = [
            (
                "postgres://h/d",
                "postgres://h/d?schema=n&durability=relaxed",
            ),
            (
                "redis://h:1/0?timeout_ms=5",
                "redis://h:1/0?timeout_ms=5&prefix=n&durability=relaxed",
            ),
            (
                "redis://h:1/0?durability=relaxed",
                "redis://h:1/0?durability=relaxed&prefix=n",
            ),
            ("etcd://a,b/x", "etcd://a,b/x/n"),
            ("mongodb://h/d", "mongodb://h/d?prefix=n&durability=relaxed"),
        ];
        for (url, wanted) in cases {
            let named = named_store(url, "n", Durability::Relaxed).expect("a server");
            assert_eq!(named, wanted);
        }
    }
}
