//! Finds mount points, and compiles what is mounted there.

use std::collections::BTreeSet;

use super::point::Point;
use crate::schema::compile::error::{SchemaError, SchemaErrors};
use crate::schema::compile::run::implemented_names;
use crate::schema::compile::size::SCHEMA_NODES_MAX;
use crate::schema::{
    Module, Mount, MountSource, MountedSchema, MountedSchemas, NodeId, NodeKind, Schema,
    SchemaSource,
};

/// The statement that declares a mount point.
const MOUNT_POINT: &str = "ietf-yang-schema-mount:mount-point";

/// Every mounted schema contains it (RFC 8528 §3.3): its data describe the modules to clients.
const LIBRARY: &str = "ietf-yang-library";

/// A mounted schema, compiled.
struct Compiled {
    name: Box<str>,
    schema: Schema,
    /// The modules whose top-level nodes are not mounted: libyang implements them because a leafref refers to them, but
    /// the leafref is a parent reference.
    drawn_in: Vec<Box<str>>,
}

impl Compiled {
    fn modules(&self) -> Vec<Module> {
        let modules = self.schema.own_modules().iter();
        let described = modules.map(|module| Module {
            is_implemented: module.is_implemented && !self.drawn_in.contains(&module.name),
            ..module.clone()
        });
        described.collect()
    }
}

/// Compiles modules with what is mounted at their mount points.
pub(in crate::schema::compile) fn compile(source: &SchemaSource) -> Result<Schema, SchemaErrors> {
    let mounts: Vec<&MountSource> = source.mounts.iter().collect();
    let mut unused: BTreeSet<(&str, &str)> = BTreeSet::new();
    for mount in &mounts {
        if !unused.insert((&mount.module, &mount.label)) {
            return Err(failure(mount, "it has two definitions".to_owned()));
        }
    }
    let schema = compile_with(source, &mounts, &mut unused)?;
    match mounts
        .iter()
        .find(|mount| unused.contains(&(&mount.module, &mount.label)))
    {
        Some(mount) => Err(failure(mount, "no node has it".to_owned())),
        None => Ok(schema),
    }
}

fn compile_with<'s>(
    source: &SchemaSource,
    mounts: &[&'s MountSource],
    unused: &mut BTreeSet<(&'s str, &'s str)>,
) -> Result<Schema, SchemaErrors> {
    let mut schema = Schema::compile_modules(source)?;
    let points: Vec<Vec<NodeId>> = mounts
        .iter()
        .map(|mount| mount_points(&schema, mount))
        .collect();
    if points.iter().all(Vec::is_empty) {
        return Ok(schema);
    }
    for (&mount, points) in mounts.iter().zip(points) {
        if points.is_empty() {
            continue;
        }
        unused.remove(&(&mount.module, &mount.label));
        // A schema is not mounted in itself.
        let inner: Vec<&MountSource> = mounts
            .iter()
            .copied()
            .filter(|&other| other != mount)
            .collect();
        let compiled = compile_mounted(mount, &inner, unused)?;
        for node in points {
            attach(&mut schema, node, mount, &compiled)
                .map_err(|message| failure(mount, message))?;
        }
    }
    schema.nodes.index();
    if schema.nodes.len() as u64 > SCHEMA_NODES_MAX {
        let message =
            format!("The schema has more than {SCHEMA_NODES_MAX} nodes (SCHEMA_NODES_MAX).");
        return Err(error(message));
    }
    Ok(schema)
}

fn compile_mounted<'s>(
    mount: &MountSource,
    inner: &[&'s MountSource],
    unused: &mut BTreeSet<(&'s str, &'s str)>,
) -> Result<Vec<Compiled>, SchemaErrors> {
    let (sources, has_references) = match &mount.schemas {
        MountedSchemas::Shared {
            schema,
            parent_references,
        } => (vec![("", schema)], !parent_references.is_empty()),
        MountedSchemas::Inline { schemas, .. } => {
            let named = schemas.iter().map(|(name, schema)| (name.as_str(), schema));
            (named.collect(), false)
        }
    };
    let mut all = Vec::with_capacity(sources.len());
    for (name, source) in sources {
        let mut source = source.clone();
        source.implement = implemented_names(&source)
            .into_iter()
            .map(str::to_owned)
            .collect();
        if !source.implement.iter().any(|module| module == LIBRARY) {
            source.implement.push(LIBRARY.to_owned());
        }
        let schema = compile_with(&source, inner, unused)
            .map_err(|errors| in_mounted(errors, mount, name))?;
        let is_drawn_in = |name: &str| {
            has_references
                && !source
                    .implement
                    .iter()
                    .any(|implemented| implemented == name)
        };
        let modules = schema.own_modules().iter().map(|module| &module.name);
        let drawn_in = modules.filter(|name| is_drawn_in(name)).cloned().collect();
        all.push(Compiled {
            name: name.into(),
            schema,
            drawn_in,
        });
    }
    Ok(all)
}

/// The containers and lists with a mount point.
fn mount_points(schema: &Schema, mount: &MountSource) -> Vec<NodeId> {
    let nodes = schema.nodes().filter(|node| {
        let is_inner = matches!(node.kind, NodeKind::Container { .. } | NodeKind::List(_));
        is_inner && *schema.module(node.module).name == *mount.module
    });
    let labelled = nodes.filter(|node| {
        let mut extensions = node.extensions.iter();
        extensions.any(|(name, label)| {
            **name == *MOUNT_POINT && label.as_deref() == Some(mount.label.as_str())
        })
    });
    labelled.map(|node| node.id).collect()
}

/// Adds the mounted schemas at one node.
fn attach(
    schema: &mut Schema,
    node: NodeId,
    mount: &MountSource,
    compiled: &[Compiled],
) -> Result<(), String> {
    let mut record = Mount {
        node,
        label: mount.label.as_str().into(),
        selector: None,
        parent_references: Vec::new(),
        schemas: Vec::new(),
    };
    if let MountedSchemas::Shared {
        parent_references, ..
    } = &mount.schemas
    {
        let texts = parent_references.iter().map(|text| text.as_str().into());
        record.parent_references = texts.collect();
    }
    let place = schema.mounts.len();
    let mut point = Point::new(schema, node, &record.parent_references)?;
    for mounted in compiled {
        let roots = point.add(&mounted.schema, &mounted.drawn_in)?;
        record.schemas.push(MountedSchema {
            name: mounted.name.clone(),
            modules: mounted.modules(),
            roots,
        });
    }
    if let MountedSchemas::Inline { selector, .. } = &mount.schemas {
        let names: Vec<&str> = compiled.iter().map(|mounted| &*mounted.name).collect();
        record.selector = Some(point.select(selector, &names)?);
    }
    // Those that were added meanwhile are inside.
    schema.mounts.insert(place, record);
    Ok(())
}

fn failure(mount: &MountSource, message: String) -> SchemaErrors {
    let (module, label) = (&mount.module, &mount.label);
    error(format!("The mount point {module}:{label}: {message}."))
}

fn error(message: String) -> SchemaErrors {
    SchemaErrors::new(vec![SchemaError {
        module: String::new(),
        line: 0,
        path: String::new(),
        message,
    }])
}

/// Adds to the errors of a mounted schema where it is mounted.
fn in_mounted(errors: SchemaErrors, mount: &MountSource, name: &str) -> SchemaErrors {
    let (module, label) = (&mount.module, &mount.label);
    let mut errors = errors.into_vec();
    for error in &mut errors {
        error.message = match name {
            "" => format!("{} (Mounted at {module}:{label}.)", error.message),
            name => format!("{} (Mounted at {module}:{label}, {name}.)", error.message),
        };
    }
    SchemaErrors::new(errors)
}
