//! The hello, locks, the candidate, other sessions.

use clap::{Args, ValueEnum};
use espalier_protocols::netconf::Framing;
use espalier_protocols::netconf_client::operations::{self, CommitOptions, Place};
use espalier_terminal::{Failure, Result, output};
use serde_json::json;

use super::context::Context;
use super::output::do_operation;
use super::payload::{datastore, place, read_config};

/// Print the hello of the server: the number of the session, and its capabilities (RFC 6241 §8.1)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier netconf maria@router.example hello
  espalier netconf maria@router.example hello --json")]
pub struct Hello {}

impl Hello {
    /// Prints the hello.
    pub fn run(&self, context: &Context) -> Result<()> {
        let hello = context.session.hello();
        let version = match context.session.framing() {
            Framing::EndOfMessage => "1.0",
            Framing::Chunked => "1.1",
        };
        let value = json!({
            "session-id": hello.session_id,
            "base": version,
            "capabilities": hello.capabilities,
        });
        let mut text = format!("session {}, base {version}", hello.session_id);
        for capability in &hello.capabilities {
            text.extend(["\n", capability]);
        }
        output::print_result(context.form.json, &value, &text)
    }
}

/// Lock a datastore until the end of the session (RFC 6241 §7.5); of use in the shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  printf '%s\\n' 'lock running' 'edit-config a.xml' | espalier netconf maria@router.example shell")]
pub struct Lock {
    /// The datastore
    #[arg(default_value = "running")]
    target: String,
}

impl Lock {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        datastore(&self.target)?;
        do_operation(context, &operations::lock(&self.target))
    }
}

/// Unlock a datastore (RFC 6241 §7.6)
#[derive(Args, Debug)]
pub struct Unlock {
    /// The datastore
    #[arg(default_value = "running")]
    target: String,
}

impl Unlock {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        datastore(&self.target)?;
        do_operation(context, &operations::unlock(&self.target))
    }
}

/// Validate a configuration (RFC 6241 §8.6)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier netconf maria@router.example validate
  espalier netconf maria@router.example validate --file change.xml")]
pub struct Validate {
    /// The datastore, or file:///NAME, a file of the server
    #[arg(default_value = "candidate")]
    source: String,

    /// A file with a whole configuration; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "source")]
    file: Option<String>,
}

impl Validate {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        let source = match &self.file {
            Some(file) => Place::Config(read_config(context, file)?),
            None => place(&self.source)?,
        };
        do_operation(context, &operations::validate(&source))
    }
}

/// Commit the candidate, or confirm a commit (RFC 6241 §8.3, §8.4)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier netconf maria@router.example commit
  espalier netconf maria@router.example commit --confirmed --timeout 120 --persist upgrade-7
  espalier netconf maria@router.example commit --persist-id upgrade-7")]
pub struct Commit {
    /// Undo it unless another commit confirms it in time; without --persist, at the end of this session too
    #[arg(long)]
    confirmed: bool,

    /// The seconds until then [default: that of the server, 600]
    #[arg(long, value_name = "SECONDS", requires = "confirmed",
        value_parser = clap::value_parser!(u32).range(1..))]
    timeout: Option<u32>,

    /// A name with which other sessions confirm or cancel it
    #[arg(long, value_name = "NAME", requires = "confirmed")]
    persist: Option<String>,

    /// Confirm or extend the commit of this name
    #[arg(long, value_name = "NAME")]
    persist_id: Option<String>,
}

impl Commit {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        let options = CommitOptions {
            confirmed: self.confirmed,
            timeout_seconds: self.timeout,
            persist: self.persist.clone(),
            persist_id: self.persist_id.clone(),
        };
        do_operation(context, &operations::commit(&options))
    }
}

/// What happens to a conflict of the private candidate with running.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ResolutionMode {
    /// An error, and nothing is changed
    RevertOnConflict,
    /// The value of the candidate is kept
    PreferCandidate,
    /// The value of running is taken
    PreferRunning,
}

/// Bring the changes of running into the private candidate (draft-ietf-netconf-privcand); needs --private-candidate
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  printf '%s\\n' 'edit-config a.xml --target candidate' 'update --resolution-mode prefer-candidate' commit |
    espalier netconf maria@router.example --private-candidate shell")]
pub struct Update {
    /// What happens to conflicts [default: that of the server, revert-on-conflict]
    #[arg(long, value_name = "MODE")]
    resolution_mode: Option<ResolutionMode>,
}

impl Update {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        let capabilities = &context.client.options.capabilities;
        if !capabilities
            .iter()
            .any(|one| one == operations::PRIVATE_CANDIDATE)
        {
            let message = "the session has no private candidate";
            return Err(
                Failure::usage(message).hint("add --private-candidate before the operation")
            );
        }
        let mode = self
            .resolution_mode
            .and_then(|mode| mode.to_possible_value());
        let mode = mode.as_ref().map(|mode| mode.get_name());
        do_operation(context, &operations::update(mode))
    }
}

/// Discard the changes of the candidate (RFC 6241 §8.3.4.2)
#[derive(Args, Debug)]
pub struct DiscardChanges {}

impl DiscardChanges {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        do_operation(context, &operations::discard_changes())
    }
}

/// Undo a confirmed commit (RFC 6241 §8.4.4)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier netconf maria@router.example cancel-commit --persist-id upgrade-7")]
pub struct CancelCommit {
    /// The name of the commit, if it is of another session
    #[arg(long, value_name = "NAME")]
    persist_id: Option<String>,
}

impl CancelCommit {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        do_operation(
            context,
            &operations::cancel_commit(self.persist_id.as_deref()),
        )
    }
}

/// End another session (RFC 6241 §7.9)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier netconf maria@router.example kill-session 7")]
pub struct KillSession {
    /// The number of the session
    #[arg(value_name = "SESSION-ID")]
    id: u32,
}

impl KillSession {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        do_operation(context, &operations::kill_session(self.id))
    }
}
