//! Types of leaves (RFC 7950 §4.2.4, §9), as compiled: typedefs resolved, restrictions collected.

use serde::{Deserialize, Serialize};

use crate::schema::pattern::LazyRegex;
use crate::schema::{IdentityId, NodeId};

/// A type with its restrictions. Values are made with [`Type::parse`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Type {
    /// The built-in type and its restrictions.
    pub kind: TypeKind,
    /// The additional canonical form of a well-known typedef.
    pub canonical: Canonical,
    /// The name in the model: `module:typedef` for a typedef, otherwise the built-in name.
    pub name: Box<str>,
    /// Whether the model marks the values as secret. See [`Type::has_secret_values`].
    pub secrecy: Secrecy,
}

/// Whether values may be quoted in errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Secrecy {
    /// They may.
    #[default]
    Open,
    /// They may not: a password in clear text must not reach a log.
    Secret,
}

/// The canonical form of a type that derives from a typedef of RFC 6991 and similar modules. In the model these are
/// strings (one is a union); their description defines the canonical form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Canonical {
    /// That of the built-in type.
    #[default]
    BuiltIn,
    /// `ietf-inet-types:ipv4-address` (with zone).
    Ipv4Address,
    /// `ietf-inet-types:ipv4-address-no-zone`.
    Ipv4AddressNoZone,
    /// `ietf-inet-types:ipv4-prefix`: host bits are zero.
    Ipv4Prefix,
    /// `ietf-inet-types:ipv4-address-and-prefix`: host bits are kept.
    Ipv4AddressAndPrefix,
    /// `ietf-inet-types:ipv6-address` (with zone): the form of RFC 5952.
    Ipv6Address,
    /// `ietf-inet-types:ipv6-address-no-zone`.
    Ipv6AddressNoZone,
    /// `ietf-inet-types:ipv6-prefix`: host bits are zero.
    Ipv6Prefix,
    /// `ietf-inet-types:ipv6-address-and-prefix`: host bits are kept.
    Ipv6AddressAndPrefix,
    /// `ietf-yang-types:hex-string`, `mac-address`, `phys-address`, `uuid`: lower case.
    HexString,
    /// `ietf-yang-types:date-and-time`: as written, with its offset.
    DateAndTime,
    /// `ietf-yang-types:date` and `date-no-zone`: as written.
    Date,
    /// `ietf-yang-types:time` and `time-no-zone`: as written.
    Time,
    /// `ietf-yang-types:xpath1.0`.
    XPath,
    /// `ietf-netconf-acm:node-instance-identifier`, and `stream-xpath-filter` of `ietf-subscribed-notifications`: names
    /// of modules that the schema does not have are accepted.
    NodeInstanceIdentifier,
}

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// The least value.
    pub min: i128,
    /// The greatest value.
    pub max: i128,
}

/// A `range` or `length`: ascending intervals, and the model's error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervals {
    /// The intervals; empty means unrestricted.
    pub parts: Vec<Interval>,
    /// `error-message`.
    pub error_message: Option<Box<str>>,
    /// `error-app-tag`.
    pub error_app_tag: Option<Box<str>>,
}

/// A `pattern` (RFC 7950 §9.4.5).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pattern {
    /// The XSD expression of the model, and its anchored translation for a linear-time engine; compiled at the first
    /// match.
    pub regex: LazyRegex,
    /// `modifier invert-match`.
    pub is_inverted: bool,
    /// `error-message`.
    pub error_message: Option<Box<str>>,
    /// `error-app-tag`.
    pub error_app_tag: Option<Box<str>>,
}

/// An enum of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnumItem {
    /// Its name.
    pub name: Box<str>,
    /// Its value.
    pub value: i32,
}

/// A bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bit {
    /// Its name.
    pub name: Box<str>,
    /// Its position.
    pub position: u32,
}

/// The eight integer types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum IntegerWidth {
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
}

/// The built-in types (RFC 7950 §4.2.4) and their restrictions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum TypeKind {
    /// `binary`, with the length in bytes.
    Binary(Intervals),
    /// `bits`, by position.
    Bits(Vec<Bit>),
    /// `boolean`.
    Boolean,
    /// `decimal64`: fraction digits, and the range scaled by them.
    Decimal64(u8, Intervals),
    /// `empty`.
    Empty,
    /// `enumeration`.
    Enumeration(Vec<EnumItem>),
    /// `identityref`: a value must be derived from every base.
    IdentityRef(Vec<IdentityId>),
    /// `instance-identifier`.
    InstanceIdentifier {
        /// `require-instance`.
        require_instance: bool,
        /// The node with the mount point where its paths start (RFC 8528 §4); `None` for the root.
        root: Option<NodeId>,
    },
    /// The integers.
    Integer(IntegerWidth, Intervals),
    /// `leafref`: a value has the target's type.
    LeafRef {
        /// The path, parsed.
        path: crate::xpath::Expression,
        /// The path, as in the model.
        text: Box<str>,
        /// The target leaf or leaf-list.
        target: Option<NodeId>,
        /// The target's type, leafrefs resolved.
        target_type: Box<Type>,
        /// `require-instance`.
        require_instance: bool,
    },
    /// `string`, with the length in characters.
    String(Intervals, Vec<Pattern>),
    /// `union`, members in order.
    Union(Vec<Type>),
}

impl Default for Type {
    /// The type `empty`.
    fn default() -> Self {
        Self {
            kind: TypeKind::Empty,
            canonical: Canonical::BuiltIn,
            name: "empty".into(),
            secrecy: Secrecy::Open,
        }
    }
}

impl Type {
    /// Returns whether no error may quote a value: the typedef is named `crypt-hash`, as that of iana-crypt-hash, or
    /// derives from such a one, or the leaf or one of its ancestors is marked with `nacm:default-deny-all` (RFC 8341
    /// §3.7). The same holds for a leafref to such a leaf and a union with such a member.
    pub fn has_secret_values(&self) -> bool {
        self.secrecy == Secrecy::Secret
            || match &self.kind {
                TypeKind::LeafRef { target_type, .. } => target_type.has_secret_values(),
                TypeKind::Union(members) => members.iter().any(Self::has_secret_values),
                _ => false,
            }
    }

    /// Returns whether it is a leafref, or a union with one.
    pub fn has_leafref(&self) -> bool {
        match &self.kind {
            TypeKind::LeafRef { .. } => true,
            TypeKind::Union(members) => members.iter().any(Self::has_leafref),
            _ => false,
        }
    }
}
