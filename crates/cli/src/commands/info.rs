//! `espalier info`.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use clap::Args;
use espalier_drivers::EffectiveDurability;
use espalier_keyspace::{CacheStatus, Direction, Driver, KeyRange, WatchKind};
use espalier_store::{Marker, Store, SystemClock};
use serde_json::{Value, json};

use crate::commands::store_url::StoreUrl;
use crate::endpoint::{self, OpenMode};
use crate::settings::{OutputOptions, Settings};
use espalier_terminal::output;
use espalier_terminal::output::escaped;
use espalier_terminal::{Failure, Result};

/// Anchors are read in pages of this size.
const ANCHOR_PAGE: usize = 1000;

/// Print the properties of a store: engine, memory policy, dataspaces, modules, anchors, and the keys and
/// bytes of each key range
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier info embedded:data
  espalier info 'postgres://me@db.example/net?password_file=/run/secrets/db&policy=cached' --json")]
pub struct Info {
    #[command(flatten)]
    store_url: StoreUrl,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Info {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let hint = "a server lists its modules at /restconf/data/ietf-yang-library:yang-library";
        let settings = self.store_url.over(settings, "info", hint)?;
        let Some(url) = settings.store.as_deref() else {
            return Err(
                Failure::usage("no store is given").hint("name it: espalier info embedded:DIR")
            );
        };
        // A missing store is reported before anything is opened.
        endpoint::require_existing(url)?;
        let driver = endpoint::open_engine(url, OpenMode::Create)?;
        let durability = match driver.capability().durable {
            true => endpoint::effective_durability(url)?,
            false => EffectiveDurability::Volatile,
        };
        let mut value = engine(&*driver, &durability)?;
        if value["state"] == "store" {
            let store = Store::open(driver, Arc::new(SystemClock))?;
            let mut spaces = Vec::new();
            for dataspace in store.dataspaces()? {
                spaces.push(describe(&store, &dataspace)?);
            }
            let usage = store.usage()?;
            let usage = usage.into_iter().map(|(subspace, usage)| {
                json!({"range": subspace.name(), "keys": usage.keys, "bytes": usage.bytes})
            });
            value["dataspaces"] = spaces.into();
            value["usage"] = usage.collect();
        }
        output::print_result(self.output_options.json, &value, text(&value).trim_end())
    }
}

/// Describes the engine. Creates nothing in an empty one.
fn engine(driver: &dyn Driver, durability: &EffectiveDurability) -> Result<Value> {
    let snapshot = driver.snapshot()?;
    let unfinished = Marker::read(&*snapshot)?;
    let mut cursor = snapshot.scan(&KeyRange::all(), Direction::Forward)?;
    let state = match (&unfinished, cursor.next()?) {
        (Some(_), _) => "unfinished",
        (None, Some(_)) => "store",
        (None, None) => "empty",
    };
    drop(cursor);
    let (capability, usage) = (driver.capability(), driver.usage()?);
    Ok(json!({
        "engine": driver.name(),
        "state": state,
        "unfinished-from": unfinished.map(|marker| marker.from),
        "version": snapshot.version().0,
        "durable": *durability == EffectiveDurability::Durable,
        "durability": durability.name(),
        "durability-reason": durability.reason(),
        "shared": capability.shared,
        "watch": match capability.watch {
            WatchKind::Push => "push",
            WatchKind::Poll => "poll",
        },
        "keys": usage.keys,
        "bytes": usage.bytes,
        "memory": memory(&driver.cache_status()),
    }))
}

/// Describes what is kept in memory, and how current it is.
fn memory(residence: &CacheStatus) -> Value {
    let ms = |duration: std::time::Duration| duration.as_millis() as u64;
    json!({
        "policy": residence.policy.name(),
        "keys": residence.keys,
        "bytes": residence.bytes,
        "version": residence.version.map(|version| version.0),
        "lag-ms": residence.lag.map(ms),
        "lag-ms-max": residence.lag_max.map(ms),
        "failure": residence.failure,
    })
}

fn describe(store: &Store, dataspace: &str) -> Result<Value> {
    let mut sets = Vec::new();
    for name in store.schema_sets(dataspace)? {
        let source = store.schema_set(dataspace, &name)?.source;
        let modules: Vec<_> = source
            .modules
            .iter()
            .map(|module| match &module.revision {
                Some(revision) => format!("{}@{revision}", module.name),
                None => module.name.clone(),
            })
            .collect();
        sets.push(json!({"name": name, "modules": modules}));
    }
    let mut anchors = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = store.anchors(dataspace, after.as_deref(), ANCHOR_PAGE)?;
        anchors.extend(
            page.iter()
                .map(|anchor| json!({"name": anchor.name, "schema-set": anchor.schema_set, "validation": anchor.validation.name()})),
        );
        match page.last() {
            Some(last) if page.len() == ANCHOR_PAGE => after = Some(last.name.clone()),
            _ => break,
        }
    }
    Ok(json!({"name": dataspace, "schema-sets": sets, "anchors": anchors}))
}

/// The description as text.
fn text(value: &Value) -> String {
    let mut out = engine_text(value);
    for space in items(&value["dataspaces"]) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "dataspace {}", word(&space["name"]));
        for set in items(&space["schema-sets"]) {
            let modules: Vec<_> = items(&set["modules"]).map(word).collect();
            let _ = writeln!(
                out,
                "  schema set {}: {}",
                word(&set["name"]),
                modules.join(" ")
            );
        }
        for anchor in items(&space["anchors"]) {
            let (name, set) = (word(&anchor["name"]), word(&anchor["schema-set"]));
            let validation = match anchor["validation"] == "structure" {
                true => ", validated for structure and types only (--validation structure)",
                false => "",
            };
            let _ = writeln!(out, "  anchor {name} on schema set {set}{validation}");
        }
    }
    for range in items(&value["usage"]) {
        let (keys, bytes) = (&range["keys"], &range["bytes"]);
        let _ = writeln!(
            out,
            "{:<11}{keys:>12} keys {bytes:>14} bytes",
            word(&range["range"])
        );
    }
    out
}

/// The description of the engine as text.
fn engine_text(value: &Value) -> String {
    let mut out = format!(
        "engine {}: {}, {}, changes by {}; {} keys, {} bytes, version {}\n",
        word(&value["engine"]),
        durability_text(value),
        if value["shared"] == true {
            "shared"
        } else {
            "not shared"
        },
        word(&value["watch"]),
        value["keys"],
        value["bytes"],
        value["version"]
    );
    let memory = &value["memory"];
    // Writing to a string cannot fail.
    let _ = write!(out, "memory policy {}", word(&memory["policy"]));
    if memory["policy"] != "uncached" {
        let _ = write!(out, ": {} keys, {} bytes", memory["keys"], memory["bytes"]);
    }
    if let (Some(lag), Some(max)) = (memory["lag-ms"].as_u64(), memory["lag-ms-max"].as_u64()) {
        let _ = write!(out, ", current {lag} ms ago (at most {max})");
    }
    out.push('\n');
    match &*word(&value["state"]) {
        "empty" => out.push_str("holds nothing\n"),
        "unfinished" => {
            let from = word(&value["unfinished-from"]);
            let _ = writeln!(
                out,
                "not complete: it is being filled from {from}, or that was interrupted"
            );
        }
        _ => {}
    }
    out
}

fn durability_text(value: &Value) -> String {
    let durability = word(&value["durability"]);
    match value["durability-reason"].as_str() {
        Some(reason) => format!("{durability} ({})", escaped(reason)),
        None => durability.into_owned(),
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn word(value: &Value) -> Cow<'_, str> {
    escaped(value.as_str().unwrap_or(""))
}
