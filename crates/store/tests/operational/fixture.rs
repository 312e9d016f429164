//! The test fixture: a store with one anchor, and short functions to write to it and to read it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_store::{
    Clock, CommitOptions, Datastore, Edit, Selection, Store, Timestamp, Tree, WithOrigin,
};
pub use espalier_testkit::documents::json_document as parse;
use espalier_yang::data::{DataTree, Operation, Origin, PrintOptions, json};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::{InstancePath, Schema};

const MODEL: &str = r#"module m {
  yang-version 1.1;
  namespace urn:m;
  prefix m;
  leaf top { type string; }
  container plain {
    leaf a { type string; }
    leaf b { type uint32; default 7; }
    leaf s { config false; type string; }
    leaf-list colour { type string; }
    leaf-list turn { type string; ordered-by user; }
    leaf-list reading { config false; type int32; }
    container inner { leaf x { type string; } leaf y { type string; } }
  }
  container is { presence "p"; leaf v { type string; } }
  list e {
    key "name"; leaf name { type string; } leaf v { type string; } leaf w { type string; }
    container state { config false; leaf up { type boolean; } list sample { leaf at { type uint32; } } }
    list sub { key "n"; leaf n { type int32; } leaf v { type string; } }
    list line { key "n"; ordered-by user; leaf n { type int32; } leaf v { type string; }
      leaf-list mark { type string; ordered-by user; } }
  }
  list o {
    key "k"; ordered-by user; leaf k { type string; } leaf v { type string; } leaf w { type string; }
    container in { leaf x { type string; } }
    list sub { key "n"; leaf n { type int32; } leaf v { type string; } }
    list line { key "n"; ordered-by user; leaf n { type int32; } leaf v { type string; } }
  }
  list event { config false; leaf text { type string; } leaf-list code { type int32; } }
}"#;

/// A clock that is advanced by the test.
#[derive(Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    pub fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

struct SharedClock(Arc<ManualClock>);

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000 + self.0.0.load(Ordering::Relaxed))
    }
}

/// One anchor: its running and its operational datastore.
pub struct Fixture {
    pub running: Tree,
    pub operational: Tree,
    pub clock: Arc<ManualClock>,
}

impl Fixture {
    pub fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        let driver = espalier_drivers::open("memory:").expect("a driver");
        let shared = Arc::new(SharedClock(Arc::clone(&clock)));
        let store = Store::open(driver, shared).expect("a store");
        store.create_dataspace("d").expect("a dataspace");
        let source = SchemaSource {
            modules: vec![ModuleSource {
                name: "m".into(),
                revision: None,
                text: MODEL.into(),
            }],
            ..SchemaSource::default()
        };
        store
            .create_schema_set("d", "s", &source)
            .expect("a schema set");
        store.create_anchor("d", "a", "s").expect("an anchor");
        let tree = |datastore| store.tree("d", "a", datastore).expect("a tree");
        Self {
            running: tree(Datastore::Running),
            operational: tree(Datastore::Operational),
            clock,
        }
    }

    pub fn schema(&self) -> &Arc<Schema> {
        self.running.schema()
    }

    pub fn path(&self, text: &str) -> InstancePath {
        InstancePath::parse_cli_path(self.schema(), text).expect("a path")
    }

    /// Replaces everything in running with a document.
    pub fn configure(&self, text: &str) {
        let edits = [Edit::replace_all(parse(self.schema(), text))];
        let options = CommitOptions::default();
        self.running.commit(&edits, options).expect("a commit");
    }

    /// Merges a document into the pushed state.
    pub fn push(&self, text: &str) {
        self.push_from(text, Origin::default());
    }

    /// Like [`Self::push`], with an origin.
    pub fn push_from(&self, text: &str, origin: Origin) {
        let edits = [Edit::merge(
            InstancePath::root(),
            parse(self.schema(), text),
        )];
        let options = CommitOptions {
            origin,
            ..CommitOptions::default()
        };
        self.operational.commit(&edits, options).expect("a push");
    }

    /// Deletes the pushed state at a path.
    pub fn withdraw(&self, path: &str) {
        let edits = [Edit::delete(self.path(path))];
        let options = CommitOptions::default();
        self.operational.commit(&edits, options).expect("a push");
    }

    /// Checks the operational state at a path.
    #[track_caller]
    pub fn check(&self, path: &str, expected: &str) {
        assert_eq!(self.read(path, &Selection::default()), expected);
    }

    /// Checks the operational state at a path, with origins.
    #[track_caller]
    pub fn check_origins(&self, path: &str, expected: &str) {
        let selection = Selection {
            with_origin: WithOrigin::Shown,
            ..Selection::default()
        };
        let found = self.read(path, &selection);
        assert_eq!(
            found
                .replace("ietf-origin:origin", "or")
                .replace("ietf-origin:", ""),
            expected
        );
    }

    /// The operational state at a path, as a JSON document; empty if there is none.
    pub fn read(&self, path: &str, selection: &Selection) -> String {
        let view = self.operational.view().expect("a view");
        let options = PrintOptions::default();
        let mut printer = json::Printer::new(self.schema(), Vec::new(), options);
        let path = self.path(path);
        match view
            .read(&path, selection, &mut printer)
            .expect("a reading")
        {
            true => String::from_utf8(printer.finish().expect("a document")).expect("text"),
            false => String::new(),
        }
    }
}

/// Edits one node below a path.
pub fn set(at: InstancePath, tree: DataTree) -> Edit {
    Edit::apply(at, tree, Operation::Merge)
}
