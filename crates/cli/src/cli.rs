//! The command line: arguments, dispatch to the commands and exit status.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::{Args, Parser, Subcommand};

use crate::commands::{
    AccessCommand, AuditCommand, Backup, Check, Commit, Completions, Copy, CopyConfig, Delete,
    DeleteConfig, Diff, Discard, Documents, Edit, Example, Export, Get, History, Info, Load, Lock,
    Locks, ModulesCommand, NetconfCommand, NetconfStdio, NotificationsCommand, Notify, Provide,
    Repair, Restore, Rollback, Rpc, SchemaTree, Serve, Set, Stats, Token, Unlock, Update, Upgrade,
    User, Validate,
};
use crate::logging;
use crate::settings::Settings;
use espalier_terminal::output::{self, Form};
use espalier_terminal::{Failure, Result};
use espalier_yang::{DataError, ErrorTag, ErrorType};

const LONG_ABOUT: &str = "\
A model-driven tree datastore: it stores data trees that conform to YANG modules, on the engine of your choice, and \
serves them over RESTCONF.

Commands on a data tree open a store (--store) or use a server (--server). `stats` and `documents` work on a \
store only. A server provides the same operations over HTTP, under /stats and /documents. The modules of a store are given once (--yang), and \
the store keeps them.";

const EXAMPLES: &str = "\
Start:
  espalier example network -o network
  espalier load network/network.json --store embedded:data --yang network
  espalier get '/espalier-network:network/device=core-1' --store embedded:data
  espalier serve --store embedded:data

Edit the candidate, validate it, commit it:
  espalier set '/espalier-network:network/device=core-1/site' cellar --datastore candidate \\
      --store embedded:data
  espalier validate --store embedded:data
  espalier commit --store embedded:data

Settings come from the flag, else from the environment (ESPALIER_STORE, ESPALIER_SERVER, \
ESPALIER_YANG, ESPALIER_DATASPACE, ESPALIER_ANCHOR, ESPALIER_DATASTORE, ESPALIER_SESSION, \
ESPALIER_AUTHOR, ESPALIER_LISTEN, ESPALIER_LOG, ...), else \
from the file named by --config, or ./espalier.toml if it exists:
  store = \"embedded:data\"
  listen = \"127.0.0.1:8080\"

Exit status: 0 success, 1 a problem with the data or the store, 2 a wrong command line.";

/// The exit status of a command line that cannot be parsed.
const USAGE_STATUS: u8 = 2;

/// The command line.
#[derive(Parser, Debug)]
#[command(name = "espalier", version, about = "A model-driven tree datastore", long_about = LONG_ABOUT, after_long_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    global: Global,

    #[command(subcommand)]
    command: Command,
}

/// What every command has.
#[derive(Args, Debug)]
struct Global {
    /// The configuration file [env: ESPALIER_CONFIG] [default: ./espalier.toml if it exists]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "ESPALIER_CONFIG",
        hide_env = true
    )]
    config: Option<PathBuf>,

    /// The log filter on standard error: a level, or target=level,... as in RUST_LOG
    /// [env: ESPALIER_LOG] [default: warn; of serve: info]
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,

    /// The log format: text or json [env: ESPALIER_LOG_FORMAT] [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
}

/// The commands.
#[derive(Subcommand, Debug)]
enum Command {
    Serve(Box<Serve>),
    Load(Load),
    Export(Export),
    Get(Get),
    Set(Set),
    Delete(Delete),
    Edit(Edit),
    Commit(Commit),
    Validate(Validate),
    Discard(Discard),
    Update(Update),
    Lock(Lock),
    Unlock(Unlock),
    Locks(Locks),
    CopyConfig(CopyConfig),
    DeleteConfig(DeleteConfig),
    History(History),
    Diff(Diff),
    Rollback(Rollback),
    Modules(Box<ModulesCommand>),
    Rpc(Rpc),
    Provide(Provide),
    Schema(SchemaTree),
    Upgrade(Upgrade),
    Check(Check),
    Repair(Repair),
    Info(Info),
    Copy(Copy),
    Backup(Backup),
    Restore(Restore),
    Stats(Stats),
    Documents(Documents),
    User(User),
    Token(Token),
    Access(AccessCommand),
    Audit(AuditCommand),
    Notifications(Box<NotificationsCommand>),
    Notify(Notify),
    Netconf(Box<NetconfCommand>),
    NetconfStdio(NetconfStdio),
    #[cfg(feature = "bench")]
    Bench(espalier_bench::Bench),
    Example(Example),
    Completions(Completions),
}

/// Parses the command line, runs the command and returns the exit status.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && std::env::args().any(|text| text == "--json") => {
            let text = without_secrets(&error.render().to_string());
            let message = text.strip_prefix("error: ").unwrap_or(&text).trim();
            let error = DataError::new(ErrorTag::InvalidValue, message);
            let failure = Failure::usage(message).detail(error.of_type(ErrorType::Protocol));
            report(&failure, true);
            return ExitCode::from(failure.exit_status());
        }
        Err(error) if error.use_stderr() => {
            let text = without_secrets(&error.render().to_string());
            // A failed write to standard error cannot be reported.
            let _ = writeln!(io::stderr(), "{}", text.trim_end());
            return ExitCode::from(USAGE_STATUS);
        }
        Err(error) => error.exit(),
    };
    let json = cli.command.wants_json();
    match cli.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_silent() => ExitCode::from(failure.exit_status()),
        Err(failure) => {
            // A command prints one JSON value only.
            if !(json && failure.is_answered()) {
                report(&failure, json);
            }
            ExitCode::from(failure.exit_status())
        }
    }
}

/// Removes passwords and control characters from an error of the parser, which repeats arguments.
fn without_secrets(text: &str) -> String {
    let mut text = text.to_owned();
    for argument in std::env::args().skip(1) {
        let value = argument
            .split_once('=')
            .map_or(&*argument, |(_, value)| value);
        // The parser strips escape sequences from the arguments that it repeats.
        let stripped = [&*argument, value].map(|text| StyledStr::from(text.to_owned()).to_string());
        for raw in [&*argument, value, &stripped[0], &stripped[1]] {
            let shown = espalier_drivers::redacted_url(raw);
            // Only URLs are redacted: in other arguments the position of a password is unknown.
            let shown = if raw.contains(":/") || raw.contains('@') {
                &shown
            } else {
                raw
            };
            let shown = output::escaped(shown);
            if shown != raw {
                text = text.replace(raw, &shown);
            }
        }
    }
    let text = espalier_drivers::redacted(&text).into_owned();
    let lines = text.split('\n').map(output::escaped);
    lines.collect::<Vec<_>>().join("\n")
}

fn report(failure: &Failure, json: bool) {
    // A failed write cannot be reported.
    let _ = if json {
        writeln!(output::stdout(Form::Json), "{}", failure.to_json())
    } else {
        writeln!(io::stderr(), "{failure}")
    };
}

impl Cli {
    fn run(&self) -> Result<()> {
        let flags = Settings {
            log: self.global.log.clone(),
            log_format: self.global.log_format.clone(),
            json: self.command.wants_json(),
            ..Settings::default()
        };
        let settings = flags.over(Settings::from_environment_and_file(
            self.global.config.as_deref(),
        )?);
        let filter = settings.log.clone().or_else(|| self.command.log_filter());
        logging::start(filter.as_deref(), settings.log_format.as_deref())?;
        match &self.command {
            Command::Serve(command) => command.run(settings, self.global.config.as_deref()),
            Command::Load(command) => command.run(settings),
            Command::Export(command) => command.run(settings),
            Command::Get(command) => command.run(settings),
            Command::Set(command) => command.run(settings),
            Command::Delete(command) => command.run(settings),
            Command::Edit(command) => command.run(settings),
            Command::Commit(command) => command.run(settings),
            Command::Validate(command) => command.run(settings),
            Command::Discard(command) => command.run(settings),
            Command::Update(command) => command.run(settings),
            Command::Lock(command) => command.run(settings),
            Command::Unlock(command) => command.run(settings),
            Command::Locks(command) => command.run(settings),
            Command::CopyConfig(command) => command.run(settings),
            Command::DeleteConfig(command) => command.run(settings),
            Command::History(command) => command.run(settings),
            Command::Diff(command) => command.run(settings),
            Command::Rollback(command) => command.run(settings),
            Command::Modules(command) => command.run(settings),
            Command::Rpc(command) => command.run(settings),
            Command::Provide(command) => command.run(settings),
            Command::Schema(command) => command.run(settings),
            Command::Upgrade(command) => command.run(settings),
            Command::Check(command) => command.run(settings),
            Command::Repair(command) => command.run(settings),
            Command::Info(command) => command.run(settings),
            Command::Copy(command) => command.run(),
            Command::Backup(command) => command.run(),
            Command::Restore(command) => command.run(),
            Command::Stats(command) => command.run(settings),
            Command::Documents(command) => command.run(settings),
            Command::User(command) => command.run(settings),
            Command::Token(command) => command.run(settings),
            Command::Access(command) => command.run(settings),
            Command::Audit(command) => command.run(settings),
            Command::Notifications(command) => command.run(settings),
            Command::Notify(command) => command.run(settings),
            Command::Netconf(command) => command.run(settings),
            Command::NetconfStdio(command) => command.run(settings),
            #[cfg(feature = "bench")]
            Command::Bench(command) => command.run(),
            Command::Example(command) => command.run(),
            Command::Completions(command) => command.run(),
        }
    }
}

impl Command {
    fn wants_json(&self) -> bool {
        match self {
            Self::Serve(command) => command.output_options.json,
            Self::Load(command) => command.output_options.json,
            Self::Export(command) => command.output_options.json,
            Self::Get(command) => command.output_options.json,
            Self::Set(command) => command.output_options.json,
            Self::Delete(command) => command.output_options.json,
            Self::Edit(command) => command.output_options.json,
            Self::Commit(command) => command.output_options.json,
            Self::Validate(command) => command.output_options.json,
            Self::Discard(command) => command.output_options.json,
            Self::Update(command) => command.output_options.json,
            Self::Lock(command) => command.output_options.json,
            Self::Unlock(command) => command.output_options.json,
            Self::Locks(command) => command.output_options.json,
            Self::CopyConfig(command) => command.output_options.json,
            Self::DeleteConfig(command) => command.output_options.json,
            Self::History(command) => command.output_options.json,
            Self::Diff(command) => command.output_options.json,
            Self::Rollback(command) => command.output_options.json,
            Self::Modules(command) => command.wants_json(),
            Self::Rpc(command) => command.output_options.json,
            Self::Provide(_) | Self::NetconfStdio(_) => false,
            Self::Schema(command) => command.output_options.json,
            Self::Upgrade(command) => command.output_options.json,
            Self::Check(command) => command.output_options.json,
            Self::Repair(command) => command.output_options.json,
            Self::Info(command) => command.output_options.json,
            Self::Copy(command) => command.output_options.json,
            Self::Backup(command) => command.output_options.json,
            Self::Restore(command) => command.output_options.json,
            Self::Stats(command) => command.wants_json(),
            Self::Documents(command) => command.wants_json(),
            Self::User(command) => command.wants_json(),
            Self::Token(command) => command.wants_json(),
            Self::Access(command) => command.wants_json(),
            Self::Audit(command) => command.wants_json(),
            Self::Notifications(command) => command.wants_json(),
            Self::Notify(command) => command.source_option.output_options.json,
            Self::Netconf(command) => command.wants_json(),
            Self::Example(command) => command.output_options.json,
            Self::Completions(command) => command.output_options.json,
            #[cfg(feature = "bench")]
            Self::Bench(_) => false,
        }
    }

    /// The log filter of the command if the settings have none.
    fn log_filter(&self) -> Option<String> {
        matches!(self, Self::Serve(_)).then(|| "info".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
