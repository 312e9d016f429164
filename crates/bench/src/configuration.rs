//! The configuration of a store: engine, memory policy and durability; and the location of one store.

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
use super::row::EngineLabels;
use espalier_terminal::{Failure, Result};

/// The time to wait for watchers of an engine to end after their store is closed.
const WATCHERS_END_MAX: Duration = Duration::from_secs(1);

/// An engine, a policy, and a durability.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The engine.
    pub engine: Engine,
    /// The memory policy.
    pub policy: Policy,
    /// Whether commits wait for the disk.
    pub durability: Durability,
}

impl Configuration {
    /// All valid combinations of engines, policies and durabilities. Memory has neither policies nor durabilities.
    pub fn all(engines: &[Engine], policies: &[Policy], durabilities: &[Durability]) -> Vec<Self> {
        let mut configurations = Vec::new();
        for engine in engines {
            if *engine == Engine::Memory {
                configurations.push(Self::memory());
                continue;
            }
            for &policy in policies {
                let possible = durabilities.iter().copied();
                for durability in possible.filter(|&durability| engine.takes(durability)) {
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

    /// An engine without a policy, and with relaxed durability if the engine has that choice.
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

    /// The URL of an engine, without a policy, with that of this configuration.
    pub fn with_policy(&self, url: &str) -> String {
        let joint = if url.contains('?') { '&' } else { '?' };
        format!("{url}{joint}policy={}", self.policy.name())
    }

    /// The labels of rows measured with this configuration.
    pub fn labels(&self) -> EngineLabels {
        EngineLabels {
            driver: self.engine.scheme().to_owned(),
            policy: self.policy.name(),
            durability: self.durability.as_str(),
        }
    }

    /// Creates a location for a new, empty store.
    pub fn location(&self) -> Result<StoreLocation> {
        let name = new_name();
        let folder = match &self.engine {
            Engine::Local { parent, .. } => Some(new_folder(parent)?),
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

/// A unique name.
fn new_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("espalier_bench_{}_{number}", std::process::id())
}

/// The URL of a separate store on a server.
fn named_store(url: &str, name: &str, durability: Durability) -> Result<String> {
    let (base, options) = url.split_once('?').unwrap_or((url, ""));
    let names_store =
        |option: &&str| option.starts_with("schema=") || option.starts_with("prefix=");
    let options = options.split('&').filter(|option| !option.is_empty());
    let options = options.filter(|option| !names_store(option));
    let mut options: Vec<String> = options.map(str::to_owned).collect();
    let scheme = url.split(':').next().unwrap_or_default();
    let mut base = base.trim_end_matches('/').to_owned();
    match scheme {
        "postgres" | "postgresql" => options.push(format!("schema={name}")),
        "redis" | "rediss" | "mongodb" => options.push(format!("prefix={name}")),
        "etcd" => base = format!("{base}/{name}"),
        _ => {
            let message = format!("the bench cannot create separate stores on {scheme}:");
            return Err(Failure::usage(message));
        }
    }
    let has_durability = options
        .iter()
        .any(|options| options.contains("durability="));
    if scheme != "etcd" && !has_durability {
        options.push(format!("durability={}", durability.as_str()));
    }
    let options = options.join("&");
    Ok(match options.as_str() {
        "" => base,
        options => format!("{base}?{options}"),
    })
}

/// The location of one store; removed when dropped.
pub struct StoreLocation {
    configuration: Configuration,
    url: String,
    name: String,
    // Closed before its folder is removed.
    driver: Option<Arc<dyn Driver>>,
    folder: Option<TempDir>,
}

impl StoreLocation {
    /// Opens the engine. Returns a recorder over the engine, and the driver to open the store with: the policy over
    /// the recorder, so that the recorder records the reads and writes that reach the engine.
    pub fn open(&mut self) -> Result<(Arc<Recorder>, Arc<dyn Driver>)> {
        let engine = espalier_drivers::open(&self.url)?;
        let recorder = Arc::new(Recorder::new(engine));
        let engine_driver = Arc::clone(&recorder) as Arc<dyn Driver>;
        let driver = match self.configuration.policy {
            _ if self.configuration.engine == Engine::Memory => engine_driver,
            Policy::Uncached => engine_driver,
            policy => {
                let options = format!("policy={}", policy.name());
                espalier_drivers::under_policy(engine_driver, &options)?
            }
        };
        self.driver = Some(Arc::clone(&recorder) as Arc<dyn Driver>);
        Ok((recorder, driver))
    }

    /// The URL of the engine, without a policy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Drops the reference to the engine, which closes when the last reference is dropped.
    pub fn close(&mut self) {
        self.driver = None;
    }

    /// The engine's own client, with a copy of the current content of a driver; none for memory.
    pub fn raw_copy(&self, driver: &dyn Driver) -> Result<Option<RawClient>> {
        let raw = self.raw_client()?;
        if let Some(raw) = &raw {
            raw.engine.load(&Contents::of(driver)?)?;
        }
        Ok(raw)
    }

    /// The engine's own client, with an empty store; none for memory.
    pub fn raw_client(&self) -> Result<Option<RawClient>> {
        let folder = self.folder.as_ref().map(|folder| new_folder(folder.path()));
        let folder = folder.transpose()?;
        let base = folder.as_ref().map(TempDir::path);
        let engine = raw::open(
            &self.configuration.engine,
            base,
            &new_name(),
            self.configuration.durability,
        )?;
        Ok(engine.map(|engine| RawClient {
            engine,
            _folder: folder,
        }))
    }
}

/// An engine's own client and its folder.
pub struct RawClient {
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
            // Anything left over has a unique name and disturbs nothing.
            drop(driver.commit(batch));
            // Watchers of the engine must end before its tables are dropped.
            let began = Instant::now();
            while Arc::strong_count(&driver) > 1 && began.elapsed() < WATCHERS_END_MAX {
                thread::sleep(WATCHERS_END_MAX / 100);
            }
            drop(driver);
            drop(raw::remove(url, &self.name));
        }
    }
}

/// Creates a temporary folder in `parent`; removed when dropped.
pub fn new_folder(parent: &Path) -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix("espalier-bench-")
        .tempdir_in(parent)
        .map_err(|error| {
            Failure::usage(format!("the store cannot be created: {error}"))
                .in_file(parent.display())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_store_on_a_server_has_a_unique_name() {
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
        for (url, expected) in cases {
            let named = named_store(url, "n", Durability::Relaxed).expect("a server");
            assert_eq!(named, expected);
        }
    }
}
