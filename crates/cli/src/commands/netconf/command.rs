//! The command and its subcommands.

use clap::{Args, Subcommand};

use super::connection::ConnectionOptions;
use super::context::{Context, OutputForm};
use super::diff::DiffCommand;
use super::operation::Operation;
use super::shell::Shell;
use crate::settings::Settings;
use espalier_terminal::Result;

/// Use a NETCONF server of any vendor (RFC 6241)
#[derive(Args, Debug)]
#[command(subcommand_precedence_over_arg = true)]
#[command(after_help = "\
TARGET is HOST, USER@HOST:PORT, ssh://USER@HOST:PORT (port 830), tls://HOST:PORT (port 6513), unix:PATH, or \
call-home+ssh://ADDRESS:PORT (4334) and call-home+tls://ADDRESS:PORT (4335), which wait for a server that connects. \
Without it, the target is the socket of ESPALIER_NETCONF_SOCKET.

A password comes from --password-file, from ESPALIER_PASSWORD or from a prompt. Keys come from --identity, the agent \
and ~/.ssh. The host key must be in known_hosts; --accept-new-host-key adds that of a new host.

Examples:
  espalier netconf maria@router.example hello
  espalier netconf maria@router.example get-config --source running --output json
  espalier netconf maria@router.example edit-config change.xml --target candidate
  espalier netconf maria@router.example commit --confirmed --timeout 60 --persist upgrade-7
  espalier netconf tls://router.example get --subtree '<interfaces xmlns=\"urn:example\"/>'
  espalier netconf unix:/run/espalier-netconf.sock shell
  espalier netconf diff maria@old.example maria@new.example")]
pub struct NetconfCommand {
    /// The server
    target: Option<String>,

    #[command(flatten)]
    connection: ConnectionOptions,

    #[command(flatten)]
    output: OutputForm,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    #[command(flatten)]
    Operation(Box<Operation>),
    Shell(Shell),
    Diff(DiffCommand),
}

impl NetconfCommand {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let client = self.connection.client(&settings)?;
        if let Command::Diff(diff) = &self.command {
            return diff.run(&client, &self.output);
        }
        if let Command::Operation(operation) = &self.command {
            operation.check()?;
        }
        let target = client.target(self.target.as_deref(), &settings)?;
        let mut context = Context::connect(client, &target, &self.output)?;
        match &self.command {
            Command::Operation(operation) => operation.run(&context),
            Command::Shell(shell) => shell.run(&mut context),
            Command::Diff(_) => Ok(()),
        }
    }

    /// Whether results and errors are printed as JSON.
    pub fn wants_json(&self) -> bool {
        self.output.json
    }
}
