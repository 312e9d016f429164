//! The engines of the bench and their durability.

use std::path::PathBuf;

use espalier_terminal::{Failure, Result};

/// The environment variable with the URLs of the servers that `all` and `servers` include, separated by spaces.
pub const SERVERS_VARIABLE: &str = "ESPALIER_BENCH_SERVERS";

/// Engines that store files in a folder, and the path of a store in it.
pub(super) const LOCAL: [(&str, &str); 3] = [(EMBEDDED, ""), ("file", ""), ("sqlite", "/store")];

const EMBEDDED: &str = "embedded";

pub(super) const MEMORY: &str = "memory";

/// Whether commits wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Commits are on disk when they return.
    Durable,
    /// The operating system writes commits later.
    Relaxed,
    /// Commits are never on disk: memory.
    None,
}

impl Durability {
    /// The name in rows and in store URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Relaxed => "relaxed",
            Self::None => "none",
        }
    }
}

/// An engine for stores of the bench.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The memory driver.
    Memory,
    /// An engine with files in a folder.
    Local {
        /// Its scheme.
        scheme: &'static str,
        /// The folder in which stores create their own folders.
        parent: PathBuf,
    },
    /// A server.
    Server {
        /// Its URL. Each store uses a unique name on the server.
        url: String,
    },
}

impl Engine {
    /// Parses a list of engines: `memory`, `embedded`, `embedded:DIR`, the URL of a server, `local` (those without a
    /// server), `servers` (those of [`SERVERS_VARIABLE`]) or `all`. A URL may contain commas: a part that does not
    /// begin an item continues the one before.
    pub fn list(text: &str) -> Result<Vec<Self>> {
        let mut items: Vec<String> = Vec::new();
        for part in text.split(',') {
            match items.last_mut() {
                Some(last) if !begins_item(part) && last.contains("//") => {
                    last.push(',');
                    last.push_str(part);
                }
                _ => items.push(part.to_owned()),
            }
        }
        let mut engines = Vec::new();
        for item in &items {
            for engine in Self::named(item)? {
                if !engines.contains(&engine) {
                    engines.push(engine);
                }
            }
        }
        Ok(engines)
    }

    /// The embedded driver, with stores in the folder for temporary files.
    pub fn embedded() -> Self {
        Self::Local {
            scheme: EMBEDDED,
            parent: std::env::temp_dir(),
        }
    }

    /// The engines that need no server.
    pub fn local() -> Vec<Self> {
        let local = LOCAL.iter().map(|&(scheme, _)| Self::Local {
            scheme,
            parent: std::env::temp_dir(),
        });
        std::iter::once(Self::Memory).chain(local).collect()
    }

    /// Every engine available on this machine.
    pub fn all() -> Result<Vec<Self>> {
        Ok(Self::local().into_iter().chain(Self::servers()?).collect())
    }

    fn servers() -> Result<Vec<Self>> {
        let servers = std::env::var(SERVERS_VARIABLE).unwrap_or_default();
        servers.split_whitespace().map(Self::server).collect()
    }

    fn named(item: &str) -> Result<Vec<Self>> {
        let (scheme, place) = item.split_once(':').unwrap_or((item, ""));
        let local = LOCAL.iter().find(|(name, _)| *name == scheme);
        Ok(match (item, local) {
            ("all", _) => Self::all()?,
            ("local", _) => Self::local(),
            ("servers", _) => Self::servers()?,
            ("memory" | "memory:", _) => vec![Self::Memory],
            (_, Some(&(scheme, _))) => {
                let parent = match place {
                    "" => std::env::temp_dir(),
                    folder => PathBuf::from(folder),
                };
                std::fs::create_dir_all(&parent)?;
                vec![Self::Local { scheme, parent }]
            }
            _ => vec![Self::server(item)?],
        })
    }

    fn server(url: &str) -> Result<Self> {
        let is_server = url.contains("://") && has_driver_scheme(url);
        if !is_server {
            let names = LOCAL.map(|(name, _)| name).join(", ");
            return Err(Failure::usage(format!(
                "{:?} is not an engine; use memory, {names}, one of them with a folder (embedded:DIR), \
                 the URL of a server (postgres://...), local, servers or all",
                espalier_drivers::redacted_url(url)
            )));
        }
        Ok(Self::Server {
            url: url.to_owned(),
        })
    }

    /// The scheme of the engine's URLs.
    pub fn scheme(&self) -> &str {
        match self {
            Self::Memory => MEMORY,
            Self::Local { scheme, .. } => scheme,
            Self::Server { url } => url.split(':').next().unwrap_or_default(),
        }
    }

    /// Returns whether the engine supports a durability. A server whose URL sets a durability supports only that one.
    pub fn takes(&self, durability: Durability) -> bool {
        match self.durability_option() {
            Some(option) => option == durability.as_str(),
            None => durability == Durability::Durable || self.can_relax(),
        }
    }

    fn can_relax(&self) -> bool {
        !matches!(self.scheme(), MEMORY | "etcd")
    }

    fn durability_option(&self) -> Option<&str> {
        let Self::Server { url } = self else {
            return None;
        };
        let (_, options) = url.split_once('?')?;
        let mut options = options.split('&');
        options.find_map(|option| option.strip_prefix("durability="))
    }
}

/// Returns whether a part of a list begins an item.
fn begins_item(part: &str) -> bool {
    matches!(part, "all" | "local" | "servers") || has_driver_scheme(part)
}

/// Returns whether a URL has the scheme of a driver in this build.
fn has_driver_scheme(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default();
    let mut schemes = espalier_drivers::schemes().iter();
    schemes.any(|driver| driver.name == scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_engines_may_contain_urls_with_commas() {
        let engines = Engine::list("memory,sqlite,embedded").expect("a list");
        let schemes: Vec<_> = engines.iter().map(Engine::scheme).collect();
        assert_eq!(schemes, ["memory", "sqlite", "embedded"]);
        let error = Engine::list("memory,nothing")
            .expect_err("no such engine")
            .to_string();
        assert!(error.contains("nothing"), "{error}");
    }

    #[test]
    fn a_scheme_must_match_completely() {
        for url in ["memorya://h", "sqlite3://h/d", "nothing://memory:/"] {
            let error = Engine::list(url).expect_err(url).to_string();
            assert!(error.contains(url), "{error}");
        }
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn hosts_of_one_url_stay_together() {
        let engines = Engine::list("etcd://a:1,b:2,c:3/x,memory").expect("a list");
        assert_eq!(engines.len(), 2);
        assert_eq!(
            engines[0],
            Engine::Server {
                url: "etcd://a:1,b:2,c:3/x".to_owned()
            }
        );
    }

    #[test]
    fn a_server_with_a_durability_in_its_url_supports_only_that_one() {
        let servers = [
            "redis://h:1/0?durability=durable",
            "redis://h:2/0?timeout_ms=5&durability=relaxed",
        ];
        let servers = servers.map(|url| Engine::Server {
            url: url.to_owned(),
        });
        let takes = |durability| servers.each_ref().map(|server| server.takes(durability));
        assert_eq!(takes(Durability::Durable), [true, false]);
        assert_eq!(takes(Durability::Relaxed), [false, true]);
        let plain = Engine::Server {
            url: "redis://h:1/0".to_owned(),
        };
        assert!(plain.takes(Durability::Durable) && plain.takes(Durability::Relaxed));
        assert!(!Engine::Memory.takes(Durability::Relaxed));
    }
}
