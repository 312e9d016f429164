//! `rpc`.

use clap::Args;
use espalier_protocols::netconf::{BASE_NAMESPACE, Element};
use espalier_protocols::netconf_client::operations::elements_of;
use espalier_terminal::document;
use espalier_terminal::{Failure, Result};

use super::context::Context;
use super::output::print_reply;
use super::payload::read_text;

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
        let text = read_text(&self.file)?;
        let text = text.trim_start_matches('\u{feff}').trim();
        let in_file = |failure: Failure| failure.in_file(document::display_name(&self.file));
        let whole = Element::parse(text);
        let whole = whole.map_err(|error| in_file(Failure::data(error.to_string())))?;
        let stream = match whole.is(BASE_NAMESPACE, "rpc") {
            true => context.wait(context.session.begin_message(text))?,
            false => {
                let operation = elements_of(text, &[]);
                let operation =
                    operation.map_err(|error| in_file(Failure::data(error.to_string())))?;
                context.begin(operation)?
            }
        };
        let reply = context.wait(stream.reply())?;
        print_reply(context, &reply)
    }
}
