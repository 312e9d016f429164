//! The registered engines, and opening one by its URL.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_keyspace::{Driver, Error, ErrorKind, Result};

use crate::effective_durability::EffectiveDurability;
use crate::redact::{self, redacted_url};
use crate::resolved_url::ResolvedUrl;
use crate::store_files::{self, ExposedFile};
use crate::url::{Url, refusal};

/// An engine that [`open`] supports.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// The URL scheme.
    pub name: &'static str,
    /// The form of its URLs.
    pub form: &'static str,
    /// A one-line description.
    pub about: &'static str,
    open: fn(&Url<'_>) -> Result<Arc<dyn Driver>>,
    resolve: fn(&Url<'_>) -> Result<ResolvedUrl>,
    effective_durability: fn(&Url<'_>) -> Result<EffectiveDurability>,
    files: fn(&Url<'_>) -> Vec<PathBuf>,
}

const SCHEMES: &[Scheme] = &[
    #[cfg(feature = "memory")]
    Scheme {
        name: crate::memory::NAME,
        form: "memory:",
        about: "in the memory of this process, lost at its end",
        open: crate::memory::open_url,
        resolve: ResolvedUrl::memory,
        effective_durability: |_| Ok(EffectiveDurability::Volatile),
        files: |_| Vec::new(),
    },
    #[cfg(feature = "embedded")]
    Scheme {
        name: crate::embedded::NAME,
        form: "embedded:DIR?durability=durable|relaxed&map_size=BYTES",
        about: "LMDB in a directory",
        open: crate::embedded::open_url,
        resolve: ResolvedUrl::local,
        effective_durability: EffectiveDurability::of_url,
        files: store_files::of_directory,
    },
    #[cfg(feature = "file")]
    Scheme {
        name: crate::file::NAME,
        form: "file:DIR?durability=durable|relaxed&journal_size=BYTES",
        about: "human-readable, editable JSON files, and a journal",
        open: crate::file::open_url,
        resolve: ResolvedUrl::local,
        effective_durability: EffectiveDurability::of_url,
        files: store_files::of_directory,
    },
    #[cfg(feature = "sqlite")]
    Scheme {
        name: crate::sqlite::NAME,
        form: "sqlite:FILE?durability=durable|relaxed&readable=true",
        about: "SQLite in a file",
        open: crate::sqlite::open_url,
        resolve: ResolvedUrl::local,
        effective_durability: EffectiveDurability::of_url,
        files: store_files::of_sqlite,
    },
    #[cfg(feature = "postgres")]
    Scheme {
        name: crate::postgres::NAME,
        form: "postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME&durability=durable|relaxed\
               &readable=true&sslmode=MODE",
        about: "PostgreSQL or a compatible server",
        open: crate::postgres::open_url,
        resolve: crate::postgres::resolve_url,
        effective_durability: crate::postgres::effective_durability_url,
        files: |_| Vec::new(),
    },
    #[cfg(feature = "postgres")]
    Scheme {
        name: crate::postgres::NAME_LONG,
        form: "postgresql://...",
        about: "the same",
        open: crate::postgres::open_url,
        resolve: crate::postgres::resolve_url,
        effective_durability: crate::postgres::effective_durability_url,
        files: |_| Vec::new(),
    },
    #[cfg(feature = "redis")]
    Scheme {
        name: crate::redis::NAME,
        form: "redis://[USER:PASSWORD@]HOST:PORT[,HOST:PORT]/DB?prefix=NAME&durability=durable|relaxed",
        about: "a Redis server or Cluster",
        open: crate::redis::open_url,
        resolve: crate::redis::resolve_url,
        effective_durability: crate::redis::effective_durability_url,
        files: |_| Vec::new(),
    },
    #[cfg(feature = "redis")]
    Scheme {
        name: crate::redis::NAME_TLS,
        form: "rediss://HOST:PORT/DB?ca=FILE&cert=FILE&key=FILE",
        about: "the same with TLS",
        open: crate::redis::open_url,
        resolve: crate::redis::resolve_url,
        effective_durability: crate::redis::effective_durability_url,
        files: |_| Vec::new(),
    },
    #[cfg(feature = "mongo")]
    Scheme {
        name: crate::mongo::NAME,
        form: "mongodb://[USER:PASSWORD@]HOST:PORT[,HOST:PORT]/DATABASE?prefix=NAME\
               &durability=durable|relaxed&readable=true&replicaSet=NAME&tls&ca=FILE&cert=FILE&key=FILE",
        about: "MongoDB or a compatible server",
        open: crate::mongo::open_url,
        resolve: crate::mongo::resolve_url,
        effective_durability: EffectiveDurability::of_url,
        files: |_| Vec::new(),
    },
    #[cfg(feature = "etcd")]
    Scheme {
        name: crate::etcd::NAME,
        form: "etcd://[USER:PASSWORD@]HOST[,HOST...]/PREFIX?tls&ca=FILE&cert=FILE&key=FILE",
        about: "an etcd cluster",
        open: crate::etcd::open_url,
        resolve: crate::etcd::resolve_url,
        effective_durability: |_| Ok(EffectiveDurability::Durable),
        files: |_| Vec::new(),
    },
];

/// The engines in this build.
pub fn schemes() -> &'static [Scheme] {
    SCHEMES
}

/// Opens the engine that a URL names, such as `memory:` or `embedded:/var/lib/espalier`, and creates it if
/// it does not exist. Every URL accepts the options of a memory policy (`policy=cached`, ...), see
/// docs/drivers.md.
pub fn open(url: &str) -> Result<Arc<dyn Driver>> {
    let (scheme, url) = parse(url)?;
    open_under_policy(scheme, &url)
}

/// Resolves a URL and checks whether its key space exists, without creating it.
pub fn resolve(url: &str) -> Result<ResolvedUrl> {
    let (scheme, url) = parse(url)?;
    under_any_policy(&url, scheme.resolve)
}

/// The durability of commits to the engine that a URL names; reads the settings of a server. Under
/// `policy=ram` nothing is committed.
pub fn effective_durability(url: &str) -> Result<EffectiveDurability> {
    let (scheme, url) = parse(url)?;
    under_any_policy(&url, scheme.effective_durability)
}

/// The files and directories of a store that other users can access. Empty for servers, which protect their
/// own files.
pub fn exposed_files(url: &str) -> Result<Vec<ExposedFile>> {
    let (scheme, url) = parse(url)?;
    Ok(store_files::exposed((scheme.files)(&url)))
}

/// Whether a path, by any link, is a file of the store that a URL names. See also [`crate::enclosing_store`].
pub fn is_store_file(url: &str, path: &Path) -> Result<bool> {
    let (scheme, url) = parse(url)?;
    Ok(store_files::is_one_of(path, &(scheme.files)(&url)))
}

fn parse(url: &str) -> Result<(&'static Scheme, Url<'_>)> {
    let parsed = Url::parse(url).ok_or_else(|| unknown(url, ""))?;
    let scheme = SCHEMES
        .iter()
        .find(|scheme| scheme.name == parsed.scheme)
        .ok_or_else(|| unknown(url, parsed.scheme))?;
    parsed.check()?;
    if redact::is_local(parsed.scheme) && redact::has_user(parsed.place) {
        let name = parsed.scheme;
        return Err(refusal(format!(
            "{name}: names a file or folder, without user and password; write {}",
            scheme.form
        )));
    }
    Ok((scheme, parsed))
}

#[cfg(feature = "memory")]
fn open_under_policy(scheme: &Scheme, url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    crate::policy::open_url(url, scheme.open)
}

#[cfg(feature = "memory")]
fn under_any_policy<T>(url: &Url<'_>, query: fn(&Url<'_>) -> Result<T>) -> Result<T> {
    crate::policy::query_url(url, query)
}

#[cfg(not(feature = "memory"))]
fn under_any_policy<T>(url: &Url<'_>, query: fn(&Url<'_>) -> Result<T>) -> Result<T> {
    query(url)
}

/// A build without the memory driver has no policies: engines reject their options.
#[cfg(not(feature = "memory"))]
fn open_under_policy(scheme: &Scheme, url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    (scheme.open)(url)
}

/// Every scheme of Espalier, and the Cargo feature that enables it.
const FEATURES: &[(&str, &str)] = &[
    ("memory", "memory"),
    ("embedded", "embedded"),
    ("file", "file"),
    ("sqlite", "sqlite"),
    ("postgres", "postgres"),
    ("postgresql", "postgres"),
    ("redis", "redis"),
    ("rediss", "redis"),
    ("mongodb", "mongo"),
    ("etcd", "etcd"),
];

/// Maximum edit distance of a mistyped scheme.
const TYPOS_MAX: usize = 2;

/// The error for a URL that names no engine of this build. The URL may contain a password.
fn unknown(url: &str, scheme: &str) -> Error {
    let url = redacted_url(url);
    if let Some((name, feature)) = FEATURES.iter().find(|(name, _)| *name == scheme) {
        return refusal(format!(
            "this build does not support {name}: URLs; rebuild it with: cargo build --release -p espalier-cli \
             --features {feature}"
        ));
    }
    let distance = |name: &str| strsim::damerau_levenshtein(name, scheme);
    let names = FEATURES.iter().map(|(name, _)| (distance(name), *name));
    let nearest = names.min().filter(|(typos, _)| *typos <= TYPOS_MAX);
    let suggestion = match nearest {
        Some((_, name)) => format!("did you mean {name}:? "),
        None if scheme.is_empty() && !url.is_empty() => {
            format!("did you mean embedded:{url}, a folder? ")
        }
        None => String::new(),
    };
    let forms: Vec<_> = SCHEMES.iter().map(|scheme| scheme.form).collect();
    let message = format!(
        "{url:?} names no engine; {suggestion}Write {}",
        forms.join(" or ")
    );
    // Redacted above; the forms contain no passwords.
    Error::new(ErrorKind::Engine, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_scheme_lists_the_known_ones() {
        for url in ["oracle:x", "no scheme at all", ""] {
            let error = open(url).err().expect("an unknown scheme").to_string();
            for scheme in schemes() {
                assert!(error.contains(scheme.form), "{error}");
            }
        }
    }

    #[test]
    fn a_mistyped_scheme_is_corrected_without_showing_the_password() {
        for (url, guess) in [
            ("postgre://me:hunter2@h/x", "did you mean postgres:?"),
            ("postgress://me:hunter2@h/x", "did you mean postgres:?"),
            ("mongo://me:hunter2@h/x", "did you mean mongodb:?"),
            ("embeded:data", "did you mean embedded:?"),
            ("sqllite:data", "did you mean sqlite:?"),
            ("data", "did you mean embedded:data, a folder?"),
            ("http://me:hunter2@h/x", "names no engine; Write"),
        ] {
            let error = open(url).err().expect(url).to_string();
            assert!(
                error.contains(guess) && !error.contains("hunter2"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_error_for_an_engine_that_is_not_built_in_names_the_feature() {
        for (name, feature) in FEATURES {
            if SCHEMES.iter().any(|scheme| scheme.name == *name) {
                continue;
            }
            let error = open(&format!("{name}://me:hunter2@h/x")).err().expect(name);
            let error = error.to_string();
            let suggestion = format!("--features {feature}");
            assert!(
                error.contains(&suggestion) && !error.contains("hunter2"),
                "{error}"
            );
        }
        for scheme in SCHEMES {
            assert!(FEATURES.iter().any(|(name, _)| *name == scheme.name));
        }
    }

    #[cfg(feature = "memory")]
    #[test]
    fn an_unknown_option_is_refused() {
        let error = open("memory:?size=3").err().expect("no such option");
        assert!(error.to_string().contains("size"), "{error}");
        assert!(open("memory:somewhere").is_err());
        assert_eq!(open("memory:").expect("memory").name(), "memory");
    }
}
