//! Engines that the bench makes stores on, and how durable they are asked to be.

use std::path::PathBuf;

use espalier_terminal::{Failure, Result};

/// Names the servers that `all` means beside the engines without a server: their URLs, with spaces
/// between them.
pub const SERVERS_VARIABLE: &str = "ESPALIER_BENCH_SERVERS";

/// Engines that work in a folder, and what a store is named in it.
pub(super) const LOCAL: [(&str, &str); 3] = [(EMBEDDED, ""), ("file", ""), ("sqlite", "/store")];

const EMBEDDED: &str = "embedded";

pub(super) const MEMORY: &str = "memory";

/// When commits are on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When they return.
    Durable,
    /// When the system writes them.
    Relaxed,
    /// Never: memory.
    None,
}

impl Durability {
    /// As in rows, and in the URL of a store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Relaxed => "relaxed",
            Self::None => "none",
        }
    }
}

/// An engine that stores can be made on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The memory driver.
    Memory,
    /// One that works in a folder.
    Local {
        /// Its scheme.
        scheme: &'static str,
        /// Stores are made in new folders below this one.
        below: PathBuf,
    },
    /// A server.
    Server {
        /// Its URL. Each store has a name of its own in it.
        url: String,
    },
}

impl Engine {
    /// The engines that a list names: `memory`, `embedded`, `embedded:DIR`, the URL of a server,
    /// `local` (those without a server), `servers` (those of [`SERVERS_VARIABLE`]) or `all`. A URL may have
    /// commas: what does not begin an item continues the one before.
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

    /// The embedded driver, with its stores among the temporary files.
    pub fn embedded() -> Self {
        Self::Local {
            scheme: EMBEDDED,
            below: std::env::temp_dir(),
        }
    }

    /// Those that work without a server.
    pub fn local() -> Vec<Self> {
        let local = LOCAL.iter().map(|&(scheme, _)| Self::Local {
            scheme,
            below: std::env::temp_dir(),
        });
        std::iter::once(Self::Memory).chain(local).collect()
    }

    /// Every engine that there is here.
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
                let below = match place {
                    "" => std::env::temp_dir(),
                    folder => PathBuf::from(folder),
                };
                std::fs::create_dir_all(&below)?;
                vec![Self::Local { scheme, below }]
            }
            _ => vec![Self::server(item)?],
        })
    }

    fn server(url: &str) -> Result<Self> {
        let is_server = url.contains("://") && is_of_known_scheme(url);
        if !is_server {
            let names = LOCAL.map(|(name, _)| name).join(", ");
            return Err(Failure::usage(format!(
                "{:?} is no engine; write memory, {names}, one of them with a folder (embedded:DIR), \
                 the URL of a server (postgres://...), local, servers or all",
                espalier_drivers::redacted_url(url)
            )));
        }
        Ok(Self::Server {
            url: url.to_owned(),
        })
    }

    /// What stands before the colon of its URLs.
    pub fn scheme(&self) -> &str {
        match self {
            Self::Memory => MEMORY,
            Self::Local { scheme, .. } => scheme,
            Self::Server { url } => url.split(':').next().unwrap_or_default(),
        }
    }

    /// Whether its commits may be so durable: a server whose URL says how durable they are serves for
    /// those, and another one for others.
    pub fn takes(&self, durability: Durability) -> bool {
        match self.told_durability() {
            Some(told) => told == durability.as_str(),
            None => durability == Durability::Durable || self.can_relax(),
        }
    }

    fn can_relax(&self) -> bool {
        !matches!(self.scheme(), MEMORY | "etcd")
    }

    fn told_durability(&self) -> Option<&str> {
        let Self::Server { url } = self else {
            return None;
        };
        let (_, options) = url.split_once('?')?;
        let mut options = options.split('&');
        options.find_map(|option| option.strip_prefix("durability="))
    }
}

/// Whether a part of a list is an item by itself.
fn begins_item(part: &str) -> bool {
    matches!(part, "all" | "local" | "servers") || is_of_known_scheme(part)
}

/// Whether what stands before the colon is the scheme of a driver of this build.
fn is_of_known_scheme(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default();
    let mut schemes = espalier_drivers::schemes().iter();
    schemes.any(|known| known.name == scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_engines_may_hold_urls_with_commas() {
        let engines = Engine::list("memory,sqlite,embedded").expect("a list");
        let schemes: Vec<_> = engines.iter().map(Engine::scheme).collect();
        assert_eq!(schemes, ["memory", "sqlite", "embedded"]);
        let error = Engine::list("memory,nothing")
            .expect_err("no such engine")
            .to_string();
        assert!(error.contains("nothing"), "{error}");
    }

    #[test]
    fn a_scheme_is_known_by_its_whole_name() {
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
    fn a_server_that_is_told_its_durability_serves_for_that_alone() {
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
