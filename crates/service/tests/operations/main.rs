//! RPCs and actions: registered operations, and those of the server.

#[path = "../server_state/fixture.rs"]
#[allow(dead_code)]
mod fixture;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use espalier_service::access::Caller;
use espalier_service::operations::{
    OPERATION_CALLS_MAX, Operation, OperationCall, OperationOptions, OperationRegistration,
    input_of,
};
use espalier_service::session::SessionId;
use espalier_service::{AccessControl, Anchor, Service, SessionDatastore};
use espalier_store::{
    CommitOptions, Datastore, Edit, Error, Selection, Tree, UnknownData, UpgradeOptions,
};
use espalier_testkit::documents::json_document;
use espalier_yang::data::{DataTree, ParseOptions, PrintOptions, Root, TreeBuilder, json};
use espalier_yang::{DataError, ErrorTag, Errors, InstancePath};
use parking_lot::Mutex;

use crate::fixture::{serving, source_of};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  list port { key name; leaf name { type string; } leaf speed { type uint32; }
    action reset { input { leaf wait { type uint32; default 3; must ". <= ../../speed"; } }
      output { leaf at { type uint32; } } } }
  rpc join { input { leaf left { type leafref { path "/port/name"; } mandatory true; }
      choice how { default soft; case soft { leaf soft { type uint8; default 7; } } leaf hard { type empty; } }
      container more { leaf x { type uint8; default 1; } leaf y { when "../../left = 'b'"; type uint8; default 2; } } }
    output { leaf id { type uint32; mandatory true; } leaf text { type string; } } }
  rpc ping { } }"#;

const DATA: &str = r#"{"m:port":[{"name":"a","speed":10},{"name":"b","speed":5}]}"#;

fn user(name: &str, is_exempt: bool) -> Caller {
    Caller {
        user: name.to_owned(),
        is_recovery: is_exempt,
        ..Caller::default()
    }
}

/// A datastore for a new session of a caller.
fn session(service: &Service, tree: &Tree, caller: Caller) -> SessionDatastore {
    let name = caller.user.clone();
    service.datastore(&fixture::session(service, caller, &name), tree.clone())
}

/// Merges a document.
fn edit(tree: &Tree, document: &str) {
    let document = json_document(tree.schema(), document);
    let edit = Edit::merge(InstancePath::root(), document);
    let made = tree.commit(&[edit], CommitOptions::default());
    made.unwrap_or_else(|error| panic!("{error}"));
}

/// A service with the data, and a session without restrictions.
fn started() -> (Service, Tree, SessionDatastore) {
    let (service, tree) = serving(&[MODEL, "ietf-netconf-acm"], AccessControl::Rules);
    edit(&tree, DATA);
    let of = session(&service, &tree, user("root", true));
    (service, tree, of)
}

fn register(
    (service, tree): (&Service, &Tree),
    path: &str,
    options: OperationOptions,
    operation: impl Operation + 'static,
) -> OperationRegistration {
    let anchor = Anchor::of(tree).expect("an anchor");
    let operations = service.operations();
    let registered = operations.register(&anchor, path, options, Arc::new(operation));
    registered.unwrap_or_else(|error| panic!("{error}"))
}

fn options(name: &str) -> OperationOptions {
    OperationOptions::new(name)
}

/// Invokes an operation with an input; returns the output as JSON.
fn invoke(of: &SessionDatastore, path: &str, input: &str) -> Result<String, Error> {
    let schema = of.schema();
    let path = InstancePath::parse_operation_path(schema, path)?;
    let node = path.target().expect("an operation");
    let node = input_of(schema, node);
    let mut builder = TreeBuilder::new();
    let root = Root::Resource(node.expect("an input"));
    let options = ParseOptions::default();
    if !input.is_empty() {
        json::parse(schema, root, input.as_bytes(), &mut builder, &options).expect("an input");
    }
    let output = of.invoke(&path, &builder.finish()?)?;
    Ok(text(of, &output))
}

fn text(of: &SessionDatastore, tree: &DataTree) -> String {
    let mut printer = json::Printer::new(of.schema(), Vec::new(), PrintOptions::default());
    tree.emit(&mut printer).expect("a document");
    String::from_utf8(printer.finish().expect("a document")).expect("UTF-8")
}

/// The tag and the app-tag of the first error.
fn failure(result: Result<String, Error>) -> (ErrorTag, Option<String>) {
    match result {
        Err(Error::Data(errors)) => {
            let first = errors.iter().next().expect("an error");
            (first.tag, first.app_tag.as_deref().map(str::to_owned))
        }
        other => panic!("{other:?}"),
    }
}

fn tag(result: Result<String, Error>) -> ErrorTag {
    failure(result).0
}

fn joined(call: &OperationCall) -> Result<DataTree, Errors> {
    call.output(br#"{"m:output":{"id":4}}"#)
}

#[test]
fn a_call_has_a_valid_input_with_defaults_and_a_valid_output() {
    let (service, tree, of) = started();
    assert_eq!(
        tag(invoke(&of, "m:join", r#"{"m:input":{"left":"a"}}"#)),
        ErrorTag::OperationNotSupported
    );
    let (sender, inputs) = channel();
    let sender = Mutex::new(sender);
    let schema = Arc::clone(of.schema());
    let registered = register(
        (&service, &tree),
        "/m:join",
        options("t"),
        move |call: &OperationCall| {
            let mut printer = json::Printer::new(&schema, Vec::new(), PrintOptions::default());
            call.input.emit(&mut printer).expect("a document");
            let text = String::from_utf8(printer.finish().expect("a document")).expect("UTF-8");
            sender
                .lock()
                .send((
                    text,
                    call.argument("left"),
                    call.session.caller().user.clone(),
                ))
                .expect("a test");
            joined(call)
        },
    );
    let output = invoke(&of, "join", r#"{"m:input":{"left":"a"}}"#).expect("an output");
    assert_eq!(output, r#"{"m:output":{"id":4}}"#);
    let (input, left, user) = inputs.recv().expect("a call");
    assert_eq!(input, r#"{"m:input":{"left":"a","soft":7,"more":{"x":1}}}"#);
    assert_eq!((left.as_deref(), &*user), (Some("a"), "root"));
    invoke(&of, "m:join", r#"{"m:input":{"left":"b","hard":[null]}}"#).expect("an output");
    let (input, ..) = inputs.recv().expect("a call");
    assert_eq!(
        input,
        r#"{"m:input":{"left":"b","hard":[null],"more":{"x":1,"y":2}}}"#
    );
    // A wrong input does not reach the program.
    assert_eq!(tag(invoke(&of, "m:join", "")), ErrorTag::DataMissing);
    assert_eq!(
        tag(invoke(&of, "m:join", r#"{"m:input":{"left":"c"}}"#)),
        ErrorTag::DataMissing
    );
    assert!(inputs.try_recv().is_err());
    drop(registered);
    assert_eq!(
        tag(invoke(&of, "m:join", r#"{"m:input":{"left":"a"}}"#)),
        ErrorTag::OperationNotSupported
    );
    for wrong in [r#"{"m:output":{}}"#, r#"{"m:output":{"text":"x"}}"#] {
        let _registered = register(
            (&service, &tree),
            "/m:join",
            options("t"),
            move |call: &OperationCall| call.output(wrong.as_bytes()),
        );
        assert_eq!(
            tag(invoke(&of, "m:join", r#"{"m:input":{"left":"a"}}"#)),
            ErrorTag::OperationFailed
        );
    }
}

/// An operation that records its calls, and fails if `fails`.
struct Recording {
    name: &'static str,
    log: Arc<Mutex<Vec<String>>>,
    fails: bool,
}

impl Operation for Recording {
    fn call(&self, call: &OperationCall) -> Result<DataTree, Errors> {
        self.log.lock().push(self.name.to_owned());
        match self.fails {
            true => Err(DataError::new(ErrorTag::ResourceDenied, "no")
                .with_app_tag("mine")
                .into()),
            false => call
                .output(format!(r#"{{"m:output":{{"id":1,"text":"{}"}}}}"#, self.name).as_bytes()),
        }
    }

    fn abort(&self, _: &OperationCall) {
        self.log.lock().push(format!("undo {}", self.name));
    }
}

/// §5 row 55
#[test]
fn several_operations_are_called_by_priority_and_undone_if_a_later_one_fails() {
    let (service, tree, of) = started();
    let log = Arc::new(Mutex::new(Vec::new()));
    let add = |name, priority, fails| {
        let options = OperationOptions {
            priority,
            ..options(name)
        };
        let operation = Recording {
            name,
            log: Arc::clone(&log),
            fails,
        };
        register((&service, &tree), "/m:join", options, operation)
    };
    let _low = add("low", -5, false);
    let _high = add("high", 10, false);
    let _middle = add("middle", 0, false);
    let output = invoke(&of, "m:join", r#"{"m:input":{"left":"a"}}"#).expect("an output");
    assert_eq!(output, r#"{"m:output":{"id":1,"text":"low"}}"#);
    assert_eq!(std::mem::take(&mut *log.lock()), ["high", "middle", "low"]);
    let _failing = add("failing", -1, true);
    let failed = failure(invoke(&of, "m:join", r#"{"m:input":{"left":"a"}}"#));
    assert_eq!(failed, (ErrorTag::ResourceDenied, Some("mine".to_owned())));
    let expected = ["high", "middle", "failing", "undo middle", "undo high"];
    assert_eq!(*log.lock(), expected);
}

/// §5 row 54
#[test]
fn an_action_is_found_by_its_entry() {
    let (service, tree, of) = started();
    let at = |number: u32| {
        move |call: &OperationCall| {
            call.output(format!(r#"{{"m:output":{{"at":{number}}}}}"#).as_bytes())
        }
    };
    let _one = register(
        (&service, &tree),
        "/m:port[name='a']/reset",
        options("a"),
        at(1),
    );
    assert_eq!(
        invoke(&of, "/port=a/reset", "").expect("an output"),
        r#"{"m:output":{"at":1}}"#
    );
    assert_eq!(
        tag(invoke(&of, "/port=b/reset", "")),
        ErrorTag::OperationNotSupported
    );
    let every = OperationOptions {
        priority: -1,
        ..options("all")
    };
    let _every = register((&service, &tree), "/m:port/reset", every, at(2));
    for name in ["a", "b"] {
        let output = invoke(&of, &format!("/port={name}/reset"), "").expect("an output");
        assert_eq!(output, r#"{"m:output":{"at":2}}"#, "{name}");
    }
    assert_eq!(tag(invoke(&of, "/port=c/reset", "")), ErrorTag::DataMissing);
    // Constraints of the input read the entry.
    let too_long = invoke(&of, "/port=b/reset", r#"{"m:input":{"wait":6}}"#);
    assert_eq!(tag(too_long), ErrorTag::OperationFailed);
    let anchor = Anchor::of(&tree).expect("an anchor");
    let operations = service.operations();
    for wrong in ["/m:port", "/m:none", "/m:port/name"] {
        let registered = operations.register(&anchor, wrong, options("x"), Arc::new(joined));
        assert!(registered.is_err(), "{wrong}");
    }
}

/// §5 row 55
#[test]
fn an_operation_that_hangs_or_panics_delays_only_its_client() {
    let (service, tree, of) = started();
    let short = OperationOptions {
        timeout: Duration::from_millis(300),
        ..options("hanging")
    };
    let (release, held) = channel::<()>();
    let held = Mutex::new(held);
    let (ended, ends) = channel();
    let ended = Mutex::new(ended);
    let hanging = register(
        (&service, &tree),
        "/m:ping",
        short,
        move |call: &OperationCall| {
            let _ = held.lock().recv();
            ended.lock().send(call.has_ended()).expect("a test");
            Ok(DataTree::default())
        },
    );
    let _other = register((&service, &tree), "/m:join", options("t"), joined);
    let started = Instant::now();
    let timed_out = thread::scope(|scope| {
        let waiting = scope.spawn(|| failure(invoke(&of, "m:ping", "")));
        for _ in 0..20 {
            invoke(&of, "m:join", r#"{"m:input":{"left":"a"}}"#).expect("an output");
        }
        waiting.join().expect("a call")
    });
    assert_eq!(
        timed_out,
        (ErrorTag::OperationFailed, Some("timeout".to_owned()))
    );
    assert!(started.elapsed() < Duration::from_secs(20));
    drop(release);
    assert!(
        ends.recv().expect("the end of the call"),
        "the program can know that nobody waits"
    );
    drop(hanging);
    let _panicking = register(
        (&service, &tree),
        "/m:ping",
        options("t"),
        |_: &OperationCall| -> Result<DataTree, Errors> { panic!("as the test wants") },
    );
    assert_eq!(tag(invoke(&of, "m:ping", "")), ErrorTag::OperationFailed);
}

#[test]
fn calls_of_one_operation_are_limited_and_a_killed_session_waits_no_longer() {
    let (service, tree, of) = started();
    let (release, held) = channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let (begun, begins) = channel();
    let begun = Mutex::new(begun);
    let _hanging = register(
        (&service, &tree),
        "/m:ping",
        options("hanging"),
        move |_: &OperationCall| {
            begun.lock().send(()).expect("a test");
            let _ = held.lock().recv();
            Ok(DataTree::default())
        },
    );
    thread::scope(|scope| {
        let victim = session(&service, &tree, user("victim", true));
        let id = victim.session().id();
        let waiting = scope.spawn(move || tag(invoke(&victim, "m:ping", "")));
        begins.recv().expect("a call");
        let others: Vec<_> = (1..OPERATION_CALLS_MAX)
            .map(|_| scope.spawn(|| invoke(&of, "m:ping", "")))
            .collect();
        for _ in &others {
            begins.recv().expect("a call");
        }
        assert_eq!(tag(invoke(&of, "m:ping", "")), ErrorTag::ResourceDenied);
        of.kill(id).expect("a session");
        assert_eq!(waiting.join().expect("a call"), ErrorTag::OperationFailed);
        drop(release);
        for other in others {
            other.join().expect("a call").expect("no output");
        }
    });
    assert_eq!(
        tag(of.kill(SessionId(4711)).map(|()| String::new())),
        ErrorTag::InvalidValue
    );
}

#[test]
fn rules_decide_who_may_invoke() {
    let (service, tree, _) = started();
    let rules = r#"{"ietf-netconf-acm:nacm":{"groups":{"group":[{"name":"g","user-name":["maria"]}]},
        "rule-list":[{"name":"r","group":["g"],"rule":[
        {"name":"1","module-name":"m","rpc-name":"ping","access-operations":"exec","action":"deny"},
        {"name":"2","path":"/m:port[m:name='b']","access-operations":"read","action":"deny"},
        {"name":"3","path":"/m:port[m:name='a']/m:reset","access-operations":"exec","action":"permit"},
        {"name":"4","path":"/m:port/m:reset","access-operations":"exec","action":"deny"}]}]}}"#;
    edit(&tree, rules);
    let maria = session(&service, &tree, user("maria", false));
    let _ping = register(
        (&service, &tree),
        "/m:ping",
        options("t"),
        |_: &OperationCall| Ok(DataTree::default()),
    );
    let _join = register((&service, &tree), "/m:join", options("t"), joined);
    let _reset = register(
        (&service, &tree),
        "/m:port/reset",
        options("t"),
        |_: &OperationCall| Ok(DataTree::default()),
    );
    edit(&tree, r#"{"m:port":[{"name":"c","speed":9}]}"#);
    assert_eq!(tag(invoke(&maria, "m:ping", "")), ErrorTag::AccessDenied);
    invoke(&maria, "m:join", r#"{"m:input":{"left":"a"}}"#).expect("permitted");
    invoke(&maria, "/port=a/reset", "").expect("permitted");
    assert_eq!(
        tag(invoke(&maria, "/port=c/reset", "")),
        ErrorTag::AccessDenied
    );
    // Hidden entries and those that do not exist look the same.
    for name in ["b", "nowhere"] {
        let denied = invoke(&maria, &format!("/port={name}/reset"), "");
        assert_eq!(tag(denied), ErrorTag::AccessDenied, "{name}");
    }
    let supported = |of: &SessionDatastore, path: &str| {
        let path = InstancePath::parse_operation_path(of.schema(), path).expect("a path");
        let node = path.target().expect("an operation");
        (
            of.is_supported(node),
            of.may_invoke(node).expect("the rules"),
        )
    };
    assert_eq!(supported(&maria, "m:ping"), (true, false));
    assert_eq!(supported(&maria, "m:join"), (true, true));
    let denied = service.denied().operations;
    assert_eq!(denied, 4);
}

#[test]
fn a_registration_outlives_a_change_of_modules() {
    let (service, tree, _) = started();
    let _join = register((&service, &tree), "/m:join", options("t"), joined);
    let newer = MODEL.replace("list port", "leaf added { type string; } list port");
    let store = tree.store();
    let source = source_of(&[&newer, "ietf-netconf-acm"]);
    store
        .upgrade_schema_set("d", "s", &source, Default::default())
        .expect("an upgrade");
    let upgraded = store.tree("d", "a", Datastore::Running).expect("a tree");
    let of = session(&service, &upgraded, user("root", true));
    let output = invoke(&of, "m:join", r#"{"m:input":{"left":"a"}}"#).expect("an output");
    assert_eq!(output, r#"{"m:output":{"id":4}}"#);
    // And ends where the modules have no such operation.
    let without = source_of(&[
        "module m { namespace urn:m; prefix m; container c; }",
        "ietf-netconf-acm",
    ]);
    let dropping = UpgradeOptions {
        unknown: UnknownData::Drop,
        ..Default::default()
    };
    store
        .upgrade_schema_set("d", "s", &without, dropping)
        .expect("an upgrade");
    store
        .upgrade_schema_set("d", "s", &source, Default::default())
        .expect("an upgrade");
    let again = store.tree("d", "a", Datastore::Running).expect("a tree");
    let of = session(&service, &again, user("root", true));
    edit(&again, DATA);
    invoke(&of, "m:join", r#"{"m:input":{"left":"a"}}"#).expect("an output");
}

#[test]
fn the_server_answers_its_own_operations() {
    let (service, tree, of) = started();
    let state = of.server_state().expect("a store").expect("the state");
    let factory = tree.sibling_datastore(Datastore::FactoryDefault, "");
    let factory = factory.expect("a tree");
    let copied = factory.copy_from(&tree, CommitOptions::default());
    copied.expect("a copy");
    let schema = invoke(
        &state,
        "get-schema",
        r#"{"ietf-netconf-monitoring:input":{"identifier":"m"}}"#,
    );
    assert!(schema.expect("a text").contains("rpc join"));
    let unknown = invoke(
        &state,
        "get-schema",
        r#"{"ietf-netconf-monitoring:input":{"identifier":"n"}}"#,
    );
    assert_eq!(tag(unknown), ErrorTag::InvalidValue);
    let config = r#"{"ietf-netconf:input":{"target":{"running":[null]},"config":{"m:port":[
        {"@":{"ietf-netconf:operation":"delete"},"name":"a"},{"name":"new"}]}}}"#;
    invoke(&state, "edit-config", config).expect("an edit");
    let read = || {
        let view = tree.view().expect("a view");
        let mut builder = TreeBuilder::new();
        view.read(&InstancePath::root(), &Selection::default(), &mut builder)
            .expect("a read");
        text(&of, &builder.finish().expect("a tree"))
    };
    assert_eq!(
        read(),
        r#"{"m:port":[{"name":"b","speed":5},{"name":"new"}]}"#
    );
    let denied = session(&service, &tree, user("maria", false));
    let denied = denied.server_state().expect("a store").expect("the state");
    // Marked with default-deny-all.
    assert_eq!(
        tag(invoke(&denied, "factory-reset", "")),
        ErrorTag::AccessDenied
    );
    invoke(&state, "factory-reset", "").expect("a reset");
    assert_eq!(read(), DATA);
    let lock = r#"{"ietf-netconf:input":{"target":{"running":[null]}}}"#;
    invoke(&state, "lock", lock).expect("a lock");
    assert_eq!(tag(invoke(&state, "lock", lock)), ErrorTag::LockDenied);
    invoke(&state, "unlock", lock).expect("no lock");
}
