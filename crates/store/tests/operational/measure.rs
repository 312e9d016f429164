//! Figures, printed by `cargo test --release -p espalier-store --test operational -- --ignored
//! --nocapture measure`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use espalier_store::{
    CommitOptions, Datastore, Diff, Edit, Provider, Selection, Store, Subscriber, Subscription,
    SystemClock, Tree,
};
use espalier_yang::data::{Content, DataNode, DataTree, TreeBuilder};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::{InstancePath, NodeId, Schema, Value};

const MODEL: &str = "module perf { yang-version 1.1; namespace urn:perf; prefix p;
  container cont { presence c;
    list lst { key \"k1 k2\"; leaf k1 { type uint32; } leaf k2 { type string; } leaf l { type string; } }
    list usr-lst { key k; ordered-by user; leaf k { type uint32; } leaf l { type string; } } } }";

const ENTRIES: u32 = 100_000;
const SUBSCRIBERS: usize = 12;
const ROUNDS: usize = 10;

fn trees(url: &str) -> [Tree; 2] {
    let driver = espalier_drivers::open(url).expect("a driver");
    let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
    store.create_dataspace("d").expect("a dataspace");
    let source = SchemaSource {
        modules: vec![ModuleSource {
            name: "perf".into(),
            revision: None,
            text: MODEL.into(),
        }],
        ..SchemaSource::default()
    };
    store.create_schema_set("d", "s", &source).expect("a set");
    store.create_anchor("d", "a", "s").expect("an anchor");
    [Datastore::Running, Datastore::Operational]
        .map(|datastore| store.tree("d", "a", datastore).expect("a tree"))
}

fn child(schema: &Schema, parent: Option<NodeId>, name: &str) -> NodeId {
    schema.named(parent, name).next().expect("a node")
}

fn leaf(node: NodeId, value: Value) -> DataNode {
    DataNode::new(node, Content::Value(value))
}

/// `cont` with entries of `lst`.
fn entries(schema: &Schema, numbers: std::ops::Range<u32>) -> DataTree {
    let cont = child(schema, None, "cont");
    let list = child(schema, Some(cont), "lst");
    let [k1, k2, l] = ["k1", "k2", "l"].map(|name| child(schema, Some(list), name));
    let entry = |number: u32| {
        let leaves = vec![
            leaf(k1, Value::Uint32(number)),
            leaf(k2, Value::string(format!("str{number}"))),
            leaf(l, Value::string(format!("l{number}"))),
        ];
        DataNode::new(list, Content::Inner(leaves))
    };
    let inner = Content::Inner(numbers.map(entry).collect());
    DataTree {
        nodes: vec![DataNode::new(cont, inner)],
    }
}

fn commit(tree: &Tree, edit: Edit) {
    tree.commit(&[edit], CommitOptions::default())
        .expect("a commit");
}

fn timed(name: &str, times: u32, mut run: impl FnMut()) {
    let begun = Instant::now();
    (0..times).for_each(|_| run());
    println!("{name}: {:?}", begun.elapsed() / times);
}

struct Counting(AtomicU64);

impl Subscriber for Counting {
    fn done(&self, diff: &Arc<Diff>) {
        self.0
            .fetch_add(u64::from(!diff.is_empty()), Ordering::Relaxed);
    }
}

fn measure(url: &str) {
    println!("{url}");
    let [running, operational] = trees(url);
    let schema = Arc::clone(running.schema());
    let path = |text: &str| InstancePath::parse_cli_path(&schema, text).expect("a path");
    let list = path("/perf:cont/lst");
    let middle = format!("/perf:cont/lst[k1='{0}'][k2='str{0}']/l", ENTRIES / 2);
    let read = |path: &InstancePath| {
        let view = operational.view().expect("a view");
        let mut builder = TreeBuilder::new();
        let found = view.read(path, &Selection::default(), &mut builder);
        assert!(found.expect("a reading"));
        assert!(view.take_warnings().is_empty());
    };
    let merge = |numbers| Edit::merge(InstancePath::root(), entries(&schema, numbers));

    timed("push 100,000 entries", 1, || {
        commit(&operational, merge(0..ENTRIES))
    });
    let entry = path(&format!(
        "/perf:cont/lst[k1='{0}'][k2='str{0}']",
        ENTRIES / 2
    ));
    let l = path(&middle).target().expect("a leaf");
    let mut number = 0;
    timed("one leaf pushed", 1_000, || {
        number += 1;
        let nodes = vec![leaf(l, Value::string(format!("new{number}")))];
        commit(&operational, Edit::merge(entry.clone(), DataTree { nodes }));
    });
    timed("one leaf read, pushed alone", 10_000, || {
        read(&path(&middle))
    });
    commit(&running, merge(ENTRIES / 2..ENTRIES + ENTRIES / 2));
    timed("one leaf read, in both", 10_000, || read(&path(&middle)));
    timed("all read, half in both (150,000 entries)", 1, || {
        read(&InstancePath::root())
    });
    timed("entries counted", 1, || {
        let view = operational.view().expect("a view");
        assert_eq!(
            view.count(&list).expect("a count"),
            u64::from(ENTRIES * 3 / 2)
        );
    });
    commit(&running, Edit::delete(path("/perf:cont")));
    commit(&operational, Edit::delete(list.clone()));
    let provider = Provider::new("lst", |request| Ok(entries(&request.schema, 0..ENTRIES)));
    let provider = provider.with_timeout(Duration::from_secs(60));
    let kept = operational
        .provide(path("/perf:cont"), provider)
        .expect("a provider");
    timed("100,000 provided entries read", 3, || {
        read(&path("/perf:cont"))
    });
    drop(kept);
    subscribed(&operational);
}

/// Row 10 of sr_perf: pushes and deletes of everything, with subscribers.
fn subscribed(operational: &Tree) {
    let schema = operational.schema();
    let list = InstancePath::parse_cli_path(schema, "/perf:cont/lst").expect("a path");
    let counting = Arc::new(Counting(AtomicU64::new(0)));
    let subscribers: Vec<_> = (0..SUBSCRIBERS)
        .map(|_| {
            let subscriber = Arc::clone(&counting) as Arc<dyn Subscriber>;
            let subscribed = operational.subscribe(Subscription::default(), subscriber);
            subscribed.expect("a subscription")
        })
        .collect();
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        let all = Edit::merge(InstancePath::root(), entries(schema, 0..ENTRIES));
        commit(operational, all);
        commit(operational, Edit::delete(list.clone()));
    }
    println!("many oper change_subs: {:?}", begun.elapsed());
    let notifications = counting.0.load(Ordering::Relaxed);
    assert_eq!(notifications, (2 * ROUNDS * SUBSCRIBERS) as u64);
    drop(subscribers);
}

#[test]
#[ignore = "a measurement"]
fn measure_pushes_and_providers() {
    measure("memory:");
    let dir = tempfile::tempdir().expect("a directory");
    measure(&format!(
        "embedded:{}?durability=relaxed",
        dir.path().display()
    ));
}
