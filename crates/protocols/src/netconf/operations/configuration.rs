//! Configurations in requests: a `config` element, or the document of a URL.

use std::io::{Cursor, Read};

use espalier_store::Error;
use espalier_yang::data::{Accept, DataTree, MetadataMode, ParseOptions, Root, xml};
use espalier_yang::{DataError, ErrorTag, Schema, Sink};

use super::output::Result;
use super::parameters::{Parameters, document_tree, protocol_error};
use crate::netconf::message::{BASE_NAMESPACE, Element};
use crate::netconf::url::UrlAccess;

/// Maximum size of the document of a URL whose nodes are held in memory: 64 MiB, as of a message.
const DOCUMENT_BYTES_MAX: u64 = 64 << 20;

/// The beginning of a document in which its first element must be.
const BEGIN_BYTES: u64 = 64 << 10;

/// A configuration.
pub(super) enum Configuration<'p, 'm> {
    /// In a `config` element.
    Given(&'p Element<'m>),
    /// In the document of a `url` element.
    Url(&'p Element<'m>),
}

/// The place in a parameter such as `source`.
pub(super) enum Source<'p, 'm> {
    /// A datastore.
    Datastore,
    /// Another configuration.
    Configuration(Configuration<'p, 'm>),
}

impl<'p, 'm> Source<'p, 'm> {
    /// That of an element.
    pub fn of(place: &'p Element<'m>) -> Self {
        match place.name.as_str() {
            "config" => Self::Configuration(Configuration::Given(place)),
            "url" => Self::Configuration(Configuration::Url(place)),
            _ => Self::Datastore,
        }
    }
}

impl<'p, 'm> Configuration<'p, 'm> {
    /// The one among the parameters of an edit.
    ///
    /// # Errors
    /// `missing-element` without one, `bad-element` for two.
    pub fn of(parameters: &'p Parameters<'m>) -> Result<Self> {
        match (parameters.get("config"), parameters.get("url")) {
            (_, None) => Ok(Self::Given(parameters.required("config")?)),
            (None, Some(url)) => Ok(Self::Url(url)),
            (Some(_), Some(_)) => {
                let message = "“config” and “url” exclude each other";
                let error = protocol_error(ErrorTag::BadElement, message);
                Err(error.on_element("url").into())
            }
        }
    }

    /// Its nodes, with the operations of the nodes.
    pub fn tree(&self, schema: &Schema, urls: &UrlAccess) -> Result<DataTree> {
        let document = match self {
            Self::Given(config) => config.renamed(BASE_NAMESPACE, "config", ""),
            Self::Url(url) => document(&url.text()?, urls)?,
        };
        let options = ParseOptions {
            accept: Accept::Config,
            metadata: MetadataMode::Kept,
            ..ParseOptions::default()
        };
        document_tree(schema, Root::Datastore, &document, &options)
    }
}

/// Opens the document of a URL, which must be a `config` element: another document, such as an empty file, is no
/// configuration that could replace one.
///
/// # Errors
/// Those of [`UrlAccess::open_document`]; `operation-failed` for another document.
pub(super) fn open_configuration(url: &str, urls: &UrlAccess) -> Result<impl Read + use<>> {
    let mut document = urls.open_document(url)?;
    let mut begin = Vec::new();
    let read = document.by_ref().take(BEGIN_BYTES).read_to_end(&mut begin);
    read.map_err(|error| unreadable(url, &error))?;
    let text = begin.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let is_config = |root: &Element<'_>| root.is(BASE_NAMESPACE, "config");
    let is_configuration = match (begin.len() as u64) < BEGIN_BYTES {
        true => Element::parse(text).is_ok_and(|root| is_config(&root)),
        false => Element::parse_open(text, |_| true)
            .is_ok_and(|open| open.is_some_and(|open| is_config(&open.last))),
    };
    if !is_configuration {
        let message = format!("“{url}” is no document with a “config” element");
        let error = protocol_error(ErrorTag::OperationFailed, message);
        return Err(error.on_element("url").into());
    }
    Ok(Cursor::new(begin).chain(document))
}

/// The document of a URL.
fn document(url: &str, urls: &UrlAccess) -> Result<String> {
    let mut text = String::new();
    let read = open_configuration(url, urls)?;
    let read = read.take(DOCUMENT_BYTES_MAX + 1).read_to_string(&mut text);
    match read {
        Err(error) => Err(unreadable(url, &error).into()),
        Ok(read) if read as u64 > DOCUMENT_BYTES_MAX => {
            let message =
                format!("“{url}” is larger than {DOCUMENT_BYTES_MAX} bytes; use copy-config");
            let error = protocol_error(ErrorTag::TooBig, message);
            Err(error.on_element("url").into())
        }
        Ok(_) => Ok(text),
    }
}

fn unreadable(url: &str, error: &std::io::Error) -> DataError {
    let message = format!("“{url}”: {error}");
    protocol_error(ErrorTag::OperationFailed, message).on_element("url")
}

/// Sends the nodes of a document that may be of any size and has no operations.
pub(super) fn send_document(
    document: impl Read,
    schema: &Schema,
    sink: &mut dyn Sink,
) -> espalier_store::Result<()> {
    let options = ParseOptions {
        accept: Accept::Config,
        metadata: MetadataMode::Plain,
        ..ParseOptions::default()
    };
    xml::parse(schema, Root::Datastore, document, sink, &options).map_err(Error::from)
}
