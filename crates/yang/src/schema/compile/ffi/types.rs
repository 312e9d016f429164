//! Compiled types and their restrictions.

use std::ffi::c_char;

use libyang5_sys as sys;

use super::module::prefixes;
use super::{Identity, Prefix, raw};

/// The built-in types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(in crate::schema::compile) enum BaseType {
    Binary,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    String,
    Bits,
    Boolean,
    Decimal64,
    Empty,
    Enumeration,
    IdentityRef,
    InstanceIdentifier,
    LeafRef,
    Union,
    Int8,
    Int16,
    Int32,
    Int64,
}

/// A compiled type.
#[derive(Clone, Copy)]
pub(in crate::schema::compile) struct Type<'c>(&'c sys::lysc_type);

/// A `range`, `length` or `pattern`.
pub(in crate::schema::compile) struct Restriction<'c> {
    /// The intervals of a range or length.
    pub(in crate::schema::compile) parts: Vec<(i128, i128)>,
    /// The expression of a pattern.
    pub(in crate::schema::compile) pattern: &'c str,
    /// Whether it is a pattern with `modifier invert-match`.
    pub(in crate::schema::compile) is_inverted: bool,
    /// `error-message`.
    pub(in crate::schema::compile) error_message: Option<&'c str>,
    /// `error-app-tag`.
    pub(in crate::schema::compile) error_app_tag: Option<&'c str>,
}

// SAFETY, for every block below: the view borrows a compiled context, whose structures, strings,
// lists and arrays do not change during `'c`. A type is read as the structure of its base type,
// which is given by `basetype`.
impl<'c> Type<'c> {
    /// # Safety
    /// `raw` is null or a compiled type that lives, unchanged, for `'c`.
    pub(super) unsafe fn from_raw(raw: *const sys::lysc_type) -> Option<Self> {
        unsafe { raw.as_ref().map(Self) }
    }

    /// Identifies the type within its context.
    pub(in crate::schema::compile) fn address(self) -> usize {
        std::ptr::from_ref(self.0) as usize
    }

    /// # Safety
    /// `T` must be libyang's structure for the base type.
    unsafe fn cast<T>(self) -> &'c T {
        unsafe { &*std::ptr::from_ref(self.0).cast::<T>() }
    }

    /// `None` for an unsupported base type.
    pub(in crate::schema::compile) fn base(self) -> Option<BaseType> {
        Some(match self.0.basetype {
            sys::LY_DATA_TYPE::LY_TYPE_BINARY => BaseType::Binary,
            sys::LY_DATA_TYPE::LY_TYPE_UINT8 => BaseType::Uint8,
            sys::LY_DATA_TYPE::LY_TYPE_UINT16 => BaseType::Uint16,
            sys::LY_DATA_TYPE::LY_TYPE_UINT32 => BaseType::Uint32,
            sys::LY_DATA_TYPE::LY_TYPE_UINT64 => BaseType::Uint64,
            sys::LY_DATA_TYPE::LY_TYPE_STRING => BaseType::String,
            sys::LY_DATA_TYPE::LY_TYPE_BITS => BaseType::Bits,
            sys::LY_DATA_TYPE::LY_TYPE_BOOL => BaseType::Boolean,
            sys::LY_DATA_TYPE::LY_TYPE_DEC64 => BaseType::Decimal64,
            sys::LY_DATA_TYPE::LY_TYPE_EMPTY => BaseType::Empty,
            sys::LY_DATA_TYPE::LY_TYPE_ENUM => BaseType::Enumeration,
            sys::LY_DATA_TYPE::LY_TYPE_IDENT => BaseType::IdentityRef,
            sys::LY_DATA_TYPE::LY_TYPE_INST => BaseType::InstanceIdentifier,
            sys::LY_DATA_TYPE::LY_TYPE_LEAFREF => BaseType::LeafRef,
            sys::LY_DATA_TYPE::LY_TYPE_UNION => BaseType::Union,
            sys::LY_DATA_TYPE::LY_TYPE_INT8 => BaseType::Int8,
            sys::LY_DATA_TYPE::LY_TYPE_INT16 => BaseType::Int16,
            sys::LY_DATA_TYPE::LY_TYPE_INT32 => BaseType::Int32,
            sys::LY_DATA_TYPE::LY_TYPE_INT64 => BaseType::Int64,
            _ => return None,
        })
    }

    /// The name of the typedef, without prefix; `None` for a built-in type.
    pub(in crate::schema::compile) fn typedef(self) -> Option<&'c str> {
        unsafe { raw::optional_text(self.0.name) }
    }

    /// The id of the plugin that canonicalises values, for example `ly2 ipv6-address`. A type has the plugin of the
    /// typedef that it derives from.
    pub(in crate::schema::compile) fn plugin(self) -> &'c str {
        unsafe {
            // The bindings do not declare `struct lyplg_type`; its first member is the id
            // (`const char *id`, `plugins_types.h`).
            let plugin = sys::lysc_get_type_plugin(self.0.plugin_ref).cast::<*const c_char>();
            plugin.as_ref().map_or("", |&id| raw::text(id))
        }
    }

    /// The `range` of a number (scaled, for decimal64), or the `length` of a string or binary.
    pub(in crate::schema::compile) fn intervals(self) -> Option<Restriction<'c>> {
        unsafe {
            let range = match self.base()? {
                BaseType::String => self.cast::<sys::lysc_type_str>().length,
                BaseType::Binary => self.cast::<sys::lysc_type_bin>().length,
                BaseType::Decimal64 => self.cast::<sys::lysc_type_dec>().range,
                BaseType::Uint8
                | BaseType::Uint16
                | BaseType::Uint32
                | BaseType::Uint64
                | BaseType::Int8
                | BaseType::Int16
                | BaseType::Int32
                | BaseType::Int64 => self.cast::<sys::lysc_type_num>().range,
                _ => return None,
            };
            let range = range.as_ref()?;
            Some(Restriction {
                parts: raw::sized_array(range.parts)
                    .iter()
                    .map(|part| self.bounds(part))
                    .collect(),
                pattern: "",
                is_inverted: false,
                error_message: raw::optional_text(range.emsg),
                error_app_tag: raw::optional_text(range.eapptag),
            })
        }
    }

    /// # Safety
    /// `part` belongs to the range or length of this type.
    unsafe fn bounds(self, part: &sys::lysc_range_lysc_range_part) -> (i128, i128) {
        let is_signed = matches!(
            self.base(),
            Some(
                BaseType::Int8
                    | BaseType::Int16
                    | BaseType::Int32
                    | BaseType::Int64
                    | BaseType::Decimal64
            )
        );
        unsafe {
            if is_signed {
                let min = part.__bindgen_anon_1.min_64;
                (min.into(), part.__bindgen_anon_2.max_64.into())
            } else {
                let min = part.__bindgen_anon_1.min_u64;
                (min.into(), part.__bindgen_anon_2.max_u64.into())
            }
        }
    }

    /// The patterns of a string, including those of its typedefs.
    pub(in crate::schema::compile) fn patterns(self) -> Vec<Restriction<'c>> {
        if self.base() != Some(BaseType::String) {
            return Vec::new();
        }
        unsafe {
            raw::sized_array(self.cast::<sys::lysc_type_str>().patterns)
                .iter()
                .filter_map(|pattern| pattern.as_ref())
                .map(|pattern| Restriction {
                    parts: Vec::new(),
                    pattern: raw::text(pattern.expr),
                    is_inverted: pattern.inverted() != 0,
                    error_message: raw::optional_text(pattern.emsg),
                    error_app_tag: raw::optional_text(pattern.eapptag),
                })
                .collect()
        }
    }

    /// The `fraction-digits` of a decimal64.
    pub(in crate::schema::compile) fn fraction_digits(self) -> u8 {
        match self.base() {
            Some(BaseType::Decimal64) => unsafe {
                self.cast::<sys::lysc_type_dec>().fraction_digits
            },
            _ => 0,
        }
    }

    /// The names of an enumeration, with their values.
    pub(in crate::schema::compile) fn enums(self) -> Vec<(&'c str, i32)> {
        if self.base() != Some(BaseType::Enumeration) {
            return Vec::new();
        }
        unsafe {
            raw::sized_array(self.cast::<sys::lysc_type_enum>().enums)
                .iter()
                .map(|item| (raw::text(item.name), item.__bindgen_anon_1.value))
                .collect()
        }
    }

    /// The bits, ascending by position.
    pub(in crate::schema::compile) fn bits(self) -> Vec<(&'c str, u32)> {
        if self.base() != Some(BaseType::Bits) {
            return Vec::new();
        }
        unsafe {
            raw::sized_array(self.cast::<sys::lysc_type_bits>().bits)
                .iter()
                .map(|item| (raw::text(item.name), item.__bindgen_anon_1.position))
                .collect()
        }
    }

    /// The bases of an identityref.
    pub(in crate::schema::compile) fn identity_bases(self) -> Vec<Identity<'c>> {
        if self.base() != Some(BaseType::IdentityRef) {
            return Vec::new();
        }
        unsafe {
            raw::sized_array(self.cast::<sys::lysc_type_identityref>().bases)
                .iter()
                .filter_map(|identity| identity.as_ref())
                .map(Identity)
                .collect()
        }
    }

    /// `require-instance` of a leafref or instance-identifier.
    pub(in crate::schema::compile) fn requires_instance(self) -> bool {
        unsafe {
            match self.base() {
                Some(BaseType::LeafRef) => {
                    self.cast::<sys::lysc_type_leafref>().require_instance != 0
                }
                Some(BaseType::InstanceIdentifier) => {
                    self.cast::<sys::lysc_type_instanceid>().require_instance != 0
                }
                _ => false,
            }
        }
    }

    /// The path of a leafref, the meaning of its prefixes, and the type of its target.
    pub(in crate::schema::compile) fn leafref(
        self,
    ) -> Option<(&'c str, Vec<Prefix<'c>>, Option<Type<'c>>)> {
        if self.base() != Some(BaseType::LeafRef) {
            return None;
        }
        unsafe {
            let leafref = self.cast::<sys::lysc_type_leafref>();
            Some((
                raw::text(sys::lyxp_get_expr(leafref.path)),
                prefixes(leafref.prefixes),
                Self::from_raw(leafref.realtype),
            ))
        }
    }

    /// The members of a union, in order.
    pub(in crate::schema::compile) fn members(self) -> Vec<Type<'c>> {
        if self.base() != Some(BaseType::Union) {
            return Vec::new();
        }
        unsafe {
            raw::sized_array(self.cast::<sys::lysc_type_union>().types)
                .iter()
                .filter_map(|&member| Self::from_raw(member))
                .collect()
        }
    }
}
