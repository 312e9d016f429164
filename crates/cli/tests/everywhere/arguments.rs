//! The arguments of commands.

use espalier_testkit::everywhere::{
    Base, Body, ContentChoice, DefaultsMode, EventFilterText, Format, LockOwner, Operation, Prefer,
    Read, Receive, Request,
};

use crate::events::text_of;

/// A command: its arguments, and its standard input.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// The arguments.
    pub arguments: Vec<String>,
    /// The input.
    pub input: String,
}

impl Command {
    fn new(words: &[&str]) -> Self {
        let arguments = words.iter().map(|word| (*word).to_owned()).collect();
        let input = String::new();
        Self { arguments, input }
    }

    fn with(mut self, option: &str, value: impl ToString) -> Self {
        self.arguments
            .push(format!("{option}={}", value.to_string()));
        self
    }

    fn flag(mut self, flag: &str) -> Self {
        self.arguments.push(flag.to_owned());
        self
    }

    fn maybe(self, option: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(option, value),
            None => self,
        }
    }

    fn document(self, body: Body) -> Self {
        let format = match body.format {
            Format::Json => "json",
            Format::Xml => "xml",
        };
        let command = self.with("--format", format);
        Self {
            input: body.text.to_owned(),
            ..command
        }
    }
}

/// The command of an operation; `None` if there is none.
pub fn command(request: &Request, base: Base) -> Option<Command> {
    let command = match &request.operation {
        Operation::Read(read) => get(read, base)?,
        Operation::Edit {
            datastore,
            body,
            default_operation,
            test_option,
        } => {
            let edit = Command::new(&["edit", "-"])
                .document(*body)
                .with("--datastore", datastore);
            let default = Some(*default_operation).filter(|name| !name.is_empty());
            let test = Some(*test_option).filter(|name| !name.is_empty());
            edit.maybe("--default-operation", default)
                .maybe("--test-option", test)
        }
        Operation::Load {
            datastore,
            body,
            replaces,
        } => {
            let load = Command::new(&["load", "-"])
                .document(*body)
                .with("--datastore", datastore);
            match replaces {
                true => load.flag("--replace"),
                false => load,
            }
        }
        Operation::Delete { datastore, target } => {
            Command::new(&["delete", target]).with("--datastore", datastore)
        }
        Operation::Set {
            datastore,
            target,
            value,
        } => Command::new(&["set", target, value]).with("--datastore", datastore),
        Operation::Invoke { path, input } => match input.text {
            "" => Command::new(&["rpc", path]),
            text => Command {
                input: text.to_owned(),
                ..Command::new(&["rpc", path, "--input=-"])
            },
        },
        Operation::Receive(receive) => notifications(receive)?,
        _ => return manage(&request.operation, base).map(|command| named(command, request)),
    };
    Some(named(command, request))
}

/// The command of an operation on a resource, given its document.
pub fn edit_resource(document: String, datastore: &str, request: &Request) -> Command {
    let edit = Command::new(&["edit", "-", "--default-operation=none", "--format=json"]);
    let edit = named(edit.with("--datastore", datastore), request);
    Command {
        input: document,
        ..edit
    }
}

fn manage(operation: &Operation, base: Base) -> Option<Command> {
    Some(match operation {
        Operation::Lock { datastore, paths } => {
            let words = [&["lock"], *paths].concat();
            Command::new(&words).with("--datastore", datastore)
        }
        Operation::Unlock {
            datastore,
            partial,
            owner,
        } => {
            let id = *partial;
            let unlock = Command::new(&["unlock"])
                .with("--datastore", datastore)
                .maybe("--id", id);
            match owner {
                LockOwner::Session => unlock,
                LockOwner::Anybody => unlock.flag("--force"),
            }
        }
        Operation::EndSession => Command::new(&["unlock", "--all"]),
        Operation::Locks { datastore } => Command::new(&["locks"]).with("--datastore", datastore),
        Operation::Commit {
            datastore,
            confirmed,
            persist,
            persist_id,
        } => Command::new(&["commit"])
            .with("--datastore", datastore)
            .maybe("--confirmed", *confirmed)
            .maybe("--persist", *persist)
            .maybe("--persist-id", *persist_id),
        Operation::CancelCommit { persist_id } => {
            Command::new(&["commit", "--cancel"]).maybe("--persist-id", *persist_id)
        }
        Operation::Validate { datastore } => {
            Command::new(&["validate"]).with("--datastore", datastore)
        }
        Operation::Discard { datastore } => {
            Command::new(&["discard"]).with("--datastore", datastore)
        }
        Operation::Update { datastore, prefer } => {
            let prefer = match prefer {
                Prefer::Neither => None,
                Prefer::Running => Some("running"),
                Prefer::Candidate => Some("candidate"),
            };
            Command::new(&["update"])
                .with("--datastore", datastore)
                .maybe("--prefer", prefer)
        }
        Operation::Copy { from, to } => Command::new(&["copy-config", from, to]),
        Operation::DeleteDatastore { datastore } => Command::new(&["delete-config", datastore]),
        Operation::History { from, limit } => {
            let from = from.map(|from| from + base.version);
            Command::new(&["history"])
                .with("--limit", limit)
                .maybe("--from", from)
        }
        Operation::Difference { from, to, path } => {
            let version = |version: &u64| (version + base.version).to_string();
            Command::new(&["diff", &version(from), &version(to), path])
        }
        Operation::Rollback { version } => {
            Command::new(&["rollback", &(version + base.version).to_string()])
        }
        _ => return None,
    })
}

/// Without a start, the command begins with the oldest event.
fn notifications(receive: &Receive) -> Option<Command> {
    let command = Command::new(&["notifications"])
        .with("--stream", receive.stream)
        .with("--since", text_of(receive.start?))
        .maybe("--until", receive.stop.map(text_of));
    match receive.filter {
        None => Some(command),
        Some(EventFilterText::XPath(text)) => Some(command.with("--filter", text)),
        Some(EventFilterText::Subtree(text)) => Some(Command {
            input: text.to_owned(),
            ..command.with("--subtree", "-")
        }),
    }
    .filter(|_| receive.format == Format::Json)
}

fn get(read: &Read, base: Base) -> Option<Command> {
    if read.page.is_some() {
        return None;
    }
    let content = match read.content {
        ContentChoice::All => None,
        ContentChoice::Config => Some("config"),
        ContentChoice::NonConfig => Some("nonconfig"),
        ContentChoice::Wrong(text) => Some(text),
    };
    let defaults = match read.with_defaults {
        DefaultsMode::Explicit => None,
        DefaultsMode::ReportAll => Some("report-all"),
        DefaultsMode::Trim => Some("trim"),
        DefaultsMode::ReportAllTagged => Some("report-all-tagged"),
        DefaultsMode::Wrong(text) => Some(text),
    };
    let format = (read.format == Format::Xml).then_some("xml");
    let get = Command::new(&["get", read.path])
        .with("--datastore", read.datastore)
        .maybe("--depth", read.depth)
        .maybe("--content", content)
        .maybe("--fields", read.fields)
        .maybe("--with-defaults", defaults)
        .maybe("--at", read.version.map(|version| version + base.version))
        .maybe("--format", format);
    Some(match read.with_origin {
        true => get.flag("--with-origin"),
        false => get,
    })
}

/// Adds the session, author and comment.
fn named(command: Command, request: &Request) -> Command {
    let session = Some(request.session).filter(|session| !session.is_empty());
    let comment = match request.operation {
        // Without a comment, it writes one.
        Operation::Rollback { .. } => Some(request.comment.unwrap_or_default()),
        _ => request.comment,
    };
    command
        .flag("--json")
        .maybe("--session", session)
        .maybe("--author", request.author)
        .maybe("--comment", comment)
}
