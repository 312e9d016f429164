//! A first test: a model, a document, reads and edits.

use std::sync::Arc;

use espalier_keyspace::{Batch, Driver};
use espalier_store::{
    CommitOptions, Datastore, Edit, Error, LoadOptions, Selection, Store, Subspace, SystemClock,
    Tree,
};
use espalier_testkit::rows::rows;
use espalier_yang::InstancePath;
use espalier_yang::data::{DataTree, ParseOptions, PrintOptions, Root, TreeBuilder, json};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::xpath::Expression;

const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  container c { list e { key name; leaf name { type string; } leaf v { type uint32; default 7; }
     leaf-list tag { type string; } container in { leaf x { type int8; } }
     list o { key k; ordered-by user; leaf k { type string; } leaf d { type string; } }
     leaf-list u { ordered-by user; type string; } } leaf late { type string; } }
  leaf top { type string; } }";

fn tree(driver: Arc<dyn Driver>) -> Tree {
    let store = Store::open(driver, Arc::new(SystemClock)).unwrap();
    store.create_dataspace("d").unwrap();
    let source = SchemaSource {
        modules: vec![ModuleSource {
            name: "m".into(),
            revision: None,
            text: MODEL.into(),
        }],
        ..SchemaSource::default()
    };
    store.create_schema_set("d", "s", &source).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    store.tree("d", "a", Datastore::Running).unwrap()
}

fn load(tree: &Tree, text: &str) -> espalier_store::LoadReport {
    tree.load(LoadOptions::default(), &mut |sink| {
        json::parse(
            tree.schema(),
            Root::Datastore,
            text.as_bytes(),
            sink,
            &ParseOptions::default(),
        )
        .map_err(Error::from)
    })
    .unwrap()
}

fn show(tree: &Tree, path: &str, selection: &Selection) -> String {
    let view = tree.view().unwrap();
    let path = InstancePath::parse_cli_path(tree.schema(), path).unwrap();
    let mut printer = json::Printer::new(tree.schema(), Vec::new(), PrintOptions::default());
    assert!(view.read(&path, selection, &mut printer).unwrap());
    String::from_utf8(printer.finish().unwrap()).unwrap()
}

fn data(tree: &Tree, text: &str) -> DataTree {
    let mut builder = TreeBuilder::new();
    json::parse(
        tree.schema(),
        Root::Datastore,
        text.as_bytes(),
        &mut builder,
        &ParseOptions::default(),
    )
    .unwrap();
    builder.finish().unwrap()
}

#[test]
fn a_document_is_loaded_and_read() {
    let tree = tree(espalier_drivers::open("memory:").unwrap());
    let text = r#"{"m:c":{"e":[{"in":{"x":-3},"o":[{"k":"z"},{"d":"1","k":"a"}],"name":"b","tag":["q","p"],"u":["2","1"]},{"name":"a","v":9}],"late":"l"},"m:top":"t"}"#;
    let report = load(&tree, text);
    assert_eq!((report.fragments, report.values), (6, 13));
    println!("{}", show(&tree, "/", &Selection::default()));
    let view = tree.view().unwrap();
    let mut builder = TreeBuilder::new();
    view.read(&InstancePath::root(), &Selection::default(), &mut builder)
        .unwrap();
    assert!(
        builder
            .finish()
            .unwrap()
            .is_equivalent(&data(&tree, text), tree.schema())
    );
    assert_eq!(view.version().unwrap(), 1);

    let edit = Edit::merge(
        InstancePath::root(),
        data(
            &tree,
            r#"{"m:c":{"e":[{"name":"a","in":{"x":1},"u":["9"]}]}}"#,
        ),
    );
    let commit = tree
        .commit(std::slice::from_ref(&edit), CommitOptions::default())
        .unwrap();
    assert!(commit.is_changed && commit.version == 2);
    println!("{}", show(&tree, "/c/e[name='a']", &Selection::default()));
    let path = InstancePath::parse_cli_path(tree.schema(), "/c/e[name='b']").unwrap();
    tree.commit(&[Edit::delete(path.clone())], CommitOptions::default())
        .unwrap();
    assert!(!tree.view().unwrap().exists(&path).unwrap());
    assert!(
        tree.commit(&[Edit::delete(path)], CommitOptions::default())
            .is_err()
    );
    println!("{}", show(&tree, "/", &Selection::default()));
    assert_eq!(tree.store().check(&mut |_| {}).unwrap(), []);
}

#[test]
fn a_view_is_queried_by_xpath() {
    let tree = tree(espalier_drivers::open("memory:").unwrap());
    load(
        &tree,
        r#"{"m:c":{"e":[{"name":"a","v":1,"tag":["t"]},{"name":"b","v":2}]},"m:top":"x"}"#,
    );
    let select = |text: &str| {
        let expression = Expression::parse(text, &|_| Some("m".into())).unwrap();
        let found = tree.view().unwrap().select(&expression).unwrap();
        let shown = found.iter().map(|one| {
            let path = one.path.to_instance_identifier(tree.schema());
            let value = one.value.as_ref().map(ToString::to_string);
            (path, value)
        });
        shown.collect::<Vec<_>>()
    };
    let leaf = |path: &str, value: &str| (path.to_owned(), Some(value.to_owned()));
    let of_b = leaf("/m:c/e[name='b']/v", "2");
    assert_eq!(select("/c/e[name='b']/v"), std::slice::from_ref(&of_b));
    assert_eq!(select("/c/e[name='b' and v='2']/v"), [of_b]);
    assert_eq!(select("/c/e[tag]"), [("/m:c/e[name='a']".to_owned(), None)]);
    assert_eq!(select("//tag"), [leaf("/m:c/e[name='a']/tag[.='t']", "t")]);
    assert_eq!(select("/c/e[v > 5]"), []);
}

#[test]
fn check_finds_a_row_outside_all_ranges() {
    let tree = tree(espalier_drivers::open("memory:").unwrap());
    for key in [&b"\x00"[..], b"\x1f\x01", b"\xff"] {
        let mut batch = espalier_keyspace::Batch::new();
        batch.put(key, "stray");
        tree.store().driver().commit(batch).unwrap();
        let findings = tree.store().check(&mut |_| {}).unwrap();
        assert!(
            findings
                .last()
                .unwrap()
                .place
                .contains(&key.escape_ascii().to_string())
        );
    }
    assert_eq!(tree.store().check(&mut |_| {}).unwrap().len(), 3);
}

#[test]
fn check_finds_missing_catalog_and_log_rows() {
    let tree = tree(espalier_drivers::open("memory:").unwrap());
    for value in 1..4 {
        load(&tree, &format!(r#"{{"m:top":"{value}"}}"#));
    }
    let store = tree.store();
    let driver = store.driver();
    assert_eq!(store.check(&mut |_| {}).unwrap(), []);
    let keys = |subspace: Subspace| {
        let found = rows(&**driver, &subspace.range()).into_iter();
        found.map(|(key, _)| key).collect::<Vec<_>>()
    };
    let without = |lost: &[Vec<u8>]| {
        let mut batch = Batch::new();
        lost.iter().for_each(|key| batch.delete(key.clone()));
        driver.commit(batch).unwrap();
        store.check(&mut |_| {}).unwrap()
    };
    let log = keys(Subspace::Log);
    let found = without(&log[log.len() - 1..]);
    assert!(
        found.iter().any(|one| one.problem.contains("lacks")),
        "{found:?}"
    );
    // Without its catalog, all remaining keys belong to no anchor.
    let found = without(&keys(Subspace::Catalog));
    assert!(
        found.iter().any(|one| one.problem.contains("no anchor")),
        "{found:?}"
    );
}
