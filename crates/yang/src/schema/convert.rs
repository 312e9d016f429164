//! Conversion of values to a newer schema: whether a type accepts every value of an older type in the same form, and
//! the new value if it does not.

use super::lexical::{JsonScalar, ValueError};
use super::{
    EnumItem, IdentityId, IntegerWidth, Intervals, ModuleId, ModuleNames, Pattern, Schema, Type,
    TypeKind,
};
use crate::value::Value;

/// Whether the targets of instance-identifiers may have changed between two schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceIdentifierTargets {
    /// Every instance-identifier has the same meaning in both schemas.
    Unchanged,
    /// Each instance-identifier must be parsed again.
    Changed,
}

/// Two schemas whose types are compared.
#[derive(Clone, Copy, Debug)]
pub struct SchemaPair<'a> {
    /// The schema under which values are stored.
    pub old: &'a Schema,
    /// The schema under which they will be stored.
    pub new: &'a Schema,
    /// Whether instance-identifiers keep their meaning.
    pub named_nodes: InstanceIdentifierTargets,
}

impl SchemaPair<'_> {
    /// Returns whether every value of a type of the old schema is a value of a type of the new one, in the same
    /// canonical form; false if that is not certain.
    pub fn preserves_values(&self, old: &Type, new: &Type) -> bool {
        let (old, new) = (resolved(old), resolved(new));
        if old.canonical != new.canonical {
            return false;
        }
        match (&old.kind, &new.kind) {
            (TypeKind::Boolean, TypeKind::Boolean) | (TypeKind::Empty, TypeKind::Empty) => true,
            (TypeKind::Binary(old), TypeKind::Binary(new)) => includes(new, old),
            (TypeKind::Bits(old), TypeKind::Bits(new)) => {
                let names = new.iter().map(|bit| &bit.name);
                let common: Vec<_> = names
                    .filter(|name| old.iter().any(|bit| bit.name == **name))
                    .collect();
                common.into_iter().eq(old.iter().map(|bit| &bit.name))
            }
            (TypeKind::Decimal64(old_digits, old), TypeKind::Decimal64(new_digits, new)) => {
                old_digits == new_digits && includes(new, old)
            }
            (TypeKind::Enumeration(old), TypeKind::Enumeration(new)) => {
                let has_name = |item: &EnumItem| new.iter().any(|other| other.name == item.name);
                old.iter().all(has_name)
            }
            (TypeKind::IdentityRef(old), TypeKind::IdentityRef(new)) => {
                self.keep_identities(old, new)
            }
            (TypeKind::InstanceIdentifier { .. }, TypeKind::InstanceIdentifier { .. }) => {
                self.named_nodes == InstanceIdentifierTargets::Unchanged
            }
            (TypeKind::Integer(old_width, old), TypeKind::Integer(new_width, new)) => {
                let is_wider = is_stored_alike(*old_width, *new_width);
                old_width == new_width && includes(new, old)
                    || is_wider && new.parts.is_empty()
                    || is_wider && !old.parts.is_empty() && includes(new, old)
            }
            (TypeKind::String(old, old_patterns), TypeKind::String(new, new_patterns)) => {
                let is_old = |pattern: &Pattern| {
                    let same = |other: &Pattern| {
                        other.regex.source() == pattern.regex.source()
                            && other.is_inverted == pattern.is_inverted
                    };
                    old_patterns.iter().any(same)
                };
                includes(new, old) && new_patterns.iter().all(is_old)
            }
            // A value belongs to the first member that accepts it, so earlier members must not accept more.
            (TypeKind::Union(old), TypeKind::Union(new)) => {
                let backwards = SchemaPair {
                    old: self.new,
                    new: self.old,
                    ..*self
                };
                let is_same = |(old, new): (&Type, &Type)| {
                    self.preserves_values(old, new) && backwards.preserves_values(new, old)
                };
                old.len() <= new.len() && old.iter().zip(new).all(is_same)
            }
            _ => false,
        }
    }

    fn keep_identities(&self, old: &[IdentityId], new: &[IdentityId]) -> bool {
        let Some((&first, others)) = old.split_first() else {
            return false;
        };
        let derived = |schema: &Schema, base: IdentityId, id: IdentityId| {
            schema.identity(base).derived.binary_search(&id).is_ok()
        };
        let accepted = self.old.identity(first).derived.iter().filter(|&&id| {
            let of = |&base: &IdentityId| derived(self.old, base, id);
            others.iter().all(of)
        });
        accepted.into_iter().all(|&id| {
            let identity = self.old.identity(id);
            let module = &self.old.module(identity.module).name;
            let module = self.new.module_by_name(module);
            let same = module.and_then(|module| self.new.identity_by_name(module, &identity.name));
            same.is_some_and(|same| new.iter().all(|&base| derived(self.new, base, same)))
        })
    }
}

impl Type {
    /// Converts a stored value of another type to this type, by its text. A member of a union is chosen by the JSON
    /// encoding of the value, as when an exported document is read. An identity whose module does not exist is taken
    /// from another module, if exactly one has an identity of that name that the type accepts.
    ///
    /// # Errors
    /// If the text is not a value of this type.
    pub fn convert(
        &self,
        schema: &Schema,
        leaf_module: ModuleId,
        value: &Value,
    ) -> Result<Value, ValueError> {
        let names = ModuleNames { leaf_module };
        let converted = self.parse_stored(schema, value, &names);
        match (converted, value) {
            (Err(error), Value::Identity(text)) => {
                let name = text.split_once(':').map_or(&**text, |(_, name)| name);
                self.moved_identity(schema, name, &names).ok_or(error)
            }
            (converted, _) => converted,
        }
    }

    fn parse_stored(
        &self,
        schema: &Schema,
        value: &Value,
        names: &ModuleNames,
    ) -> Result<Value, ValueError> {
        let text = value.to_string();
        if matches!(resolved(self).kind, TypeKind::Union(_)) {
            let scalar = match value {
                Value::Int32(_) | Value::Uint32(_) => JsonScalar::Number(&text),
                Value::Boolean(value) => JsonScalar::Boolean(*value),
                Value::Empty => JsonScalar::EmptyArray,
                _ => JsonScalar::String(&text),
            };
            if let Ok(value) = self.parse_json(schema, scalar, names) {
                return Ok(value);
            }
        }
        self.parse(schema, &text, names)
    }

    fn moved_identity(&self, schema: &Schema, name: &str, names: &ModuleNames) -> Option<Value> {
        let mut found = schema.identity_names.get(name)?.iter().filter_map(|&id| {
            let module = &schema.module(schema.identity(id).module).name;
            self.parse(schema, &format!("{module}:{name}"), names).ok()
        });
        let only = found.next()?;
        found.next().is_none().then_some(only)
    }
}

/// The target type of a leafref; other types are returned unchanged.
fn resolved(of: &Type) -> &Type {
    match &of.kind {
        TypeKind::LeafRef { target_type, .. } => resolved(target_type),
        _ => of,
    }
}

/// Returns whether `old` is a subset of `new`. No intervals means every number.
fn includes(new: &Intervals, old: &Intervals) -> bool {
    let is_within = |part: &super::Interval| {
        let mut parts = new.parts.iter();
        parts.any(|other| other.min <= part.min && part.max <= other.max)
    };
    new.parts.is_empty() || !old.parts.is_empty() && old.parts.iter().all(is_within)
}

/// Returns whether an integer type includes another and stores its values in the same form.
fn is_stored_alike(old: IntegerWidth, new: IntegerWidth) -> bool {
    use IntegerWidth::{Int8, Int16, Int32, Uint8, Uint16, Uint32};
    old == new
        || matches!(
            (old, new),
            (Int8, Int16 | Int32) | (Int16, Int32) | (Uint8, Uint16 | Uint32) | (Uint16, Uint32)
        )
}
