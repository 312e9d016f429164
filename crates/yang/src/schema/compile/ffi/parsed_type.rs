//! Types as written in the model: with the names of typedefs, which compiled types lose if a typedef has no
//! restriction.

use libyang5_sys as sys;

use super::module::imports;
use super::{Module, raw};

/// A `type` statement.
#[derive(Clone, Copy)]
pub(in crate::schema::compile) struct ParsedType<'c> {
    parsed: &'c sys::lysp_type,
    module: &'c sys::lysp_module,
    /// The node or grouping that contains it, for local typedefs; null for types of top-level typedefs.
    scope: *const sys::lysp_node,
}

// SAFETY, for every block below: the view borrows a compiled context, whose parsed modules do not
// change during `'c`.
impl<'c> ParsedType<'c> {
    /// # Safety
    /// Type and scope live, unchanged, for `'c`; the scope may be null.
    pub(super) unsafe fn from_raw(
        parsed: &'c sys::lysp_type,
        scope: *const sys::lysp_node,
    ) -> Option<Self> {
        let module = unsafe { parsed.pmod.as_ref()? };
        Some(Self {
            parsed,
            module,
            scope,
        })
    }

    /// The name without prefix.
    pub(in crate::schema::compile) fn name(self) -> &'c str {
        let name = unsafe { raw::text(self.parsed.name) };
        name.split_once(':').map_or(name, |(_, name)| name)
    }

    /// The module that defines the typedef (for a built-in type, that of the statement).
    pub(in crate::schema::compile) fn module(self) -> Option<Module<'c>> {
        let module = self.parsed_module()?;
        unsafe { module.mod_.as_ref().map(Module) }
    }

    fn parsed_module(self) -> Option<&'c sys::lysp_module> {
        unsafe {
            let Some((prefix, _)) = raw::text(self.parsed.name).split_once(':') else {
                return Some(self.module);
            };
            let own = self.module.mod_.as_ref()?;
            let import = imports(self.module)
                .into_iter()
                .find(|import| import.prefix == Some(prefix));
            match import {
                Some(import) => import.module.0.parsed.as_ref(),
                None => (raw::text(own.prefix) == prefix).then_some(self.module),
            }
        }
    }

    /// The type of the typedef that it refers to; `None` for a built-in type.
    pub(in crate::schema::compile) fn base(self) -> Option<Self> {
        unsafe {
            let module = self.parsed_module()?;
            if std::ptr::eq(module, self.module) {
                let mut scope = self.scope;
                while let Some(node) = scope.as_ref() {
                    let typedefs = raw::sized_array(sys::lysp_node_typedefs(node));
                    if let Some(found) = self.find_in(typedefs) {
                        return Self::from_raw(&found.type_, node);
                    }
                    scope = node.parent;
                }
            }
            let main = module.mod_.as_ref().and_then(|main| main.parsed.as_ref())?;
            let submodules = raw::sized_array(main.includes)
                .iter()
                .filter_map(|include| {
                    // A `lysp_submodule` has the layout of a `lysp_module` at its start.
                    include.submodule.cast::<sys::lysp_module>().as_ref()
                });
            let found = [module, main]
                .into_iter()
                .chain(submodules)
                .find_map(|module| self.find_in(raw::sized_array(module.typedefs)))?;
            Self::from_raw(&found.type_, std::ptr::null())
        }
    }

    fn find_in(self, typedefs: &'c [sys::lysp_tpdf]) -> Option<&'c sys::lysp_tpdf> {
        typedefs
            .iter()
            .find(|found| unsafe { raw::text(found.name) } == self.name())
    }
}
