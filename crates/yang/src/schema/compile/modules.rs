//! Copies modules and identities.

use rustc_hash::{FxHashMap, FxHashSet};

use super::error::{SchemaError, SchemaErrors};
use super::ffi;
use crate::schema::model::{index_identities, index_modules};
use crate::schema::{Identity, IdentityId, Module, ModuleId, Schema};

/// The copied modules and identities, by their address in libyang.
#[derive(Default)]
pub(super) struct Indexes {
    pub(super) modules: FxHashMap<usize, ModuleId>,
    pub(super) identities: FxHashMap<usize, IdentityId>,
}

/// Copies all modules that the source uses (those to `implement`, and their imports), and their identities.
pub(super) fn copy(
    context: &ffi::Context<'_>,
    implement: &[&str],
    schema: &mut Schema,
) -> Result<Indexes, SchemaErrors> {
    let mut indexes = Indexes::default();
    let mut modules = used_modules(context, implement);
    modules.sort_by_key(|module| (module.name(), module.revision()));
    for &module in &modules {
        let id = ModuleId(u16::try_from(schema.modules.len()).map_err(|_| too_many_modules())?);
        indexes.modules.insert(module.address(), id);
        schema.modules.push(copy_module(module));
    }
    schema.own_modules = schema.modules.len();
    (schema.module_names, schema.module_namespaces) = index_modules(&schema.modules);
    copy_identities(&modules, &mut indexes, schema);
    schema.identity_names = index_identities(&schema.identities);
    Ok(indexes)
}

/// The modules that libyang adds to each context; copied only if other modules need them.
const INTERNAL_MODULES: [&str; 7] = [
    "default",
    "ietf-inet-types",
    "ietf-yang-metadata",
    "ietf-yang-schema-mount",
    "ietf-yang-structure-ext",
    "ietf-yang-types",
    "yang",
];

fn used_modules<'c>(context: &'c ffi::Context<'_>, implement: &[&str]) -> Vec<ffi::Module<'c>> {
    let modules = context.modules();
    let mut used: Vec<ffi::Module<'c>> = modules
        .into_iter()
        .filter(|module| {
            let name = module.name();
            !INTERNAL_MODULES.contains(&name) || implement.contains(&name)
        })
        .collect();
    let mut visited: FxHashSet<usize> = used.iter().map(|module| module.address()).collect();
    let mut next = 0;
    while let Some(module) = used.get(next).copied() {
        next += 1;
        let imports = module.all_imports().into_iter();
        used.extend(imports.filter(|import| visited.insert(import.address())));
    }
    used
}

fn copy_module(module: ffi::Module<'_>) -> Module {
    let submodules = module.submodules().into_iter();
    Module {
        name: module.name().into(),
        namespace: module.namespace().into(),
        prefix: module.prefix().into(),
        revision: module.revision().map(Into::into),
        is_implemented: module.is_implemented(),
        submodules: submodules
            .map(|(name, revision)| (name.into(), revision.map(Into::into)))
            .collect(),
        features: boxed(module.features()),
        deviated_by: boxed(module.deviated_by()),
        annotations: boxed(module.annotations()),
    }
}

fn boxed(names: Vec<&str>) -> Vec<Box<str>> {
    names.into_iter().map(Into::into).collect()
}

fn copy_identities(modules: &[ffi::Module<'_>], indexes: &mut Indexes, schema: &mut Schema) {
    let mut copied = Vec::new();
    for &module in modules {
        let module_id = indexes.modules[&module.address()];
        for identity in module.identities() {
            let id = IdentityId(u32::try_from(copied.len()).unwrap_or(u32::MAX));
            indexes.identities.insert(identity.address(), id);
            schema.identities.push(Identity {
                module: module_id,
                name: identity.name().into(),
                derived: Vec::new(),
            });
            copied.push(identity);
        }
    }
    for (index, &identity) in copied.iter().enumerate() {
        schema.identities[index].derived = derived(identity, indexes);
    }
}

/// All identities that derive from an identity and can be values.
fn derived(identity: ffi::Identity<'_>, indexes: &Indexes) -> Vec<IdentityId> {
    let mut visited = FxHashSet::default();
    let mut ids = Vec::new();
    let mut open: Vec<ffi::Identity<'_>> = identity.derived().collect();
    while let Some(next) = open.pop() {
        if visited.insert(next.address()) {
            let id = indexes.identities.get(&next.address()).copied();
            ids.extend(id.filter(|_| next.is_usable()));
            open.extend(next.derived());
        }
    }
    ids.sort_unstable();
    ids
}

fn too_many_modules() -> SchemaErrors {
    SchemaErrors::new(vec![SchemaError {
        module: String::new(),
        line: 0,
        path: String::new(),
        message: format!("There are more than {} modules.", u16::MAX),
    }])
}
