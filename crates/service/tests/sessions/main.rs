//! Sessions, and datastores as sessions see them.

#[path = "../access/fixture.rs"]
#[allow(dead_code)]
mod fixture;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use espalier_service::access::Caller;
use espalier_service::configuration::ConfigurationTrees;
use espalier_service::session::{
    NewSession, SESSION_IDLE_MAX, SESSIONS_MAX, Session, SessionError, SessionKind, Sessions,
    Transport,
};
use espalier_service::{AccessControl, ChangeNote, LoginPolicy, Service, SessionDatastore};
use espalier_store::{
    Clock, Datastore, Edit, Error, LoadMode, LoadOptions, SystemClock, Timestamp, Tree,
};
use espalier_yang::{ErrorTag, InstancePath};

use crate::fixture::{json_data, put, read, tree_of, user};

const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
    container c { leaf a { type string; } leaf b { type string; } } }";

const RULES: &str = r#"{"ietf-netconf-acm:nacm":{"groups":{"group":[{"name":"g","user-name":["maria"]}]},
    "rule-list":[{"name":"r","group":["g"],"rule":[{"name":"a","path":"/m:c/m:a","action":"permit"},
    {"name":"no-lock","rpc-name":"lock","action":"deny"}]}]}}"#;

fn new_session(caller: Caller, name: &str) -> NewSession {
    NewSession {
        caller,
        transport: Transport::Http,
        peer: "127.0.0.1:1".to_owned(),
        kind: SessionKind::Named,
        name: name.to_owned(),
    }
}

fn service(tree: &Tree, control: AccessControl) -> Service {
    let trees = ConfigurationTrees::new(tree.store().clone(), Some(tree.clone()));
    Service::new(trees, control, sessions(), LoginPolicy::default()).expect("a service")
}

fn sessions() -> Sessions {
    Sessions::new(Arc::new(SystemClock))
}

fn open(service: &Service, tree: &Tree, caller: Caller) -> SessionDatastore {
    let session = service.sessions().open(new_session(caller, "one"));
    service.datastore(&session.expect("a session"), tree.clone())
}

fn edit(of: &SessionDatastore, document: &str) -> Result<u64, Error> {
    let edit = Edit::merge(InstancePath::root(), json_data(of.schema(), document));
    let commit = of.commit(&[edit], ChangeNote::default(), None)?;
    Ok(commit.version)
}

fn tag(result: Result<impl std::fmt::Debug, Error>) -> ErrorTag {
    match result {
        Err(Error::Data(errors)) => errors.iter().next().expect("an error").tag,
        other => panic!("{other:?}"),
    }
}

const A: &str = r#"{"m:c":{"a":"1"}}"#;
const B: &str = r#"{"m:c":{"b":"2"}}"#;

#[test]
fn every_way_to_change_data_is_authorised() {
    let tree = tree_of(&[MODEL]);
    put(&tree, json_data(tree.schema(), RULES));
    let service = service(&tree, AccessControl::Rules);
    let running = open(&service, &tree, user("maria"));
    edit(&running, A).expect("permitted");
    assert_eq!(tag(edit(&running, B)), ErrorTag::AccessDenied);
    for datastore in [
        Datastore::Candidate,
        Datastore::PrivateCandidate,
        Datastore::Startup,
    ] {
        let of = running.sibling(datastore).expect("a datastore");
        edit(&of, A).unwrap_or_else(|error| panic!("{datastore:?} {error}"));
        assert_eq!(tag(edit(&of, B)), ErrorTag::AccessDenied, "{datastore:?}");
    }
    let load = |of: &SessionDatastore, mode: LoadMode, document: &str| {
        let document = json_data(of.schema(), document);
        let options = LoadOptions {
            mode,
            ..LoadOptions::default()
        };
        of.load(options, &mut |sink| {
            document.emit(sink).map_err(|_| Error::Stopped)
        })
    };
    load(&running, LoadMode::Merge, A).expect("permitted");
    assert_eq!(
        tag(load(&running, LoadMode::Merge, B)),
        ErrorTag::AccessDenied
    );
    // The rules, which she cannot even read, would be deleted.
    assert_eq!(
        tag(load(&running, LoadMode::Replace, A)),
        ErrorTag::AccessDenied
    );
    let candidate = running.sibling(Datastore::Candidate).expect("a datastore");
    assert_eq!(
        tag(load(&candidate, LoadMode::Replace, A)),
        ErrorTag::AccessDenied
    );
    // What somebody else left in the candidate is authorised when it is committed.
    let recovery = Caller {
        is_recovery: true,
        ..user("root")
    };
    let other = open(&service, &tree, recovery);
    edit(
        &other.sibling(Datastore::Candidate).expect("a datastore"),
        B,
    )
    .expect("exempt");
    let committed = candidate.commit_candidate(Default::default(), ChangeNote::default());
    assert_eq!(tag(committed), ErrorTag::AccessDenied);
    assert_eq!(tag(running.lock()), ErrorTag::AccessDenied);
    assert_eq!(service.denied().operations, 1);
    assert!(service.denied().data_writes >= 7);
    let all = read(&running.view().expect("a view"), "/").expect("data");
    assert_eq!(all, A);
}

#[test]
fn a_change_of_the_rules_applies_at_once() {
    let tree = tree_of(&[MODEL]);
    let service = service(&tree, AccessControl::Rules);
    let recovery = open(
        &service,
        &tree,
        Caller {
            is_recovery: true,
            ..user("root")
        },
    );
    let maria = open(&service, &tree, user("maria"));
    assert_eq!(tag(edit(&maria, A)), ErrorTag::AccessDenied);
    edit(&recovery, RULES).expect("exempt");
    edit(&maria, A).expect("permitted now");
    edit(
        &recovery,
        r#"{"ietf-netconf-acm:nacm":{"read-default":"deny"}}"#,
    )
    .expect("exempt");
    let view = maria.view().expect("a view");
    assert_eq!(read(&view, "/").expect("data"), A);
    edit(&recovery, B).expect("exempt");
    assert_eq!(read(&maria.view().expect("a view"), "/").expect("data"), A);
    // The author is the user, also if the request names another.
    let note = ChangeNote {
        author: "root",
        comment: "",
    };
    let change = json_data(tree.schema(), r#"{"m:c":{"a":"3"}}"#);
    let edits = [Edit::merge(InstancePath::root(), change)];
    maria.commit(&edits, note, None).expect("permitted");
    let newest = tree.history(None, 1).expect("a history").remove(0);
    assert_eq!(newest.author, "maria");
}

#[test]
fn a_killed_session_does_nothing_more() {
    let tree = tree_of(&[MODEL]);
    let service = service(&tree, AccessControl::Off);
    let anybody = open(&service, &tree, Caller::default());
    edit(&anybody, A).expect("no access control");
    let killed = service.sessions().kill(anybody.session().id());
    assert!(killed.is_some_and(|session| session.is_killed()));
    assert_eq!(tag(edit(&anybody, B)), ErrorTag::AccessDenied);
    assert_eq!(tag(anybody.view().map(|_| ())), ErrorTag::AccessDenied);
    assert!(service.sessions().list().is_empty());
    let (requests, errors) = (anybody.session().requests(), anybody.session().errors());
    assert_eq!((requests, errors), (3, 2));
}

#[test]
fn owners_of_locks_differ_between_users() {
    let sessions = sessions();
    let owner = |user_name: &str, name: &str| {
        let session = sessions
            .open(new_session(user(user_name), name))
            .expect("a session");
        session.owner().to_owned()
    };
    let owners = [
        owner("", "x"),
        owner("", "maria/x"),
        owner("", "/maria/x"),
        owner("maria", "x"),
        owner("maria/x", "y"),
        owner("maria", "x/y"),
        owner("maria%2Fx", "y"),
    ];
    for (index, one) in owners.iter().enumerate() {
        assert!(!owners[index + 1..].contains(one), "{owners:?}");
    }
    assert_eq!(owner("", ""), "");
    assert_eq!(owner("maria", ""), "");
}

/// Errors do not show what the user cannot read: paths, values, whether a node exists.
#[test]
fn errors_show_nothing_that_cannot_be_read() {
    let model = "module m { yang-version 1.1; namespace urn:m; prefix m;
        container c { must \"not(secret/x = limit)\" { error-message 'the secret is 7'; }
            leaf limit { type uint8; }
            container secret { presence p; leaf x { type uint8; } }
            list l { key k; unique v; leaf k { type string; } leaf v { type string; } } } }";
    let tree = tree_of(&[model]);
    let data = r#"{"m:c":{"secret":{"x":7},"l":[{"k":"hidden","v":"1"},{"k":"shown","v":"2"}]}}"#;
    put(&tree, json_data(tree.schema(), data));
    let rules = r#"{"ietf-netconf-acm:nacm":{"write-default":"permit",
        "groups":{"group":[{"name":"g","user-name":["maria"]}]},
        "rule-list":[{"name":"r","group":["g"],"rule":[
        {"name":"s","path":"/m:c/m:secret","access-operations":"read","action":"deny"},
        {"name":"h","path":"/m:c/m:l[m:k='hidden']","access-operations":"read","action":"deny"}]}]}}"#;
    put(&tree, json_data(tree.schema(), rules));
    let service = service(&tree, AccessControl::Rules);
    let maria = open(&service, &tree, user("maria"));
    let create = |path: &str, document: &str| {
        let schema = maria.schema();
        let at = InstancePath::parse_cli_path(schema, path).expect("a path");
        let mut tree = json_data(schema, document);
        for step in &at.steps {
            let mut nodes = tree.nodes.into_iter().filter(|node| node.node == step.node);
            tree = espalier_yang::data::DataTree {
                nodes: nodes.next().expect("the node").children().to_vec(),
            };
        }
        let note = ChangeNote::default();
        maria.commit(&[Edit::create(at, tree)], note, None)
    };
    let guard_sees = std::cell::Cell::new(true);
    let path = InstancePath::parse_cli_path(maria.schema(), "/m:c/secret").expect("a path");
    let guard = |view: &espalier_store::View| {
        guard_sees.set(view.exists(&path)?);
        Ok(())
    };
    let nothing = Edit::merge(InstancePath::root(), json_data(maria.schema(), "{}"));
    maria
        .commit(&[nothing], ChangeNote::default(), Some(&guard))
        .expect("nothing");
    assert!(!guard_sees.get());
    let results = [
        create("/m:c", r#"{"m:c":{"secret":{"x":1}}}"#),
        create("/m:c", r#"{"m:c":{"l":[{"k":"hidden","v":"3"}]}}"#),
        create("/m:c", r#"{"m:c":{"l":[{"k":"new","v":"1"}]}}"#),
        create("/m:c", r#"{"m:c":{"limit":7}}"#),
    ];
    let tags = [
        ErrorTag::AccessDenied,
        ErrorTag::AccessDenied,
        ErrorTag::OperationFailed,
        ErrorTag::OperationFailed,
    ];
    for (result, expected) in results.into_iter().zip(tags) {
        let text = format!("{result:?}");
        assert_eq!(tag(result), expected, "{text}");
        assert!(
            !text.contains("hidden") && !text.contains("/m:c/secret"),
            "{text}"
        );
    }
}

/// A clock that a test sets.
struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

#[test]
fn named_sessions_are_found_again_until_they_are_idle() {
    let clock = Arc::new(SetClock(AtomicU64::new(1000)));
    let sessions = Sessions::new(Arc::clone(&clock) as Arc<dyn Clock>);
    let open = |name: &str, kind: SessionKind| -> Arc<Session> {
        let new = NewSession {
            kind,
            ..new_session(user("maria"), name)
        };
        sessions.open(new).expect("a session")
    };
    let one = open("one", SessionKind::Named);
    assert_eq!(open("one", SessionKind::Named).id(), one.id());
    let two = open("two", SessionKind::Named);
    let connected = open("", SessionKind::Connection);
    assert_ne!(open("", SessionKind::Connection).id(), connected.id());
    let idle = u64::try_from(SESSION_IDLE_MAX.as_millis()).expect("a number");
    clock.0.fetch_add(idle - 1, Ordering::Relaxed);
    two.record_request(clock.now(), false);
    assert!(sessions.close_idle().is_empty());
    clock.0.fetch_add(
        Duration::from_millis(1).as_millis() as u64,
        Ordering::Relaxed,
    );
    let closed: Vec<_> = sessions
        .close_idle()
        .iter()
        .map(|session| session.id())
        .collect();
    assert_eq!(closed, [one.id()]);
    assert!(sessions.get(connected.id()).is_some());
    assert_ne!(open("one", SessionKind::Named).id(), one.id());
}

/// Names that nobody uses any more took the places of new sessions for good.
#[test]
fn idle_sessions_make_room_for_new_ones() {
    let clock = Arc::new(SetClock(AtomicU64::new(1000)));
    let sessions = Sessions::new(Arc::clone(&clock) as Arc<dyn Clock>);
    for number in 0..SESSIONS_MAX {
        let new = new_session(Caller::default(), &number.to_string());
        sessions.open(new).expect("a session");
    }
    let one_more = || sessions.open(new_session(Caller::default(), "one more"));
    assert_eq!(one_more().err(), Some(SessionError::TooMany));
    let idle = u64::try_from(SESSION_IDLE_MAX.as_millis()).expect("a number");
    clock.0.fetch_add(idle, Ordering::Relaxed);
    one_more().expect("a session");
    assert_eq!(sessions.list().len(), 1);
}
