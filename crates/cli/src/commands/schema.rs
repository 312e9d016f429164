//! `espalier schema`.

use std::sync::Arc;

use clap::Args;
use espalier_yang::schema::{NodeKind, tree_diagram};
use espalier_yang::{ModuleId, NodeId, Schema};
use serde_json::{Value, json};

use crate::endpoint;
use crate::modules;
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Print the schema: as a tree (RFC 8340), or as JSON
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier schema --yang ietf-interfaces --yang ietf-ip
  espalier schema --store embedded:data --json
  espalier schema --built-in

Without --store and --server, the modules of --yang are compiled and printed.")]
pub struct SchemaTree {
    /// List the built-in modules
    #[arg(long)]
    built_in: bool,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl SchemaTree {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        if self.built_in {
            return self.list_built_in();
        }
        let settings = Settings::from(&self.access).over(settings);
        let schema = schema(&settings)?;
        let text = diagrams(&schema);
        output::print_result(
            self.output_options.json,
            &describe(&schema),
            text.trim_end(),
        )
    }

    fn list_built_in(&self) -> Result<()> {
        let names: Vec<_> = espalier_service::modules::built_in()
            .iter()
            .map(|module| format!("{}@{}", module.name, module.revision))
            .collect();
        output::print_result(
            self.output_options.json,
            &json!({"modules": names}),
            &names.join("\n"),
        )
    }
}

fn schema(settings: &Settings) -> Result<Arc<Schema>> {
    let is_placed = settings.store.is_some() || settings.server.is_some();
    match modules::source(settings)? {
        Some(source) if !is_placed => {
            let schema = Schema::compile(&source).map_err(|errors| {
                Failure::data(format!("the modules do not compile\n  {errors}"))
            })?;
            Ok(Arc::new(schema))
        }
        _ => endpoint::open_existing(settings)?.schema(),
    }
}

/// A tree for each module that has nodes.
fn diagrams(schema: &Schema) -> String {
    let ids = (0..schema.own_modules().len()).filter_map(|index| u16::try_from(index).ok());
    let trees = ids.map(|index| tree_diagram(schema, ModuleId(index)));
    // A module without nodes is its name only.
    let trees: Vec<_> = trees.filter(|tree| tree.lines().count() > 1).collect();
    trees.join("\n")
}

/// Modules, then nodes in pre-order.
fn describe(schema: &Schema) -> Value {
    let modules: Vec<_> = schema
        .own_modules()
        .iter()
        .map(|module| {
            json!({
                "name": module.name,
                "revision": module.revision,
                "namespace": module.namespace,
                "implemented": module.is_implemented,
                "features": module.features,
            })
        })
        .collect();
    let top = [schema.roots(), schema.operations(), schema.notifications()];
    let mut open: Vec<NodeId> = top.into_iter().flatten().rev().copied().collect();
    let mut nodes = Vec::with_capacity(schema.nodes().len());
    while let Some(id) = open.pop() {
        nodes.push(describe_node(schema, id));
        open.extend(schema.node(id).children.iter().rev());
    }
    json!({"modules": modules, "nodes": nodes})
}

fn describe_node(schema: &Schema, id: NodeId) -> Value {
    let node = schema.node(id);
    let kind = match &node.kind {
        NodeKind::Container { .. } => "container",
        NodeKind::List(_) => "list",
        NodeKind::Leaf(_) => "leaf",
        NodeKind::LeafList(_) => "leaf-list",
        NodeKind::AnyData => "anydata",
        NodeKind::AnyXml => "anyxml",
        NodeKind::Rpc => "rpc",
        NodeKind::Action => "action",
        NodeKind::Input => "input",
        NodeKind::Output => "output",
        NodeKind::Notification => "notification",
    };
    let keys: Vec<_> = node
        .keys()
        .iter()
        .map(|&key| &schema.node(key).name)
        .collect();
    let mut value = json!({
        "path": schema.path(id),
        "kind": kind,
        "config": node.is_config,
        "mandatory": node.is_mandatory,
    });
    if !keys.is_empty() {
        value["keys"] = json!(keys);
    }
    if let Some(leaf) = node.as_value() {
        let defaults: Vec<_> = leaf.defaults.iter().map(ToString::to_string).collect();
        value["type"] = json!(leaf.value_type.name);
        value["defaults"] = json!(defaults);
        value["units"] = json!(leaf.units);
    }
    value
}
