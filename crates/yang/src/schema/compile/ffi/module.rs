//! Modules, identities and prefixes.

use libyang5_sys as sys;

use super::{Node, raw};

/// A module.
#[derive(Clone, Copy)]
pub(in crate::schema::compile) struct Module<'c>(pub(super) &'c sys::lys_module);

/// An identity.
#[derive(Clone, Copy)]
pub(in crate::schema::compile) struct Identity<'c>(pub(super) &'c sys::lysc_ident);

/// A prefix of an expression or value, and its module.
#[derive(Clone, Copy)]
pub(in crate::schema::compile) struct Prefix<'c> {
    /// The prefix; `None` for names without one.
    pub(in crate::schema::compile) prefix: Option<&'c str>,
    /// The module.
    pub(in crate::schema::compile) module: Module<'c>,
}

// SAFETY, for every block below: the view borrows a compiled context, whose structures, strings,
// lists and arrays do not change during `'c`.
impl<'c> Module<'c> {
    /// Identifies the module within its context.
    pub(in crate::schema::compile) fn address(self) -> usize {
        std::ptr::from_ref(self.0) as usize
    }

    pub(in crate::schema::compile) fn name(self) -> &'c str {
        unsafe { raw::text(self.0.name) }
    }

    pub(in crate::schema::compile) fn revision(self) -> Option<&'c str> {
        unsafe { raw::optional_text(self.0.revision) }
    }

    pub(in crate::schema::compile) fn namespace(self) -> &'c str {
        unsafe { raw::text(self.0.ns) }
    }

    pub(in crate::schema::compile) fn prefix(self) -> &'c str {
        unsafe { raw::text(self.0.prefix) }
    }

    pub(in crate::schema::compile) fn is_implemented(self) -> bool {
        self.0.implemented != 0
    }

    /// Name and revision.
    pub(in crate::schema::compile) fn submodules(self) -> Vec<(&'c str, Option<&'c str>)> {
        unsafe {
            raw::sized_array(self.0.submodules)
                .iter()
                .map(|item| (raw::text(item.name), raw::optional_text(item.revision)))
                .collect()
        }
    }

    /// The enabled features.
    pub(in crate::schema::compile) fn features(self) -> Vec<&'c str> {
        unsafe {
            let Some(compiled) = self.0.compiled.as_ref() else {
                return Vec::new();
            };
            raw::sized_array(compiled.features)
                .iter()
                .filter_map(|&name| raw::optional_text(name))
                .collect()
        }
    }

    /// The features whose `if-feature`s are true with the currently enabled features; `None` if these are exactly the
    /// enabled ones.
    pub(in crate::schema::compile) fn features_to_set(self) -> Option<Vec<&'c str>> {
        let mut satisfied = Vec::new();
        let mut has_changed = false;
        let mut index = 0;
        let mut last = std::ptr::null();
        unsafe {
            while let Some(feature) =
                sys::lysp_feature_next(last, self.0.parsed, &mut index).as_ref()
            {
                last = feature;
                let conditions = raw::sized_array(feature.iffeatures_c.cast_const());
                let holds = conditions.iter().all(|condition| {
                    sys::lysc_iffeature_value(condition) == sys::LY_ERR::LY_SUCCESS
                });
                if holds {
                    satisfied.push(raw::text(feature.name));
                }
                has_changed |= holds != (u32::from(feature.flags) & sys::LYS_FENABLED != 0);
            }
        }
        has_changed.then_some(satisfied)
    }

    pub(in crate::schema::compile) fn deviated_by(self) -> Vec<&'c str> {
        unsafe {
            raw::sized_array(self.0.deviated_by)
                .iter()
                .filter_map(|module| module.as_ref())
                .map(|module| raw::text(module.name))
                .collect()
        }
    }

    /// The metadata annotations that it defines.
    pub(in crate::schema::compile) fn annotations(self) -> Vec<&'c str> {
        unsafe {
            let Some(compiled) = self.0.compiled.as_ref() else {
                return Vec::new();
            };
            raw::sized_array(compiled.exts)
                .iter()
                .filter(|instance| {
                    instance.def.as_ref().is_some_and(|definition| {
                        let module = definition
                            .module
                            .as_ref()
                            .map(|module| raw::text(module.name));
                        module == Some("ietf-yang-metadata")
                            && raw::text(definition.name) == "annotation"
                    })
                })
                .filter_map(|instance| raw::optional_text(instance.argument))
                .collect()
        }
    }

    /// The `unique` statements that its deviations add: the target of the deviation, and the statement's argument.
    pub(in crate::schema::compile) fn added_uniques(self) -> Vec<(&'c str, &'c str)> {
        let mut added = Vec::new();
        unsafe {
            let Some(parsed) = self.0.parsed.as_ref() else {
                return added;
            };
            let submodules = raw::sized_array(parsed.includes)
                .iter()
                // A `lysp_submodule` has the layout of a `lysp_module` at its start.
                .filter_map(|include| include.submodule.cast::<sys::lysp_module>().as_ref());
            for part in std::iter::once(parsed).chain(submodules) {
                for deviation in raw::sized_array(part.deviations) {
                    let target = raw::text(deviation.nodeid);
                    let mut deviate = deviation.deviates.as_ref();
                    while let Some(one) = deviate {
                        if u32::from(one.mod_) == sys::LYS_DEV_ADD {
                            let add = &*std::ptr::from_ref(one).cast::<sys::lysp_deviate_add>();
                            let uniques = raw::sized_array(add.uniques).iter();
                            added.extend(uniques.map(|unique| (target, raw::text(unique.str_))));
                        }
                        deviate = one.next.as_ref();
                    }
                }
            }
        }
        added
    }

    pub(in crate::schema::compile) fn identities(self) -> impl Iterator<Item = Identity<'c>> {
        unsafe { raw::sized_array(self.0.identities).iter().map(Identity) }
    }

    /// All imports of the module and its submodules.
    pub(in crate::schema::compile) fn all_imports(self) -> Vec<Module<'c>> {
        unsafe {
            let Some(parsed) = self.0.parsed.as_ref() else {
                return Vec::new();
            };
            let mut modules: Vec<_> = imports(parsed).iter().map(|item| item.module).collect();
            for include in raw::sized_array(parsed.includes) {
                // A `lysp_submodule` has the layout of a `lysp_module` at its start.
                if let Some(submodule) = include.submodule.cast::<sys::lysp_module>().as_ref() {
                    modules.extend(imports(submodule).iter().map(|item| item.module));
                }
            }
            modules
        }
    }

    /// Its first top-level data node.
    pub(in crate::schema::compile) fn data(self) -> Option<Node<'c>> {
        unsafe { Node::from_raw(self.0.compiled.as_ref()?.data) }
    }

    /// Its first RPC.
    pub(in crate::schema::compile) fn operations(self) -> Option<Node<'c>> {
        unsafe { Node::from_raw(self.0.compiled.as_ref()?.rpcs.cast()) }
    }

    /// Its first top-level notification.
    pub(in crate::schema::compile) fn notifications(self) -> Option<Node<'c>> {
        unsafe { Node::from_raw(self.0.compiled.as_ref()?.notifs.cast()) }
    }
}

impl<'c> Identity<'c> {
    /// Identifies the identity within its context.
    pub(in crate::schema::compile) fn address(self) -> usize {
        std::ptr::from_ref(self.0) as usize
    }

    pub(in crate::schema::compile) fn name(self) -> &'c str {
        unsafe { raw::text(self.0.name) }
    }

    /// The identities derived from it directly.
    pub(in crate::schema::compile) fn derived(self) -> impl Iterator<Item = Identity<'c>> {
        unsafe {
            raw::sized_array(self.0.derived)
                .iter()
                .filter_map(|identity| identity.as_ref())
                .map(Identity)
        }
    }

    /// Returns whether its `if-feature` is true and its module is implemented, so that it can be a value.
    pub(in crate::schema::compile) fn is_usable(self) -> bool {
        unsafe {
            self.0
                .module
                .as_ref()
                .is_some_and(|module| module.implemented != 0)
                && sys::lys_identity_iffeature_value(self.0) == sys::LY_ERR::LY_SUCCESS
        }
    }
}

/// # Safety
/// The module lives, unchanged, for `'c`.
pub(super) unsafe fn imports<'c>(parsed: &'c sys::lysp_module) -> Vec<Prefix<'c>> {
    unsafe {
        raw::sized_array(parsed.imports)
            .iter()
            // libyang adds some of them.
            .filter(|import| u32::from(import.flags) & sys::LYS_INTERNAL == 0)
            .filter_map(|import| {
                Some(Prefix {
                    prefix: raw::optional_text(import.prefix),
                    module: Module(import.module.as_ref()?),
                })
            })
            .collect()
    }
}

/// # Safety
/// `first` is a sized array of prefixes that lives, unchanged, for `'c`.
pub(super) unsafe fn prefixes<'c>(first: *const sys::lysc_prefix) -> Vec<Prefix<'c>> {
    unsafe {
        raw::sized_array(first)
            .iter()
            .filter_map(|item| {
                Some(Prefix {
                    prefix: raw::optional_text(item.prefix),
                    module: Module(item.mod_.as_ref()?),
                })
            })
            .collect()
    }
}
