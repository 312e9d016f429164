//! An anchor with notifications, on any engine, with a clock that tests set.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use espalier_service::access::Caller;
use espalier_service::configuration::ConfigurationTrees;
use espalier_service::notifications::{
    Delivery, Encoding, Event, Notification, Stream, Subscription, SubscriptionOptions,
};
use espalier_service::session::{NewSession, Session, SessionKind, Sessions, Transport};
use espalier_service::{AccessControl, ChangeNote, LoginPolicy, Service, SessionDatastore};
use espalier_store::{Clock, CommitOptions, Datastore, Edit, Result, Store, Timestamp, Tree};
use espalier_testkit::documents::json_document;
use espalier_yang::InstancePath;
use espalier_yang::schema::{ModuleSource, SchemaSource};

pub const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  identity colour; identity red { base colour; }
  list port { key name; leaf name { type string; } leaf speed { type uint32; }
    notification flap { leaf up { type boolean; mandatory true; } leaf code { type uint32; } } }
  container secret { leaf key { type string; } leaf lifetime { type uint8; default 5; }
    leaf-list use { type string; default 'any'; } }
  notification alarm { leaf number { type uint32; } leaf severity { type string; }
    leaf level { type uint8; default 3; } container origin { leaf host { type string; } }
    leaf port { type leafref { path '/port/name'; } }
    leaf colour { type identityref { base colour; } }
    list detail { key id; leaf id { type uint8; } leaf text { type string; } } }
  notification quiet; }";

/// 2026-03-05T12:00:00Z.
pub const NOON: Timestamp = Timestamp(1_772_712_000_000);

/// A clock that stands still unless it is set.
pub struct TestClock(AtomicU64);

impl TestClock {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(NOON.0)))
    }

    pub fn set(&self, time: Timestamp) {
        self.0.store(time.0, Ordering::Relaxed);
    }

    pub fn advance_ms(&self, milliseconds: u64) {
        self.0.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// A time after noon.
pub fn after_ms(milliseconds: u64) -> Timestamp {
    Timestamp(NOON.0 + milliseconds)
}

/// Opens the anchor of a store, which is created if there is none.
pub fn open(url: &str, clock: Arc<dyn Clock>) -> Tree {
    let driver = espalier_drivers::open(url).expect(url);
    let store = Store::open(driver, clock).expect("a store");
    if store.create_dataspace("d").is_ok() {
        let nacm = espalier_yang::standard::module("ietf-netconf-acm", None).expect("the module");
        let source = SchemaSource {
            modules: [MODEL, nacm.text]
                .into_iter()
                .filter_map(ModuleSource::from_text)
                .collect(),
            ..SchemaSource::default()
        };
        store.create_schema_set("d", "s", &source).expect("modules");
        store.create_anchor("d", "a", "s").expect("an anchor");
    }
    store.tree("d", "a", Datastore::Running).expect("a tree")
}

/// A service of an anchor in memory.
pub struct Fixture {
    pub service: Service,
    pub tree: Tree,
    pub clock: Arc<TestClock>,
}

impl Fixture {
    pub fn new() -> Self {
        Self::with(AccessControl::Off)
    }

    pub fn with(control: AccessControl) -> Self {
        let clock = TestClock::new();
        let tree = open("memory:", Arc::clone(&clock) as Arc<dyn Clock>);
        let trees = ConfigurationTrees::new(tree.store().clone(), Some(tree.clone()));
        let sessions = Sessions::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let service = Service::new(trees, control, sessions, LoginPolicy::default());
        Self {
            service: service.expect("a service"),
            tree,
            clock,
        }
    }

    pub fn session(&self, caller: Caller) -> Arc<Session> {
        self.service.sessions().unlisted(NewSession {
            caller,
            transport: Transport::Http,
            peer: "192.0.2.7:4711".to_owned(),
            kind: SessionKind::Named,
            name: String::new(),
        })
    }

    /// Running, for somebody without restrictions.
    pub fn running(&self) -> SessionDatastore {
        self.running_of(Caller::exempt())
    }

    pub fn running_of(&self, caller: Caller) -> SessionDatastore {
        let session = self.session(caller);
        self.service.datastore(&session, self.tree.clone())
    }

    /// Merges a document into running.
    pub fn put(&self, document: &str) {
        let document = json_document(self.tree.schema(), document);
        let edit = Edit::merge(InstancePath::root(), document);
        let made = self.running().commit(
            &[edit],
            ChangeNote {
                author: "ada",
                comment: "why",
            },
            None,
        );
        made.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Merges a document into running without the service.
    pub fn put_directly(&self, document: &str) {
        let edit = Edit::merge(
            InstancePath::root(),
            json_document(self.tree.schema(), document),
        );
        let made = self.tree.commit(&[edit], CommitOptions::default());
        made.unwrap_or_else(|error| panic!("{error}"));
    }

    pub fn send(&self, parent: &str, document: &str) -> Result<u64> {
        send_at(&self.running(), parent, document, None)
    }

    /// Sends an alarm with a number.
    pub fn alarm(&self, number: u64) -> u64 {
        let sent = self.send("", &format!(r#"{{"m:alarm":{{"number":{number}}}}}"#));
        sent.unwrap_or_else(|error| panic!("{error}"))
    }

    /// A document that differs at each time of the clock.
    pub fn clock_text(&self) -> String {
        let key = self.clock.now().0;
        format!(r#"{{"m:secret":{{"key":"{key}"}}}}"#)
    }

    pub fn subscribe(&self, options: SubscriptionOptions) -> Subscription {
        self.running().subscribe(options).expect("a subscription")
    }
}

pub fn send_at(
    running: &SessionDatastore,
    parent: &str,
    document: &str,
    time: Option<Timestamp>,
) -> Result<u64> {
    let schema = running.schema();
    running.notify(Notification::parse_json(
        schema,
        parent,
        document.as_bytes(),
        time,
    )?)
}

pub fn user(name: &str) -> Caller {
    Caller {
        user: name.to_owned(),
        ..Caller::default()
    }
}

/// The options of a subscription to the notifications of the models.
pub fn module_stream() -> SubscriptionOptions {
    SubscriptionOptions {
        stream: Stream::Module("m".into()),
        ..SubscriptionOptions::default()
    }
}

/// The JSON of an event, without the envelope and its time.
pub fn content(event: &Event) -> serde_json::Value {
    let document = event.document(Encoding::Json);
    let mut json: serde_json::Value = serde_json::from_slice(document).expect("JSON");
    let mut event = json["ietf-restconf:notification"].take();
    event
        .as_object_mut()
        .expect("an object")
        .remove("eventTime");
    event
}

/// The next delivery within a generous time.
pub fn next(subscription: &mut Subscription) -> Delivery {
    let delivery = subscription
        .next(Duration::from_secs(20))
        .expect("no error");
    delivery.expect("a delivery")
}

pub fn next_event(subscription: &mut Subscription) -> Arc<Event> {
    match next(subscription) {
        Delivery::Event(event) => event,
        Delivery::Lost(count) => panic!("{count} events are lost"),
        _ => panic!("no event"),
    }
}

/// Nothing arrives in a short time.
pub fn expect_nothing(subscription: &mut Subscription) {
    let delivery = subscription
        .next(Duration::from_millis(150))
        .expect("no error");
    assert!(delivery.is_none());
}

/// What a subscription with past events delivers up to the end of these: the numbers of alarms.
pub fn replayed(subscription: &mut Subscription) -> Vec<u64> {
    let mut numbers = Vec::new();
    loop {
        match next(subscription) {
            Delivery::Event(event) => numbers.extend(number(&event)),
            Delivery::ReplayComplete => return numbers,
            Delivery::Lost(_) | Delivery::Completed | Delivery::Terminated(_) => {
                panic!("the replay ended")
            }
        }
    }
}

/// The number of an alarm.
pub fn number(event: &Event) -> Option<u64> {
    content(event)["m:alarm"]["number"].as_u64()
}

/// Waits until a condition holds.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
