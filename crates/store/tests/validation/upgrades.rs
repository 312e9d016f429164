//! Random module changes over random data: after an accepted change the data is valid and complete, a
//! rejected one changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_keyspace::KeyRange;
use espalier_store::{
    CommitOptions, Datastore, Error, Selection, Store, Tree, UnknownData, UpgradeOptions,
};
use espalier_testkit::oracle::judge::Verdict;
use espalier_testkit::random_schemas::SchemaEdit;
use espalier_testkit::rows::{Row, rows};
use espalier_testkit::seed;
use espalier_yang::data::{DataNode, DataTree, ParseOptions, PrintOptions, Root, TreeBuilder, xml};
use espalier_yang::{InstancePath, Schema};
use rand::Rng;
use rand::rngs::StdRng;

use crate::compare::{CommitMethod, Trial};
use crate::documents::keys_of;
use crate::edits::changes;
use crate::fixture::{Fixture, Tries, commit, load, open, read_all, show, unvalidated};

/// The variable that sets the number of module changes.
const UPGRADES_VARIABLE: &str = "ESPALIER_UPGRADES";

/// The default number of module changes in a run.
const UPGRADES: u64 = 400;

/// The number of edits that fill a datastore.
const EDITS: usize = 12;

/// The datastores that are filled and compared.
const DATASTORES: [Datastore; 5] = [
    Datastore::Running,
    Datastore::Startup,
    Datastore::Candidate,
    Datastore::FactoryDefault,
    Datastore::Operational,
];

#[derive(Debug, Default)]
struct Counts {
    refused: u64,
    dropped: u64,
    fits: u64,
    converted: u64,
    rolled_back: u64,
    edits: BTreeMap<SchemaEdit, u64>,
}

#[test]
fn a_module_change_leaves_valid_data_or_changes_nothing() {
    let upgrades = seed::number_from_environment(UPGRADES_VARIABLE).unwrap_or(UPGRADES);
    let mut counts = Counts::default();
    seed::run_each("upgrades", upgrades, UPGRADES_VARIABLE, |random| {
        let (fixture, new, edits) = changed_modules(random);
        fill(&fixture, random);
        let upgrade = Upgrade {
            edits: &edits,
            before: states(&fixture.tree),
            rows: all_rows(fixture.tree.store()),
            fixture: &fixture,
            new: &new,
        };
        upgrade.run(&mut counts);
        for edit in edits {
            *counts.edits.entry(edit).or_default() += 1;
        }
    });
    println!("{upgrades} changes of modules: {counts:?}");
    if upgrades >= UPGRADES {
        let Counts {
            refused,
            dropped,
            fits,
            converted,
            rolled_back,
            ..
        } = counts;
        let met = [refused, dropped, fits, converted, rolled_back];
        assert!(met.iter().all(|&count| count > 0), "{counts:?}");
    }
}

/// A schema, and the result of random edits of it: the first pair that libyang accepts.
fn changed_modules(random: &mut StdRng) -> (Fixture, Fixture, Vec<SchemaEdit>) {
    let mut tries = Tries::default();
    loop {
        let fixture = Fixture::random(random, &mut tries);
        let generated = fixture.generated.as_ref().expect("it is random");
        let (evolved, edits) = generated.evolved(random);
        if let Ok(new) = Fixture::of(evolved) {
            return (fixture, new, edits);
        }
    }
}

/// Fills running with valid data, and the other datastores.
fn fill(fixture: &Fixture, random: &mut StdRng) {
    let mut tree = DataTree::default();
    for _ in 0..EDITS {
        let (changes, _) = changes(&fixture.schema, random, &tree);
        let trial = Trial::new(fixture, tree.clone(), changes, CommitMethod::Commit);
        let edits: Vec<_> = trial
            .changes
            .iter()
            .map(crate::edit::Change::to_edit)
            .collect();
        if trial.is_valid() && commit(&fixture.tree, &edits).is_ok() {
            tree = read_all(&fixture.tree);
        }
    }
    let (_, document) = changes(&fixture.schema, random, &tree);
    if let Some(document) = document {
        let _ = load(&unvalidated(&fixture.tree), &document);
    }
    for datastore in [Datastore::FactoryDefault, Datastore::Operational] {
        let (_, document) = changes(&fixture.schema, random, &tree);
        if let Some(document) = document {
            let _ = load(
                &fixture.tree.sibling_datastore(datastore, "").unwrap(),
                &document,
            );
        }
    }
    let candidate = fixture
        .tree
        .sibling_datastore(Datastore::Candidate, "")
        .unwrap();
    if random.random_bool(0.5) {
        let (changes, _) = changes(&fixture.schema, random, &tree);
        let edits: Vec<_> = changes.iter().map(crate::edit::Change::to_edit).collect();
        let _ = candidate.commit(&edits, CommitOptions::default());
    }
}

/// The content of every datastore.
fn states(tree: &Tree) -> Vec<DataTree> {
    let datastores = DATASTORES.iter();
    datastores
        .map(|&datastore| read_all(&tree.sibling_datastore(datastore, "").unwrap()))
        .collect()
}

fn all_rows(store: &Store) -> Vec<Row> {
    rows(&**store.driver(), &KeyRange::all())
}

/// A module change to test.
struct Upgrade<'a> {
    edits: &'a [SchemaEdit],
    fixture: &'a Fixture,
    new: &'a Fixture,
    before: Vec<DataTree>,
    rows: Vec<Row>,
}

impl Upgrade<'_> {
    fn run(&self, counts: &mut Counts) {
        let version = self.fixture.tree.view().unwrap().version().unwrap();
        let expected = self.read_again();
        match self.upgrade(UnknownData::Refuse) {
            Ok(is_changed) => {
                let tree = self.opened();
                self.check_accepted(&tree);
                if let Some(expected) = expected {
                    self.compare(&states(&tree), &expected);
                }
                counts.fits += u64::from(!is_changed);
                counts.converted += u64::from(is_changed);
            }
            Err(what) => {
                self.check_unchanged();
                // A node of another kind is rejected, although XML may look the same.
                assert!(
                    expected.is_none()
                        || what.contains(" became ")
                        || what.contains(" is state data"),
                    "refused, but it can be read again: {what}\n{}",
                    self.describe()
                );
                counts.refused += 1;
                match self.upgrade(UnknownData::Drop) {
                    Ok(_) => counts.dropped += 1,
                    Err(_) => return self.check_unchanged(),
                }
                self.check_accepted(&self.opened());
            }
        }
        self.check_history(version, counts);
    }

    fn upgrade(&self, unknown: UnknownData) -> Result<bool, String> {
        let options = UpgradeOptions {
            unknown,
            ..UpgradeOptions::default()
        };
        let store = self.fixture.tree.store();
        let tried = store.check_upgrade("d", "s", &self.new.source, options, None);
        let done = store.upgrade_schema_set("d", "s", &self.new.source, options);
        match (tried, done) {
            (Ok(tried), Ok(done)) => {
                assert_eq!(tried, done, "{}", self.describe());
                Ok(done.datastores.iter().any(|of| of.is_changed()))
            }
            (Err(Error::Upgrade { .. }), Err(Error::Upgrade { errors, .. })) => {
                assert!(!errors.is_empty());
                Err(errors.to_string())
            }
            other => panic!("{other:?}\n{}", self.describe()),
        }
    }

    fn opened(&self) -> Tree {
        let store = self.fixture.tree.store();
        store.tree("d", "a", Datastore::Running).unwrap()
    }

    /// The data under the new modules, if it can be read by them from an XML document, which has no types.
    /// `None` if this fails for any datastore.
    fn read_again(&self) -> Option<Vec<DataTree>> {
        let mut states = Vec::new();
        for state in &self.before {
            let again = in_other(state, &self.fixture.schema, &self.new.schema).ok()?;
            states.push(again);
        }
        // Data that need not be valid stays valid if it was.
        for (datastore, (before, after)) in DATASTORES.iter().zip(self.before.iter().zip(&states)) {
            let is_kept_valid = matches!(datastore, Datastore::Startup | Datastore::FactoryDefault);
            let is_valid = |source, state| load(&open(source), state).is_ok();
            if is_kept_valid
                && is_valid(&self.fixture.source, before)
                && !is_valid(&self.new.source, after)
            {
                return None;
            }
        }
        let running = show(&self.new.schema, &states[0]);
        let verdict = self.new.judge.verdict("{}", &running);
        let is_valid =
            verdict.problem.is_none() && verdict.deleted.is_empty() && !verdict.is_undecided;
        // Edits create schemas on which libyang and this library differ about defaults; loads are validated
        // like upgrades.
        (is_valid && load(&self.new.tree, &states[0]).is_ok()).then_some(states)
    }

    fn check_unchanged(&self) {
        let rows = all_rows(self.fixture.tree.store());
        assert!(
            rows == self.rows,
            "refused, but rows changed\n{}",
            self.describe()
        );
    }

    fn check_accepted(&self, tree: &Tree) {
        let found = tree.store().check(&mut |_| {}).unwrap();
        assert_eq!(found, [], "{}", self.describe());
        let running = show(tree.schema(), &read_all(tree));
        let verdict = self.new.judge.verdict("{}", &running);
        let is_valid =
            verdict.is_undecided || verdict.problem.is_none() && verdict.deleted.is_empty();
        assert!(
            is_valid || self.is_known_difference(&verdict, &running),
            "libyang refuses: {verdict:?}\n{running}\n{}",
            self.describe()
        );
        for datastore in DATASTORES {
            let tree = tree.sibling_datastore(datastore, "").unwrap();
            let state = read_all(&tree);
            let again = in_other(&state, tree.schema(), &self.new.schema);
            // The pushed state and running may have two cases of a choice there.
            let may_be_invalid = datastore == Datastore::Operational;
            assert!(
                again.is_ok() || may_be_invalid,
                "the export of {} cannot be read: {again:?}\n{}\n{}",
                datastore.name(),
                show(tree.schema(), &state),
                self.describe()
            );
            self.check_reachable(&tree, &InstancePath::root(), &state.nodes);
        }
    }

    /// Whether libyang treats a container without presence whose own `when` is false as existing in the
    /// `when` of another node, and a document is valid for this library. Generated schemas have no such
    /// conditions; a change of presence introduces them.
    fn is_known_difference(&self, verdict: &Verdict, running: &str) -> bool {
        let problem = verdict.problem.as_ref();
        let is_when = problem.is_some_and(|problem| problem.message.starts_with("When condition"));
        let document = crate::fixture::parse(&self.new.schema, running);
        is_when
            && self.edits.contains(&SchemaEdit::FlipPresence)
            && load(&self.new.tree, &document).is_ok()
    }

    /// Checks that every node is found by its path.
    fn check_reachable(&self, tree: &Tree, parent: &InstancePath, nodes: &[DataNode]) {
        let view = tree.view().unwrap();
        for data in nodes {
            let node = tree.schema().node(data.node);
            // Values of state data may be duplicates: they have no unique path.
            if !node.is_config && (node.is_leaf_list() || node.keys().is_empty() && node.is_list())
            {
                continue;
            }
            let path = parent.child(data.node, keys_of(tree.schema(), data));
            let mut builder = TreeBuilder::new();
            view.read(&path, &Selection::default(), &mut builder)
                .unwrap();
            let found = builder.finish().unwrap();
            assert!(
                !found.nodes.is_empty(),
                "{} is not found\n{}",
                path.to_instance_identifier(tree.schema()),
                self.describe()
            );
            self.check_reachable(tree, &path, data.children());
        }
    }

    fn compare(&self, states: &[DataTree], expected: &[DataTree]) {
        let schema = &self.new.schema;
        for ((datastore, state), expected) in DATASTORES.iter().zip(states).zip(expected) {
            // Pushed state and running, each in its own order, form one list.
            if *datastore == Datastore::Operational {
                continue;
            }
            assert!(
                state.is_equivalent(expected, schema),
                "{} is {}\nand not {}\n{}",
                datastore.name(),
                show(schema, state),
                show(schema, expected),
                self.describe()
            );
        }
    }

    /// The previous version is unchanged under its modules, and can be restored under the new ones.
    fn check_history(&self, version: u64, counts: &mut Counts) {
        let tree = self.opened();
        if version == 0 {
            return;
        }
        let view = tree.at(version).unwrap();
        let mut builder = TreeBuilder::new();
        view.read(&InstancePath::root(), &Selection::default(), &mut builder)
            .unwrap();
        let then = show(view.schema(), &builder.finish().unwrap());
        let was = show(&self.fixture.schema, &self.before[0]);
        assert_eq!(json_of(&then), json_of(&was), "{}", self.describe());
        let newest = tree.view().unwrap().version().unwrap();
        tree.diff(version, newest).unwrap();
        tree.each_difference(version, newest, &mut |_, _| Ok(()))
            .unwrap();
        match tree.rollback(version, CommitOptions::default()) {
            Ok(_) => counts.rolled_back += 1,
            Err(Error::Data(_)) => {}
            Err(error) => panic!("{error}\n{}", self.describe()),
        }
        self.check_accepted(&tree);
        self.check_back(version);
    }

    /// Under the old modules again, the version is restored unchanged.
    fn check_back(&self, version: u64) {
        let store = self.fixture.tree.store();
        let options = UpgradeOptions {
            unknown: UnknownData::Drop,
            ..UpgradeOptions::default()
        };
        if store
            .upgrade_schema_set("d", "s", &self.fixture.source, options)
            .is_err()
        {
            return;
        }
        let tree = self.opened();
        tree.rollback(version, CommitOptions::default())
            .unwrap_or_else(|error| panic!("{error}\n{}", self.describe()));
        let now = show(tree.schema(), &read_all(&tree));
        let was = show(&self.fixture.schema, &self.before[0]);
        assert_eq!(json_of(&now), json_of(&was), "{}", self.describe());
        let found = store.check(&mut |_| {}).unwrap();
        assert_eq!(found, [], "{}", self.describe());
    }

    fn describe(&self) -> String {
        let states: Vec<String> = self
            .before
            .iter()
            .map(|state| show(&self.fixture.schema, state))
            .collect();
        format!(
            "edits {:?}\nold modules\n{}\nnew modules\n{}\nrunning, startup, candidate, factory-default and operational state before\n{}",
            self.edits,
            self.fixture.text(),
            self.new.text(),
            states.join("\n")
        )
    }
}

/// A document, ignoring the order of members, which is that of the schema.
fn json_of(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// Data of one schema under another, through an XML document.
fn in_other(
    state: &DataTree,
    old: &Schema,
    new: &Arc<Schema>,
) -> Result<DataTree, espalier_yang::data::ParseError> {
    let mut printer = xml::Printer::new(old, Vec::new(), PrintOptions::default());
    let _ = state.emit(&mut printer);
    let text = printer.finish().unwrap();
    let mut builder = TreeBuilder::new();
    let options = ParseOptions::default();
    xml::parse(new, Root::Datastore, &text[..], &mut builder, &options)?;
    Ok(builder.finish().unwrap())
}
