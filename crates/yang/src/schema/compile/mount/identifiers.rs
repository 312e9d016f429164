//! The modules and identities of a mounted schema in the schema with the mount point.

use crate::schema::{Identity, IdentityId, Module, ModuleId, Schema};

/// Ids of the schema with the mount point, by those of the mounted schema.
pub(super) struct Identifiers {
    pub(super) modules: Vec<ModuleId>,
    /// The identities as bases.
    pub(super) identities: Vec<IdentityId>,
}

impl Identifiers {
    /// Adds the modules and identities of a mounted schema that are not in the schema yet.
    pub(super) fn add(schema: &mut Schema, mounted: &Schema) -> Result<Self, String> {
        let modules = mounted.modules.iter();
        let modules: Vec<ModuleId> = modules
            .map(|module| add_module(schema, module))
            .collect::<Result<_, _>>()?;
        let identities = add_identities(schema, mounted, &modules);
        Ok(Self {
            modules,
            identities,
        })
    }
}

/// In data, a module is its name and its namespace, whatever its revision.
fn add_module(schema: &mut Schema, module: &Module) -> Result<ModuleId, String> {
    let by_name = schema.module_by_name(&module.name);
    let by_namespace = schema.module_by_namespace(&module.namespace);
    if by_name != by_namespace {
        return Err(format!(
            "another module has the name {} or the namespace {}",
            module.name, module.namespace
        ));
    }
    if let Some(id) = by_name {
        return Ok(id);
    }
    let id = u16::try_from(schema.modules.len()).map_err(|_| "there are too many modules")?;
    let id = ModuleId(id);
    schema.modules.push(Module {
        // Not in the schema itself: it has no top-level nodes of the module.
        is_implemented: false,
        ..module.clone()
    });
    schema.module_names.insert(module.name.clone(), id);
    let namespace = module.namespace.clone();
    schema.module_namespaces.insert(namespace, id);
    Ok(id)
}

/// The first identity of a module and name is the value. As a base it has the derived identities of one schema, so a
/// schema in which they differ has an identity of its own.
fn add_identities(schema: &mut Schema, mounted: &Schema, modules: &[ModuleId]) -> Vec<IdentityId> {
    let first = schema.identities.len() as u32;
    let mut values = Vec::with_capacity(mounted.identities.len());
    for identity in &mounted.identities {
        let module = modules[usize::from(identity.module.0)];
        let known = schema.identity_by_name(module, &identity.name);
        values.push(known.unwrap_or_else(|| push(schema, module, identity, Vec::new())));
    }
    let mut is_set = vec![false; schema.identities.len() - first as usize];
    let mut bases = Vec::with_capacity(values.len());
    for (identity, &value) in mounted.identities.iter().zip(&values) {
        let derived = identity.derived.iter().map(|id| values[id.0 as usize]);
        let mut derived: Vec<IdentityId> = derived.collect();
        derived.sort_unstable();
        if value.0 >= first && !is_set[(value.0 - first) as usize] {
            is_set[(value.0 - first) as usize] = true;
            schema.identities[value.0 as usize].derived = derived;
            bases.push(value);
            continue;
        }
        let module = modules[usize::from(identity.module.0)];
        let named = schema.identity_names.get(&identity.name);
        let same = named.into_iter().flatten().copied().find(|&id| {
            let other = schema.identity(id);
            other.module == module && other.derived == derived
        });
        bases.push(same.unwrap_or_else(|| push(schema, module, identity, derived)));
    }
    bases
}

fn push(
    schema: &mut Schema,
    module: ModuleId,
    identity: &Identity,
    derived: Vec<IdentityId>,
) -> IdentityId {
    let id = IdentityId(schema.identities.len() as u32);
    let name = identity.name.clone();
    schema
        .identity_names
        .entry(name.clone())
        .or_default()
        .push(id);
    schema.identities.push(Identity {
        module,
        name,
        derived,
    });
    id
}
