//! Documents of the `file:` driver: their content, and edits by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_store::{
    CommitOptions, Datastore, Edit, Error, Selection, Store, SystemClock, Tree, UpgradeOptions,
};
use espalier_testkit::seed;
use espalier_yang::InstancePath;
use espalier_yang::data::{DataTree, Layout, PrintOptions, json};
use rand::Rng;
use rand::rngs::StdRng;

use crate::fixture::{
    MODEL, assert_same, assert_sound, commit, data, load_json, merge, open_tree, path, read_all,
    show, source, text,
};
use crate::generate::Generator;

/// The default number of rounds of the random run.
const ROUNDS: u64 = 150;

const NET: &str = r#"module net {
  yang-version 1.1;
  namespace urn:net;
  prefix n;
  container net {
    list port {
      key name;
      leaf name { type string; }
      leaf speed { type uint16 { range "1..1000"; } }
    }
    list user {
      key name;
      ordered-by user;
      leaf name { type string; }
      leaf port { type leafref { path "../../port/name"; } }
      leaf share { type uint8; must ". <= 100"; }
    }
  }
}"#;

const TWO_PORTS: &str = r#"{"net:net":{"port":[{"name":"a","speed":10},{"name":"b"}],"user":[{"name":"z","port":"a"},{"name":"y","port":"b"}]}}"#;

struct Fixture {
    dir: tempfile::TempDir,
    options: &'static str,
}

impl Fixture {
    fn new(options: &'static str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        Self { dir, options }
    }

    fn url(&self) -> String {
        format!("file:{}?{}", self.dir.path().display(), self.options)
    }

    fn open(&self, model: &str) -> Tree {
        open_tree(espalier_drivers::open(&self.url()).expect("opens"), model)
    }

    fn refusal(&self) -> Error {
        let driver = espalier_drivers::open(&self.url()).expect("the driver opens");
        let opened = Store::open(driver, Arc::new(SystemClock));
        opened.map(drop).expect_err("a refusal")
    }

    fn file(&self, datastore: &str) -> PathBuf {
        let folder = self.dir.path().join("datastores/d/a");
        folder.join(format!("{datastore}.json"))
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file("running")).expect("the document")
    }

    fn edit(&self, from: &str, to: &str) {
        let text = self.text();
        assert!(text.contains(from), "{from} is in {text}");
        fs::write(self.file("running"), text.replacen(from, to, 1)).expect("written");
    }
}

fn more(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The datastore in the format of `export`.
fn exported(tree: &Tree) -> String {
    let options = PrintOptions {
        layout: Layout::Pretty,
        ..PrintOptions::default()
    };
    let mut printer = json::Printer::new(tree.schema(), Vec::new(), options);
    let view = tree.view().expect("a view");
    view.read(&InstancePath::root(), &Selection::default(), &mut printer)
        .expect("it is read");
    String::from_utf8(printer.finish().expect("printed")).expect("text")
}

#[test]
fn an_edit_by_hand_is_a_commit_of_the_differences() {
    let fixture = Fixture::new("");
    let tree = fixture.open(NET);
    assert!(!fixture.file("running").exists(), "written at the end");
    merge(&tree, TWO_PORTS);
    drop(tree);
    assert_eq!(
        fixture.text(),
        "{
  \"net:net\": {
    \"port\": [
      {
        \"name\": \"a\",
        \"speed\": 10
      },
      {
        \"name\": \"b\"
      }
    ],
    \"user\": [
      {
        \"name\": \"z\",
        \"port\": \"a\"
      },
      {
        \"name\": \"y\",
        \"port\": \"b\"
      }
    ]
  }
}
"
    );
    fixture.edit("10", "  20");
    let tree = fixture.open(NET);
    assert!(text(&tree).contains(r#""speed":20"#));
    let history = tree.history(None, 10).expect("the history");
    assert_eq!(history[0].comment, "edited by hand: d/a/running.json");
    assert_eq!(history.len(), 2);
    let mut changes = Vec::new();
    let view = tree.at(1).expect("the version before");
    assert!(exported(&tree).contains("\"speed\": 20"));
    let before = crate::fixture::read(&view, &InstancePath::root(), &Selection::default());
    changes.push(show(tree.schema(), &before.expect("it is there")));
    assert!(changes[0].contains(r#""speed":10"#));
    // It is written again in canonical form while the store is open.
    assert_eq!(fixture.text(), exported(&tree));
    assert_sound(tree.store());
    drop(tree);
    // Nothing is imported twice.
    let tree = fixture.open(NET);
    assert_eq!(tree.view().unwrap().version().unwrap(), 2);
}

#[test]
fn white_space_does_not_change_the_data() {
    let fixture = Fixture::new("");
    merge(&fixture.open(NET), TWO_PORTS);
    fs::write(fixture.file("running"), TWO_PORTS).expect("written");
    let tree = fixture.open(NET);
    assert_eq!(tree.view().unwrap().version().unwrap(), 1);
    assert_eq!(fixture.text(), exported(&tree));
}

#[test]
fn the_order_of_entries_can_be_edited() {
    let fixture = Fixture::new("");
    merge(&fixture.open(NET), TWO_PORTS);
    let reversed = r#"{"net:net":{"user":[{"name":"y"},{"name":"x"},{"name":"z"}]}}"#;
    fs::write(fixture.file("running"), reversed).expect("written");
    let tree = fixture.open(NET);
    assert_eq!(text(&tree), reversed);
    assert_sound(tree.store());
}

/// Each rejected edit is reported with the file, the line and the path, changes nothing, and leaves the file,
/// with the stored version next to it.
#[test]
fn invalid_edits_are_rejected_with_line_and_path() {
    let fixture = Fixture::new("");
    merge(&fixture.open(NET), TWO_PORTS);
    let stored = fixture.text();
    for (from, to, expected) in [
        ("10", "1001", "line 6: /net:net/port[name='a']/speed: "),
        (
            "\"port\": \"a\"",
            "\"port\": \"c\"",
            "line 15: /net:net/user[name='z']/port: ",
        ),
        (
            "\"port\": \"b\"",
            "\"share\": 101",
            "line 19: /net:net/user[name='y']/share: ",
        ),
        (
            "\"name\": \"b\"",
            "\"name\": \"a\"",
            "/net:net/port[name='a']",
        ),
        ("\"user\"", "\"users\"", "line 12: /net:net: "),
        ("\"user\": [", "\"user\": ", "line 1"),
        ("{", "", "line 2: "),
    ] {
        fixture.edit(from, to);
        let edited = fixture.text();
        for _ in 0..2 {
            let error = fixture.refusal();
            assert!(matches!(error, Error::Edited { .. }), "{error}");
            let message = error.to_string();
            assert!(message.contains(expected), "{message}");
            let file = fixture.file("running");
            assert!(message.contains(&file.display().to_string()), "{message}");
            assert_eq!(fixture.text(), edited, "the edit is kept");
            let old = more(&file, ".old");
            assert_eq!(fs::read_to_string(old).expect("what is stored"), stored);
        }
        // The first remedy of the error message.
        let file = fixture.file("running");
        fs::rename(more(&file, ".old"), &file).expect("put back");
        let tree = fixture.open(NET);
        assert_eq!(exported(&tree), stored);
        assert_eq!(tree.view().unwrap().version().unwrap(), 1);
    }
    // The second remedy of the error message: correcting the file.
    fixture.edit("10", "1001");
    fixture.refusal();
    fixture.edit("1001", "1000");
    assert!(text(&fixture.open(NET)).contains("1000"));
    assert!(!more(&fixture.file("running"), ".old").exists());
}

/// The stored version is next to a document only while that is rejected, independently of how this ends.
#[test]
fn the_stored_version_is_written_only_while_an_edit_is_rejected() {
    let fixture = Fixture::new("");
    merge(&fixture.open(NET), TWO_PORTS);
    let file = fixture.file("running");
    let old = more(&file, ".old");
    let ends: [&dyn Fn(); 3] = [
        &|| {
            fs::copy(&old, &file).expect("copied back");
        },
        &|| fixture.edit("1001", "10"),
        &|| fs::remove_file(&file).expect("removed"),
    ];
    for end in ends {
        fixture.edit("10", "1001");
        fixture.refusal();
        assert!(old.exists());
        end();
        assert!(text(&fixture.open(NET)).contains("10"));
        assert!(file.exists() && !old.exists());
    }
}

#[test]
fn a_document_that_is_missing_is_written_again() {
    let fixture = Fixture::new("");
    merge(&fixture.open(NET), TWO_PORTS);
    let stored = fixture.text();
    fs::remove_dir_all(fixture.dir.path().join("datastores")).expect("removed");
    let tree = fixture.open(NET);
    assert_eq!(fixture.text(), stored);
    assert_eq!(exported(&tree), stored);
}

/// The store is leaked, as if the process were killed: the documents are behind the journal.
fn killed(fixture: &Fixture, model: &str, change: &str) {
    let copy = tempfile::tempdir().expect("a directory");
    let tree = fixture.open(model);
    merge(&tree, change);
    copy_files(fixture.dir.path(), copy.path());
    drop(tree);
    fs::remove_dir_all(fixture.dir.path()).expect("removed");
    copy_files(copy.path(), fixture.dir.path());
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let (path, to) = (
            entry.as_ref().unwrap().path(),
            to.join(entry.unwrap().file_name()),
        );
        match path.is_dir() {
            true => copy_files(&path, &to),
            false => drop(fs::copy(&path, &to).expect("copied")),
        }
    }
}

#[test]
fn documents_are_updated_after_a_crash() {
    let fixture = Fixture::new("");
    merge(&fixture.open(NET), TWO_PORTS);
    killed(&fixture, NET, r#"{"net:net":{"port":[{"name":"c"}]}}"#);
    assert!(!fixture.text().contains("\"c\""));
    let tree = fixture.open(NET);
    assert!(fixture.text().contains("\"c\""));
    assert_eq!(fixture.text(), exported(&tree));
    assert_eq!(tree.view().unwrap().version().unwrap(), 2);
}

/// Importing it would undo what was committed after the document was written.
#[test]
fn an_edit_of_an_outdated_document_is_kept_and_not_imported() {
    let fixture = Fixture::new("");
    merge(&fixture.open(NET), TWO_PORTS);
    killed(&fixture, NET, r#"{"net:net":{"port":[{"name":"c"}]}}"#);
    fixture.edit("10", "20");
    let edited = fixture.text();
    let aside = more(&fixture.file("running"), ".edited");
    for _ in 0..2 {
        let message = fixture.refusal().to_string();
        assert!(message.contains(&aside.display().to_string()), "{message}");
        assert_eq!(fs::read_to_string(&aside).expect("the edit"), edited);
    }
    assert!(fixture.text().contains("\"c\""), "as stored");
    fixture.edit("10", "20");
    fs::remove_file(&aside).expect("done with");
    let tree = fixture.open(NET);
    let now = text(&tree);
    assert!(now.contains(r#""speed":20"#) && now.contains(r#"{"name":"c"}"#));
}

#[test]
fn an_edit_while_the_store_is_open_is_kept() {
    let fixture = Fixture::new("");
    merge(&fixture.open(NET), TWO_PORTS);
    let tree = fixture.open(NET);
    fixture.edit("10", "20");
    let edited = fixture.text();
    merge(&tree, r#"{"net:net":{"port":[{"name":"c"}]}}"#);
    let now = exported(&tree);
    drop(tree);
    let aside = more(&fixture.file("running"), ".edited");
    assert_eq!(fs::read_to_string(&aside).expect("the edit"), edited);
    assert_eq!(fixture.text(), now);
    assert!(fixture.refusal().to_string().contains(".edited"));
    fs::remove_file(&aside).expect("done with");
    assert_eq!(exported(&fixture.open(NET)), now);
}

#[test]
fn every_datastore_has_its_document() {
    let fixture = Fixture::new("");
    let tree = fixture.open(NET);
    merge(&tree, TWO_PORTS);
    for datastore in [Datastore::Startup, Datastore::FactoryDefault] {
        let other = tree.sibling_datastore(datastore, "").unwrap();
        load_json(&other, espalier_store::LoadMode::Replace, TWO_PORTS).expect("loaded");
    }
    let state = tree.sibling_datastore(Datastore::Operational, "").unwrap();
    merge(&state, r#"{"net:net":{"port":[{"name":"up"}]}}"#);
    drop((tree, state));
    let stored = fixture.text();
    for datastore in ["running", "startup", "factory-default"] {
        let file = fixture.file(datastore);
        assert_eq!(fs::read_to_string(&file).expect("a document"), stored);
        fs::write(&file, TWO_PORTS.replace("10", "30")).expect("written");
    }
    fs::write(
        fixture.file("operational"),
        r#"{"net:net":{"port":[{"name":"down"}]}}"#,
    )
    .expect("written");
    let tree = fixture.open(NET);
    for datastore in [
        Datastore::Running,
        Datastore::Startup,
        Datastore::FactoryDefault,
    ] {
        let text = text(&tree.sibling_datastore(datastore, "").unwrap());
        assert!(text.contains(r#""speed":30"#), "{datastore:?}: {text}");
    }
    let pushed = fs::read_to_string(fixture.file("operational")).expect("a document");
    assert!(
        pushed.contains("down") && !pushed.contains("up"),
        "{pushed}"
    );
    // A document that did not exist is created by hand.
    let new = Fixture::new("");
    new.open(NET);
    assert_eq!(new.text(), "{}\n");
    fs::write(new.file("startup"), TWO_PORTS).expect("written");
    let tree = new
        .open(NET)
        .sibling_datastore(Datastore::Startup, "")
        .unwrap();
    assert_eq!(text(&tree), TWO_PORTS);
}

#[test]
fn deleting_an_anchor_deletes_its_documents() {
    let fixture = Fixture::new("");
    let tree = fixture.open(NET);
    merge(&tree, TWO_PORTS);
    drop(tree);
    let tree = fixture.open(NET);
    tree.store().delete_anchor("d", "a").expect("deleted");
    drop(tree);
    assert!(!fixture.dir.path().join("datastores/d").exists());
    // A new anchor with the same name does not start with them.
    let driver = espalier_drivers::open(&fixture.url()).expect("opens");
    let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
    store.create_anchor("d", "a", "s").expect("created");
    drop(store);
    assert_eq!(fixture.text(), "{}\n");
}

#[test]
fn changed_modules_take_effect_immediately() {
    let fixture = Fixture::new("");
    let tree = fixture.open(NET);
    merge(&tree, TWO_PORTS);
    let larger = NET
        .replace("1..1000", "1..2000")
        .replace("leaf speed", "leaf mtu { type uint8; } leaf speed");
    tree.store()
        .upgrade_schema_set("d", "s", &source(&larger), UpgradeOptions::default())
        .expect("upgraded");
    drop(tree);
    fixture.edit("10", "1500, \"mtu\": 3");
    let tree = fixture.open(NET);
    assert!(text(&tree).contains(r#""speed":1500,"mtu":3"#) || text(&tree).contains(r#""mtu":3"#));
    assert_eq!(fixture.text(), exported(&tree));
}

/// Random commits and random edits by hand: after closing, the document equals the export.
#[test]
fn random_edits_by_hand() {
    let rounds = seed::number_from_environment("ESPALIER_OPERATIONS").unwrap_or(ROUNDS);
    seed::run("random edits by hand", |random| {
        let fixture = Fixture::new("durability=relaxed&journal_size=64K");
        let mut expected = DataTree::default();
        drop(fixture.open(MODEL));
        for round in 0..rounds {
            let tree = match random.random_range(0..4) {
                0 => by_commit(&fixture, random, &mut expected),
                1 => by_damage(&fixture, random, &expected),
                _ => by_hand(&fixture, random, &mut expected),
            };
            assert_same(tree.schema(), &read_all(&tree), &expected, "the data");
            if round % 10 == 0 {
                assert_sound(tree.store());
            }
            let now = exported(&tree);
            drop(tree);
            assert_eq!(fixture.text(), now);
        }
    });
}

fn document(tree: &Tree, random: &mut StdRng) -> DataTree {
    let schema = Arc::clone(tree.schema());
    Generator {
        schema: &schema,
        random,
    }
    .document()
}

fn by_commit(fixture: &Fixture, random: &mut StdRng, expected: &mut DataTree) -> Tree {
    let tree = fixture.open(MODEL);
    let document = document(&tree, random);
    let edit = Edit::replace_all(document.clone());
    tree.commit(&[edit], CommitOptions::default())
        .expect("a commit");
    *expected = document;
    tree
}

fn by_hand(fixture: &Fixture, random: &mut StdRng, expected: &mut DataTree) -> Tree {
    let tree = fixture.open(MODEL);
    let document = document(&tree, random);
    let text = show(tree.schema(), &document);
    let version = tree.view().unwrap().version().unwrap();
    let is_same = read_all(&tree).is_equivalent(&document, tree.schema());
    drop(tree);
    fs::write(fixture.file("running"), text).expect("written");
    *expected = document;
    let tree = fixture.open(MODEL);
    let now = tree.view().unwrap().version().unwrap();
    assert_eq!(now > version, !is_same, "a version where something changed");
    tree
}

/// One byte of the document is changed: the document is rejected, or has other content and is imported.
fn by_damage(fixture: &Fixture, random: &mut StdRng, expected: &DataTree) -> Tree {
    let stored = fixture.text();
    let mut bytes = stored.clone().into_bytes();
    let at = random.random_range(0..bytes.len());
    bytes[at] = random.random_range(0x20..0x7f);
    fs::write(fixture.file("running"), &bytes).expect("written");
    let driver = espalier_drivers::open(&fixture.url()).expect("the driver opens");
    match Store::open(driver, Arc::new(SystemClock)) {
        Ok(store) => {
            // Back to the expected content.
            let tree = store.tree("d", "a", Datastore::Running).expect("the tree");
            commit(&tree, &[Edit::replace_all(expected.clone())]).expect("a commit");
            tree
        }
        Err(error) => {
            assert!(error.to_string().contains("line "), "{error}");
            let file = fixture.file("running");
            assert_eq!(fs::read(&file).expect("the edit"), bytes);
            fs::rename(more(&file, ".old"), &file).expect("put back");
            assert_eq!(fixture.text(), stored);
            fixture.open(MODEL)
        }
    }
}

/// Names of the user that are not valid file names.
#[test]
fn any_name_has_a_file() {
    let fixture = Fixture::new("");
    let driver = espalier_drivers::open(&fixture.url()).expect("opens");
    let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
    store.create_dataspace("..").expect("a dataspace");
    store
        .create_schema_set("..", "s", &source(NET))
        .expect("a set");
    for name in [".", "ü b", "a%2Fb"] {
        store.create_anchor("..", name, "s").expect("an anchor");
        let tree = store.tree("..", name, Datastore::Running).expect("a tree");
        let edit = Edit::merge(InstancePath::root(), data(tree.schema(), TWO_PORTS));
        commit(&tree, &[edit]).expect("a commit");
        assert!(
            tree.view()
                .unwrap()
                .exists(&path(tree.schema(), "/net:net"))
                .unwrap()
        );
    }
    drop(store);
    let file = fixture
        .dir
        .path()
        .join("datastores/%2E./%C3%BC%20b/running.json");
    let text = fs::read_to_string(&file).expect("a document");
    fs::write(&file, text.replace("10", "11")).expect("written");
    let driver = espalier_drivers::open(&fixture.url()).expect("opens");
    let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
    let tree = store.tree("..", "ü b", Datastore::Running).expect("a tree");
    assert!(crate::fixture::text(&tree).contains(r#""speed":11"#));
}
