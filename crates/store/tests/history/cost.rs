//! The number of engine requests depends on the size of the change, not on the size of the data.

use std::fmt::Write;
use std::sync::Arc;

use espalier_keyspace::metered::{Call, Meter, Metered};
use espalier_store::{CommitOptions, Edit, LoadMode, Tree};
use espalier_yang::InstancePath;

use crate::fixture::{commit, data, load_json, open_tree, path, read_all};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  list user { key id; leaf id { type uint32; } leaf age { type uint8; } }
  list rule { key id; ordered-by user; leaf id { type uint32; } leaf note { type string; } }
  leaf other { type string; }
}"#;

fn tree_of(entries: u32) -> (Tree, Arc<Meter>) {
    let metered = Metered::new(espalier_drivers::open("memory:").unwrap());
    let meter = metered.meter();
    let tree = open_tree(Arc::new(metered), MODEL);
    let mut lists = [String::new(), String::new()];
    for list in &mut lists {
        for id in 0..entries {
            let comma = if id == 0 { "" } else { "," };
            write!(list, "{comma}{{\"id\":{id}}}").unwrap();
        }
    }
    let text = format!(r#"{{"m:user":[{}],"m:rule":[{}]}}"#, lists[0], lists[1]);
    load_json(&tree, LoadMode::Create, &text).unwrap();
    assert_eq!(read_all(&tree).nodes.len(), 2 * entries as usize);
    (tree, meter)
}

fn calls(meter: &Meter) -> u64 {
    meter.readings().iter().map(|reading| reading.count).sum()
}

/// The number of calls for each of several operations.
fn costs(entries: u32) -> Vec<u64> {
    let (tree, meter) = tree_of(entries);
    let _events = tree.events(vec![path(tree.schema(), "/other")]).unwrap();
    let edits = [
        r#"{"m:user":[{"id":50,"age":3}]}"#,
        r#"{"m:rule":[{"id":50,"note":"n"}]}"#,
        r#"{"m:rule":[{"@":{"yang:insert":"first"},"id":60}]}"#,
        r#"{"m:other":"x"}"#,
    ];
    let mut costs = Vec::new();
    let mut measure = |work: &mut dyn FnMut()| {
        let before = calls(&meter);
        work();
        costs.push(calls(&meter) - before);
    };
    for edit in edits {
        let edit = Edit::merge(InstancePath::root(), data(tree.schema(), edit));
        measure(&mut || assert!(commit(&tree, std::slice::from_ref(&edit)).is_ok()));
        let newest = tree.view().unwrap().version().unwrap();
        measure(&mut || assert_eq!(tree.diff(newest - 1, newest).unwrap().len(), 1));
        measure(&mut || drop(tree.at(newest - 1).unwrap()));
    }
    measure(&mut || assert_eq!(tree.diff(1, 5).unwrap().len(), 4));
    measure(&mut || {
        let back = tree.rollback(1, CommitOptions::default());
        assert!(back.unwrap().is_changed);
    });
    costs
}

#[test]
fn the_cost_of_diffs_and_earlier_states_depends_on_the_changes() {
    let (small, large) = (costs(100), costs(5_000));
    assert_eq!(small, large);
}

/// The entry, the locks, the retention, and the stamps of the datastore and of the entry: the old values are needed by the
/// edit, by the indexes, by the log and when the batch is built.
#[test]
fn a_change_of_one_leaf_reads_each_key_once() {
    let (tree, meter) = tree_of(100);
    let gets = || {
        let readings = meter.readings();
        let get = readings.iter().find(|reading| reading.call == Call::Get);
        get.map_or(0, |reading| reading.count)
    };
    for age in [3, 4] {
        let edit = format!(r#"{{"m:user":[{{"id":50,"age":{age}}}]}}"#);
        let edit = Edit::merge(InstancePath::root(), data(tree.schema(), &edit));
        let before = gets();
        assert!(commit(&tree, &[edit]).is_ok());
        assert_eq!(gets() - before, 5);
    }
}
