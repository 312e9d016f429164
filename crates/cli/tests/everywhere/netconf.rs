//! NETCONF (RFC 6241, RFC 8526): the messages that any client would send, to a served store.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::process::Command;

use espalier_terminal::single_node;
use espalier_testkit::everywhere::{
    Base, Body, ContentChoice, DefaultsMode, EventFilterText, Format, FrontEnd, Limit, LockOwner,
    Operation, Outcome, Read, Receive, ReportedError, Request, State,
};
use espalier_yang::Schema;
use serde_json::{Value as Json, json};

use crate::command_line::schema;
use crate::events::{self, ESTABLISH, Message, establish_input, text_of};
use crate::netconf_client::{BASE, Session, content};
use crate::netconf_documents::{self as documents, Schemas};
use crate::process::{Sandbox, Server};
use crate::reported::relative;

const DOCUMENTS: &str = "documents in JSON that are no data of the model";
const ADDRESSES: &str = "addresses of resources";
const NOTES: &str = "authors and comments";
const VERSIONS: &str = "earlier versions";
const LISTS: &str = "fields and pages";
const LOCKS: &str = "locks of others";
const PRIVATE: &str = "private candidates";
const MERGED: &str = "documents that are merged into a datastore by a load";
const MALFORMED: &str = "documents that are not well-formed XML";
const COPIES: &str = "copies of datastores that RFC 6241 does not have";
const WHOLE: &str = "edits that replace the nodes of a document";
const TESTED: &str = "edits of a candidate that are tested first";
const UNKNOWN_MODULES: &str = "expressions with names of modules that do not exist";
const TOP: &str = "a datastore without its nodes";
const TRIMMED: &str = "a leaf that has its default, where these are left out";

const OF_RUNNING: &str = "partial locks of other datastores than running";
const OF_CANDIDATE: &str = "commits of other datastores than the candidate";

pub const LIMITS: [Limit; 17] = [
    Limit {
        name: DOCUMENTS,
        reason: "they are sent in XML, so they must be translated",
    },
    Limit {
        name: ADDRESSES,
        reason: "a client writes the elements of a node, and cannot name one that does not exist in the model",
    },
    Limit {
        name: NOTES,
        reason: "RFC 6241 has no authors and comments of commits",
    },
    Limit {
        name: VERSIONS,
        reason: "RFC 6241 has no history",
    },
    Limit {
        name: LISTS,
        reason: "filters have neither the fields of RFC 8040 nor pages",
    },
    Limit {
        name: LOCKS,
        reason: "RFC 6241 lists locks as state data, and releases those of others by kill-session",
    },
    Limit {
        name: PRIVATE,
        reason: "not done",
    },
    Limit {
        name: MERGED,
        reason: "RFC 6241 has edit-config for it, which accepts operations",
    },
    Limit {
        name: MALFORMED,
        reason: "the message is not well-formed either, which ends the session",
    },
    Limit {
        name: COPIES,
        reason: "copy-config has no parameter for them",
    },
    Limit {
        name: WHOLE,
        reason: "the default operation replace is that of the whole datastore (RFC 6241 §7.2)",
    },
    Limit {
        name: TESTED,
        reason: "constraints of a candidate are validated when it is committed",
    },
    Limit {
        name: OF_RUNNING,
        reason: "partial-lock has no parameter for them (RFC 5717)",
    },
    Limit {
        name: OF_CANDIDATE,
        reason: "commit and discard-changes have no parameter for them",
    },
    Limit {
        name: UNKNOWN_MODULES,
        reason: "a prefix that is neither declared nor a module is an error, as its client would wait for ever",
    },
    Limit {
        name: TOP,
        reason: "max-depth counts from the nodes below the datastore",
    },
    Limit {
        name: TRIMMED,
        reason: "a filter selects no more than the reply may have; a resource of RFC 8040 is what was named",
    },
];

/// A client with its sessions, and its server.
pub struct Netconf<'s> {
    sandbox: &'s Sandbox,
    server: Server,
    user: Option<String>,
    /// The user of the sessions: over a Unix socket that of this process.
    peer: String,
    sessions: BTreeMap<&'static str, Session>,
    /// The names of the sessions of all cases, by the place of their connections.
    names: BTreeMap<usize, &'static str>,
    /// What the names that the server gives have before the place.
    prefix: Option<String>,
    /// The authors of the versions of the case in the library.
    authors: BTreeMap<i64, &'static str>,
    /// The author of the last request in the library.
    author: &'static str,
    /// The number of connections.
    connections: Cell<usize>,
    schemas: Schemas,
    base: Base,
}

impl<'s> Netconf<'s> {
    /// Serves the store of a folder. Sessions are those of a user, if there is one, over SSH.
    pub fn start(sandbox: &'s Sandbox, user: Option<&str>) -> Self {
        let socket = ["--netconf-socket", "netconf.sock"];
        let ssh = [
            "--netconf-ssh",
            "127.0.0.1:0",
            "--netconf-host-keys",
            "keys",
        ];
        let transport = user.map_or(&socket[..], |_| &ssh);
        let store = ["--store", "embedded:store", "--allow-state-writes"];
        Self {
            sandbox,
            server: sandbox.serve(&[&store, transport].concat()),
            user: user.map(str::to_owned),
            peer: user.map_or_else(own_user, str::to_owned),
            sessions: BTreeMap::new(),
            names: BTreeMap::new(),
            prefix: None,
            authors: BTreeMap::new(),
            author: "",
            connections: Cell::new(0),
            schemas: Schemas::new(schema()),
            base: Base::default(),
        }
    }

    fn connect(&self) -> Session {
        self.connections.set(self.connections.get() + 1);
        match &self.user {
            None => Session::over_socket(&self.sandbox.path("netconf.sock")),
            Some(user) => {
                let address = self.server.netconf["ssh"].as_str().expect("an address");
                Session::over_ssh(self.sandbox, address, user)
            }
        }
    }

    /// The reply to an operation in a session.
    fn request(&mut self, name: &'static str, operation: &str) -> String {
        if !self.sessions.contains_key(name) {
            self.names.insert(self.connections.get(), name);
            let session = self.connect();
            self.sessions.insert(name, session);
        }
        let session = self.sessions.get_mut(name).expect("a session");
        session.request(operation)
    }

    /// The operation of a request, or the limit that it meets.
    fn operation(&self, request: &Request) -> Result<String, &'static str> {
        if request.author.is_some() || request.comment.is_some() {
            return Err(NOTES);
        }
        if datastores(&request.operation).contains(&"private-candidate") {
            return Err(PRIVATE);
        }
        match &request.operation {
            Operation::Read(read) => self.read(read),
            Operation::Invoke { path, input } => {
                self.schemas.invocation(path, *input).ok_or(DOCUMENTS)
            }
            Operation::History { .. }
            | Operation::Difference { .. }
            | Operation::Rollback { .. } => Err(VERSIONS),
            Operation::Locks { .. }
            | Operation::Unlock {
                owner: LockOwner::Anybody,
                ..
            } => Err(LOCKS),
            Operation::Update { .. } => Err(PRIVATE),
            Operation::Copy { from, to } if ![from, to].iter().all(|name| is_of_base(name)) => {
                Err(COPIES)
            }
            Operation::Lock { datastore, paths }
                if !paths.is_empty() && *datastore != "running" =>
            {
                Err(OF_RUNNING)
            }
            Operation::Commit { datastore, .. } | Operation::Discard { datastore }
                if *datastore != "candidate" =>
            {
                Err(OF_CANDIDATE)
            }
            operation => match self.edit(operation) {
                Some(edit) => edit,
                None => Ok(management(operation)),
            },
        }
    }

    fn read(&self, read: &Read) -> Result<String, &'static str> {
        if read.version.is_some() {
            return Err(VERSIONS);
        }
        if read.fields.is_some() || read.page.is_some() {
            return Err(LISTS);
        }
        if read.with_defaults == DefaultsMode::Trim
            && documents::is_leaf_with_default(&self.schemas.data, read.path)
        {
            return Err(TRIMMED);
        }
        let filter = documents::filter(&self.schemas.data, read).ok_or(ADDRESSES)?;
        let content = match read.content {
            ContentChoice::All => None,
            ContentChoice::Config => Some("true"),
            ContentChoice::NonConfig => Some("false"),
            ContentChoice::Wrong(text) => Some(text),
        };
        let defaults = match read.with_defaults {
            DefaultsMode::Explicit => "explicit",
            DefaultsMode::ReportAll => "report-all",
            DefaultsMode::Trim => "trim",
            DefaultsMode::ReportAllTagged => "report-all-tagged",
            DefaultsMode::Wrong(text) => text,
        };
        let element = |name: &str, text: &str| format!("<{name}>{text}</{name}>");
        let content = content.map(|text| element("config-filter", text));
        let depth = documents::max_depth(read).map_err(|documents::NoNodes| TOP)?;
        let depth = depth.map(|text| element("max-depth", &text));
        let origin = read.with_origin.then(|| "<with-origin/>".to_owned());
        let parts: String = [content, depth, origin].into_iter().flatten().collect();
        Ok(format!(
            "<get-data xmlns=\"{NMDA}\">{}{filter}{parts}<with-defaults xmlns=\"{WITH_DEFAULTS}\">{defaults}</with-defaults></get-data>",
            identity(read.datastore)
        ))
    }

    /// The operation with the data of a change; `None` if the operation is another one.
    fn edit(&self, operation: &Operation) -> Option<Result<String, &'static str>> {
        let schema = &self.schemas.data;
        let (datastore, document, options) = match operation {
            Operation::Edit {
                datastore,
                body,
                default_operation,
                test_option,
            } => {
                if *default_operation == "replace" {
                    return Some(Err(WHOLE));
                }
                if *datastore == "candidate" && *test_option == "test-then-set" {
                    return Some(Err(TESTED));
                }
                let option = |name: &str, text: &str| match text {
                    "" => String::new(),
                    text => format!("<{name}>{text}</{name}>"),
                };
                let options = [
                    option("default-operation", default_operation),
                    option("test-option", test_option),
                ];
                (datastore, content_of(schema, *body), options.concat())
            }
            Operation::Load {
                datastore,
                body,
                replaces,
            } => {
                let document = content_of(schema, *body);
                return Some(match replaces {
                    false => Err(MERGED),
                    true => document.map(|document| {
                        format!(
                            "<copy-config><target><{datastore}/></target><source><config>{document}</config></source></copy-config>"
                        )
                    }),
                });
            }
            Operation::Create { datastore, .. }
            | Operation::Replace { datastore, .. }
            | Operation::Merge { datastore, .. } => {
                let document = documents::resource(schema, operation).ok_or(ADDRESSES);
                (datastore, document, NONE.to_owned())
            }
            Operation::Delete { datastore, target } => {
                let document = documents::deletion(schema, target).ok_or(ADDRESSES);
                (datastore, document, NONE.to_owned())
            }
            Operation::Set {
                datastore,
                target,
                value,
            } => {
                let path = espalier_yang::InstancePath::parse_cli_path(schema, target).ok();
                let tree = path
                    .and_then(|path| single_node::tree_of(schema, &path, Some(value)).ok())
                    .map(|tree| documents::print(schema, &tree));
                (datastore, tree.ok_or(ADDRESSES), String::new())
            }
            _ => return None,
        };
        Some(document.map(|document| edit_of(datastore, &options, &document)))
    }

    /// An error with the name of the session that has a lock in place of its number, as the library has it.
    fn with_named_holder(&self, mut error: ReportedError) -> ReportedError {
        let id = error.info["session-id"].as_str();
        let mut sessions = self.sessions.iter();
        let holder = sessions.find(|(_, session)| Some(&*session.id) == id);
        if let Some((name, _)) = holder {
            error.info["session-id"] = self.owner(name).into();
        }
        error.message = self.renamed(&error.message);
        error
    }

    /// A text with the names of the table for sessions. The server names them by their connections:
    /// `USER/netconf-SERVER-PLACE`.
    fn renamed(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let start = format!("{}/netconf-", self.peer);
        while let Some(begin) = text.find(&start) {
            let is_end = |c: char| !c.is_ascii_hexdigit() && c != '-';
            let after = begin + start.len();
            let end = text[after..]
                .find(is_end)
                .map_or(text.len(), |end| after + end);
            let (_, place) = text[..end].rsplit_once('-').expect("a place");
            let place = place.parse::<usize>().expect("a number");
            let name = self.names.get(&place).expect("a session of the table");
            let name = self.owner(name);
            text.replace_range(begin..end, &name);
        }
        text
    }

    /// The owner of the locks of a session with a name.
    fn owner(&self, name: &str) -> String {
        match (&self.user, name) {
            (_, "") => String::new(),
            (Some(user), name) => format!("{user}/{name}"),
            (None, name) => name.to_owned(),
        }
    }

    /// An event with the author that the library has in place of the user of this process. `author` is that of the last
    /// commit, whose changes of the configuration follow it.
    fn with_author(&self, document: &str, author: &mut &'static str) -> String {
        let version = content(document, "version").and_then(|text| text.parse().ok());
        if let Some(version) = version {
            let known = self.authors.get(&relative(version, self.base.version));
            *author = known.copied().unwrap_or(ANONYMOUS);
        }
        let leaf = |name: &str, text: &str| format!("<{name}>{text}</{name}>");
        let by = leaf("username", &self.peer);
        let document = match *author {
            "" => document
                .replace(&leaf("author", &self.peer), "")
                .replace(&format!("{by}<session-id>0</session-id>"), "<server/>"),
            name => document.replace(&leaf("author", &self.peer), &leaf("author", name)),
        };
        document.replace(&by, &leaf("username", ANONYMOUS))
    }

    /// The events of a subscription in a session of its own.
    fn receive(&self, receive: &Receive) -> Outcome {
        let mut session = self.connect();
        let operation = match events::is_established(receive) {
            true => {
                let input = establish_input(&Receive {
                    format: Format::Xml,
                    ..*receive
                });
                let input: &'static str = input.leak();
                let body = Body {
                    format: Format::Json,
                    text: input,
                };
                match self.schemas.invocation(ESTABLISH, body) {
                    Some(operation) => operation,
                    None => return Outcome::Inexpressible(DOCUMENTS),
                }
            }
            false => create_subscription(receive),
        };
        let reply = session.request(&operation);
        let errors = documents::errors(&reply);
        if !errors.is_empty() {
            return Outcome::Failure(errors);
        }
        let mut ends = events::end_of_replay(receive).len();
        let mut author = ANONYMOUS;
        events::outcome(receive, || {
            if ends == 0 {
                // The session goes on, without notifications.
                let reply = session.request(EMPTY_READ);
                assert!(reply.contains("rpc-reply"), "{reply}");
                return None;
            }
            let mut document = session.receive()?;
            if self.user.is_none() {
                document = self.with_author(&document, &mut author);
            }
            let document = match receive.format {
                Format::Xml => document,
                Format::Json => self.schemas.notification(&document),
            };
            let message = Message::parse(&document, receive.format, self.base);
            ends -= usize::from(!matches!(message, Message::Event(_)));
            Some(message)
        })
    }
}

/// The author of changes without a user.
const ANONYMOUS: &str = "espalier";

/// The name of the user of this process.
fn own_user() -> String {
    let output = Command::new("id").arg("-un").output().expect("a user");
    let name = String::from_utf8(output.stdout).expect("UTF-8");
    name.trim().to_owned()
}

/// A read of nothing.
const EMPTY_READ: &str = "<get-config><source><running/></source><filter/></get-config>";

const NMDA: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda";
const WITH_DEFAULTS: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults";
const NONE: &str = "<default-operation>none</default-operation>";

/// The data of a document as XML, or the limit that it meets.
fn content_of(schema: &Schema, body: Body) -> Result<String, &'static str> {
    match body.format {
        Format::Xml if !documents::is_well_formed(schema, body.text) => Err(MALFORMED),
        _ => documents::datastore_content(schema, (body.format, body.text)).ok_or(DOCUMENTS),
    }
}

/// Whether a datastore is one of RFC 6241.
fn is_of_base(datastore: &str) -> bool {
    ["running", "candidate", "startup"].contains(&datastore)
}

/// The datastore of an operation of RFC 8526.
fn identity(datastore: &str) -> String {
    format!(
        "<datastore xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ds:{datastore}</datastore>"
    )
}

/// A datastore among the parameters of RFC 6241; RFC 8526 §3.2 has the others.
fn place(datastore: &str) -> String {
    match is_of_base(datastore) {
        true => format!("<{datastore}/>"),
        false => identity(datastore).replacen(' ', &format!(" xmlns=\"{NMDA}\" "), 1),
    }
}

fn datastores(operation: &Operation) -> Vec<&'static str> {
    match operation {
        Operation::Read(read) => vec![read.datastore],
        Operation::Edit { datastore, .. }
        | Operation::Load { datastore, .. }
        | Operation::Create { datastore, .. }
        | Operation::Replace { datastore, .. }
        | Operation::Merge { datastore, .. }
        | Operation::Delete { datastore, .. }
        | Operation::Set { datastore, .. }
        | Operation::Lock { datastore, .. }
        | Operation::Unlock { datastore, .. }
        | Operation::Commit { datastore, .. }
        | Operation::Validate { datastore }
        | Operation::Discard { datastore }
        | Operation::DeleteDatastore { datastore } => vec![datastore],
        Operation::Copy { from, to } => vec![from, to],
        _ => Vec::new(),
    }
}

/// An edit of a datastore: `edit-config` for those that it has, else `edit-data`.
fn edit_of(datastore: &str, options: &str, document: &str) -> String {
    let config = format!("{options}<config xmlns:nc=\"{BASE}\">{document}</config>");
    match datastore {
        "running" | "candidate" => {
            format!("<edit-config><target><{datastore}/></target>{config}</edit-config>")
        }
        _ => format!(
            "<edit-data xmlns=\"{NMDA}\">{}{config}</edit-data>",
            identity(datastore)
        ),
    }
}

/// The operations on whole datastores, and those of sessions.
fn management(operation: &Operation) -> String {
    let element = |name: &str, text: &Option<&str>| match text {
        Some(text) => format!("<{name}>{text}</{name}>"),
        None => String::new(),
    };
    match operation {
        Operation::Lock {
            datastore,
            paths: [],
        } => {
            format!("<lock><target>{}</target></lock>", place(datastore))
        }
        Operation::Lock { paths, .. } => partial_lock(paths),
        Operation::Unlock {
            partial: Some(id), ..
        } => format!(
            "<partial-unlock xmlns=\"{PARTIAL_LOCK}\"><lock-id>{id}</lock-id></partial-unlock>"
        ),
        Operation::Unlock { datastore, .. } => {
            format!("<unlock><target>{}</target></unlock>", place(datastore))
        }
        Operation::Commit {
            confirmed,
            persist,
            persist_id,
            ..
        } => {
            let timeout = confirmed.map_or_else(String::new, |seconds| {
                format!("<confirmed/><confirm-timeout>{seconds}</confirm-timeout>")
            });
            format!(
                "<commit>{timeout}{}{}</commit>",
                element("persist", persist),
                element("persist-id", persist_id)
            )
        }
        Operation::CancelCommit { persist_id } => format!(
            "<cancel-commit>{}</cancel-commit>",
            element("persist-id", persist_id)
        ),
        Operation::Validate { datastore } => {
            format!("<validate><source>{}</source></validate>", place(datastore))
        }
        Operation::Discard { .. } => "<discard-changes/>".to_owned(),
        Operation::Copy { from, to } => {
            format!("<copy-config><target><{to}/></target><source><{from}/></source></copy-config>")
        }
        Operation::DeleteDatastore { datastore } => {
            format!("<delete-config><target><{datastore}/></target></delete-config>")
        }
        Operation::EndSession => "<close-session/>".to_owned(),
        other => panic!("{other:?}"),
    }
}

const PARTIAL_LOCK: &str = "urn:ietf:params:xml:ns:netconf:partial-lock:1.0";

fn partial_lock(paths: &[&str]) -> String {
    let schema = schema();
    let select = |path: &&str| {
        let parsed = espalier_yang::InstancePath::parse_cli_path(&schema, path);
        let path = parsed.map_or_else(
            |_| (*path).to_owned(),
            |path| path.to_instance_identifier(&schema),
        );
        format!("<select xmlns:orchard=\"urn:espalier:test:orchard\">{path}</select>")
    };
    let selects: String = paths.iter().map(select).collect();
    format!("<partial-lock xmlns=\"{PARTIAL_LOCK}\">{selects}</partial-lock>")
}

fn create_subscription(receive: &Receive) -> String {
    let time = |name: &str, moment: Option<_>| {
        moment.map_or_else(String::new, |moment| {
            format!("<{name}>{}</{name}>", text_of(moment))
        })
    };
    let filter = match receive.filter {
        Some(EventFilterText::XPath(text)) => format!(
            "<filter xmlns:orchard=\"urn:espalier:test:orchard\" type=\"xpath\" select=\"{}\"/>",
            text.replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('"', "&quot;")
        ),
        _ => String::new(),
    };
    format!(
        "<create-subscription xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\"><stream>{}</stream>{filter}{}{}</create-subscription>",
        receive.stream,
        time("startTime", receive.start),
        time("stopTime", receive.stop)
    )
}

impl FrontEnd for Netconf<'_> {
    fn run(&mut self, request: &Request) -> Outcome {
        if let Operation::Receive(receive) = &request.operation {
            let has_unknown = match &receive.filter {
                Some(EventFilterText::XPath(text)) => text.contains("/none:"),
                _ => false,
            };
            return match has_unknown && !events::is_established(receive) {
                true => Outcome::Inexpressible(UNKNOWN_MODULES),
                false => self.receive(receive),
            };
        }
        self.author = match &request.operation {
            // As the operations of the library have it.
            Operation::Invoke { .. } => "",
            _ => ANONYMOUS,
        };
        let operation = match self.operation(request) {
            Ok(operation) => operation,
            Err(limit) => return Outcome::Inexpressible(limit),
        };
        let reply = self.request(request.session, &operation);
        if matches!(request.operation, Operation::EndSession) {
            self.sessions.remove(request.session);
        }
        let errors = documents::errors(&reply);
        if !errors.is_empty() {
            let named = errors
                .into_iter()
                .map(|error| self.with_named_holder(error))
                .map(|error| documents::of_resource(&self.schemas.data, &request.operation, error));
            return Outcome::Failure(named.collect());
        }
        match &request.operation {
            Operation::Read(read) => documents::data(&self.schemas.data, read, &reply),
            Operation::Invoke { path, .. } => Outcome::Success(self.schemas.output(path, &reply)),
            Operation::Lock { paths, .. } if !paths.is_empty() => {
                let id = content(&reply, "lock-id").and_then(|text| text.parse::<u32>().ok());
                Outcome::Success(json!({"id": id}))
            }
            _ => Outcome::Success(Json::Null),
        }
    }

    fn limits(&self) -> &'static [Limit] {
        &LIMITS
    }

    fn start_case(&mut self, base: Base) {
        self.sessions.clear();
        self.authors.clear();
        self.base = base;
    }

    fn session_name(&self, name: &'static str, limit: &str) -> &'static str {
        let session = self.names.iter().rev().find(|(_, own)| **own == name);
        match (session, &self.prefix) {
            // The library has private candidates of its own sessions, and authors that a request names.
            (Some((place, _)), Some(prefix))
                if self.sessions.contains_key(name) && ![PRIVATE, NOTES].contains(&limit) =>
            {
                format!("{prefix}{place}").leak()
            }
            _ => name,
        }
    }

    fn rename_sessions(&mut self, state: &mut State) {
        for locks in &mut state.locks {
            let start = format!("{}/netconf-", self.peer);
            if let (Some(begin), None) = (locks.find(&start), &self.prefix) {
                let name = locks[begin..].split('"').next().expect("a name");
                let (prefix, _) = name.rsplit_once('-').expect("a place");
                self.prefix = Some(format!("{prefix}-"));
            }
            *locks = self.renamed(locks);
        }
        let newest = &mut state.newest;
        if self.user.is_none() && newest.author == self.peer {
            let author = self.authors.entry(newest.version).or_insert(self.author);
            newest.author = (*author).to_owned();
        }
    }
}
