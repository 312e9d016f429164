//! `rpc-error` (RFC 6241 §4.3).

use std::fmt;

use crate::netconf::{BASE_NAMESPACE, Element, NotXml};

/// The `error-severity`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Severity {
    /// The operation failed.
    #[default]
    Error,
    /// The operation was done.
    Warning,
}

/// An error of a reply. Fields that the server left out are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RpcError {
    /// The `error-type`.
    pub error_type: String,
    /// The `error-tag`. Servers have tags that RFC 6241 does not define.
    pub tag: String,
    /// The `error-severity`.
    pub severity: Severity,
    /// The `error-app-tag`.
    pub app_tag: String,
    /// The `error-path`, an XPath with the prefixes of the server.
    pub path: String,
    /// The `error-message`.
    pub message: String,
    /// The elements of `error-info`: their names, and their texts or contents.
    pub info: Vec<(String, String)>,
}

impl RpcError {
    /// Parses an `rpc-error`.
    pub(super) fn parse(element: &Element<'_>) -> Result<Self, NotXml> {
        let mut error = Self::default();
        for child in element.children()? {
            if child.namespace != BASE_NAMESPACE {
                continue;
            }
            match child.name.as_str() {
                "error-type" => error.error_type = child.text()?,
                "error-tag" => error.tag = child.text()?,
                "error-severity" if child.text()? == "warning" => {
                    error.severity = Severity::Warning;
                }
                "error-app-tag" => error.app_tag = child.text()?,
                "error-path" => error.path = child.text()?,
                "error-message" => error.message = child.text()?,
                "error-info" => error.info = info(&child)?,
                _ => {}
            }
        }
        Ok(error)
    }
}

fn info(element: &Element<'_>) -> Result<Vec<(String, String)>, NotXml> {
    let children = element.children()?;
    let members = children.into_iter().map(|child| {
        let value = child.text();
        let value = value.unwrap_or_else(|_| child.content().trim().to_owned());
        (child.name, value)
    });
    Ok(members.collect())
}

impl fmt::Display for RpcError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(out, "{}: ", self.path)?;
        }
        match self.message.is_empty() {
            true => write!(out, "{}", self.tag),
            false => write!(out, "{} ({})", self.message, self.tag),
        }
    }
}
