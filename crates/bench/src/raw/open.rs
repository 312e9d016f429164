//! Opens the raw client of an engine.

use std::path::Path;

use super::client::RawEngine;
use super::file::Journal;
use super::lmdb::Lmdb;
use super::sqlite::Sqlite;
use crate::engine::{Durability, Engine};
use espalier_terminal::Result;

/// Opens the raw client of an engine, in a folder or under a unique name; none for memory, and for engines without a
/// raw client.
pub fn open(
    engine: &Engine,
    folder: Option<&Path>,
    name: &str,
    durability: Durability,
) -> Result<Option<Box<dyn RawEngine>>> {
    let place = folder.map(|folder| folder.join(name));
    Ok(match (engine, place) {
        (Engine::Local { scheme, .. }, Some(place)) => match *scheme {
            "embedded" => Some(Box::new(Lmdb::create(&place, durability)?)),
            "sqlite" => Some(Box::new(Sqlite::create(&place, durability)?)),
            _ => Some(Box::new(Journal::create(&place, durability)?)),
        },
        (Engine::Server { url }, _) => server(url, name, durability)?,
        _ => None,
    })
}

#[cfg_attr(
    not(any(
        feature = "postgres",
        feature = "redis",
        feature = "mongo",
        feature = "etcd"
    )),
    allow(unused_variables, reason = "a build without servers")
)]
fn server(url: &str, name: &str, durability: Durability) -> Result<Option<Box<dyn RawEngine>>> {
    Ok(match url.split(':').next() {
        #[cfg(feature = "postgres")]
        Some("postgres" | "postgresql") => Some(Box::new(super::postgres::Postgres::create(
            url, name, durability,
        )?)),
        #[cfg(feature = "redis")]
        Some("redis") if !url.contains(',') => {
            Some(Box::new(super::redis::Redis::create(url, name)?))
        }
        #[cfg(feature = "etcd")]
        Some("etcd") => Some(Box::new(super::etcd::Etcd::create(url, name)?)),
        #[cfg(feature = "mongo")]
        Some("mongodb") => Some(Box::new(super::mongo::Mongo::create(
            url, name, durability,
        )?)),
        _ => None,
    })
}

/// Removes what remains of an emptied store on a server.
#[cfg_attr(
    not(feature = "postgres"),
    allow(unused_variables, reason = "a build without PostgreSQL")
)]
pub fn remove(url: &str, name: &str) -> Result<()> {
    match url.split(':').next() {
        #[cfg(feature = "postgres")]
        Some("postgres" | "postgresql") => super::postgres::remove(url, name),
        #[cfg(feature = "redis")]
        Some("redis") if !url.contains(',') => super::redis::remove(url, name),
        _ => Ok(()),
    }
}
