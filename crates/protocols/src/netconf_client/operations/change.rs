//! Operations that change data.

use super::read::datastore_element;
use super::xml::{leaf, optional};

const NMDA: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda";

/// A datastore, or another place of configuration.
#[derive(Clone, Debug)]
pub enum Place {
    /// `running`, `candidate`, `startup`, or another name of an element.
    Datastore(String),
    /// A URL (RFC 6241 §8.8).
    Url(String),
    /// Elements.
    Config(String),
}

/// What an edit has.
#[derive(Clone, Debug)]
pub enum Payload {
    /// Elements.
    Config(String),
    /// A URL (RFC 6241 §8.8).
    Url(String),
}

/// The options of `edit-config`; without one, it is not sent.
#[derive(Clone, Debug, Default)]
pub struct EditOptions {
    /// `default-operation`.
    pub default_operation: Option<String>,
    /// `test-option`.
    pub test_option: Option<String>,
    /// `error-option`.
    pub error_option: Option<String>,
}

impl Place {
    /// A datastore, or a URL if the name has a scheme.
    pub fn named(name: &str) -> Self {
        match name.contains("://") {
            true => Self::Url(name.to_owned()),
            false => Self::Datastore(name.to_owned()),
        }
    }

    pub(super) fn element(&self) -> String {
        match self {
            // Names with other characters would be other elements.
            Self::Datastore(name) if name.chars().all(is_of_name) && !name.is_empty() => {
                format!("<{name}/>")
            }
            Self::Datastore(name) => leaf("datastore", name),
            Self::Url(url) => leaf("url", url),
            Self::Config(elements) => format!("<config>{elements}</config>"),
        }
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.')
}

impl Payload {
    fn element(&self) -> String {
        match self {
            Self::Config(elements) => format!("<config>{elements}</config>"),
            Self::Url(url) => leaf("url", url),
        }
    }
}

/// `edit-config` (RFC 6241 §7.2).
pub fn edit_config(target: &str, options: &EditOptions, payload: &Payload) -> String {
    format!(
        "<edit-config><target>{}</target>{}{}{}{}</edit-config>",
        Place::named(target).element(),
        optional("default-operation", options.default_operation.as_deref()),
        optional("test-option", options.test_option.as_deref()),
        optional("error-option", options.error_option.as_deref()),
        payload.element()
    )
}

/// `edit-data` (RFC 8526 §3.1.2).
pub fn edit_data(datastore: &str, default_operation: Option<&str>, payload: &Payload) -> String {
    format!(
        "<edit-data xmlns=\"{NMDA}\">{}{}{}</edit-data>",
        datastore_element(datastore),
        optional("default-operation", default_operation),
        payload.element()
    )
}

/// `copy-config` (RFC 6241 §7.3).
pub fn copy_config(target: &Place, source: &Place) -> String {
    let (target, source) = (target.element(), source.element());
    format!("<copy-config><target>{target}</target><source>{source}</source></copy-config>")
}

/// `delete-config` (RFC 6241 §7.4).
pub fn delete_config(target: &Place) -> String {
    format!(
        "<delete-config><target>{}</target></delete-config>",
        target.element()
    )
}

/// `validate` (RFC 6241 §8.6).
pub fn validate(source: &Place) -> String {
    format!("<validate><source>{}</source></validate>", source.element())
}
