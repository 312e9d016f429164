//! Which engines there are, and opening one by its URL.

use std::sync::Arc;

use espalier_keyspace::{Driver, Result};

use crate::promise::Promise;
use crate::site::Site;
use crate::url::{Url, refusal};

/// A kind of engine that [`open`] knows.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// What stands before the colon.
    pub name: &'static str,
    /// How its URLs look.
    pub form: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    open: fn(&Url<'_>) -> Result<Arc<dyn Driver>>,
    look: fn(&Url<'_>) -> Result<Site>,
    promise: fn(&Url<'_>) -> Result<Promise>,
}

const SCHEMES: &[Scheme] = &[
    #[cfg(feature = "memory")]
    Scheme {
        name: crate::memory::NAME,
        form: "memory:",
        about: "in the memory of this process, gone at its end",
        open: crate::memory::open_url,
        look: Site::memory,
        promise: |_| Ok(Promise::Nothing),
    },
    #[cfg(feature = "embedded")]
    Scheme {
        name: crate::embedded::NAME,
        form: "embedded:DIR?durability=durable|relaxed&map_size=BYTES",
        about: "LMDB in a directory",
        open: crate::embedded::open_url,
        look: Site::local,
        promise: Promise::of_url,
    },
    #[cfg(feature = "file")]
    Scheme {
        name: crate::file::NAME,
        form: "file:DIR?durability=durable|relaxed&journal_size=BYTES",
        about: "JSON files that people can read and edit, and a journal",
        open: crate::file::open_url,
        look: Site::local,
        promise: Promise::of_url,
    },
    #[cfg(feature = "sqlite")]
    Scheme {
        name: crate::sqlite::NAME,
        form: "sqlite:FILE?durability=durable|relaxed&readable=true",
        about: "SQLite in a file",
        open: crate::sqlite::open_url,
        look: Site::local,
        promise: Promise::of_url,
    },
    #[cfg(feature = "postgres")]
    Scheme {
        name: crate::postgres::NAME,
        form: "postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME&durability=durable|relaxed\
               &readable=true&sslmode=MODE",
        about: "PostgreSQL, or what speaks its protocol",
        open: crate::postgres::open_url,
        look: crate::postgres::look_url,
        promise: crate::postgres::promise_url,
    },
    #[cfg(feature = "postgres")]
    Scheme {
        name: crate::postgres::NAME_LONG,
        form: "postgresql://...",
        about: "the same",
        open: crate::postgres::open_url,
        look: crate::postgres::look_url,
        promise: crate::postgres::promise_url,
    },
    #[cfg(feature = "redis")]
    Scheme {
        name: crate::redis::NAME,
        form: "redis://[USER:PASSWORD@]HOST:PORT[,HOST:PORT]/DB?prefix=NAME&durability=durable|relaxed",
        about: "a Redis server or Cluster",
        open: crate::redis::open_url,
        look: crate::redis::look_url,
        promise: crate::redis::promise_url,
    },
    #[cfg(feature = "redis")]
    Scheme {
        name: crate::redis::NAME_TLS,
        form: "rediss://HOST:PORT/DB?ca=FILE&cert=FILE&key=FILE",
        about: "the same with TLS",
        open: crate::redis::open_url,
        look: crate::redis::look_url,
        promise: crate::redis::promise_url,
    },
    #[cfg(feature = "mongo")]
    Scheme {
        name: crate::mongo::NAME,
        form: "mongodb://[USER:PASSWORD@]HOST:PORT[,HOST:PORT]/DATABASE?prefix=NAME\
               &durability=durable|relaxed&readable=true&replicaSet=NAME&tls&ca=FILE&cert=FILE&key=FILE",
        about: "MongoDB, or what speaks its protocol",
        open: crate::mongo::open_url,
        look: crate::mongo::look_url,
        promise: Promise::of_url,
    },
    #[cfg(feature = "etcd")]
    Scheme {
        name: crate::etcd::NAME,
        form: "etcd://[USER:PASSWORD@]HOST[,HOST...]/PREFIX?tls&ca=FILE&cert=FILE&key=FILE",
        about: "an etcd cluster",
        open: crate::etcd::open_url,
        look: crate::etcd::look_url,
        promise: |_| Ok(Promise::Durable),
    },
];

/// The kinds of engine that this build has.
pub fn schemes() -> &'static [Scheme] {
    SCHEMES
}

/// Opens the engine that a URL names, such as `memory:` or `embedded:/var/lib/espalier`. What the
/// URL names is created where it does not exist. Every URL may have the options of a memory policy
/// (`policy=cached`, ...), which docs/drivers.md describes.
pub fn open(url: &str) -> Result<Arc<dyn Driver>> {
    let (scheme, url) = parse(url)?;
    open_under_policy(scheme, &url)
}

/// Looks whether there is a key space where a URL says, and makes none where there is none.
pub fn look(url: &str) -> Result<Site> {
    let (scheme, url) = parse(url)?;
    under_any_policy(&url, scheme.look)
}

/// What commits outlive that the engine acknowledges which a URL names: a server is asked for its
/// settings. Under `policy=ram` nothing is committed there.
pub fn promise(url: &str) -> Result<Promise> {
    let (scheme, url) = parse(url)?;
    under_any_policy(&url, scheme.promise)
}

fn parse(url: &str) -> Result<(&'static Scheme, Url<'_>)> {
    let parsed = Url::parse(url).ok_or_else(|| unknown(url))?;
    let scheme = SCHEMES
        .iter()
        .find(|scheme| scheme.name == parsed.scheme)
        .ok_or_else(|| unknown(url))?;
    parsed.check()?;
    Ok((scheme, parsed))
}

#[cfg(feature = "memory")]
fn open_under_policy(scheme: &Scheme, url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    crate::policy::over_url(url, scheme.open)
}

#[cfg(feature = "memory")]
fn under_any_policy<T>(url: &Url<'_>, ask: fn(&Url<'_>) -> Result<T>) -> Result<T> {
    crate::policy::ask_url(url, ask)
}

#[cfg(not(feature = "memory"))]
fn under_any_policy<T>(url: &Url<'_>, ask: fn(&Url<'_>) -> Result<T>) -> Result<T> {
    ask(url)
}

/// A build without the memory driver has no policies: their options are unknown to the engines.
#[cfg(not(feature = "memory"))]
fn open_under_policy(scheme: &Scheme, url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    (scheme.open)(url)
}

fn unknown(url: &str) -> espalier_keyspace::Error {
    let forms: Vec<_> = SCHEMES.iter().map(|scheme| scheme.form).collect();
    refusal(format!(
        "{url:?} names no engine; write {}",
        forms.join(" or ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_scheme_lists_the_known_ones() {
        for url in ["mongo:x", "no scheme at all", ""] {
            let error = open(url).err().expect("an unknown scheme").to_string();
            for scheme in schemes() {
                assert!(error.contains(scheme.form), "{error}");
            }
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
