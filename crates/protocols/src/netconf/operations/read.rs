//! `get`, `get-config` (RFC 6241 §7.1, §7.7) and `get-data` (RFC 8526 §3.1.1).

use std::io::Write;

use espalier_service::SessionDatastore;
use espalier_store::{Content, Datastore, Selection, WithOrigin};
use espalier_yang::InstancePath;
use espalier_yang::data::{PrintOptions, xml};

use super::output::{Output, Result};
use super::parameters::{Parameters, invalid};
use crate::netconf::message::{Element, Reply};

/// The namespace of the output of `get-data`.
const NMDA_NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda";

pub(super) fn get<W: Write>(
    running: &SessionDatastore,
    operation: &Element<'_>,
    reply: &mut Reply<W>,
) -> Result<Output> {
    let parameters = Parameters::of(operation, &["filter"])?;
    let selection = Selection {
        with_defaults: parameters.with_defaults()?,
        ..Selection::default()
    };
    let of = running.sibling(Datastore::Operational)?;
    let declaration = reply.declaration();
    write_data(&of, &selection, declaration, reply)
}

pub(super) fn get_config<W: Write>(
    running: &SessionDatastore,
    operation: &Element<'_>,
    reply: &mut Reply<W>,
) -> Result<Output> {
    let parameters = Parameters::of(operation, &["source", "filter"])?;
    let of = parameters.datastore(running, "source")?;
    let selection = Selection {
        content: Content::Config,
        with_defaults: parameters.with_defaults()?,
        ..Selection::default()
    };
    let declaration = reply.declaration();
    write_data(&of, &selection, declaration, reply)
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
        "max-depth",
        "with-origin",
        "with-defaults",
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
            // The datastore itself is the first level of a selection.
            Some(u32::from(depth.ok_or_else(wrong)?) + 1)
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
        ..Selection::default()
    };
    let declaration = format!(" xmlns=\"{NMDA_NAMESPACE}\"");
    write_data(&of, &selection, &declaration, reply)
}

/// Writes the selected nodes of a datastore.
fn write_data<W: Write>(
    of: &SessionDatastore,
    selection: &Selection,
    declaration: &str,
    reply: &mut Reply<W>,
) -> Result<Output> {
    let path = InstancePath::root();
    let view = of.view_for_read(&path, selection)?;
    view.check_selection(selection)?;
    let state = match of.datastore() {
        Datastore::Operational => of.server_state()?,
        _ => None,
    };
    let state = state.map(|state| state.view_for_read(&path, selection));
    let state = state.transpose()?;
    write!(reply.content(), "<data{declaration}>")?;
    let out = reply.content();
    let mut printer = xml::Printer::new(view.schema(), &mut *out, PrintOptions::default());
    let mut read = view.read(&path, selection, &mut printer);
    if let (Ok(_), Some(state)) = (&read, &state) {
        printer.continue_with(state.schema());
        read = state.read(&path, selection, &mut printer);
    }
    // An error of the printer comes first.
    printer.finish()?;
    read?;
    write!(reply.content(), "</data>")?;
    Ok(Output::Written)
}
