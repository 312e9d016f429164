//! The filters of requests (RFC 6241 §6, §8.9).

use espalier_service::{RequestFilter, XPathFilter};
use espalier_yang::ErrorTag;
use espalier_yang::data::subtree_filter::SubtreeFilter;

use super::output::Result;
use super::parameters::{Parameters, protocol_error};
use crate::netconf::message::{BASE_NAMESPACE, Element};

/// The content of a `filter` element.
pub(super) enum FilterText<'e> {
    /// A subtree filter, as the content of the only element of a document.
    Subtree(String),
    /// An expression.
    XPath(&'e str),
}

impl<'e> FilterText<'e> {
    /// That of an element. Its attributes may have the namespace of the messages.
    ///
    /// # Errors
    /// `bad-attribute` for another type; `missing-attribute` for an XPath filter without an expression.
    pub fn of(filter: &'e Element<'_>) -> Result<Self> {
        match filter.attribute("type").unwrap_or("subtree") {
            "subtree" => Ok(Self::Subtree(filter.renamed(BASE_NAMESPACE, "filter", ""))),
            "xpath" => match filter.attribute("select") {
                Some(select) => Ok(Self::XPath(select)),
                None => {
                    let message = "a filter of the type xpath needs the attribute “select”";
                    let error = protocol_error(ErrorTag::MissingAttribute, message);
                    Err(error.on_attribute("select").on_element("filter").into())
                }
            },
            other => {
                let message =
                    format!("the type of a filter must be subtree or xpath, not “{other}”");
                let error = protocol_error(ErrorTag::BadAttribute, message);
                Err(error.on_attribute("type").on_element("filter").into())
            }
        }
    }
}

/// The filter of `get` and `get-config`.
pub(super) fn request_filter(parameters: &Parameters<'_>) -> Result<RequestFilter> {
    let Some(filter) = parameters.get("filter") else {
        return Ok(RequestFilter::All);
    };
    match FilterText::of(filter)? {
        FilterText::Subtree(document) => subtree(&document),
        FilterText::XPath(text) => Ok(xpath(filter, text.to_owned())),
    }
}

/// The filter of `get-data` (RFC 8526 §3.1.1).
pub(super) fn nmda_filter(parameters: &Parameters<'_>) -> Result<RequestFilter> {
    match (
        parameters.get("subtree-filter"),
        parameters.get("xpath-filter"),
    ) {
        (None, None) => Ok(RequestFilter::All),
        (Some(filter), None) => subtree(&filter.renamed(BASE_NAMESPACE, "filter", "")),
        (None, Some(filter)) => Ok(xpath(filter, filter.text()?)),
        (Some(_), Some(_)) => {
            let message = "“subtree-filter” and “xpath-filter” exclude each other";
            let error = protocol_error(ErrorTag::BadElement, message);
            Err(error.on_element("xpath-filter").into())
        }
    }
}

fn subtree(document: &str) -> Result<RequestFilter> {
    Ok(RequestFilter::Subtree(SubtreeFilter::parse_element(
        document,
    )?))
}

fn xpath(scope: &Element<'_>, text: String) -> RequestFilter {
    RequestFilter::XPath(XPathFilter {
        text,
        namespaces: scope.namespaces(),
    })
}
