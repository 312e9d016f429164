//! `copy-config` (RFC 6241 §7.3).

use std::io::Write;

use espalier_service::{RequestFilter, SessionDatastore};
use espalier_store::{Content, Error, LoadMode, LoadOptions, Selection};
use espalier_yang::data::DataTree;

use super::configuration::{Configuration, Source, open_configuration, send_document};
use super::edit::NOTE;
use super::output::{Output, Result, write_nodes};
use super::parameters::{Parameters, invalid, named_datastore};
use super::read::write_parts;
use crate::netconf::message::{BASE_NAMESPACE, Element};
use crate::netconf::url::UrlAccess;

/// Copies a configuration to a datastore, or to the document of a URL.
pub(super) fn copy_config(
    running: &SessionDatastore,
    urls: &UrlAccess,
    operation: &Element<'_>,
) -> Result<Output> {
    let parameters = Parameters::of(operation, &["target", "source"])?;
    let (target, source) = (parameters.place("target")?, parameters.place("source")?);
    running.require("ietf-netconf", "copy-config")?;
    if target.name == "url" {
        return copy_to_url(running, urls, (&target.text()?, &source), &parameters);
    }
    let target = named_datastore(running, &target)?;
    let source = match Source::of(&source) {
        Source::Datastore => named_datastore(running, &source)?,
        Source::Configuration(Configuration::Url(url)) => {
            let mut document = Some(open_configuration(&url.text()?, urls)?);
            target.load(replacing(), &mut |sink| {
                let document = document.take().ok_or(Error::Stopped)?;
                send_document(document, target.schema(), sink)
            })?;
            return Ok(Output::Ok);
        }
        Source::Configuration(given) => {
            let tree = given.tree(target.schema(), urls)?;
            target.load(replacing(), &mut |sink| {
                tree.emit(sink).map_err(|_| Error::Stopped)
            })?;
            return Ok(Output::Ok);
        }
    };
    if source.datastore() == target.datastore() {
        let message = "the source and the target are the same";
        return Err(invalid(message, source.datastore().name()).into());
    }
    target.copy_from(&source, NOTE)?;
    Ok(Output::Ok)
}

fn replacing() -> LoadOptions<'static> {
    LoadOptions {
        mode: LoadMode::Replace,
        ..LoadOptions::default()
    }
}

/// Copies what the user may read to the document of a URL.
fn copy_to_url(
    running: &SessionDatastore,
    urls: &UrlAccess,
    (url, source): (&str, &Element<'_>),
    parameters: &Parameters<'_>,
) -> Result<Output> {
    match Source::of(source) {
        Source::Datastore => {
            let source = named_datastore(running, source)?;
            let selection = Selection {
                content: Content::Config,
                with_defaults: parameters.with_defaults()?,
                ..Selection::default()
            };
            replace_document(urls, url, &mut |mut out| {
                write_parts(&source, (&RequestFilter::All, &selection), &mut out)
            })?;
        }
        Source::Configuration(Configuration::Url(from)) if from.text()? == url => {
            let message = "the source and the target are the same";
            return Err(invalid(message, "url").into());
        }
        Source::Configuration(given) => {
            let tree: DataTree = given.tree(running.schema(), urls)?;
            replace_document(urls, url, &mut |out| {
                write_nodes(out, running.schema(), &tree)
            })?;
        }
    }
    Ok(Output::Ok)
}

/// Replaces the document of a URL by a `config` element with what `write` writes.
fn replace_document(
    urls: &UrlAccess,
    url: &str,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    urls.replace(url, &mut |out| {
        write!(out, "<config xmlns=\"{BASE_NAMESPACE}\">")?;
        write(out)?;
        writeln!(out, "</config>")?;
        Ok(())
    })
}
