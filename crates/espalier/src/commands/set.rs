//! `espalier set`.

use clap::Args;
use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::schema::ModuleNames;
use espalier_yang::{DataError, InstancePath, Keys, NodeKind, Schema, Value};

use crate::error::{Failure, Result};
use crate::paths;
use crate::settings::{Access, Settings, Talk};
use crate::target::{self, Change};

/// Set a leaf, add a leaf-list entry, or create a container or list entry; what is above it is
/// created too
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier set '/ietf-interfaces:interfaces/interface=to-core-1/description' 'uplink' \\
      --store embedded:data
  espalier set '/ietf-interfaces:interfaces/interface=to-core-1/enabled' false \\
      --server http://127.0.0.1:8080
  espalier set '/espalier-network:network/device=new-1' --store embedded:data

The value is written as in the model: 10, true, iana-if-type:ethernetCsmacd, base64 for binary.")]
pub struct Set {
    /// The path
    path: String,

    /// The value, for a leaf or leaf-list
    #[arg(allow_hyphen_values = true)]
    value: Option<String>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub talk: Talk,
}

impl Set {
    /// Runs it.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let target = target::open(&settings)?;
        let tree = self.tree(&*target.schema()?);
        let tree = tree.map_err(|failure| target.refused(failure))?;
        let changed = target.change(Change::Merge(tree))?;
        changed.answer(self.talk.json, "")
    }

    fn tree(&self, schema: &Schema) -> Result<DataTree> {
        let path = paths::parse(schema, &self.path)?;
        tree_of(schema, &path, self.value.as_deref())
    }
}

/// The tree that holds a node, and what is above it, with the keys.
pub fn tree_of(schema: &Schema, path: &InstancePath, value: Option<&str>) -> Result<DataTree> {
    let Some((last, above)) = path.steps.split_last() else {
        return Err(Failure::usage("set needs the path of one node").hint("name a leaf"));
    };
    let name = || path.to_instance_identifier(schema);
    let names = ModuleNames {
        leaf_module: schema.node(last.node).module,
    };
    let mut node = match (&schema.node(last.node).kind, &last.keys, value) {
        (NodeKind::Leaf(leaf) | NodeKind::LeafList(leaf), Keys::None, Some(text)) => {
            let value = leaf
                .value_type
                .parse(schema, text, &names)
                .map_err(|error| {
                    let message = format!("{}: {}", name(), error.message);
                    Failure::data(message).detail(DataError::from(error).at(name()))
                })?;
            DataNode::new(last.node, Content::Value(value))
        }
        (NodeKind::LeafList(_), Keys::Values(values), None) if values.len() == 1 => {
            DataNode::new(last.node, Content::Value(values[0].clone()))
        }
        (NodeKind::Container { .. } | NodeKind::List(_), keys, None) => {
            inner(schema, last.node, keys, None)?
        }
        (NodeKind::Leaf(_) | NodeKind::LeafList(_), _, None) => {
            return Err(
                Failure::usage(format!("{} needs a value", name())).hint("espalier set PATH VALUE")
            );
        }
        _ => {
            return Err(Failure::usage(format!("{} takes no value", name()))
                .hint("use `espalier edit` to change several nodes at once"));
        }
    };
    for step in above.iter().rev() {
        node = inner(schema, step.node, &step.keys, Some(node))?;
    }
    Ok(DataTree { nodes: vec![node] })
}

/// A container or list entry with its keys.
fn inner(
    schema: &Schema,
    id: espalier_yang::NodeId,
    keys: &Keys,
    child: Option<DataNode>,
) -> Result<DataNode> {
    let values: &[Value] = match keys {
        Keys::Values(values) => values,
        _ => &[],
    };
    let names = schema.node(id).keys();
    if names.len() != values.len() || (names.is_empty() && schema.node(id).is_list()) {
        let name = &schema.node(id).name;
        return Err(
            Failure::usage(format!("the path must say which entry of the list {name}")).hint(
                format!(
                    "write {name}=KEY, or {name}[{}='KEY']",
                    first_key(schema, names)
                ),
            ),
        );
    }
    let mut children = Vec::with_capacity(names.len() + usize::from(child.is_some()));
    for (&name, value) in names.iter().zip(values) {
        children.push(DataNode::new(name, Content::Value(value.clone())));
    }
    children.extend(child);
    Ok(DataNode::new(id, Content::Inner(children)))
}

fn first_key<'a>(schema: &'a Schema, names: &[espalier_yang::NodeId]) -> &'a str {
    names.first().map_or("key", |&name| &schema.node(name).name)
}
