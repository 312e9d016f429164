//! Bulk loads: documents in any order, failing documents, and the log.

use espalier_keyspace::KeyRange;
use espalier_store::{Error, LoadMode, LoadOptions, Subspace, Tree};
use espalier_testkit::rows::{Row, rows};
use espalier_yang::data::{Content, DataNode, DataTree, ParseOptions, Root, json, xml};
use espalier_yang::{ErrorTag, Mark, Sink, Value};

use crate::fixture::{
    MODEL, assert_sound, commit, data, first_tag, load_json, load_tree, memory_tree, merge, path,
    text,
};

/// Every key and value of the store, except stamps and log.
fn dump(tree: &Tree) -> Vec<Row> {
    let mut all = rows(&**tree.store().driver(), &KeyRange::all());
    all.retain(|(key, _)| ![Subspace::Log as u8, Subspace::Stamp as u8].contains(&key[0]));
    all
}

fn log_keys(tree: &Tree) -> u64 {
    let usage = tree.store().usage().unwrap();
    let log = usage.iter().find(|(one, _)| *one == Subspace::Log);
    log.expect("the log is a subspace").1.keys
}

const KEYS_FIRST: &str = r#"{"m:rule":[
  {"name":"r","action":"permit","match":[
    {"src":"s","dst":"d","port":[3,1,2],"option":{"log":true,"item":[{"n":1,"t":"x"},{"n":2}]}},
    {"src":5,"dst":"d","port":[1]}]},
  {"name":"q"}]}"#;

const KEYS_LAST: &str = r#"{"m:rule":[
  {"match":[
    {"option":{"item":[{"t":"x","n":1},{"n":2}],"log":true},"port":[3,1,2],"dst":"d","src":"s"},
    {"port":[1],"dst":"d","src":5}],"action":"permit","name":"r"},
  {"name":"q"}]}"#;

#[test]
fn keys_may_come_after_everything_else() {
    let (first, last) = (memory_tree(MODEL), memory_tree(MODEL));
    let report = load_json(&first, LoadMode::Merge, KEYS_FIRST).unwrap();
    assert_eq!(
        load_json(&last, LoadMode::Merge, KEYS_LAST).unwrap().values,
        report.values
    );
    assert_eq!(report.fragments, 7);
    assert_eq!(dump(&first), dump(&last));
    assert_sound(last.store());
    // And into existing data.
    load_json(&last, LoadMode::Merge, KEYS_LAST).unwrap();
    assert_eq!(dump(&first), dump(&last));
    assert_sound(last.store());
}

#[test]
fn a_merge_keeps_the_existing_order_and_appends() {
    let tree = memory_tree(MODEL);
    load_json(
        &tree,
        LoadMode::Merge,
        r#"{"m:rule":[{"name":"b"},{"name":"a"}],"m:turn":["2","1"]}"#,
    )
    .unwrap();
    load_json(
        &tree,
        LoadMode::Merge,
        r#"{"m:rule":[{"name":"c"},{"name":"a","action":"permit"},{"name":"d"}],"m:turn":["0","1","3"]}"#,
    )
    .unwrap();
    assert_eq!(
        text(&tree),
        r#"{"m:turn":["2","1","0","3"],"m:rule":[{"name":"b"},{"name":"a","action":"permit"},{"name":"c"},{"name":"d"}]}"#
    );
    assert_sound(tree.store());
}

#[test]
fn entries_of_a_list_need_not_be_adjacent_in_xml() {
    let tree = memory_tree(MODEL);
    let document = r#"<data xmlns="urn:ietf:params:xml:ns:netconf:base:1.0" xmlns:m="urn:m">
      <m:turn>b</m:turn><m:rule><m:match><m:port>2</m:port><m:dst>d</m:dst><m:port>1</m:port><m:src>s</m:src></m:match>
      <m:name>r</m:name><m:match><m:dst>e</m:dst><m:src>s</m:src></m:match></m:rule>
      <m:turn>a</m:turn><m:rule><m:name>q</m:name></m:rule></data>"#;
    tree.load(LoadOptions::default(), &mut |sink| {
        let options = ParseOptions::default();
        xml::parse(
            tree.schema(),
            Root::Datastore,
            document.as_bytes(),
            sink,
            &options,
        )
        .map_err(Error::from)
    })
    .unwrap();
    assert_eq!(
        text(&tree),
        r#"{"m:turn":["b","a"],"m:rule":[{"name":"r","match":[{"src":"s","dst":"d","port":[2,1]},{"src":"s","dst":"e"}]},{"name":"q"}]}"#
    );
    assert_sound(tree.store());
}

/// A load that replaces the data by the same data made an empty version.
#[test]
fn a_replace_by_the_same_data_makes_no_version() {
    let tree = memory_tree(MODEL);
    load_json(&tree, LoadMode::Merge, r#"{"m:rule":[{"name":"q"}]}"#).unwrap();
    // Puts the entry before the others, at a position that a load does not assign.
    let rule = KEYS_FIRST.replace(r#""action":"permit","#, r#""@":{"yang:insert":"first"},"#);
    merge(&tree, &rule);
    let (kept, log) = (dump(&tree), log_keys(&tree));
    let stored = text(&tree);
    let report = load_json(&tree, LoadMode::Replace, &stored).unwrap();
    assert_eq!(
        (report.commit.version, report.commit.is_changed),
        (2, false)
    );
    assert_eq!((dump(&tree), log_keys(&tree)), (kept, log));
    // The order of entries is data.
    let other = r#"{"m:rule":[{"name":"q"},{"name":"r"}]}"#;
    assert!(
        load_json(&tree, LoadMode::Replace, other)
            .unwrap()
            .commit
            .is_changed
    );
    let other = r#"{"m:rule":[{"name":"r"},{"name":"q"}]}"#;
    assert!(
        load_json(&tree, LoadMode::Replace, other)
            .unwrap()
            .commit
            .is_changed
    );
    assert!(
        !load_json(&tree, LoadMode::Replace, other)
            .unwrap()
            .commit
            .is_changed
    );
    assert_sound(tree.store());
}

#[test]
fn a_document_that_fails_leaves_nothing() {
    for before in ["{}", r#"{"m:top":"t","m:named":[{"name":"n","v":"1"}]}"#] {
        for mode in [LoadMode::Merge, LoadMode::Replace, LoadMode::Create] {
            let tree = memory_tree(MODEL);
            merge(&tree, before);
            let (kept, log) = (dump(&tree), log_keys(&tree));
            for document in [
                r#"{"m:present":{"x":"1"},"m:named":[{"name":"a"},{"v":"no key"}]}"#,
                r#"{"m:present":{"x":"1"},"m:plain":{"d":"no number"}}"#,
                r#"{"m:present":{"x":"1"},"m:named":[{"name":"a"#,
                r#"{"m:present":{"x":"1"},"m:nothing":1}"#,
            ] {
                assert!(load_json(&tree, mode, document).is_err(), "{document}");
                assert_eq!(dump(&tree), kept, "{mode:?} of {document}");
            }
            assert_eq!(log_keys(&tree), log);
        }
    }
}

#[test]
fn an_aborted_source_leaves_nothing() {
    let tree = memory_tree(MODEL);
    let kept = dump(&tree);
    let document = data(tree.schema(), KEYS_FIRST);
    let result = tree.load(LoadOptions::default(), &mut |sink: &mut dyn Sink| {
        document.emit(sink).map_err(|_| Error::Stopped)?;
        Err(Error::Precondition)
    });
    assert!(matches!(result, Err(Error::Precondition)));
    assert_eq!(dump(&tree), kept);
}

#[test]
fn a_source_that_ends_within_an_entry_leaves_nothing() {
    let tree = memory_tree(MODEL);
    let kept = dump(&tree);
    let present = path(tree.schema(), "/present").target().unwrap();
    let inner = path(tree.schema(), "/present/x").target().unwrap();
    let result = tree.load(LoadOptions::default(), &mut |sink: &mut dyn Sink| {
        let _ = sink.open(present, Mark::default());
        let _ = sink.leaf(inner, Value::string("1"), Mark::default());
        Ok(())
    });
    assert!(matches!(result, Err(Error::Stopped)), "{result:?}");
    assert_eq!(dump(&tree), kept);
}

#[test]
fn an_entry_without_its_key_is_rejected_by_the_store_itself() {
    let tree = memory_tree(MODEL);
    let named = path(tree.schema(), "/named").target().unwrap();
    let document = DataTree {
        nodes: vec![DataNode::new(named, Content::Inner(Vec::new()))],
    };
    let refused = load_tree(&tree, LoadMode::Merge, &document);
    assert_eq!(first_tag(&refused), Some(ErrorTag::MissingElement));
    let edit = espalier_store::Edit::merge(espalier_yang::InstancePath::root(), document);
    let refused = commit(&tree, &[edit]);
    assert_eq!(first_tag(&refused), Some(ErrorTag::MissingElement));
}

#[test]
fn every_commit_is_in_the_log_with_one_stamp() {
    let tree = memory_tree(MODEL);
    let first = load_json(&tree, LoadMode::Merge, KEYS_FIRST)
        .unwrap()
        .commit;
    let second = load_json(&tree, LoadMode::Replace, r#"{"m:top":"x"}"#)
        .unwrap()
        .commit;
    let third = merge(&tree, r#"{"m:top":"y"}"#);
    assert_eq!([first.version, second.version, third.version], [1, 2, 3]);
    assert_eq!(log_keys(&tree), 3);
    let view = tree.view().unwrap();
    let stamp = view.stamp(&path(tree.schema(), "/top")).unwrap();
    assert_eq!((stamp.version, stamp.time), (3, third.time));
    assert_eq!(text(&tree), r#"{"m:top":"y"}"#);
}

#[test]
fn a_load_without_changes_creates_no_version() {
    let tree = memory_tree(MODEL);
    let nothing = load_json(&tree, LoadMode::Merge, "{}").unwrap().commit;
    assert_eq!((nothing.version, nothing.is_changed), (0, false));
    let first = load_json(&tree, LoadMode::Merge, KEYS_FIRST)
        .unwrap()
        .commit;
    let again = load_json(&tree, LoadMode::Merge, KEYS_LAST).unwrap().commit;
    assert!(first.is_changed && !again.is_changed);
    assert_eq!((again.version, again.time), (first.version, first.time));
    assert_eq!(log_keys(&tree), 1);
}

#[test]
fn the_progress_of_a_load_is_reported() {
    let tree = memory_tree(MODEL);
    let entries: Vec<String> = (0..10_000)
        .map(|number| format!(r#"{{"name":"{number}"}}"#))
        .collect();
    let document = format!(r#"{{"m:named":[{}]}}"#, entries.join(","));
    let mut reports = Vec::new();
    let mut progress = |fragments| reports.push(fragments);
    let options = LoadOptions {
        progress: Some(&mut progress),
        ..LoadOptions::default()
    };
    let report = tree
        .load(options, &mut |sink| {
            let options = ParseOptions::default();
            json::parse(
                tree.schema(),
                Root::Datastore,
                document.as_bytes(),
                sink,
                &options,
            )
            .map_err(Error::from)
        })
        .unwrap();
    assert_eq!((report.fragments, report.values), (10_000, 10_000));
    assert!(reports.len() > 1 && reports.is_sorted());
}
