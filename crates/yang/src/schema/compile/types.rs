//! Copies types: restrictions, canonical forms, names.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ffi::{self, BaseType};
use super::modules::Indexes;
use super::patterns::ReplacedPatterns;
use crate::schema::pattern::LazyRegex;
use crate::schema::{
    Bit, Canonical, EnumItem, IntegerWidth, Interval, Intervals, ModuleId, NameForm, Namespaces,
    Pattern, Schema, Secrecy, Type, TypeKind,
};
use crate::xpath::{Expression, XPathError};

/// Parses an expression and replaces its prefixes by module names.
pub(super) fn expression(
    text: &str,
    prefixes: &[ffi::Prefix<'_>],
) -> Result<Expression, XPathError> {
    Expression::parse(text, &|prefix| {
        let found = prefixes
            .iter()
            .find(|found_prefix| found_prefix.prefix == prefix)?;
        Some(found.module.name().into())
    })
}

/// Parses a condition and replaces its prefixes by module names; unprefixed names belong to the module of the node
/// that has the condition.
pub(super) fn condition(found: &ffi::Condition<'_>) -> Result<Expression, XPathError> {
    let literals = |prefix: Option<&str>| {
        let prefixes = found.prefixes.iter();
        let mut matching = prefixes.filter(|candidate| candidate.prefix == prefix);
        matching.next().map(|found| found.module.name().into())
    };
    let names = |prefix: Option<&str>| match (prefix, found.module) {
        (None, Some(module)) => Some(module.name().into()),
        _ => literals(prefix),
    };
    Expression::parse_in_model(found.text, &names, &literals)
}

/// The prefixes of a value in a model.
pub(super) struct ModelPrefixes<'c> {
    modules: Vec<(Option<&'c str>, ModuleId)>,
}

impl<'c> ModelPrefixes<'c> {
    pub(super) fn new(prefixes: &[ffi::Prefix<'c>], indexes: &Indexes) -> Self {
        let modules = prefixes.iter().filter_map(|known| {
            let id = indexes.modules.get(&known.module.address())?;
            Some((known.prefix, *id))
        });
        Self {
            modules: modules.collect(),
        }
    }
}

impl Namespaces for ModelPrefixes<'_> {
    fn module(&self, _schema: &Schema, prefix: Option<&str>) -> Option<ModuleId> {
        let mut known = self.modules.iter();
        known.find(|(known, _)| *known == prefix).map(|&(_, id)| id)
    }

    fn other_module(&self, _prefix: &str) -> Option<Box<str>> {
        None
    }

    fn form(&self) -> NameForm {
        NameForm::Xml
    }
}

/// Copies types. Types are shared by many leaves, and patterns by many types: each is translated once.
pub(super) struct TypeCopier<'i> {
    indexes: &'i Indexes,
    replaced: &'i ReplacedPatterns,
    regexes: FxHashMap<Box<str>, LazyRegex>,
    /// By the address of the compiled type, because leaves share types.
    copied: FxHashMap<(usize, Box<str>, Secrecy), Arc<Type>>,
}

impl<'i> TypeCopier<'i> {
    pub(super) fn new(indexes: &'i Indexes, replaced: &'i ReplacedPatterns) -> Self {
        Self {
            indexes,
            replaced,
            regexes: FxHashMap::default(),
            copied: FxHashMap::default(),
        }
    }

    /// Copies the type of a leaf; the error names the pattern that cannot be translated.
    pub(super) fn copy(
        &mut self,
        node: ffi::Node<'_>,
        compiled: ffi::Type<'_>,
        secrecy: Secrecy,
    ) -> Result<Arc<Type>, String> {
        let name = leaf_type_name(node, compiled);
        let secrecy = match derives_from_secret(node, compiled) {
            true => Secrecy::Secret,
            false => secrecy,
        };
        let key = (compiled.address(), name, secrecy);
        if let Some(copied) = self.copied.get(&key)
            && !names_any_module(node)
        {
            return Ok(Arc::clone(copied));
        }
        let mut copied = self.copy_type(compiled, key.1.clone(), secrecy)?;
        if names_any_module(node) {
            copied.canonical = Canonical::NodeInstanceIdentifier;
            return Ok(Arc::new(copied));
        }
        let copied = Arc::new(copied);
        self.copied.insert(key, Arc::clone(&copied));
        Ok(copied)
    }

    fn copy_type(
        &mut self,
        compiled: ffi::Type<'_>,
        name: Box<str>,
        secrecy: Secrecy,
    ) -> Result<Type, String> {
        Ok(Type {
            kind: self.kind(compiled)?,
            canonical: canonical(compiled),
            name,
            secrecy,
        })
    }

    fn member(&mut self, compiled: ffi::Type<'_>) -> Result<Type, String> {
        let name = compiled
            .typedef()
            .or(built_in_name(compiled))
            .unwrap_or_default();
        let secrecy = match name == SECRET_TYPEDEF {
            true => Secrecy::Secret,
            false => Secrecy::Open,
        };
        self.copy_type(compiled, name.into(), secrecy)
    }

    fn kind(&mut self, compiled: ffi::Type<'_>) -> Result<TypeKind, String> {
        let base = compiled.base().ok_or("The type is not one of RFC 7950.")?;
        Ok(match base {
            BaseType::Binary => TypeKind::Binary(intervals(compiled)),
            BaseType::String => TypeKind::String(intervals(compiled), self.patterns(compiled)?),
            BaseType::Bits => TypeKind::Bits(bits(compiled)),
            BaseType::Boolean => TypeKind::Boolean,
            BaseType::Decimal64 => {
                TypeKind::Decimal64(compiled.fraction_digits(), intervals(compiled))
            }
            BaseType::Empty => TypeKind::Empty,
            BaseType::Enumeration => TypeKind::Enumeration(enums(compiled)),
            BaseType::IdentityRef => {
                let bases = compiled.identity_bases().into_iter();
                let ids = bases.filter_map(|base| self.indexes.identities.get(&base.address()));
                TypeKind::IdentityRef(ids.copied().collect())
            }
            BaseType::InstanceIdentifier => TypeKind::InstanceIdentifier {
                require_instance: compiled.requires_instance(),
                root: None,
            },
            BaseType::LeafRef => self.leafref(compiled)?,
            BaseType::Union => {
                let members = compiled.members().into_iter();
                let members = members.map(|member| self.member(member));
                TypeKind::Union(members.collect::<Result<_, _>>()?)
            }
            BaseType::Int8 => TypeKind::Integer(IntegerWidth::Int8, intervals(compiled)),
            BaseType::Int16 => TypeKind::Integer(IntegerWidth::Int16, intervals(compiled)),
            BaseType::Int32 => TypeKind::Integer(IntegerWidth::Int32, intervals(compiled)),
            BaseType::Int64 => TypeKind::Integer(IntegerWidth::Int64, intervals(compiled)),
            BaseType::Uint8 => TypeKind::Integer(IntegerWidth::Uint8, intervals(compiled)),
            BaseType::Uint16 => TypeKind::Integer(IntegerWidth::Uint16, intervals(compiled)),
            BaseType::Uint32 => TypeKind::Integer(IntegerWidth::Uint32, intervals(compiled)),
            BaseType::Uint64 => TypeKind::Integer(IntegerWidth::Uint64, intervals(compiled)),
        })
    }

    fn leafref(&mut self, compiled: ffi::Type<'_>) -> Result<TypeKind, String> {
        let (text, prefixes, target) = compiled.leafref().ok_or("The leafref has no path.")?;
        let target = target.ok_or("The leafref has no target.")?;
        Ok(TypeKind::LeafRef {
            path: expression(text, &prefixes)
                .map_err(|error| format!("The path \"{text}\" cannot be parsed: {error}"))?,
            text: text.into(),
            target: None,
            target_type: Box::new(self.member(target)?),
            require_instance: compiled.requires_instance(),
        })
    }

    fn patterns(&mut self, compiled: ffi::Type<'_>) -> Result<Vec<Pattern>, String> {
        let patterns = compiled.patterns().into_iter();
        patterns
            .map(|pattern| {
                let source = self.replaced.original(pattern.pattern);
                Ok(Pattern {
                    regex: self.regex(&source)?,
                    is_inverted: pattern.is_inverted,
                    error_message: pattern.error_message.map(Into::into),
                    error_app_tag: pattern.error_app_tag.map(Into::into),
                })
            })
            .collect()
    }

    fn regex(&mut self, source: &str) -> Result<LazyRegex, String> {
        if let Some(regex) = self.regexes.get(source) {
            return Ok(regex.clone());
        }
        let regex = LazyRegex::compile(source)
            .map_err(|error| format!("The pattern \"{source}\" cannot be translated: {error}"))?;
        self.regexes.insert(source.into(), regex.clone());
        Ok(regex)
    }
}

fn intervals(compiled: ffi::Type<'_>) -> Intervals {
    let Some(restriction) = compiled.intervals() else {
        return Intervals::default();
    };
    let parts = restriction.parts.into_iter();
    Intervals {
        parts: parts.map(|(min, max)| Interval { min, max }).collect(),
        error_message: restriction.error_message.map(Into::into),
        error_app_tag: restriction.error_app_tag.map(Into::into),
    }
}

fn bits(compiled: ffi::Type<'_>) -> Vec<Bit> {
    let bits = compiled.bits().into_iter();
    bits.map(|(name, position)| Bit {
        name: name.into(),
        position,
    })
    .collect()
}

fn enums(compiled: ffi::Type<'_>) -> Vec<EnumItem> {
    let enums = compiled.enums().into_iter();
    enums
        .map(|(name, value)| EnumItem {
            name: name.into(),
            value,
        })
        .collect()
}

/// The canonical form of libyang's plugin of the type. Some plugins serve two typedefs.
fn canonical(compiled: ffi::Type<'_>) -> Canonical {
    let plugin = compiled.plugin();
    match plugin.strip_prefix("ly2 ").unwrap_or(plugin) {
        "ipv4-address" => Canonical::Ipv4Address,
        "ipv4-address-no-zone" => Canonical::Ipv4AddressNoZone,
        "ipv4-address-prefix" if compiled.typedef() == Some("ipv4-prefix") => Canonical::Ipv4Prefix,
        "ipv4-address-prefix" => Canonical::Ipv4AddressAndPrefix,
        "ipv6-address" => Canonical::Ipv6Address,
        "ipv6-address-no-zone" => Canonical::Ipv6AddressNoZone,
        "ipv6-address-prefix" if compiled.typedef() == Some("ipv6-prefix") => Canonical::Ipv6Prefix,
        "ipv6-address-prefix" => Canonical::Ipv6AddressAndPrefix,
        "hex-string" => Canonical::HexString,
        "date-and-time" => Canonical::DateAndTime,
        "date" => Canonical::Date,
        "time" => Canonical::Time,
        "xpath1.0" => Canonical::XPath,
        "node-instance-identifier" => Canonical::NodeInstanceIdentifier,
        _ => Canonical::BuiltIn,
    }
}

/// Whether the expressions of a leaf name all modules of a server (RFC 8639 §2.2): the server's own schema has the leaf
/// and not the modules of the data.
fn names_any_module(node: ffi::Node<'_>) -> bool {
    let module = match node.name() {
        "stream-xpath-filter" => "ietf-subscribed-notifications",
        "datastore-xpath-filter" => "ietf-yang-push",
        "xpath-filter" => "ietf-nmda-compare",
        _ => return false,
    };
    node.module().is_some_and(|of| of.name() == module)
}

/// The maximum number of typedefs in a chain; libyang rejects cycles.
const TYPEDEFS_MAX: usize = 1000;

/// The name of typedefs whose values are secret, in any module.
const SECRET_TYPEDEF: &str = "crypt-hash";

/// Whether the type of a leaf is or derives from a typedef with secret values.
fn derives_from_secret(node: ffi::Node<'_>, compiled: ffi::Type<'_>) -> bool {
    let parsed = std::iter::successors(node.parsed_type(), |parsed| parsed.base());
    compiled.typedef() == Some(SECRET_TYPEDEF)
        || parsed
            .take(TYPEDEFS_MAX)
            .any(|parsed| parsed.name() == SECRET_TYPEDEF)
}

/// `module:typedef`, or the name of the built-in type. The name in the model is taken, unless it does not lead to the
/// compiled type because a deviation has replaced it.
fn leaf_type_name(node: ffi::Node<'_>, compiled: ffi::Type<'_>) -> Box<str> {
    let compiled_name = compiled
        .typedef()
        .or(built_in_name(compiled))
        .unwrap_or_default();
    let Some(parsed) = node.parsed_type() else {
        return compiled_name.into();
    };
    let mut names = std::iter::successors(Some(parsed), |parsed| parsed.base());
    if !names
        .by_ref()
        .take(TYPEDEFS_MAX)
        .any(|found| found.name() == compiled_name)
    {
        return compiled_name.into();
    }
    match (parsed.base(), parsed.module()) {
        (Some(_), Some(module)) => format!("{}:{}", module.name(), parsed.name()).into(),
        _ => parsed.name().into(),
    }
}

fn built_in_name(compiled: ffi::Type<'_>) -> Option<&'static str> {
    Some(match compiled.base()? {
        BaseType::Binary => "binary",
        BaseType::Uint8 => "uint8",
        BaseType::Uint16 => "uint16",
        BaseType::Uint32 => "uint32",
        BaseType::Uint64 => "uint64",
        BaseType::String => "string",
        BaseType::Bits => "bits",
        BaseType::Boolean => "boolean",
        BaseType::Decimal64 => "decimal64",
        BaseType::Empty => "empty",
        BaseType::Enumeration => "enumeration",
        BaseType::IdentityRef => "identityref",
        BaseType::InstanceIdentifier => "instance-identifier",
        BaseType::LeafRef => "leafref",
        BaseType::Union => "union",
        BaseType::Int8 => "int8",
        BaseType::Int16 => "int16",
        BaseType::Int32 => "int32",
        BaseType::Int64 => "int64",
    })
}
