//! `rpc`.

use clap::Args;
use espalier_protocols::netconf::{BASE_NAMESPACE, Element, NotXml};
use espalier_terminal::document;
use espalier_terminal::{Failure, Result};

use super::context::{Context, DataForm};
use super::output::print_output;
use super::payload::{elements, read_document};

/// Send any operation, or a whole <rpc> as it is, and print the reply
#[derive(Args, Debug)]
#[command(after_help = "\
A file with an operation, as <get-config><source><running/></source></get-config>, is sent in an <rpc> with a \
message-id; without a declaration, its namespace is that of NETCONF. A file with an <rpc> is sent unchanged.

Examples:
  espalier netconf maria@router.example rpc reboot.xml
  echo '<get/>' | espalier netconf maria@router.example rpc -")]
pub struct Rpc {
    /// The file; - for standard input
    file: String,
}

impl Rpc {
    /// Sends the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        let text = read_document(context, &self.file)?;
        let operations = elements(&text, &self.file, &[])?;
        let in_file =
            |error: NotXml| Failure::data(error.0).in_file(document::display_name(&self.file));
        let text = text.trim_start_matches('\u{feff}').trim();
        let whole = Element::parse(text).map_err(in_file)?;
        if context.form.output == Some(DataForm::Json) {
            // Before the operation is done, which may end the session or change the modules.
            context.schema()?;
        }
        let (operation, stream) = match whole.is(BASE_NAMESPACE, "rpc") {
            true => {
                let operation = whole.children().map_err(in_file)?.into_iter().next();
                let stream = context.wait(context.session.begin_message(text))?;
                (operation.unwrap_or(whole), stream)
            }
            false => (whole, context.begin(operations)?),
        };
        let reply = context.wait(stream.reply())?;
        print_output(context, &operation, &reply)
    }
}
