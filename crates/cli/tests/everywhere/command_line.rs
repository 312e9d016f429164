//! The command line: a process for each operation, on a store or on a server.

use std::sync::Arc;

use espalier_testkit::everywhere::{
    Base, Format, FrontEnd, Limit, Operation, Outcome, Read, ReportedError, Request, model,
};
use espalier_yang::Schema;
use espalier_yang::data::{PrintOptions, json};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use serde_json::{Value as Json, json};

use crate::arguments::{self, Command};
use crate::events::{self, Message};
use crate::library::PASSWORD;
use crate::process::{self, Sandbox, Server};
use crate::reported::{changed, compact, from_json, relative};
use crate::resource_edit::{self, NoDocument};

const PAGES: &str = "pages";
const ADDRESSES: &str = "wrong addresses and bodies of resources";

const EVENTS: &str = "events in XML, and an end without a start";

/// The limits of both modes.
const LIMITS: [Limit; 3] = [
    Limit {
        name: PAGES,
        reason: "`espalier get` has no options for pages of a list",
    },
    Limit {
        name: ADDRESSES,
        reason: "`espalier edit` takes a document, which has neither the address nor the body of a resource",
    },
    Limit {
        name: EVENTS,
        reason: "`espalier notifications` prints JSON, and begins with the oldest event without --since",
    },
];

/// A command line with its store or server.
pub struct CommandLine<'s> {
    sandbox: &'s Sandbox,
    access: Vec<String>,
    schema: Arc<Schema>,
    base: Base,
    /// Stopped at the end.
    _server: Option<Server>,
}

impl<'s> CommandLine<'s> {
    /// Commands with `--store`.
    pub fn on_store(sandbox: &'s Sandbox) -> Self {
        Self::new(sandbox, &["--store", "embedded:store"], None)
    }

    /// Commands with `--server`, of a user if there is one.
    pub fn on_server(sandbox: &'s Sandbox, user: Option<&str>) -> Self {
        Self::on_server_with(sandbox, user, &[])
    }

    /// Commands with `--server` and `--anchor`.
    pub fn on_anchor(sandbox: &'s Sandbox, user: Option<&str>) -> Self {
        Self::on_server_with(sandbox, user, &["--anchor", "default"])
    }

    fn on_server_with(sandbox: &'s Sandbox, user: Option<&str>, options: &[&str]) -> Self {
        let server = sandbox.serve(&["--store", "embedded:store"]);
        let url = server.url.clone();
        let user = user.map_or_else(Vec::new, |user| vec!["--user", user]);
        let access = [&["--server", &url], options, &user].concat();
        Self::new(sandbox, &access, Some(server))
    }

    fn new(sandbox: &'s Sandbox, access: &[&str], server: Option<Server>) -> Self {
        Self {
            sandbox,
            access: access.iter().map(|&word| word.to_owned()).collect(),
            schema: schema(),
            base: Base::default(),
            _server: server,
        }
    }

    /// The command of a request, or the limit that it meets.
    fn command(&self, request: &Request) -> Result<Command, &'static str> {
        match &request.operation {
            Operation::Create { datastore, .. }
            | Operation::Replace { datastore, .. }
            | Operation::Merge { datastore, .. } => {
                let document = resource_edit::document(&self.schema, &request.operation);
                let document = document.map_err(|error| match error {
                    NoDocument::Wrong(_) | NoDocument::Typed => ADDRESSES,
                })?;
                let mut text = Vec::new();
                let options = PrintOptions::default();
                let mut printer = json::Printer::new(&self.schema, &mut text, options);
                document.emit(&mut printer).expect("a document");
                printer.finish().expect("a document");
                let text = String::from_utf8(text).expect("UTF-8");
                Ok(arguments::edit_resource(text, datastore, request))
            }
            Operation::Receive(_) => arguments::command(request, self.base).ok_or(EVENTS),
            _ => arguments::command(request, self.base).ok_or(PAGES),
        }
    }
}

/// The schema of the model. Compiled here: a process must not open an engine twice.
pub fn schema() -> Arc<Schema> {
    let module = ModuleSource::from_text(model()).expect("a module");
    let source = SchemaSource {
        modules: vec![module],
        ..SchemaSource::default()
    };
    Arc::new(Schema::compile(&source).expect("a schema"))
}

impl FrontEnd for CommandLine<'_> {
    fn run(&mut self, request: &Request) -> Outcome {
        let command = match self.command(request) {
            Ok(command) => command,
            Err(limit) => return Outcome::Inexpressible(limit),
        };
        // Ignored without --user.
        let variables = [("ESPALIER_PASSWORD", PASSWORD)];
        let words = command.arguments.iter().chain(&self.access);
        let words: Vec<&str> = words.map(String::as_str).collect();
        let done = self
            .sandbox
            .run_with(&words, command.input.as_bytes(), &variables);
        match done.status {
            0 => success(request, &done, self.base),
            _ => failed(request, &done),
        }
    }

    fn limits(&self) -> &'static [Limit] {
        &LIMITS
    }

    fn start_case(&mut self, base: Base) {
        self.base = base;
    }
}

fn failed(request: &Request, done: &process::Outcome) -> Outcome {
    let Ok(printed) = serde_json::from_str::<Json>(&done.stdout) else {
        return not_json(done);
    };
    let errors = printed["error"]["errors"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut errors: Vec<_> = errors.iter().map(from_json).collect();
    if errors.is_empty() {
        return not_json(done);
    }
    if let (Operation::Read(_), [only]) = (&request.operation, &*errors)
        && only.tag == "data-missing"
        && only.message.starts_with("there is nothing at")
    {
        return Outcome::Missing;
    }
    // The document of such an operation is not that of the library.
    if is_resource(&request.operation) {
        errors.iter_mut().for_each(|error| error.line = None);
    }
    Outcome::Failure(errors)
}

/// Without JSON, the outcome has the texts, and equals no other.
fn not_json(done: &process::Outcome) -> Outcome {
    Outcome::Failure(vec![ReportedError {
        message: format!("no JSON: {done:?}"),
        ..ReportedError::default()
    }])
}

fn is_resource(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Create { .. } | Operation::Replace { .. } | Operation::Merge { .. }
    )
}

fn success(request: &Request, done: &process::Outcome, base: Base) -> Outcome {
    let text = &done.stdout;
    let value = || serde_json::from_str::<Json>(text).unwrap_or_else(|_| json!(text));
    let lines = || {
        text.lines()
            .map(|line| serde_json::from_str::<Json>(line).expect("JSON"))
    };
    Outcome::Success(match &request.operation {
        Operation::Read(Read {
            format: Format::Xml,
            ..
        }) => compact(text),
        Operation::Read(_) => value(),
        Operation::Invoke { .. } => match value() {
            // What `--json` prints without an output.
            without if without["output"].is_null() && without.get("output").is_some() => Json::Null,
            output => output,
        },
        Operation::Difference { .. } => lines().collect(),
        Operation::Receive(receive) => {
            let lines = text.lines();
            let events = lines.map(|line| Message::parse(line, receive.format, base));
            let mut messages = events.chain(events::end_of_replay(receive));
            return events::outcome(receive, || messages.next());
        }
        Operation::History { .. } => lines()
            .map(|commit| {
                let version = commit["version"].as_u64().expect("a version");
                let version = relative(version, base.version);
                json!([version, commit["author"], commit["comment"]])
            })
            .collect(),
        Operation::Lock { paths, .. } if !paths.is_empty() => json!({"id": value()["id"]}),
        Operation::Locks { .. } => locks(&value()),
        Operation::Update { .. } => value()["conflicts"].clone(),
        Operation::Lock { .. }
        | Operation::Unlock { .. }
        | Operation::Validate { .. }
        | Operation::Discard { .. }
        | Operation::EndSession => Json::Null,
        _ => {
            let value = value();
            return changed(
                value["version"].as_u64(),
                value["changed"].as_bool(),
                base.version,
            );
        }
    })
}

fn locks(value: &Json) -> Json {
    let partial = value["partial"].as_array().cloned().unwrap_or_default();
    let partial: Json = partial
        .iter()
        .map(|lock| json!([lock["id"], lock["session"], lock["paths"]]))
        .collect();
    let pending = match &value["pending"] {
        Json::Null => Json::Null,
        pending => json!([pending["session"], pending["persists"]]),
    };
    json!([value["lock"]["session"], partial, pending])
}

/// The limits and prescribed forms, without a store.
pub struct Rules;

impl FrontEnd for Rules {
    fn run(&mut self, _: &Request) -> Outcome {
        unreachable!("the rules run nothing")
    }

    fn limits(&self) -> &'static [Limit] {
        &LIMITS
    }
}
