//! The parameters of operations.

use espalier_service::SessionDatastore;
use espalier_store::{Datastore, Error, WithDefaults};
use espalier_yang::data::{DataTree, ParseError, ParseOptions, Root, TreeBuilder, xml};
use espalier_yang::{DataError, ErrorTag, ErrorType, Schema};

use super::output::Result;
use crate::netconf::message::Element;

/// The namespace of `with-defaults` (RFC 6243).
const WITH_DEFAULTS_NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults";

/// The namespace of the operations of NMDA (RFC 8526).
pub(super) const NMDA_NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda";

/// The namespace of the identities of datastores (RFC 8342).
const DATASTORES_NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-datastores";

/// The namespace of `list-pagination` (draft-ietf-netconf-list-pagination-nc).
pub(super) const PAGINATION_NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-list-pagination-nc";

/// The parameter with the parameters of a page.
pub(super) const PAGINATION: &str = "list-pagination";

/// The parameters that may be there more than once.
const LISTS: [&str; 3] = ["negated-origin-filter", "origin-filter", "select"];

/// The parameters of an operation, in any order.
pub(super) struct Parameters<'m> {
    operation: String,
    all: Vec<Element<'m>>,
}

impl<'m> Parameters<'m> {
    /// Those of an operation. Each may be there once; some clients give no namespace.
    ///
    /// # Errors
    /// `unknown-element` for others than `names` and `with-defaults`; `bad-element` for one that is there twice.
    pub fn of(operation: &Element<'m>, names: &[&str]) -> Result<Self> {
        let all = operation.children()?;
        for (place, child) in all.iter().enumerate() {
            let is_own = child.namespace == operation.namespace || child.namespace.is_empty();
            let is_known = match child.namespace.as_str() {
                WITH_DEFAULTS_NAMESPACE => child.name == "with-defaults",
                PAGINATION_NAMESPACE => child.name == PAGINATION && names.contains(&PAGINATION),
                _ => is_own && child.name != PAGINATION && names.contains(&child.name.as_str()),
            };
            if !is_known {
                let message = format!("“{}” is no parameter of {}", child.name, operation.name);
                let error = protocol_error(ErrorTag::UnknownElement, message);
                return Err(error.on_element(&child.name).into());
            }
            let is_list = LISTS.contains(&child.name.as_str());
            if !is_list && all[..place].iter().any(|one| one.name == child.name) {
                let message = format!("“{}” is there more than once", child.name);
                let error = protocol_error(ErrorTag::BadElement, message);
                return Err(error.on_element(&child.name).into());
            }
        }
        Ok(Self {
            operation: operation.name.clone(),
            all,
        })
    }

    /// Parameters that were read already, and that need no check.
    pub fn complete(operation: &Element<'m>, all: Vec<Element<'m>>) -> Self {
        Self {
            operation: operation.name.clone(),
            all,
        }
    }

    /// A parameter.
    pub fn get(&self, name: &str) -> Option<&Element<'m>> {
        self.all.iter().find(|one| one.name == name)
    }

    /// All parameters of a name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &Element<'m>> {
        self.all.iter().filter(move |one| one.name == name)
    }

    /// The text of a parameter.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        Ok(self.get(name).map(Element::text).transpose()?)
    }

    /// The text of a parameter, which is one of some names; the index of the name. Without it, that of the first.
    pub fn choice(&self, name: &str, choices: &[&str]) -> Result<usize> {
        let Some(text) = self.text(name)? else {
            return Ok(0);
        };
        let found = choices.iter().position(|choice| *choice == text);
        found.ok_or_else(|| {
            let message = format!(
                "“{name}” must be one of {}, not “{text}”",
                choices.join(", ")
            );
            invalid(message, name).into()
        })
    }

    /// A parameter that must be there.
    pub fn required(&self, name: &str) -> Result<&Element<'m>> {
        let missing = || {
            let message = format!("“{name}” of {} is missing", self.operation);
            protocol_error(ErrorTag::MissingElement, message).on_element(name)
        };
        Ok(self.get(name).ok_or_else(missing)?)
    }

    /// The only element in a parameter, as in `source` and `target`.
    pub fn place(&self, name: &str) -> Result<Element<'m>> {
        let parameter = self.required(name)?;
        let mut places = parameter.children()?;
        match (places.pop(), places.pop()) {
            (Some(place), None) => Ok(place),
            (None, _) => {
                let message = format!("“{name}” names no datastore");
                let error = protocol_error(ErrorTag::MissingElement, message);
                Err(error.on_element(name).into())
            }
            (Some(second), Some(_)) => {
                let message = format!("“{name}” names more than one datastore");
                let error = protocol_error(ErrorTag::BadElement, message);
                Err(error.on_element(&second.name).into())
            }
        }
    }

    /// The datastore that a parameter such as `source` names.
    pub fn datastore(&self, of: &SessionDatastore, name: &str) -> Result<SessionDatastore> {
        named_datastore(of, &self.place(name)?)
    }

    /// The datastore that the identity in `datastore` names (RFC 8526).
    pub fn identified_datastore(&self, of: &SessionDatastore) -> Result<SessionDatastore> {
        identified_datastore(of, self.required("datastore")?)
    }

    /// How defaults are reported (RFC 6243).
    pub fn with_defaults(&self) -> Result<WithDefaults> {
        let modes = ["explicit", "report-all", "trim", "report-all-tagged"];
        Ok(match self.choice("with-defaults", &modes)? {
            1 => WithDefaults::ReportAll,
            2 => WithDefaults::Trim,
            3 => WithDefaults::ReportAllTagged,
            _ => WithDefaults::Explicit,
        })
    }
}

/// The datastore with the name of an element.
pub(super) fn named_datastore(
    of: &SessionDatastore,
    place: &Element<'_>,
) -> Result<SessionDatastore> {
    let datastore = match place.name.as_str() {
        "running" => Datastore::Running,
        "candidate" => Datastore::Candidate,
        "startup" => Datastore::Startup,
        other => {
            return Err(invalid(format!("“{other}” is not supported"), other).into());
        }
    };
    Ok(of.sibling(datastore)?)
}

/// The datastore that an identity names (RFC 8526).
pub(super) fn identified_datastore(
    of: &SessionDatastore,
    identity: &Element<'_>,
) -> Result<SessionDatastore> {
    let text = identity.text()?;
    let (prefix, name) = text.split_once(':').unwrap_or(("", &text));
    if identity.namespace_of(prefix) != Some(DATASTORES_NAMESPACE) {
        return Err(invalid(format!("there is no datastore “{text}”"), "datastore").into());
    }
    let named = Datastore::parse(name).map_err(|error| error.on_element("datastore"))?;
    Ok(of.sibling(named)?)
}

pub(super) fn invalid(message: impl Into<String>, element: &str) -> DataError {
    protocol_error(ErrorTag::InvalidValue, message).on_element(element)
}

pub(super) fn protocol_error(tag: ErrorTag, message: impl Into<String>) -> DataError {
    DataError::new(tag, message).of_type(ErrorType::Protocol)
}

/// The nodes in a document that was made of a parameter.
///
/// # Errors
/// Those of the document; `too-big` for one of too many nodes.
pub(super) fn document_tree(
    schema: &Schema,
    root: Root,
    document: &str,
    options: &ParseOptions,
) -> Result<DataTree> {
    let mut builder = TreeBuilder::new();
    match xml::parse(schema, root, document.as_bytes(), &mut builder, options) {
        // A builder stops its source at its limit, and has the error of that.
        Ok(()) | Err(ParseError::Stopped) => Ok(builder.finish().map_err(Error::from)?),
        Err(error) => Err(Error::from(error).into()),
    }
}
