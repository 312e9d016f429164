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

use crate::generate::Generator;
use crate::setting::{
    MODEL, assert_same, assert_sound, commit, data, load_json, merge, open_tree, path, read_all,
    show, source, text,
};

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

struct Place {
    dir: tempfile::TempDir,
    options: &'static str,
}

impl Place {
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
    let place = Place::new("");
    let tree = place.open(NET);
    assert!(!place.file("running").exists(), "written at the end");
    merge(&tree, TWO_PORTS);
    drop(tree);
    assert_eq!(
        place.text(),
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
    place.edit("10", "  20");
    let tree = place.open(NET);
    assert!(text(&tree).contains(r#""speed":20"#));
    let history = tree.history(None, 10).expect("the history");
    assert_eq!(history[0].comment, "edited by hand: d/a/running.json");
    assert_eq!(history.len(), 2);
    let mut changes = Vec::new();
    let view = tree.at(1).expect("the version before");
    assert!(exported(&tree).contains("\"speed\": 20"));
    let before = crate::setting::read(&view, &InstancePath::root(), &Selection::default());
    changes.push(show(tree.schema(), &before.expect("it is there")));
    assert!(changes[0].contains(r#""speed":10"#));
    // It is written again in canonical form while the store is open.
    assert_eq!(place.text(), exported(&tree));
    assert_sound(tree.store());
    drop(tree);
    // Nothing is imported twice.
    let tree = place.open(NET);
    assert_eq!(tree.view().unwrap().version().unwrap(), 2);
}

#[test]
fn white_space_does_not_change_the_data() {
    let place = Place::new("");
    merge(&place.open(NET), TWO_PORTS);
    fs::write(place.file("running"), TWO_PORTS).expect("written");
    let tree = place.open(NET);
    assert_eq!(tree.view().unwrap().version().unwrap(), 1);
    assert_eq!(place.text(), exported(&tree));
}

#[test]
fn the_order_of_entries_can_be_edited() {
    let place = Place::new("");
    merge(&place.open(NET), TWO_PORTS);
    let reversed = r#"{"net:net":{"user":[{"name":"y"},{"name":"x"},{"name":"z"}]}}"#;
    fs::write(place.file("running"), reversed).expect("written");
    let tree = place.open(NET);
    assert_eq!(text(&tree), reversed);
    assert_sound(tree.store());
}

/// Each rejected edit is reported with the file, the line and the path, changes nothing, and leaves the file,
/// with the stored version next to it.
#[test]
fn invalid_edits_are_rejected_with_line_and_path() {
    let place = Place::new("");
    merge(&place.open(NET), TWO_PORTS);
    let stored = place.text();
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
        place.edit(from, to);
        let edited = place.text();
        for _ in 0..2 {
            let error = place.refusal();
            assert!(matches!(error, Error::Edited { .. }), "{error}");
            let message = error.to_string();
            assert!(message.contains(expected), "{message}");
            let file = place.file("running");
            assert!(message.contains(&file.display().to_string()), "{message}");
            assert_eq!(place.text(), edited, "the edit is kept");
            let old = more(&file, ".old");
            assert_eq!(fs::read_to_string(old).expect("what is stored"), stored);
        }
        // The first remedy of the error message.
        let file = place.file("running");
        fs::rename(more(&file, ".old"), &file).expect("put back");
        let tree = place.open(NET);
        assert_eq!(exported(&tree), stored);
        assert_eq!(tree.view().unwrap().version().unwrap(), 1);
    }
    // The second remedy of the error message: correcting the file.
    place.edit("10", "1001");
    place.refusal();
    place.edit("1001", "1000");
    assert!(text(&place.open(NET)).contains("1000"));
    assert!(!more(&place.file("running"), ".old").exists());
}

/// The stored version is next to a document only while that is rejected, independently of how this ends.
#[test]
fn the_stored_version_is_written_only_while_an_edit_is_rejected() {
    let place = Place::new("");
    merge(&place.open(NET), TWO_PORTS);
    let file = place.file("running");
    let old = more(&file, ".old");
    let ends: [&dyn Fn(); 3] = [
        &|| {
            fs::copy(&old, &file).expect("copied back");
        },
        &|| place.edit("1001", "10"),
        &|| fs::remove_file(&file).expect("removed"),
    ];
    for end in ends {
        place.edit("10", "1001");
        place.refusal();
        assert!(old.exists());
        end();
        assert!(text(&place.open(NET)).contains("10"));
        assert!(file.exists() && !old.exists());
    }
}

#[test]
fn a_document_that_is_missing_is_written_again() {
    let place = Place::new("");
    merge(&place.open(NET), TWO_PORTS);
    let stored = place.text();
    fs::remove_dir_all(place.dir.path().join("datastores")).expect("removed");
    let tree = place.open(NET);
    assert_eq!(place.text(), stored);
    assert_eq!(exported(&tree), stored);
}

/// The store is leaked, as if the process were killed: the documents are behind the journal.
fn killed(place: &Place, model: &str, change: &str) {
    let copy = tempfile::tempdir().expect("a directory");
    let tree = place.open(model);
    merge(&tree, change);
    copy_files(place.dir.path(), copy.path());
    drop(tree);
    fs::remove_dir_all(place.dir.path()).expect("removed");
    copy_files(copy.path(), place.dir.path());
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
    let place = Place::new("");
    merge(&place.open(NET), TWO_PORTS);
    killed(&place, NET, r#"{"net:net":{"port":[{"name":"c"}]}}"#);
    assert!(!place.text().contains("\"c\""));
    let tree = place.open(NET);
    assert!(place.text().contains("\"c\""));
    assert_eq!(place.text(), exported(&tree));
    assert_eq!(tree.view().unwrap().version().unwrap(), 2);
}

/// Importing it would undo what was committed after the document was written.
#[test]
fn an_edit_of_an_outdated_document_is_kept_and_not_imported() {
    let place = Place::new("");
    merge(&place.open(NET), TWO_PORTS);
    killed(&place, NET, r#"{"net:net":{"port":[{"name":"c"}]}}"#);
    place.edit("10", "20");
    let edited = place.text();
    let aside = more(&place.file("running"), ".edited");
    for _ in 0..2 {
        let message = place.refusal().to_string();
        assert!(message.contains(&aside.display().to_string()), "{message}");
        assert_eq!(fs::read_to_string(&aside).expect("the edit"), edited);
    }
    assert!(place.text().contains("\"c\""), "as stored");
    place.edit("10", "20");
    fs::remove_file(&aside).expect("done with");
    let tree = place.open(NET);
    let now = text(&tree);
    assert!(now.contains(r#""speed":20"#) && now.contains(r#"{"name":"c"}"#));
}

#[test]
fn an_edit_while_the_store_is_open_is_kept() {
    let place = Place::new("");
    merge(&place.open(NET), TWO_PORTS);
    let tree = place.open(NET);
    place.edit("10", "20");
    let edited = place.text();
    merge(&tree, r#"{"net:net":{"port":[{"name":"c"}]}}"#);
    let now = exported(&tree);
    drop(tree);
    let aside = more(&place.file("running"), ".edited");
    assert_eq!(fs::read_to_string(&aside).expect("the edit"), edited);
    assert_eq!(place.text(), now);
    assert!(place.refusal().to_string().contains(".edited"));
    fs::remove_file(&aside).expect("done with");
    assert_eq!(exported(&place.open(NET)), now);
}

#[test]
fn every_datastore_has_its_document() {
    let place = Place::new("");
    let tree = place.open(NET);
    merge(&tree, TWO_PORTS);
    for datastore in [Datastore::Startup, Datastore::FactoryDefault] {
        let other = tree.beside(datastore, "").unwrap();
        load_json(&other, espalier_store::LoadMode::Replace, TWO_PORTS).expect("loaded");
    }
    let state = tree.beside(Datastore::Operational, "").unwrap();
    merge(&state, r#"{"net:net":{"port":[{"name":"up"}]}}"#);
    drop((tree, state));
    let stored = place.text();
    for datastore in ["running", "startup", "factory-default"] {
        let file = place.file(datastore);
        assert_eq!(fs::read_to_string(&file).expect("a document"), stored);
        fs::write(&file, TWO_PORTS.replace("10", "30")).expect("written");
    }
    fs::write(
        place.file("operational"),
        r#"{"net:net":{"port":[{"name":"down"}]}}"#,
    )
    .expect("written");
    let tree = place.open(NET);
    for datastore in [
        Datastore::Running,
        Datastore::Startup,
        Datastore::FactoryDefault,
    ] {
        let text = text(&tree.beside(datastore, "").unwrap());
        assert!(text.contains(r#""speed":30"#), "{datastore:?}: {text}");
    }
    let pushed = fs::read_to_string(place.file("operational")).expect("a document");
    assert!(
        pushed.contains("down") && !pushed.contains("up"),
        "{pushed}"
    );
    // A document that did not exist is created by hand.
    let new = Place::new("");
    new.open(NET);
    assert_eq!(new.text(), "{}\n");
    fs::write(new.file("startup"), TWO_PORTS).expect("written");
    let tree = new.open(NET).beside(Datastore::Startup, "").unwrap();
    assert_eq!(text(&tree), TWO_PORTS);
}

#[test]
fn deleting_an_anchor_deletes_its_documents() {
    let place = Place::new("");
    let tree = place.open(NET);
    merge(&tree, TWO_PORTS);
    drop(tree);
    let tree = place.open(NET);
    tree.store().delete_anchor("d", "a").expect("deleted");
    drop(tree);
    assert!(!place.dir.path().join("datastores/d").exists());
    // A new anchor with the same name does not start with them.
    let driver = espalier_drivers::open(&place.url()).expect("opens");
    let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
    store.create_anchor("d", "a", "s").expect("created");
    drop(store);
    assert_eq!(place.text(), "{}\n");
}

#[test]
fn changed_modules_take_effect_immediately() {
    let place = Place::new("");
    let tree = place.open(NET);
    merge(&tree, TWO_PORTS);
    let larger = NET
        .replace("1..1000", "1..2000")
        .replace("leaf speed", "leaf mtu { type uint8; } leaf speed");
    tree.store()
        .upgrade_schema_set("d", "s", &source(&larger), UpgradeOptions::default())
        .expect("upgraded");
    drop(tree);
    place.edit("10", "1500, \"mtu\": 3");
    let tree = place.open(NET);
    assert!(text(&tree).contains(r#""speed":1500,"mtu":3"#) || text(&tree).contains(r#""mtu":3"#));
    assert_eq!(place.text(), exported(&tree));
}

/// Random commits and random edits by hand: after closing, the document equals the export.
#[test]
fn random_edits_by_hand() {
    let rounds = seed::number_from_environment("ESPALIER_OPERATIONS").unwrap_or(ROUNDS);
    seed::run("random edits by hand", |random| {
        let place = Place::new("durability=relaxed&journal_size=64K");
        let mut expected = DataTree::default();
        drop(place.open(MODEL));
        for round in 0..rounds {
            let tree = match random.random_range(0..4) {
                0 => by_commit(&place, random, &mut expected),
                1 => by_damage(&place, random, &expected),
                _ => by_hand(&place, random, &mut expected),
            };
            assert_same(tree.schema(), &read_all(&tree), &expected, "the data");
            if round % 10 == 0 {
                assert_sound(tree.store());
            }
            let now = exported(&tree);
            drop(tree);
            assert_eq!(place.text(), now);
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

fn by_commit(place: &Place, random: &mut StdRng, expected: &mut DataTree) -> Tree {
    let tree = place.open(MODEL);
    let document = document(&tree, random);
    let edit = Edit::replace_all(document.clone());
    tree.commit(&[edit], CommitOptions::default())
        .expect("a commit");
    *expected = document;
    tree
}

fn by_hand(place: &Place, random: &mut StdRng, expected: &mut DataTree) -> Tree {
    let tree = place.open(MODEL);
    let document = document(&tree, random);
    let text = show(tree.schema(), &document);
    let version = tree.view().unwrap().version().unwrap();
    let is_same = read_all(&tree).same_as(&document, tree.schema());
    drop(tree);
    fs::write(place.file("running"), text).expect("written");
    *expected = document;
    let tree = place.open(MODEL);
    let now = tree.view().unwrap().version().unwrap();
    assert_eq!(now > version, !is_same, "a version where something changed");
    tree
}

/// One byte of the document is changed: the document is rejected, or has other content and is imported.
fn by_damage(place: &Place, random: &mut StdRng, expected: &DataTree) -> Tree {
    let stored = place.text();
    let mut bytes = stored.clone().into_bytes();
    let at = random.random_range(0..bytes.len());
    bytes[at] = random.random_range(0x20..0x7f);
    fs::write(place.file("running"), &bytes).expect("written");
    let driver = espalier_drivers::open(&place.url()).expect("the driver opens");
    match Store::open(driver, Arc::new(SystemClock)) {
        Ok(store) => {
            // Back to the expected content.
            let tree = store.tree("d", "a", Datastore::Running).expect("the tree");
            commit(&tree, &[Edit::replace_all(expected.clone())]).expect("a commit");
            tree
        }
        Err(error) => {
            assert!(error.to_string().contains("line "), "{error}");
            let file = place.file("running");
            assert_eq!(fs::read(&file).expect("the edit"), bytes);
            fs::rename(more(&file, ".old"), &file).expect("put back");
            assert_eq!(place.text(), stored);
            place.open(MODEL)
        }
    }
}

/// Names of the user that are not valid file names.
#[test]
fn any_name_has_a_file() {
    let place = Place::new("");
    let driver = espalier_drivers::open(&place.url()).expect("opens");
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
    let file = place
        .dir
        .path()
        .join("datastores/%2E./%C3%BC%20b/running.json");
    let text = fs::read_to_string(&file).expect("a document");
    fs::write(&file, text.replace("10", "11")).expect("written");
    let driver = espalier_drivers::open(&place.url()).expect("opens");
    let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
    let tree = store.tree("..", "ü b", Datastore::Running).expect("a tree");
    assert!(crate::setting::text(&tree).contains(r#""speed":11"#));
}
