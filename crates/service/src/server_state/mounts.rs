//! What is mounted (RFC 8528): `schema-mounts`, and the YANG library inside each instance of a mount point.

use std::collections::BTreeSet;

use espalier_store::{
    self as store, ProviderError, ProviderRequest, Selection, View, WithDefaults,
};
use espalier_yang::data::{Content, DataNode, DataTree, TreeBuilder};
use espalier_yang::path::{InstancePath, Keys, Step};
use espalier_yang::schema::{Mount, MountedSchema};
use espalier_yang::{NodeId, Schema};

use super::anchor_state::AnchorState;
use super::state_nodes::StateNodes;
use super::yang_library;

const MODULE: &str = "ietf-yang-schema-mount";

/// `schema-mounts`: the mount points of the schema itself. Those of mounted schemas belong to their own libraries.
pub(super) fn schema_mounts(
    _state: &AnchorState,
    request: &ProviderRequest,
) -> Result<DataTree, ProviderError> {
    let schema = &*request.schema;
    let own = schema.mounts().iter().filter(|mount| {
        let mut above = std::iter::successors(Some(mount.node), |&id| schema.node(id).parent);
        above.all(|id| mounted_in(schema, id).is_none())
    });
    let own: Vec<&Mount> = own.collect();
    let mut listed = BTreeSet::new();
    Ok(StateNodes::tree(
        &request.schema,
        (MODULE, "schema-mounts"),
        |mounts| {
            for name in prefixes(schema, &own) {
                if let Some(module) = schema.module_by_name(name) {
                    mounts.inner("namespace", |entry| {
                        entry.leaf("prefix", name);
                        entry.leaf("uri", &schema.module(module).namespace);
                    });
                }
            }
            for mount in own {
                let module = &schema.module(schema.node(mount.node).module).name;
                if listed.insert((module, &mount.label)) {
                    mounts.inner("mount-point", |entry| mount_point(entry, module, mount));
                }
            }
        },
    ))
}

/// The modules that the parent references name.
fn prefixes<'s>(schema: &'s Schema, mounts: &[&Mount]) -> BTreeSet<&'s str> {
    let modules = schema.modules().iter().map(|module| &*module.name);
    modules
        .filter(|name| {
            let name = format!("{name}:");
            let mut references = mounts.iter().flat_map(|mount| &mount.parent_references);
            references.any(|reference| reference.contains(&name))
        })
        .collect()
}

fn mount_point(entry: &mut StateNodes<'_>, module: &str, mount: &Mount) {
    entry.leaf("module", module);
    entry.leaf("label", &mount.label);
    match mount.selector {
        Some(_) => entry.inner("inline", |_| {}),
        None => entry.inner("shared-schema", |shared| {
            shared.leaf_list("parent-reference", &mount.parent_references);
        }),
    }
}

/// The mount at whose point a node is a top-level node.
fn mounted_in(schema: &Schema, node: NodeId) -> Option<&Mount> {
    let parent = schema.node(node).parent?;
    let mut mounts = schema.mounts().iter();
    let mount = mounts.find(|mount| mount.node == parent)?;
    let mut roots = mount.schemas.iter().flat_map(|schema| &schema.roots);
    roots.any(|&root| root == node).then_some(mount)
}

/// The paths of the libraries inside mounts: each stands for every instance.
pub(super) fn library_paths(schema: &Schema) -> Vec<InstancePath> {
    let mounts = schema.mounts().iter().filter_map(|mount| {
        let module = schema.module_by_name(yang_library::MODULE)?;
        schema.child(Some(mount.node), module, "yang-library")
    });
    mounts.map(|library| path_to(schema, library)).collect()
}

/// The path of a node without keys.
fn path_to(schema: &Schema, node: NodeId) -> InstancePath {
    let above = std::iter::successors(Some(node), |&id| schema.node(id).parent);
    let mut steps: Vec<Step> = above
        .map(|node| Step {
            node,
            keys: Keys::None,
        })
        .collect();
    steps.reverse();
    InstancePath { steps }
}

/// The libraries of the instances of a mount point that exist in running.
pub(super) fn libraries(
    state: &AnchorState,
    request: &ProviderRequest,
) -> Result<DataTree, ProviderError> {
    let running = state.served.anchor.running();
    let (schema, view) = (&*request.schema, running.view()?);
    let mut nodes = Vec::new();
    let mounts = schema.mounts().iter();
    let found = mounts
        .filter_map(|mount| {
            let steps = &request.path.steps;
            let place = steps.iter().position(|step| step.node == mount.node)?;
            let library = steps.get(place + 1)?.node;
            Some((mount, &steps[..=place], library))
        })
        .max_by_key(|(_, steps, _)| steps.len());
    let Some((mount, steps, library)) = found else {
        return Ok(DataTree { nodes });
    };
    for instance in instances(schema, &view, steps)? {
        let Some(mounted) = mounted_schema(schema, &view, mount, &instance)? else {
            continue;
        };
        let content = yang_library::mounted(state, schema, library, mounted);
        nodes.push(enclosed(schema, &instance, content));
    }
    Ok(DataTree { nodes })
}

/// The paths of all instances of a path that has no keys in some lists.
fn instances(schema: &Schema, view: &View, steps: &[Step]) -> store::Result<Vec<InstancePath>> {
    let mut paths = vec![InstancePath::root()];
    for step in steps {
        let mut next = Vec::new();
        for path in &paths {
            let child = path.child(step.node, step.keys.clone());
            match (schema.node(step.node).is_list(), &step.keys) {
                (true, Keys::None) => next.extend(entries(schema, view, path, step.node)?),
                (true, _) if !view.exists(&child)? => {}
                _ => next.push(child),
            }
        }
        paths = next;
    }
    Ok(paths)
}

/// The paths of the entries of a list.
fn entries(
    schema: &Schema,
    view: &View,
    parent: &InstancePath,
    list: NodeId,
) -> store::Result<Vec<InstancePath>> {
    let selection = Selection {
        // An entry, and its leaves.
        depth: Some(2),
        ..Selection::default()
    };
    let mut builder = TreeBuilder::new();
    view.read(&parent.child(list, Keys::None), &selection, &mut builder)?;
    let entries = builder.finish()?.nodes;
    let paths = entries.iter().filter(|node| node.node == list);
    Ok(paths
        .map(|entry| parent.child(list, entry.instance(schema)))
        .collect())
}

/// The schema of an instance; `None` if its leaf names none.
fn mounted_schema<'m>(
    schema: &Schema,
    view: &View,
    mount: &'m Mount,
    instance: &InstancePath,
) -> store::Result<Option<&'m MountedSchema>> {
    let Some(selector) = mount.selector else {
        return Ok(mount.schemas.first());
    };
    let parent = schema.node(selector).parent;
    let above = instance.steps.iter();
    let depth = above.take_while(|step| Some(step.node) != parent).count();
    let mut path = InstancePath {
        steps: instance.steps[..=depth.min(instance.steps.len() - 1)].to_vec(),
    };
    path = path.child(selector, Keys::None);
    let selection = Selection {
        with_defaults: WithDefaults::ReportAll,
        ..Selection::default()
    };
    let mut builder = TreeBuilder::new();
    view.read(&path, &selection, &mut builder)?;
    let tree = builder.finish()?;
    let name = tree.nodes.first().and_then(DataNode::value);
    let name = name.map(ToString::to_string);
    let mut schemas = mount.schemas.iter();
    Ok(schemas.find(|mounted| Some(&*mounted.name) == name.as_deref()))
}

/// A node inside its ancestors.
fn enclosed(schema: &Schema, path: &InstancePath, content: DataNode) -> DataNode {
    let steps = path.steps.iter().rev();
    steps.fold(content, |child, step| {
        let mut children = Vec::new();
        if let Keys::Values(values) = &step.keys {
            let keys = schema.node(step.node).keys().iter().zip(values);
            children.extend(
                keys.map(|(&key, value)| DataNode::new(key, Content::Value(value.clone()))),
            );
        }
        children.push(child);
        DataNode::new(step.node, Content::Inner(children))
    })
}
