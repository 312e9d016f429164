//! Operations that read.

use quick_xml::escape::escape;

use super::xml::{attribute, leaf, optional};

/// Which data are read.
#[derive(Clone, Debug)]
pub enum Filter {
    /// The elements of a subtree filter (RFC 6241 §6).
    Subtree(String),
    /// An XPath expression, with the namespaces of its prefixes.
    Xpath {
        /// The expression.
        expression: String,
        /// Prefixes and namespaces.
        namespaces: Vec<(String, String)>,
    },
}

/// What all operations that read have.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Which data; all without it.
    pub filter: Option<Filter>,
    /// The mode of `with-defaults` (RFC 6243).
    pub with_defaults: Option<String>,
}

/// What `get-data` has (RFC 8526 §3.1.1).
#[derive(Clone, Debug, Default)]
pub struct DataOptions {
    /// What all operations have.
    pub read: ReadOptions,
    /// `config-filter`.
    pub config_filter: Option<bool>,
    /// `max-depth`.
    pub max_depth: Option<u16>,
    /// `with-origin`.
    pub with_origin: bool,
}

const WITH_DEFAULTS: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults";
const NMDA: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda";
const MONITORING: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
const DATASTORES: &str = "urn:ietf:params:xml:ns:yang:ietf-datastores";

impl Filter {
    /// The element `filter`.
    pub(super) fn element(&self) -> String {
        match self {
            Self::Subtree(elements) => format!("<filter type=\"subtree\">{elements}</filter>"),
            Self::Xpath { expression, .. } => format!(
                "<filter type=\"xpath\"{}{}/>",
                attribute("select", expression),
                self.declarations()
            ),
        }
    }

    /// The elements `subtree-filter` or `xpath-filter`, with a begin of their names.
    pub(super) fn element_with(&self, begin: &str) -> String {
        match self {
            Self::Subtree(elements) => {
                format!("<{begin}subtree-filter>{elements}</{begin}subtree-filter>")
            }
            Self::Xpath { expression, .. } => format!(
                "<{begin}xpath-filter{}>{}</{begin}xpath-filter>",
                self.declarations(),
                escape(expression)
            ),
        }
    }

    pub(super) fn declarations(&self) -> String {
        match self {
            Self::Subtree(_) => String::new(),
            Self::Xpath { namespaces, .. } => {
                let namespaces = namespaces.iter();
                namespaces
                    .map(|(prefix, namespace)| attribute(&format!("xmlns:{prefix}"), namespace))
                    .collect()
            }
        }
    }
}

impl ReadOptions {
    fn elements(&self) -> String {
        let filter = self.filter.as_ref().map(Filter::element);
        let defaults = self.with_defaults.as_ref().map(|mode| {
            format!(
                "<with-defaults xmlns=\"{WITH_DEFAULTS}\">{}</with-defaults>",
                escape(mode)
            )
        });
        filter.into_iter().chain(defaults).collect()
    }
}

/// `get` (RFC 6241 §7.7).
pub fn get(options: &ReadOptions) -> String {
    format!("<get>{}</get>", options.elements())
}

/// `get-config` (RFC 6241 §7.1) of a datastore.
pub fn get_config(source: &str, options: &ReadOptions) -> String {
    let source = super::change::Place::named(source).element();
    format!(
        "<get-config><source>{source}</source>{}</get-config>",
        options.elements()
    )
}

/// `get-data` (RFC 8526 §3.1.1) of a datastore, an identity of `ietf-datastores` or one with a prefix.
pub fn get_data(datastore: &str, options: &DataOptions) -> String {
    let filter = options.read.filter.as_ref();
    let mut text = format!(
        "<get-data xmlns=\"{NMDA}\">{}",
        datastore_element(datastore)
    );
    text.extend(filter.map(|filter| filter.element_with("")));
    text.extend(
        options
            .config_filter
            .map(|only| leaf("config-filter", &only.to_string())),
    );
    text.extend(
        options
            .max_depth
            .map(|depth| leaf("max-depth", &depth.to_string())),
    );
    if options.with_origin {
        text.push_str("<with-origin/>");
    }
    text.push_str(&optional(
        "with-defaults",
        options.read.with_defaults.as_deref(),
    ));
    text.push_str("</get-data>");
    text
}

/// The element `datastore` of operations of `ietf-netconf-nmda`.
pub(super) fn datastore_element(datastore: &str) -> String {
    format!(
        "<datastore xmlns:ds=\"{DATASTORES}\">ds:{}</datastore>",
        escape(datastore)
    )
}

/// `get-schema` (RFC 6022 §3.1).
pub fn get_schema(name: &str, version: Option<&str>, format: Option<&str>) -> String {
    format!(
        "<get-schema xmlns=\"{MONITORING}\">{}{}{}</get-schema>",
        leaf("identifier", name),
        optional("version", version),
        optional("format", format)
    )
}
