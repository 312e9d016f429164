//! `get`, `get-config` (RFC 6241 §7.1, §7.7) and `get-data` (RFC 8526 §3.1.1).

use std::io::Write;

use espalier_service::{FilteredPart, RequestFilter, SessionDatastore};
use espalier_store::{Content, Datastore, OriginFilter, Selection, WithOrigin};
use espalier_yang::data::{Origin, PrintOptions, xml};

use super::filter::{nmda_filter, request_filter};
use super::output::{Output, Result};
use super::pages::PageElement;
use super::parameters::{NMDA_NAMESPACE, PAGINATION, Parameters, invalid};
use crate::netconf::message::{Element, Reply};

pub(super) fn get<W: Write>(
    running: &SessionDatastore,
    operation: &Element<'_>,
    reply: &mut Reply<W>,
) -> Result<Output> {
    let parameters = Parameters::of(operation, &["filter", PAGINATION])?;
    let selection = Selection {
        with_defaults: parameters.with_defaults()?,
        ..Selection::default()
    };
    let of = running.sibling(Datastore::Operational)?;
    let declaration = reply.declaration();
    let filter = request_filter(&parameters)?;
    write_data(&of, (&filter, selection, &parameters), declaration, reply)
}

pub(super) fn get_config<W: Write>(
    running: &SessionDatastore,
    operation: &Element<'_>,
    reply: &mut Reply<W>,
) -> Result<Output> {
    let parameters = Parameters::of(operation, &["source", "filter", PAGINATION])?;
    let of = parameters.datastore(running, "source")?;
    let selection = Selection {
        content: Content::Config,
        with_defaults: parameters.with_defaults()?,
        ..Selection::default()
    };
    let declaration = reply.declaration();
    let filter = request_filter(&parameters)?;
    write_data(&of, (&filter, selection, &parameters), declaration, reply)
}

pub(super) fn get_data<W: Write>(
    running: &SessionDatastore,
    operation: &Element<'_>,
    reply: &mut Reply<W>,
) -> Result<Output> {
    let names = [
        "datastore",
        "subtree-filter",
        "xpath-filter",
        "config-filter",
        "origin-filter",
        "negated-origin-filter",
        "max-depth",
        "with-origin",
        "with-defaults",
        PAGINATION,
    ];
    let parameters = Parameters::of(operation, &names)?;
    let of = parameters.identified_datastore(running)?;
    let content = match parameters.text("config-filter")?.as_deref() {
        None => Content::All,
        Some("true") => Content::Config,
        Some("false") => Content::NonConfig,
        Some(_) => {
            let message = "“config-filter” must be true or false";
            return Err(invalid(message, "config-filter").into());
        }
    };
    let depth = match parameters.text("max-depth")?.as_deref() {
        None | Some("unbounded") => None,
        Some(text) => {
            let depth = text.parse::<u16>().ok().filter(|depth| *depth > 0);
            let wrong = || {
                let message = "“max-depth” must be a number from 1 to 65535, or unbounded";
                invalid(message, "max-depth")
            };
            Some(u32::from(depth.ok_or_else(wrong)?))
        }
    };
    let selection = Selection {
        content,
        depth,
        with_defaults: parameters.with_defaults()?,
        with_origin: match parameters.get("with-origin") {
            Some(_) => WithOrigin::Shown,
            None => WithOrigin::Hidden,
        },
        origins: origins(&parameters)?,
        ..Selection::default()
    };
    let declaration = format!(" xmlns=\"{NMDA_NAMESPACE}\"");
    let filter = nmda_filter(&parameters)?;
    write_data(&of, (&filter, selection, &parameters), &declaration, reply)
}

/// Writes what a filter selects of a datastore.
fn write_data<W: Write>(
    of: &SessionDatastore,
    (filter, mut selection, parameters): (&RequestFilter, Selection, &Parameters<'_>),
    declaration: &str,
    reply: &mut Reply<W>,
) -> Result<Output> {
    // An error comes before the begin of the data.
    let pages = PageElement::of(parameters)?;
    let parts = match &pages {
        Some(pages) => {
            selection.sublist_limit = pages.parameters.sublist_limit();
            pages.parts(of, filter, &selection)?
        }
        None => of.filtered(filter, &selection)?,
    };
    write!(reply.content(), "<data{declaration}>")?;
    send_parts(parts, reply.content())?;
    write!(reply.content(), "</data>")?;
    Ok(Output::Written)
}

/// Writes what a filter selects of a datastore, without an element around it.
pub(super) fn write_parts(
    of: &SessionDatastore,
    (filter, selection): (&RequestFilter, &Selection),
    out: &mut impl Write,
) -> Result<()> {
    send_parts(of.filtered(filter, selection)?, out)
}

fn send_parts(parts: Vec<FilteredPart>, out: &mut impl Write) -> Result<()> {
    for part in parts {
        let mut printer = xml::Printer::new(part.schema(), &mut *out, PrintOptions::default());
        let sent = part.send(&mut printer);
        // An error of the printer comes first.
        printer.finish()?;
        sent?;
        for warning in part.take_warnings() {
            tracing::warn!(?warning, "a read has not all state");
        }
    }
    Ok(())
}

/// The origins of the nodes to report (RFC 8526 §3.1.1).
fn origins(parameters: &Parameters<'_>) -> Result<OriginFilter> {
    let all = |name: &str| -> Result<Vec<Origin>> {
        let texts = parameters.all(name).map(|one| -> Result<Origin> {
            let text = one.text()?;
            let local = text.rsplit(':').next().unwrap_or_default();
            let found = Origin::parse(local);
            let wrong = || invalid(format!("“{text}” is no origin"), name);
            Ok(found.ok_or_else(wrong)?)
        });
        texts.collect()
    };
    let (only, except) = (all("origin-filter")?, all("negated-origin-filter")?);
    match (only.is_empty(), except.is_empty()) {
        (true, true) => Ok(OriginFilter::All),
        (false, true) => Ok(OriginFilter::Only(only)),
        (true, false) => Ok(OriginFilter::Except(except)),
        (false, false) => {
            let message = "“origin-filter” and “negated-origin-filter” exclude each other";
            Err(invalid(message, "negated-origin-filter").into())
        }
    }
}
