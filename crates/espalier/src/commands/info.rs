//! `espalier info`.

use std::fmt::Write;

use clap::Args;
use serde_json::{Value, json};

use crate::cli;
use crate::error::{Failure, Result};
use crate::settings::{Access, Settings, Talk};
use crate::target;

/// Anchors are read in pages of this size.
const PAGE: usize = 1000;

/// Say what is in a store: dataspaces, modules, anchors, and how much each key range holds
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier info --store embedded:data
  espalier info --store embedded:data --json")]
pub struct Info {
    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub talk: Talk,
}

impl Info {
    /// Runs it.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        if settings.server.is_some() {
            return Err(
                Failure::usage("info works on a store, not through a server").hint(
                    "a server tells its modules at /restconf/data/ietf-yang-library:yang-library",
                ),
            );
        }
        let store = target::open_store(&settings)?;
        let mut spaces = Vec::new();
        for dataspace in store.dataspaces()? {
            spaces.push(describe(&store, &dataspace)?);
        }
        let usage: Vec<_> = store
            .usage()?
            .into_iter()
            .map(|(subspace, usage)| {
                json!({"range": subspace.name(), "keys": usage.keys, "bytes": usage.bytes})
            })
            .collect();
        let value = json!({
            "engine": store.driver().name(),
            "dataspaces": spaces,
            "usage": usage,
        });
        cli::answer(self.talk.json, &value, text(&value).trim_end())
    }
}

fn describe(store: &espalier_store::Store, dataspace: &str) -> Result<Value> {
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
        let page = store.anchors(dataspace, after.as_deref(), PAGE)?;
        anchors.extend(
            page.iter()
                .map(|anchor| json!({"name": anchor.name, "schema-set": anchor.schema_set})),
        );
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.name.clone()),
            _ => break,
        }
    }
    Ok(json!({"name": dataspace, "schema-sets": sets, "anchors": anchors}))
}

/// The same, for people.
fn text(value: &Value) -> String {
    let mut out = format!("engine {}\n", word(&value["engine"]));
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
            let set = word(&anchor["schema-set"]);
            let _ = writeln!(
                out,
                "  anchor {} on schema set {set}",
                word(&anchor["name"])
            );
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

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}
