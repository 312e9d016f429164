//! Random commits, compared after each with the naive tree.

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_store::{Commit, Content, LoadMode, Selection, Tree, View, WithDefaults};
use espalier_testkit::seed;
use espalier_yang::data::DataTree;
use espalier_yang::path::Fields;
use espalier_yang::{ErrorTag, InstancePath, NodeId, Schema};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::edit::{Change, apply};
use crate::fixture::{
    MODEL, Page, assert_same, assert_sound, commit, first_tag, load_tree, open_tree, read,
    read_all, read_page, show,
};
use crate::generate::Generator;
use crate::history;
use crate::reference::{find, prune};
use crate::select::{is_whole, select};
use crate::stamps;

/// The default number of commits in a run.
const COMMITS: u64 = 1_500;

/// The store is checked after this many commits.
const CHECK_EVERY: u64 = 8;

fn commits() -> u64 {
    seed::number_from_environment("ESPALIER_OPERATIONS").unwrap_or(COMMITS)
}

#[test]
fn random_commits_in_memory() {
    seed::run("random commits in memory", |random| {
        let driver = espalier_drivers::open("memory:").unwrap();
        Run::new(random, &|| Arc::clone(&driver)).go(commits());
    });
}

#[test]
fn random_commits_in_an_embedded_store_that_is_reopened() {
    seed::run("random commits in an embedded store", |random| {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("embedded:{}?durability=relaxed", directory.path().display());
        Run::new(random, &|| espalier_drivers::open(&url).unwrap()).go(commits() / 3);
    });
}

#[test]
fn random_commits_in_files_that_are_reopened() {
    seed::run("random commits in files", |random| {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("file:{}?durability=relaxed", directory.path().display());
        Run::new(random, &|| espalier_drivers::open(&url).unwrap()).go(commits() / 3);
    });
}

struct Run<'a> {
    random: &'a mut StdRng,
    open: &'a dyn Fn() -> Arc<dyn Driver>,
    tree: Option<Tree>,
    schema: Arc<Schema>,
    model: DataTree,
    version: u64,
}

impl<'a> Run<'a> {
    fn new(random: &'a mut StdRng, open: &'a dyn Fn() -> Arc<dyn Driver>) -> Self {
        let tree = open_tree(open(), MODEL);
        Self {
            random,
            open,
            schema: Arc::clone(tree.schema()),
            tree: Some(tree),
            model: DataTree::default(),
            version: 0,
        }
    }

    fn tree(&self) -> &Tree {
        self.tree.as_ref().expect("it is open")
    }

    fn generator(&mut self) -> Generator<'_> {
        Generator {
            schema: &self.schema,
            random: self.random,
        }
    }

    fn go(mut self, commits: u64) {
        for number in 1..=commits {
            let (version, state) = (self.version, history::state(self.tree()));
            match self.random.random_range(0..20) {
                0 => self.load(),
                1 if number % 3 == 0 => self.reopen(),
                _ => self.commit(),
            }
            let found = read_all(self.tree());
            assert_same(&self.schema, &found, &self.model, "the whole tree");
            let mut before = history::state(self.tree());
            if self.version > version {
                history::undo(self.tree(), self.version, &mut before);
            }
            assert!(before == state, "version {} taken back", self.version);
            for _ in 0..6 {
                self.compare_reading();
            }
            if number % CHECK_EVERY == 0 {
                assert_sound(self.tree().store());
            }
        }
    }

    fn reopen(&mut self) {
        self.tree = None;
        let tree = open_tree((self.open)(), MODEL);
        self.schema = Arc::clone(tree.schema());
        self.tree = Some(tree);
    }

    fn commit(&mut self) {
        let mut changes: Vec<Change> = Vec::new();
        let mut expected = self.model.clone();
        let mut verdict = Ok(());
        for _ in 0..*[1, 1, 1, 2, 3].choose(self.random).unwrap() {
            let mut tries = 0;
            // Mostly valid changes, otherwise nearly every commit would be rejected.
            let change = loop {
                let model = expected.clone();
                let change = self.generator().change(&model);
                let mut result = model.clone();
                tries += 1;
                let is_good =
                    apply(&self.schema, &mut result, std::slice::from_ref(&change)).is_ok();
                if is_good || tries == 8 || self.random.random_ratio(1, 12) {
                    break change;
                }
            };
            changes.push(change);
            expected = self.model.clone();
            verdict = apply(&self.schema, &mut expected, &changes);
            if verdict.is_err() {
                break;
            }
        }
        self.compare_commit(&changes, expected, verdict);
    }

    fn compare_commit(
        &mut self,
        changes: &[Change],
        expected: DataTree,
        verdict: Result<(), ErrorTag>,
    ) {
        let resources = stamps::resources(&self.schema, &self.model);
        let old_stamps = stamps::read(&self.tree().view().unwrap(), &resources);
        let edits: Vec<_> = changes.iter().map(Change::to_edit).collect();
        let result = commit(self.tree(), &edits);
        assert_eq!(
            first_tag(&result),
            verdict.err(),
            "{result:?}\n{}\non {}",
            self.describe(changes),
            show(&self.schema, &self.model)
        );
        let Ok(made) = result else { return };
        let what = format!(
            "{}\non {}",
            self.describe(changes),
            show(&self.schema, &self.model)
        );
        let found = read_all(self.tree());
        assert_same(&self.schema, &found, &expected, &what);
        let is_same = expected.is_equivalent(&self.model, &self.schema);
        assert!(made.is_changed || is_same, "{what}");
        // State entries that are deleted and created again, and new positions, change the store and not the
        // tree.
        assert!(
            !made.is_changed
                || !is_same
                || changes.len() > 1
                || is_reordering(&self.schema, changes),
            "{what}"
        );
        self.compare_version(made);
        let resources = stamps::resources(&self.schema, &expected);
        let new_stamps = stamps::read(&self.tree().view().unwrap(), &resources);
        let old = (&self.model, &old_stamps);
        if made.is_changed {
            let new = (&expected, &new_stamps);
            stamps::compare(&self.schema, old, new, changes, made);
        } else {
            assert_eq!(old_stamps, new_stamps);
        }
        self.model = expected;
    }

    fn describe(&self, changes: &[Change]) -> String {
        let describe = |change: &Change| match change {
            Change::Tree(at, tree, operation) => format!(
                "{operation:?} at {}: {:?}",
                at.to_instance_identifier(&self.schema),
                brief(&self.schema, &tree.nodes)
            ),
            Change::Delete(at) => format!("Delete {}", at.to_instance_identifier(&self.schema)),
            Change::Remove(at) => format!("Remove {}", at.to_instance_identifier(&self.schema)),
            Change::ReplaceAll(tree) => {
                format!("ReplaceAll {:?}", brief(&self.schema, &tree.nodes))
            }
        };
        changes.iter().map(describe).collect::<Vec<_>>().join("\n")
    }

    fn compare_version(&mut self, made: Commit) {
        self.version += u64::from(made.is_changed);
        assert_eq!(made.version, self.version);
        assert_eq!(self.tree().view().unwrap().version().unwrap(), self.version);
    }

    fn load(&mut self) {
        let mut document = self.generator().document();
        let mode = *[LoadMode::Merge, LoadMode::Replace, LoadMode::Create]
            .choose(self.random)
            .unwrap();
        let change = match mode {
            LoadMode::Merge => Change::Tree(
                InstancePath::root(),
                document.clone(),
                espalier_yang::data::Operation::Merge,
            ),
            LoadMode::Replace => Change::ReplaceAll(document.clone()),
            LoadMode::Create => Change::Tree(
                InstancePath::root(),
                document.clone(),
                espalier_yang::data::Operation::Create,
            ),
        };
        let mut expected = self.model.clone();
        let verdict = apply(&self.schema, &mut expected, std::slice::from_ref(&change));
        self.generator().shuffle(&mut document.nodes);
        let result = load_tree(self.tree(), mode, &document);
        let what = format!(
            "{mode:?} load: {}\non {}",
            self.describe(&[change]),
            show(&self.schema, &self.model)
        );
        assert_eq!(first_tag(&result), verdict.err(), "{what}");
        let found = read_all(self.tree());
        assert_same(&self.schema, &found, &expected, &what);
        if let Ok(report) = result {
            let is_same = expected.is_equivalent(&self.model, &self.schema);
            assert!(report.commit.is_changed || is_same, "{what}");
            self.compare_version(report.commit);
            self.model = expected;
        }
    }

    fn compare_reading(&mut self) {
        let model = self.model.clone();
        let path = self.generator().path(&model);
        let (selection, page) = (self.selection(&path), self.page(&path));
        let view = self.tree().view().unwrap();
        let order = self.order(&view, &path);
        let selected = (&selection, page.as_ref());
        let mut expected = select(&self.schema, &model, &path, selected, &order);
        if page.is_some() {
            expected = expected.filter(|tree| !tree.nodes.is_empty());
        }
        let found = read_page(&view, &path, &selection, page.as_ref());
        let what = format!(
            "{} with {selection:?} {page:?} in {}",
            path.to_instance_identifier(&self.schema),
            show(&self.schema, &model)
        );
        match (&found, &expected) {
            (Some(found), Some(expected)) => assert_same(&self.schema, found, expected, &what),
            (None, None) => {}
            _ => panic!("{what}\nfound {found:?}\nexpected {expected:?}"),
        }
        self.compare_existence(&view, &path);
    }

    fn compare_existence(&self, view: &View, path: &InstancePath) {
        let exists = read(view, path, &Selection::default()).is_some();
        let what = path.to_instance_identifier(&self.schema);
        assert_eq!(view.exists(path).unwrap(), exists, "{what}");
        let found = find(&self.schema, &self.model, path);
        let mut instances: Vec<_> = match path.is_root() {
            true => self.model.nodes.clone(),
            false => found.iter().flatten().map(|one| (*one).clone()).collect(),
        };
        prune(&self.schema, &mut instances);
        let has_content = !instances.is_empty();
        assert_eq!(view.has_content(path).unwrap(), has_content, "{what}");
        if let Some(step) = path.steps.last()
            && is_whole(self.schema.node(step.node), &step.keys)
        {
            assert_eq!(view.count(path).unwrap(), instances.len() as u64, "{what}");
        }
    }

    /// Every entry of a whole list or leaf-list, in the order of the store.
    fn order(&self, view: &View, path: &InstancePath) -> Vec<espalier_yang::data::DataNode> {
        let is_list = path
            .steps
            .last()
            .is_some_and(|step| is_whole(self.schema.node(step.node), &step.keys));
        match is_list {
            true => read(view, path, &Selection::default()).map_or(Vec::new(), |all| all.nodes),
            false => Vec::new(),
        }
    }

    fn selection(&mut self, path: &InstancePath) -> Selection {
        let contents = [
            Content::All,
            Content::All,
            Content::Config,
            Content::NonConfig,
        ];
        let defaults = [
            WithDefaults::Explicit,
            WithDefaults::ReportAll,
            WithDefaults::Trim,
            WithDefaults::ReportAllTagged,
        ];
        let depth = self.random.random_range(1..12);
        Selection {
            depth: (depth < 6).then_some(depth),
            content: *contents.choose(self.random).unwrap(),
            with_defaults: *defaults.choose(self.random).unwrap(),
            fields: self.fields(path),
            ..Selection::default()
        }
    }

    fn fields(&mut self, path: &InstancePath) -> Option<Fields> {
        let has_children = match path.target() {
            Some(node) => !self.schema.node(node).children.is_empty(),
            None => true,
        };
        if !has_children || self.random.random_ratio(1, 2) {
            return None;
        }
        let schema = Arc::clone(&self.schema);
        let mut paths = Vec::new();
        for _ in 0..self.random.random_range(1..3) {
            paths.push(self.field(&schema, path.target()));
        }
        let text = paths.join(";");
        Some(Fields::parse(&schema, path.target(), &text).unwrap_or_else(|error| panic!("{error}")))
    }

    fn field(&mut self, schema: &Schema, mut parent: Option<NodeId>) -> String {
        let mut names = Vec::new();
        loop {
            let all = parent.map_or(schema.roots(), |parent| &schema.node(parent).children);
            let Some(&child) = all.choose(self.random) else {
                return names.join("/");
            };
            names.push(schema.qualified_name(child));
            parent = Some(child);
            if self.random.random_ratio(1, 2) {
                return names.join("/");
            }
        }
    }

    fn page(&mut self, path: &InstancePath) -> Option<Page> {
        let step = path.steps.last()?;
        let node = self.schema.node(step.node);
        if !is_whole(node, &step.keys) || self.random.random_ratio(1, 3) {
            return None;
        }
        Some(Page {
            offset: self.random.random_range(0..3),
            limit: self.random.random_range(1..4),
        })
    }
}

/// Whether an edit may move entries, or delete and create state entries without keys.
fn is_reordering(schema: &Schema, changes: &[Change]) -> bool {
    fn any(schema: &Schema, nodes: &[espalier_yang::data::DataNode]) -> bool {
        nodes
            .iter()
            .any(|one| schema.node(one.node).is_positional() || any(schema, one.children()))
    }
    changes.iter().any(|change| match change {
        Change::Tree(_, tree, _) | Change::ReplaceAll(tree) => any(schema, &tree.nodes),
        _ => false,
    })
}

/// Nodes with their annotations, for messages.
fn brief(schema: &Schema, nodes: &[espalier_yang::data::DataNode]) -> Vec<String> {
    use espalier_yang::data::Content;
    let one = |data: &espalier_yang::data::DataNode| {
        let name = &schema.node(data.node).name;
        let notes = match data.annotations.is_empty() {
            true => String::new(),
            false => format!("{:?}", data.annotations),
        };
        match &data.content {
            Content::Inner(children) => format!("{name}{notes}{:?}", brief(schema, children)),
            Content::Value(value) => {
                let text: String = value.to_string().chars().take(12).collect();
                format!("{name}{notes}={text}")
            }
            Content::Any(json) => format!("{name}{notes}={json}"),
            Content::Bare => format!("{name}{notes}"),
        }
    };
    nodes.iter().map(one).collect()
}
