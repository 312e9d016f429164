//! The library: the reference, and the access to the stores below the other front ends.

use std::sync::Arc;

use espalier_service::access::Caller;
use espalier_service::configuration::ConfigurationTrees;
use espalier_service::operations::input_of;
use espalier_service::server_state::{DescribedAnchor, ModuleTexts, ServedAnchor};
use espalier_service::session::{NewSession, SessionKind, Sessions, Transport};
use espalier_service::{AccessControl, Anchor, ChangeNote, LoginPolicy, Service, SessionDatastore};
use espalier_store::{
    CommitOptions, ConfirmOptions, Content, Datastore, Edit, ErrorOption, LoadMode, LoadOptions,
    Locks, PageNames, PageParameters, Resolution, Selection, Store, SystemClock, TestOption, Tree,
    UnknownData, UpgradeOptions, View, WithDefaults, WithOrigin, write_change_json,
};
use espalier_terminal::path::placed;
use espalier_terminal::single_node;
use espalier_testkit::everywhere::{
    Base, Body, ContentChoice, DENIED_USER, DefaultsMode, EVENT_USER, Format, FrontEnd, Limit,
    LockOwner, NewestCommit, Operation, Outcome, Prefer, Read, Request, State, StoreAccess,
    access_rules, fixture, model, notifications_model,
};
use espalier_yang::data::{
    DataTree, Envelope, MetadataMode, Operation as EditOperation, ParseOptions, PrintOptions, Root,
    TreeBuilder, json, xml,
};
use espalier_yang::path::Fields;
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::{InstancePath, Schema, Sink};
use serde_json::{Value as Json, json};

use crate::events;
use crate::process::Sandbox;
use crate::reported::{committed, compact, failure, failures, relative};
use crate::resource_edit::{self, NoDocument};

/// The author of changes that name none.
pub const AUTHOR: &str = "espalier";

/// What the library has types for.
pub const TYPED: &str = "wrong words";

/// The password of the user.
pub const PASSWORD: &str = "correct horse";

type Result<T> = espalier_store::Result<T>;

/// A store, and the sessions on it.
pub struct Library {
    service: Service,
    /// As long as it lives, the operations of the server are available.
    described: DescribedAnchor,
    /// The modules at the start of each case.
    modules: SchemaSource,
    running: Tree,
    base: Base,
    /// Who performs the operations.
    caller: Caller,
}

/// A folder with a store, named `store`, that has the model and no data.
pub fn new_store() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("orchard.yang", model());
    let arguments = [
        "load",
        "-",
        "--store",
        "embedded:store",
        "--yang",
        "orchard.yang",
    ];
    sandbox.run_with(&arguments, b"{}", &[]).ok();
    sandbox
}

/// As [`new_store`], with users that some nodes and events are hidden from, and with the module of changes of the
/// configuration, whose events then list edits.
pub fn new_store_with_users() -> Sandbox {
    let sandbox = new_store();
    let store = ["--store", "embedded:store"];
    for [user, group] in [DENIED_USER, EVENT_USER] {
        let add = [&["user", "add", user, "--group", group], &store[..]].concat();
        sandbox.run_with(&add, PASSWORD.as_bytes(), &[]).ok();
    }
    let anchor = ["--dataspace", "espalier", "--anchor", "server"];
    let load = [&["load", "-"], &store[..], &anchor[..]].concat();
    let rules = access_rules().as_bytes();
    sandbox.run_with(&load, rules, &[]).ok();
    sandbox.write("events.yang", notifications_model());
    let install = ["modules", "install", "events.yang"];
    sandbox.run(&[&install, &store[..]].concat()).ok();
    sandbox
}

/// The access of a session of the user.
fn caller_of(user: Option<&str>) -> Caller {
    Caller {
        user: user.unwrap_or_default().to_owned(),
        ..Caller::default()
    }
}

fn describe(service: &Service, running: &Tree) -> DescribedAnchor {
    let served = ServedAnchor {
        anchor: Anchor::of(running).expect("an anchor"),
        datastores: Vec::new(),
        texts: ModuleTexts::new(
            running.schema(),
            &SchemaSource {
                modules: ModuleSource::from_text(model()).into_iter().collect(),
                ..SchemaSource::default()
            },
        ),
        texts_url: String::new(),
        streams_url: String::new(),
        restconf_capabilities: Vec::new(),
    };
    service.describe(served).expect("a description")
}

impl Library {
    /// Opens the store of a folder, for a user; everything is permitted if there is none.
    pub fn open(sandbox: &Sandbox, user: Option<&str>) -> Self {
        let url = format!("embedded:{}", sandbox.path("store").display());
        let driver = espalier_drivers::open(&url).expect("an engine");
        let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
        let running = store
            .tree("default", "default", Datastore::Running)
            .expect("a tree");
        let control = match user {
            Some(_) => AccessControl::Rules,
            None => AccessControl::Off,
        };
        let trees = ConfigurationTrees::new(store, Some(running.clone()));
        let sessions = Sessions::new(Arc::new(SystemClock));
        let service = Service::new(trees, control, sessions, LoginPolicy::default());
        let service = service.expect("the service of a test opens");
        let modules = running.store().schema_set("default", "default");
        Self {
            described: describe(&service, &running),
            modules: modules.expect("modules").source,
            service,
            running,
            base: Base::default(),
            caller: caller_of(user),
        }
    }

    /// Opens the data again if the modules were replaced.
    fn reopen(&mut self) {
        if self.running.is_current().expect("the anchor") {
            return;
        }
        let store = self.running.store();
        let running = store.tree("default", "default", Datastore::Running);
        self.running = running.expect("a tree");
        self.described = describe(&self.service, &self.running);
    }

    /// Puts the modules back.
    fn reset_modules(&mut self) {
        let store = self.running.store();
        let now = store.schema_set("default", "default").expect("modules");
        if now.source == self.modules {
            return;
        }
        let options = UpgradeOptions {
            unknown: UnknownData::Drop,
            ..UpgradeOptions::default()
        };
        store
            .upgrade_schema_set("default", "default", &self.modules, options)
            .expect("the modules");
        self.reopen();
    }

    /// The schema.
    fn schema(&self) -> &Arc<Schema> {
        self.running.schema()
    }

    fn datastore(&self, name: &str, request: &Request) -> Result<SessionDatastore> {
        // That of another front end is named with its user.
        let (caller, session_name) = match request.session.split_once('/') {
            Some((user, name)) => (caller_of(Some(user)), name),
            None => (self.caller.clone(), request.session),
        };
        let session = self.service.sessions().open(NewSession {
            caller,
            transport: Transport::Library,
            peer: String::new(),
            kind: SessionKind::Named,
            name: session_name.to_owned(),
        });
        let session = session.expect("a session");
        let running = self.service.datastore(&session, self.running.clone());
        running.sibling(Datastore::parse(name)?)
    }

    fn path(&self, text: &str) -> Result<InstancePath> {
        let path = InstancePath::parse_cli_path(self.schema(), text);
        Ok(path.map_err(|error| placed(error, text))?)
    }

    fn change(&self, request: &Request) -> Result<Outcome> {
        match &request.operation {
            Operation::Edit { .. }
            | Operation::Create { .. }
            | Operation::Replace { .. }
            | Operation::Merge { .. } => self.edit_config(request),
            Operation::Load { .. } | Operation::Delete { .. } | Operation::Set { .. } => {
                self.change_data(request)
            }
            Operation::Copy { .. }
            | Operation::DeleteDatastore { .. }
            | Operation::Rollback { .. }
            | Operation::Commit { .. }
            | Operation::CancelCommit { .. } => self.change_datastore(request),
            _ => self.manage(request),
        }
    }

    fn edit_config(&self, request: &Request) -> Result<Outcome> {
        let (datastore, edit, option) = match &request.operation {
            Operation::Edit {
                datastore,
                body,
                default_operation,
                test_option,
            } => {
                // A wrong datastore is found before a wrong document.
                self.datastore(datastore, request)?;
                let document = parse(self.schema(), *body, MetadataMode::Kept)?;
                let default = operation(default_operation);
                let edit = Edit::apply(InstancePath::root(), document, default);
                (datastore, edit, test(test_option))
            }
            Operation::Create { datastore, .. }
            | Operation::Replace { datastore, .. }
            | Operation::Merge { datastore, .. } => {
                let document = match resource_edit::document(self.schema(), &request.operation) {
                    Ok(document) => document,
                    Err(NoDocument::Wrong(error)) => return Err(error),
                    Err(NoDocument::Typed) => return Ok(Outcome::Inexpressible(TYPED)),
                };
                let edit = Edit::apply(InstancePath::root(), document, EditOperation::None);
                (datastore, edit, TestOption::Set)
            }
            other => panic!("{other:?}"),
        };
        let of = self.datastore(datastore, request)?;
        let on_error = ErrorOption::RollbackOnError;
        let report = of.edit_config(&[edit], option, on_error, note_of(request))?;
        Ok(committed(report.commit, self.base.version))
    }

    fn change_data(&self, request: &Request) -> Result<Outcome> {
        let note = note_of(request);
        let commit = match &request.operation {
            Operation::Load {
                datastore,
                body,
                replaces,
            } => {
                let of = self.datastore(datastore, request)?;
                load(&of, *body, *replaces, note)?
            }
            Operation::Delete { datastore, target } => {
                let edit = Edit::delete(self.path(target)?);
                self.datastore(datastore, request)?
                    .commit(&[edit], note, None)?
            }
            Operation::Set {
                datastore,
                target,
                value,
            } => {
                let path = self.path(target)?;
                let tree = match single_node::tree_of(self.schema(), &path, Some(value)) {
                    Ok(tree) => tree,
                    Err(failure) => return Ok(failures(&failure.into_errors())),
                };
                let edit = Edit::merge(InstancePath::root(), tree);
                self.datastore(datastore, request)?
                    .commit(&[edit], note, None)?
            }
            other => panic!("{other:?}"),
        };
        Ok(committed(Some(commit), self.base.version))
    }

    fn change_datastore(&self, request: &Request) -> Result<Outcome> {
        let note = note_of(request);
        let base = self.base.version;
        let commit = match &request.operation {
            Operation::Copy { from, to } => {
                let target = self.datastore(to, request)?;
                target.copy_from(&self.datastore(from, request)?, note)?
            }
            Operation::DeleteDatastore { datastore } => {
                self.datastore(datastore, request)?.delete(note)?
            }
            Operation::Rollback { version } => {
                let of = self.datastore("running", request)?;
                of.rollback(base + version, note)?
            }
            Operation::Commit {
                datastore,
                confirmed,
                persist,
                persist_id,
            } => {
                let confirm = ConfirmOptions {
                    timeout: *confirmed,
                    persist: *persist,
                    persist_id: *persist_id,
                };
                self.datastore(datastore, request)?
                    .commit_candidate(confirm, note)?
            }
            Operation::CancelCommit { persist_id } => {
                let of = self.datastore("candidate", request)?;
                of.cancel_commit(*persist_id, note)?
            }
            other => panic!("{other:?}"),
        };
        Ok(committed(Some(commit), base))
    }

    fn manage(&self, request: &Request) -> Result<Outcome> {
        let result = match &request.operation {
            Operation::Lock { datastore, paths } => {
                let of = self.datastore(datastore, request)?;
                let parsed: Result<Vec<_>> = paths.iter().map(|path| self.path(path)).collect();
                match paths.is_empty() {
                    true => of.lock().map(|()| Json::Null)?,
                    false => json!({"id": of.partial_lock(&parsed?)?.id}),
                }
            }
            Operation::Unlock {
                datastore,
                partial,
                owner,
            } => {
                let of = self.datastore(datastore, request)?;
                let id = *partial;
                match (id, owner) {
                    (None, LockOwner::Session) => of.unlock()?,
                    (None, LockOwner::Anybody) => of.break_lock()?,
                    (Some(id), LockOwner::Session) => of.partial_unlock(id)?,
                    (Some(id), LockOwner::Anybody) => of.break_partial_lock(id)?,
                }
                Json::Null
            }
            Operation::Locks { datastore } => locks(&self.datastore(datastore, request)?)?,
            Operation::Validate { datastore } => {
                self.datastore(datastore, request)?.validate()?;
                Json::Null
            }
            Operation::Discard { datastore } => {
                self.datastore(datastore, request)?
                    .discard_changes(note_of(request))?;
                Json::Null
            }
            Operation::Update { datastore, prefer } => {
                let of = self.datastore(datastore, request)?;
                update(&of, *prefer, note_of(request))?
            }
            Operation::EndSession => {
                self.datastore("running", request)?.end()?;
                Json::Null
            }
            Operation::Invoke { path, input } => {
                let main = self.datastore("running", request)?;
                invoke(main, path, (input.format, input.text))?
            }
            Operation::Receive(receive) => {
                let running = self.datastore("running", request)?;
                return events::receive(&running, receive, self.base);
            }
            _ => return self.versions(request),
        };
        Ok(Outcome::Success(result))
    }

    fn versions(&self, request: &Request) -> Result<Outcome> {
        let of = self.datastore("running", request)?;
        let base = self.base.version;
        match &request.operation {
            Operation::History { from, limit } => {
                let page = of.history(from.map(|from| base + from), *limit)?;
                let commits = page.iter().map(|commit| {
                    json!([
                        relative(commit.version, base),
                        commit.author,
                        commit.comment
                    ])
                });
                Ok(Outcome::Success(commits.collect()))
            }
            Operation::Difference { from, to, path } => {
                let path = self.path(path)?;
                let mut lines = Vec::new();
                of.each_difference(base + from, base + to, &mut |schema, change| {
                    if change.is_below(&path) {
                        let mut line = Vec::new();
                        write_change_json(&mut line, schema, change);
                        lines.push(serde_json::from_slice::<Json>(&line).expect("JSON"));
                    }
                    Ok(())
                })?;
                Ok(Outcome::Success(lines.into()))
            }
            Operation::Read(read) => self.read(read, request),
            other => panic!("{other:?}"),
        }
    }

    fn read(&self, read: &Read, request: &Request) -> Result<Outcome> {
        let of = self.datastore(read.datastore, request)?;
        let view = match read.version {
            Some(version) => of.at(self.base.version + version)?,
            None => of.view()?,
        };
        let path = self.path(read.path)?;
        let Some(selection) = selection(self.schema(), &path, read)? else {
            return Ok(Outcome::Inexpressible(TYPED));
        };
        let options = PrintOptions {
            envelope: (path.is_root() && read.format == Format::Xml)
                .then_some(Envelope::NETCONF_DATA),
            ..PrintOptions::default()
        };
        let mut text = Vec::new();
        let (schema, wanted) = (self.schema(), (&path, &selection, read));
        let is_found = match read.format {
            Format::Json => {
                let mut printer = json::Printer::new(schema, &mut text, options);
                let is_found = send(&view, wanted, &mut printer)?;
                printer.finish().map(|_| is_found).expect("a text")
            }
            Format::Xml => {
                let mut printer = xml::Printer::new(schema, &mut text, options);
                let is_found = send(&view, wanted, &mut printer)?;
                printer.finish().map(|_| is_found).expect("a text")
            }
        };
        Ok(match (is_found, read.format) {
            (false, _) => Outcome::Missing,
            (true, Format::Json) => Outcome::Success(serde_json::from_slice(&text).expect("JSON")),
            (true, Format::Xml) => Outcome::Success(compact(&String::from_utf8_lossy(&text))),
        })
    }
}

/// Invokes an operation of the models, or of the server. Returns the output; null without one.
pub fn invoke(main: SessionDatastore, path: &str, input: (Format, &str)) -> Result<Json> {
    let of = match InstancePath::parse_operation_path(main.schema(), path) {
        Ok(_) => main,
        Err(_) => main.server_state()?.expect("the state of the server"),
    };
    let schema = of.schema();
    let path = InstancePath::parse_operation_path(schema, path)?;
    let node = path.target().expect("an operation");
    let node = input_of(schema, node);
    let tree = match input {
        (_, "") => DataTree::default(),
        _ => {
            let root = Root::Resource(node.expect("an input"));
            parse_input(schema, root, &path, input)?
        }
    };
    let output = of.invoke(&path, &tree)?;
    if output.nodes.is_empty() {
        return Ok(Json::Null);
    }
    let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
    output.emit(&mut printer).expect("a document");
    let text = printer.finish().expect("a document");
    Ok(serde_json::from_slice(&text).expect("JSON"))
}

type Wanted<'a> = (&'a InstancePath, &'a Selection, &'a Read);

/// Sends a resource, or the page of it that a read requests.
fn send(view: &View, (path, selection, read): Wanted<'_>, sink: &mut dyn Sink) -> Result<bool> {
    let Some(page) = read.page else {
        return view.read_resource(path, selection, sink);
    };
    let mut parameters = PageParameters::default();
    parameters.set("offset", &page.offset.to_string())?;
    parameters.set("limit", &page.limit.to_string())?;
    let request = parameters.request(view.schema(), path, &PageNames::Modules)?;
    let info = view.read_page(path, &request.expect("a page"), selection, sink);
    info.map(|info| info.is_some())
}

/// The selection of a read; `None` if the library has types in place of its words.
fn selection(schema: &Schema, path: &InstancePath, read: &Read) -> Result<Option<Selection>> {
    let depth = match read.depth {
        None => None,
        Some(text) => match text.parse() {
            Ok(depth @ 1..=65535) => Some(depth),
            _ => return Ok(None),
        },
    };
    let is_list = path.steps.last().is_some_and(|step| {
        let node = schema.node(step.node);
        (node.is_list() || node.is_leaf_list()) && step.keys == espalier_yang::Keys::None
    });
    if read.page.is_some() && !is_list {
        return Ok(None);
    }
    let content = match read.content {
        ContentChoice::All => Content::All,
        ContentChoice::Config => Content::Config,
        ContentChoice::NonConfig => Content::NonConfig,
        ContentChoice::Wrong(_) => return Ok(None),
    };
    let with_defaults = match read.with_defaults {
        DefaultsMode::Explicit => WithDefaults::Explicit,
        DefaultsMode::ReportAll => WithDefaults::ReportAll,
        DefaultsMode::Trim => WithDefaults::Trim,
        DefaultsMode::ReportAllTagged => WithDefaults::ReportAllTagged,
        DefaultsMode::Wrong(_) => return Ok(None),
    };
    let fields = read
        .fields
        .map(|text| Fields::parse(schema, path.target(), text));
    Ok(Some(Selection {
        depth,
        content,
        fields: fields.transpose()?,
        with_defaults,
        with_origin: match read.with_origin {
            true => WithOrigin::Shown,
            false => WithOrigin::Hidden,
        },
        ..Selection::default()
    }))
}

fn note_of(request: &Request) -> ChangeNote<'_> {
    ChangeNote {
        author: request.author.unwrap_or(AUTHOR),
        comment: request.comment.unwrap_or_default(),
    }
}

fn operation(name: &str) -> EditOperation {
    match name {
        "replace" => EditOperation::Replace,
        "none" => EditOperation::None,
        _ => EditOperation::Merge,
    }
}

fn test(name: &str) -> TestOption {
    match name {
        "test-then-set" => TestOption::TestThenSet,
        "test-only" => TestOption::TestOnly,
        _ => TestOption::Set,
    }
}

fn parse(schema: &Schema, body: Body, metadata: MetadataMode) -> Result<DataTree> {
    let mut builder = TreeBuilder::new();
    parse_into(schema, body, metadata, &mut builder)?;
    Ok(builder.finish()?)
}

fn parse_input(
    schema: &Schema,
    root: Root,
    path: &InstancePath,
    body: (Format, &str),
) -> Result<DataTree> {
    let mut builder = TreeBuilder::new();
    let options = ParseOptions {
        place: path.clone(),
        ..ParseOptions::default()
    };
    parse_with(schema, root, body, &options, &mut builder)?;
    Ok(builder.finish()?)
}

fn parse_into(
    schema: &Schema,
    body: Body,
    metadata: MetadataMode,
    sink: &mut dyn Sink,
) -> Result<()> {
    let options = ParseOptions {
        metadata,
        ..ParseOptions::default()
    };
    parse_with(
        schema,
        Root::Datastore,
        (body.format, body.text),
        &options,
        sink,
    )
}

fn parse_with(
    schema: &Schema,
    root: Root,
    (format, text): (Format, &str),
    options: &ParseOptions,
    sink: &mut dyn Sink,
) -> Result<()> {
    let text = text.as_bytes();
    Ok(match format {
        Format::Json => json::parse(schema, root, text, sink, options),
        Format::Xml => xml::parse(schema, root, text, sink, options),
    }?)
}

fn load(
    of: &SessionDatastore,
    body: Body,
    replaces: bool,
    note: ChangeNote<'_>,
) -> Result<espalier_store::Commit> {
    let options = LoadOptions {
        mode: match replaces {
            true => LoadMode::Replace,
            false => LoadMode::Merge,
        },
        author: note.author,
        comment: note.comment,
        ..LoadOptions::default()
    };
    let schema = Arc::clone(of.schema());
    let report = of.load(options, &mut |sink| {
        parse_into(&schema, body, MetadataMode::Plain, sink)
    })?;
    Ok(report.commit)
}

fn locks(of: &SessionDatastore) -> Result<Json> {
    Ok(locks_json(of.locks()?))
}

fn locks_json(locks: Locks) -> Json {
    let partial = locks.partial.iter();
    let partial: Json = partial
        .map(|lock| json!([lock.id, lock.session, lock.paths]))
        .collect();
    let pending = locks
        .pending
        .map(|pending| json!([pending.session, pending.persist.is_some()]));
    json!([locks.lock.map(|lock| lock.session), partial, pending])
}

fn update(of: &SessionDatastore, prefer: Prefer, note: ChangeNote<'_>) -> Result<Json> {
    let resolution = match prefer {
        Prefer::Neither => Resolution::RevertOnConflict,
        Prefer::Running => Resolution::PreferRunning,
        Prefer::Candidate => Resolution::PreferCandidate,
    };
    let conflicts = of.update(resolution, note)?;
    let conflicts = conflicts.iter().map(|conflict| {
        json!({
            "path": conflict.path,
            "base": conflict.base.to_string(),
            "running": conflict.running.to_string(),
            "candidate": conflict.candidate.to_string(),
        })
    });
    Ok(conflicts.collect())
}

impl FrontEnd for Library {
    fn run(&mut self, request: &Request) -> Outcome {
        self.reopen();
        self.change(request).unwrap_or_else(failure)
    }

    fn limits(&self) -> &'static [Limit] {
        &[Limit {
            name: TYPED,
            reason: "a program names filters and positions by types, which have no wrong values",
        }]
    }

    fn start_case(&mut self, base: Base) {
        self.base = base;
    }
}

const SESSIONS: [&str; 4] = ["a", "b", "gardener/a", "gardener/b"];
const LOCKABLE: [Datastore; 3] = [Datastore::Running, Datastore::Candidate, Datastore::Startup];

impl StoreAccess for Library {
    fn reset(&mut self) -> u64 {
        self.reopen();
        let store = self.running.store().clone();
        let sibling = |datastore| {
            self.running
                .sibling_datastore(datastore, "")
                .expect("a tree")
        };
        let options = CommitOptions::default();
        if let Some(pending) = self.running.locks().expect("locks").pending {
            let options = CommitOptions {
                session: &pending.session,
                ..options
            };
            let persist = pending.persist.as_deref();
            sibling(Datastore::Candidate)
                .cancel_commit(persist, options)
                .expect("cancelled");
        }
        for session in SESSIONS {
            store.end_session(session).expect("the end of a session");
        }
        for datastore in LOCKABLE.map(sibling) {
            datastore.break_lock().expect("no lock");
            for lock in datastore.locks().expect("locks").partial {
                datastore
                    .break_partial_lock(lock.id)
                    .expect("no partial lock");
            }
        }
        sibling(Datastore::Candidate)
            .discard(options)
            .expect("an empty candidate");
        sibling(Datastore::Startup)
            .delete_datastore(options)
            .expect("no startup");
        self.reset_modules();
        let sibling = |datastore| {
            self.running
                .sibling_datastore(datastore, "")
                .expect("a tree")
        };
        let schema = self.schema();
        let fixture = parse(
            schema,
            Body {
                format: Format::Json,
                text: fixture(),
            },
            MetadataMode::Plain,
        );
        let fixture = Edit::replace_all(fixture.expect("a fixture"));
        self.running.commit(&[fixture], options).expect("a commit");
        let load = LoadOptions {
            mode: LoadMode::Replace,
            ..LoadOptions::default()
        };
        let factory = sibling(Datastore::FactoryDefault);
        factory
            .load(load, &mut |_| Ok(()))
            .expect("an empty factory-default");
        let view = self.running.view().expect("a view");
        view.version().expect("a version")
    }

    fn state(&mut self) -> State {
        self.reopen();
        let sibling = |datastore| {
            self.running
                .sibling_datastore(datastore, "")
                .expect("a datastore")
        };
        let read = |name: &'static str| {
            let of = sibling(Datastore::parse(name).expect("a name"));
            let mut text = Vec::new();
            let mut printer = json::Printer::new(self.schema(), &mut text, PrintOptions::default());
            let view = of.view().expect("a view");
            view.read(&InstancePath::root(), &Selection::default(), &mut printer)
                .expect("data");
            printer.finish().expect("a text");
            (name, String::from_utf8_lossy(&text).into_owned())
        };
        let datastores = ["running", "candidate", "startup", "factory-default"]
            .map(read)
            .to_vec();
        let locks = LOCKABLE.map(|datastore| {
            let locks = sibling(datastore).locks().expect("locks");
            locks_json(locks).to_string()
        });
        let newest = self.running.history(None, 1).expect("the history");
        let newest = newest.first().map(|commit| NewestCommit {
            version: relative(commit.version, self.base.version),
            author: commit.author.clone(),
            comment: commit.comment.clone(),
        });
        State {
            datastores,
            locks: locks.to_vec(),
            newest: newest.unwrap_or_default(),
        }
    }
}
