//! Types whose values are names: enumerations (RFC 7950 §9.6), bits (§9.7), identityrefs (§9.10),
//! instance-identifiers (§9.13).

use super::mismatch::Mismatch;
use super::parse::Input;
use super::text::is_space;
use crate::path::InstancePath;
use crate::schema::{Bit, EnumItem, IdentityId, NameForm, NodeId};
use crate::value::Value;
use crate::xpath::{Expression, with_modules};

pub(super) fn enumeration<'t>(text: &str, items: &[EnumItem]) -> Result<Value, Mismatch<'t>> {
    let found = items.iter().find(|item| &*item.name == text);
    found
        .map(|item| Value::String(item.name.clone()))
        .ok_or(Mismatch::Malformed)
}

/// In canonical form, the bits are ordered by position and separated by one space (RFC 7950 §9.7.2).
pub(super) fn bits<'t>(text: &str, bits: &[Bit]) -> Result<Value, Mismatch<'t>> {
    let mut set = vec![false; bits.len()];
    for name in text.split(is_space).filter(|name| !name.is_empty()) {
        let position = bits.iter().position(|bit| &*bit.name == name);
        let position = position.ok_or(Mismatch::Malformed)?;
        if std::mem::replace(&mut set[position], true) {
            return Err(Mismatch::DuplicateBit);
        }
    }
    let mut canonical = String::new();
    for (bit, _) in bits.iter().zip(set).filter(|(_, is_set)| *is_set) {
        if !canonical.is_empty() {
            canonical.push(' ');
        }
        canonical.push_str(&bit.name);
    }
    Ok(Value::String(canonical.into()))
}

pub(super) fn identity<'t>(input: Input<'_>, bases: &[IdentityId]) -> Result<Value, Mismatch<'t>> {
    let (prefix, name) = match input.text.split_once(':') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, input.text),
    };
    let module = input.namespaces.module(input.schema, prefix);
    let id = module
        .and_then(|module| input.schema.identity_by_name(module, name))
        .ok_or(Mismatch::NoIdentity)?;
    let is_derived = |&base: &IdentityId| {
        let derived = &input.schema.identity(base).derived;
        derived.binary_search(&id).is_ok()
    };
    if !bases.iter().all(is_derived) {
        return Err(Mismatch::NotDerived);
    }
    let identity = input.schema.identity(id);
    let module = &input.schema.module(identity.module).name;
    let mut canonical = String::with_capacity(module.len() + 1 + name.len());
    canonical.push_str(module);
    canonical.push(':');
    canonical.push_str(name);
    Ok(Value::Identity(canonical.into()))
}

pub(super) fn instance_identifier<'t>(
    input: Input<'_>,
    root: Option<NodeId>,
) -> Result<Value, Mismatch<'t>> {
    let Input {
        schema,
        namespaces,
        text,
        ..
    } = input;
    let path = InstancePath::parse_below(schema, root, text, namespaces)
        .map_err(|_| Mismatch::Malformed)?;
    let canonical = path.to_instance_identifier(schema);
    Ok(Value::InstanceIdentifier(canonical.into()))
}

/// Whether an expression may name modules that the schema does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherModules {
    /// It may not.
    Unknown,
    /// It may: access rules apply to the data of other anchors too (docs/decisions/0071).
    Accepted,
}

/// An XPath expression as data, with module names as prefixes. It is stored like an instance identifier, so that the
/// XML printer knows that it contains names.
pub(super) fn expression<'t>(
    input: Input<'_>,
    others: OtherModules,
) -> Result<Value, Mismatch<'t>> {
    let module_of = |prefix: &str| match input.namespaces.module(input.schema, Some(prefix)) {
        Some(module) => Some(input.schema.module(module).name.clone()),
        None => match others {
            OtherModules::Accepted => input.namespaces.other_module(prefix),
            OtherModules::Unknown => None,
        },
    };
    // A name may have no prefix. `with_modules` finds prefixes that are not modules of the schema.
    Expression::parse(input.text, &|prefix| {
        Some(prefix.unwrap_or_default().into())
    })
    .map_err(|_| Mismatch::Malformed)?;
    let with_modules = with_modules(input.text, &module_of).map_err(|_| match others {
        OtherModules::Accepted => Mismatch::UnknownNamespace,
        OtherModules::Unknown => Mismatch::Malformed,
    })?;
    let canonical = match input.namespaces.form() {
        // The text is kept as written, even if it contains redundant module names.
        NameForm::Json => input.text.into(),
        NameForm::Xml => with_modules.into(),
    };
    Ok(Value::InstanceIdentifier(canonical))
}
