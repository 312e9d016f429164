//! The parameters of a page (draft-ietf-netconf-list-pagination §3), as protocols receive them.

use std::collections::BTreeMap;

use espalier_yang::{DataError, ErrorTag, ErrorType, InstancePath, Keys, Schema};

use super::condition::PageCondition;
use super::request::{PageDirection, PageRequest, PageStart};
use super::sort_key::SortKey;

/// The locales in whose order entries are sorted: that of the code points.
const LOCALES: [&str; 2] = ["C", "POSIX"];

/// The locale of sorted pages, as their metadata name it.
pub(super) const LOCALE: &str = "C";

/// The names of the parameters.
const NAMES: [&str; 8] = [
    "cursor",
    "direction",
    "limit",
    "locale",
    "offset",
    "sort-by",
    "sublist-limit",
    "where",
];

/// The parameter that applies to the lists below the target.
const SUBLIST_LIMIT: &str = "sublist-limit";

/// The modules of the names in expressions and node identifiers. A name without a prefix is of any module.
#[derive(Clone, Copy)]
pub enum PageNames<'a> {
    /// Prefixes are names of modules (draft-ietf-netconf-list-pagination-rc).
    Modules,
    /// The namespace of a prefix, if one is declared. Other prefixes are those of modules, or their names.
    Prefixes(&'a dyn Fn(&str) -> Option<Box<str>>),
}

impl PageNames<'_> {
    /// The name of the module that a prefix stands for. A prefix that is not known stands for a module without nodes.
    pub(super) fn module_of(&self, schema: &Schema, prefix: &str) -> Box<str> {
        let Self::Prefixes(namespace_of) = self else {
            return prefix.into();
        };
        if let Some(namespace) = namespace_of(prefix) {
            let module = schema.module_by_namespace(&namespace);
            return module.map_or(namespace, |module| schema.module(module).name.clone());
        }
        let mut modules = schema.modules().iter();
        let with_prefix = modules.find(|module| module.is_implemented && *module.prefix == *prefix);
        with_prefix.map_or_else(|| prefix.into(), |module| module.name.clone())
    }
}

/// The parameters of a page, each at most once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageParameters {
    values: BTreeMap<&'static str, Box<str>>,
}

impl PageParameters {
    /// Whether a parameter has this name.
    pub fn has_name(name: &str) -> bool {
        NAMES.contains(&name)
    }

    /// Adds a parameter.
    ///
    /// # Errors
    /// `invalid-value` for another name, a second value, or a value that the parameter cannot have.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), DataError> {
        let Some(&name) = NAMES.iter().find(|known| **known == name) else {
            return Err(invalid(name, format!("there is no parameter “{name}”")));
        };
        let is_valid = match name {
            "limit" | SUBLIST_LIMIT => {
                value == "unbounded" || number(value).is_some_and(|limit| limit > 0)
            }
            "offset" => number(value).is_some(),
            "direction" => matches!(value, "forwards" | "backwards"),
            _ => true,
        };
        if !is_valid {
            let expected = match name {
                "direction" => "forwards or backwards",
                "offset" => "0 to 4294967295",
                _ => "1 to 4294967295 or unbounded",
            };
            let message =
                format!("“{value}” is not a valid value of “{name}”: expected {expected}");
            return Err(invalid(name, message));
        }
        match self.values.insert(name, value.into()) {
            None => Ok(()),
            Some(_) => Err(invalid(
                name,
                format!("the parameter “{name}” is given more than once"),
            )),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether one of them is of the target, which must then be a whole list or leaf-list.
    pub fn needs_list(&self) -> bool {
        self.values.keys().any(|name| *name != SUBLIST_LIMIT)
    }

    /// The parameters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().map(|(name, value)| (*name, &**value))
    }

    /// The maximum number of entries of the lists and leaf-lists below the target.
    pub fn sublist_limit(&self) -> Option<u64> {
        number(self.values.get(SUBLIST_LIMIT)?)
    }

    /// The page that the parameters request of a target; `None` if they request none.
    ///
    /// # Errors
    /// `operation-not-supported` for a cursor of a leaf-list; `invalid-value` for another target than a whole list or
    /// leaf-list, parameters that exclude each other, a condition that is no expression, a node to sort by that
    /// is no leaf of the entries, and with the app-tag `ietf-list-pagination:locale-unavailable` for an unknown locale.
    pub fn request(
        &self,
        schema: &Schema,
        target: &InstancePath,
        names: &PageNames<'_>,
    ) -> Result<Option<PageRequest>, DataError> {
        if !self.needs_list() {
            return Ok(None);
        }
        let last = target.steps.last().filter(|step| step.keys == Keys::None);
        let node = last.map(|step| schema.node(step.node));
        let Some(node) = node.filter(|node| node.is_list() || node.is_leaf_list()) else {
            let message = "parameters of pages require a whole list or leaf-list";
            let error = DataError::new(ErrorTag::InvalidValue, message);
            return Err(error.of_type(ErrorType::Protocol));
        };
        let sort_by = self.get("sort-by").filter(|name| *name != "none");
        self.check_locale(sort_by)?;
        let condition = match self.get("where") {
            None | Some("unfiltered") => PageCondition::All,
            Some(text) => PageCondition::parse(schema, node, text, names)?,
        };
        let sort = sort_by
            .map(|text| SortKey::parse(schema, node, text, names))
            .transpose()?;
        let start = match (self.get("offset"), self.get("cursor")) {
            (Some(_), Some(_)) => {
                let message = "“offset” and “cursor” exclude each other";
                return Err(invalid("cursor", message.to_owned()));
            }
            (_, Some(_)) if node.is_leaf_list() => {
                return Err(unsupported("a leaf-list has no cursors: use “offset”"));
            }
            (_, Some(cursor)) => PageStart::Cursor(cursor.into()),
            (offset, None) => PageStart::Offset(offset.and_then(number).unwrap_or(0)),
        };
        let direction = match self.get("direction") {
            Some("backwards") => PageDirection::Backwards,
            _ => PageDirection::Forwards,
        };
        let [filter, order] = ["where", "sort-by"].map(|name| self.get(name).unwrap_or_default());
        Ok(Some(PageRequest {
            condition,
            is_sort_requested: sort.is_some(),
            sort: sort.filter(|key| !key.is_order_of(node)),
            direction,
            start,
            limit: self.get("limit").and_then(number),
            query: format!("{filter}\0{order}\0{direction:?}"),
        }))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|value| &**value)
    }

    fn check_locale(&self, sort_by: Option<&str>) -> Result<(), DataError> {
        let Some(locale) = self.get("locale") else {
            return Ok(());
        };
        if sort_by.is_none() {
            return Err(invalid("locale", "“locale” requires “sort-by”".to_owned()));
        }
        match LOCALES.contains(&locale.strip_suffix(".UTF-8").unwrap_or(locale)) {
            true => Ok(()),
            false => {
                let message = format!("the locale “{locale}” is not available");
                let error = invalid("locale", message);
                Err(error.with_app_tag("ietf-list-pagination:locale-unavailable"))
            }
        }
    }
}

/// A number of 32 bits, of digits only: no sign, no spaces.
fn number(text: &str) -> Option<u64> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_digits.then(|| text.parse::<u32>().ok())?;
    number.map(u64::from)
}

/// The error of a parameter.
pub(super) fn invalid(parameter: &str, message: String) -> DataError {
    let error = DataError::new(ErrorTag::InvalidValue, message).of_type(ErrorType::Application);
    error.on_element(parameter)
}

fn unsupported(message: &str) -> DataError {
    DataError::new(ErrorTag::OperationNotSupported, message).of_type(ErrorType::Application)
}
