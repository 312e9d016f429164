//! Reads and commits under random access rules, compared with a naive reading of RFC 8341.

use std::sync::Arc;

use espalier_store::{
    AccessDefaults, AccessOperation, AccessRules, AccessTable, ChangeKind, CommitOptions,
    Content as ContentOf, DataRule, DenyMark, Error, InstancePattern, NodeChange, OperationSet,
    PatternStep, RuleEffect, Selection, Tree, View, WithDefaults,
};
use espalier_testkit::seed;
use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::path::Fields;
use espalier_yang::schema::{ModuleId, Node};
use espalier_yang::{ErrorTag, InstancePath, Keys, NodeId, Schema, Value};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::edit::{Change, apply};
use crate::fixture::{
    MODEL, Page, assert_same, assert_sound, commit, memory_tree, read, read_all, read_page, show,
};
use crate::generate::Generator;
use crate::reference::{entry_keys, find, prune};
use crate::select::{is_whole, select};

/// The number of rule sets in a run.
const RULE_SETS: u64 = 400;

/// Sets the number of rule sets.
const RULE_SETS_VARIABLE: &str = "ESPALIER_RULE_SETS";

/// The number of reads under each rule set.
const READS: usize = 12;

/// The rules of a user, and what the model marks.
pub struct Rules {
    rules: Vec<DataRule>,
    defaults: AccessDefaults,
    /// A number for the random choice of marked nodes.
    marks: u32,
    /// Nothing below a denied node is permitted.
    is_closed: bool,
}

impl Rules {
    fn mark(&self, node: &Node) -> Option<DenyMark> {
        match (node.id.0.wrapping_mul(2_654_435_761) ^ self.marks) % 29 {
            0 => Some(DenyMark::All),
            1 => Some(DenyMark::Write),
            _ => None,
        }
    }

    pub fn describe(&self) -> String {
        let Self {
            rules,
            defaults,
            marks,
            ..
        } = self;
        format!("rules {rules:#?}\ndefaults {defaults:?} marks {marks}")
    }

    pub fn compile(&self, schema: &Schema) -> Arc<AccessTable> {
        Arc::new(AccessTable::compile(
            schema,
            &AccessRules {
                rules: &self.rules,
                defaults: self.defaults,
                marks: &|node| self.mark(node),
            },
        ))
    }
}

/// A node on the way to another, with its keys.
type Place = Vec<(NodeId, Vec<Value>)>;

/// The naive decision.
struct Naive<'a> {
    schema: &'a Schema,
    rules: &'a Rules,
}

impl Naive<'_> {
    /// Whether an operation on the node at a place is allowed; for reads, given that of its parent.
    fn allows(&self, operation: AccessOperation, place: &Place, is_parent_allowed: bool) -> bool {
        let (node, _) = place.last().expect("a node");
        let module = self.schema.node(*node).module;
        for rule in &self.rules.rules {
            let is_match = rule.operations.contains(operation)
                && rule.module.is_none_or(|of| of == module)
                && rule.path.as_ref().is_none_or(|path| matches(path, place));
            if is_match {
                return rule.effect == RuleEffect::Permit;
            }
        }
        let marks = place
            .iter()
            .map(|(node, _)| self.rules.mark(self.schema.node(*node)));
        let mark = marks.max().flatten();
        let defaults = self.rules.defaults;
        match operation {
            AccessOperation::Read => {
                is_parent_allowed
                    && mark != Some(DenyMark::All)
                    && defaults.read == RuleEffect::Permit
            }
            AccessOperation::Exec => {
                mark != Some(DenyMark::All) && defaults.exec == RuleEffect::Permit
            }
            _ => mark.is_none() && defaults.write == RuleEffect::Permit,
        }
    }

    /// Whether the node at a place can be read, and whether its parent can.
    fn reads(&self, place: &Place) -> bool {
        (1..=place.len()).fold(true, |is_parent_allowed, depth| {
            self.allows(
                AccessOperation::Read,
                &place[..depth].to_vec(),
                is_parent_allowed,
            )
        })
    }

    /// Whether the user can read the node at a place, or change it in any way.
    fn knows(&self, place: &Place) -> bool {
        let writes = [
            AccessOperation::Create,
            AccessOperation::Update,
            AccessOperation::Delete,
        ];
        let may = |operation: &AccessOperation| self.allows(*operation, place, true);
        place.is_empty() || self.reads(place) || writes.iter().any(may)
    }

    /// Whether a change names a node that the user does not know.
    fn names_hidden(&self, change: &Change, tree: &DataTree) -> bool {
        let place = |path| place_of(self.schema, tree, path).unwrap_or_default();
        match change {
            Change::Tree(at, data, _) => self.has_hidden(&data.nodes, &mut place(at)),
            Change::ReplaceAll(data) => self.has_hidden(&data.nodes, &mut Place::new()),
            Change::Delete(path) | Change::Remove(path) => !self.knows(&place(path)),
        }
    }

    fn has_hidden(&self, nodes: &[DataNode], place: &mut Place) -> bool {
        nodes.iter().any(|data| {
            let node = self.schema.node(data.node);
            if node.as_value().is_some_and(|value| value.is_key) {
                return false;
            }
            place.push((data.node, entry_keys(self.schema, data)));
            let is_named =
                !node.is_np_container() || data.children().is_empty() || data.operation().is_some();
            let is_hidden =
                is_named && !self.knows(place) || self.has_hidden(data.children(), place);
            place.pop();
            is_hidden
        })
    }

    /// What is shown of siblings.
    fn filter(
        &self,
        nodes: &[DataNode],
        place: &mut Place,
        is_parent_allowed: bool,
    ) -> Vec<DataNode> {
        let mut shown = Vec::new();
        for data in nodes {
            place.push((data.node, entry_keys(self.schema, data)));
            let is_allowed = self.allows(AccessOperation::Read, place, is_parent_allowed);
            match &data.content {
                Content::Inner(children) => {
                    let mut below = self.filter(children, place, is_allowed);
                    let mut content = below.clone();
                    prune(self.schema, &mut content);
                    if is_allowed || !content.is_empty() {
                        let keys = self.schema.node(data.node).keys();
                        let hidden = keys
                            .iter()
                            .filter_map(|&key| data.child(key))
                            .filter(|key| below.iter().all(|shown| shown.node != key.node));
                        below.extend(hidden.cloned().collect::<Vec<_>>());
                        shown.push(DataNode::new(data.node, Content::Inner(below)));
                    }
                }
                _ if is_allowed => shown.push(data.clone()),
                _ => {}
            }
            place.pop();
        }
        shown
    }

    /// Whether a change of a tree to the next one is allowed.
    fn allows_change(&self, change: &NodeChange, tree: &DataTree, next: &DataTree) -> bool {
        let (tree, operation) = match change.kind {
            ChangeKind::Created => (next, AccessOperation::Create),
            ChangeKind::Deleted => (tree, AccessOperation::Delete),
            ChangeKind::Modified | ChangeKind::Moved => (next, AccessOperation::Update),
        };
        let place = place_of(self.schema, tree, &change.path).unwrap_or_default();
        self.allows(operation, &place, true)
    }

    /// The path in the error of a denied change: only if it can be read.
    fn error_path(&self, path: &InstancePath, tree: &DataTree, next: &DataTree) -> String {
        let is_old = find(self.schema, tree, path).is_some();
        let tree = if is_old { tree } else { next };
        let place = place_of(self.schema, tree, path).unwrap_or_default();
        match self.reads(&place) {
            true => path.to_instance_identifier(self.schema),
            false => String::new(),
        }
    }

    /// The paths of the errors of a change that would change these nodes. All hidden nodes have one error together.
    fn error_paths(
        &self,
        change: &Change,
        denied: &[InstancePath],
        tree: &DataTree,
        next: &DataTree,
    ) -> Vec<String> {
        if self.names_hidden(change, tree) {
            return vec![String::new()];
        }
        let mut paths: Vec<String> = Vec::new();
        for path in denied {
            let path = self.error_path(path, tree, next);
            if !path.is_empty() || !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    fn visible(&self, tree: &DataTree) -> DataTree {
        let nodes = self.filter(&tree.nodes, &mut Vec::new(), true);
        DataTree { nodes }
    }
}

fn matches(pattern: &InstancePattern, place: &Place) -> bool {
    let mut steps = pattern.steps.iter().zip(place);
    pattern.steps.len() <= place.len()
        && steps.all(|(step, (node, keys))| {
            // A step without keys is that of all entries.
            let is_every = step.keys.iter().all(Option::is_none);
            step.node == *node
                && (is_every
                    || step.keys.len() == keys.len()
                        && step.keys.iter().zip(keys).all(|(wanted, key)| {
                            wanted.as_ref().is_none_or(|wanted| wanted == key)
                        }))
        })
}

fn place_of(schema: &Schema, tree: &DataTree, path: &InstancePath) -> Option<Place> {
    let mut place = Place::new();
    for depth in 1..=path.steps.len() {
        let above = InstancePath {
            steps: path.steps[..depth].to_vec(),
        };
        let step = &path.steps[depth - 1];
        let keys = match &step.keys {
            Keys::Values(values) => values.clone(),
            Keys::None => Vec::new(),
            Keys::Position(_) => match find(schema, tree, &above)?.first() {
                Some(data) => entry_keys(schema, data),
                None => Vec::new(),
            },
        };
        place.push((step.node, keys));
    }
    Some(place)
}

/// Reads with access rules.
struct Reading<'a> {
    naive: Naive<'a>,
    view: View,
    visible: DataTree,
    what: String,
}

impl Reading<'_> {
    fn compare(
        &self,
        path: &InstancePath,
        place: &Place,
        (selection, page): (&Selection, Option<&Page>),
    ) {
        let (schema, view) = (self.naive.schema, &self.view);
        let target = path.steps.last();
        let is_list = target.is_some_and(|step| is_whole(schema.node(step.node), &step.keys));
        let everything = read(view, path, &Selection::default());
        let order = match (&everything, is_list) {
            (Some(all), true) => all.nodes.clone(),
            _ => Vec::new(),
        };
        let mut expected = select(schema, &self.visible, path, (selection, page), &order);
        if page.is_some() {
            expected = expected.filter(|tree| !tree.nodes.is_empty());
        }
        let found = read_page(view, path, selection, page);
        // An empty container below a denied node is not shown by itself.
        let is_empty = |tree: &Option<DataTree>| {
            let mut nodes = tree.iter().flat_map(|tree| &tree.nodes);
            nodes.all(|node| node.children().is_empty())
        };
        let parent: Place = place[..place.len().saturating_sub(1)].to_vec();
        let is_container = target.is_some_and(|step| schema.node(step.node).is_np_container());
        let is_parent_denied = is_container && !self.naive.reads(&parent);
        if is_parent_denied && is_empty(&found) && is_empty(&expected) {
            return;
        }
        // What is not stored: an empty container is shown if its own node is.
        let is_stored = find(schema, &self.visible, path).is_some();
        let expected =
            expected.filter(|_| is_stored || place.is_empty() || self.naive.reads(place));
        let what = format!(
            "{} with {selection:?} {page:?} in {}\nvisible {}",
            path.to_instance_identifier(schema),
            self.what,
            show(schema, &self.visible)
        );
        match (&found, &expected) {
            (Some(found), Some(expected)) => assert_same(schema, found, expected, &what),
            (None, None) => {}
            _ => panic!("{what}\nfound {found:?}\nexpected {expected:?}"),
        }
        assert_eq!(view.exists(path).unwrap(), everything.is_some(), "{what}");
        if is_list {
            let instances = find(schema, &self.visible, path).unwrap_or_default();
            let count = view.count(path).unwrap();
            assert_eq!(count, instances.len() as u64, "{what}");
        }
    }
}

pub struct Run<'a> {
    pub random: &'a mut StdRng,
    pub tree: Tree,
    pub schema: Arc<Schema>,
    pub model: DataTree,
}

impl Run<'_> {
    pub fn generator(&mut self) -> Generator<'_> {
        Generator {
            schema: &self.schema,
            random: self.random,
        }
    }

    pub fn rules(&mut self) -> Rules {
        let effects = [RuleEffect::Permit, RuleEffect::Deny];
        let is_closed = self.random.random_bool(0.4);
        let effect = |random: &mut StdRng| match is_closed {
            true => RuleEffect::Deny,
            false => *effects.choose(random).unwrap(),
        };
        let count = self.random.random_range(0..8);
        let rules = (0..count)
            .map(|_| DataRule {
                module: self.module(),
                path: self.random.random_bool(0.8).then(|| self.pattern()),
                operations: self.operations(),
                effect: effect(self.random),
            })
            .collect();
        let mut default = || *effects.choose(self.random).unwrap();
        let defaults = AccessDefaults {
            read: default(),
            write: default(),
            exec: default(),
        };
        Rules {
            rules,
            defaults,
            marks: self.random.random(),
            is_closed,
        }
    }

    fn module(&mut self) -> Option<ModuleId> {
        let count = self.schema.modules().len() as u16;
        let is_any = self.random.random_bool(0.8);
        (!is_any).then(|| ModuleId(self.random.random_range(0..count)))
    }

    fn operations(&mut self) -> OperationSet {
        if self.random.random_bool(0.4) {
            return OperationSet::ALL;
        }
        let mut set = OperationSet::default();
        for operation in AccessOperation::ALL {
            if self.random.random_bool(0.5) {
                set = set.with(operation);
            }
        }
        set
    }

    /// The path of a node, with some of its keys.
    fn pattern(&mut self) -> InstancePattern {
        let model = self.model.clone();
        let path = self.generator().path(&model);
        let place = place_of(&self.schema, &model, &path).unwrap_or_default();
        let step = |(node, keys): (NodeId, Vec<Value>)| {
            let is_open = self.random.random_bool(0.4);
            let keys = match is_open {
                true => Vec::new(),
                false => keys
                    .into_iter()
                    .map(|key| self.random.random_bool(0.85).then_some(key))
                    .collect(),
            };
            PatternStep { node, keys }
        };
        InstancePattern {
            steps: place.into_iter().map(step).collect(),
        }
    }

    pub fn change_data(&mut self) {
        let document = self.generator().document();
        let change = Change::ReplaceAll(document);
        let mut next = self.model.clone();
        if apply(&self.schema, &mut next, std::slice::from_ref(&change)).is_ok() {
            commit(&self.tree, &[change.to_edit()]).expect("the naive tree accepts it");
            self.model = next;
        }
    }

    fn compare_reads(&mut self, rules: &Rules) {
        let schema = Arc::clone(&self.schema);
        let naive = Naive {
            schema: &schema,
            rules,
        };
        let view = self.tree.view().unwrap();
        let root = InstancePath::root();
        let report_all = Selection {
            with_defaults: WithDefaults::ReportAll,
            ..Selection::default()
        };
        let all = naive.visible(&read(&view, &root, &report_all).unwrap());
        let view = view.with_access(Some(rules.compile(&schema)));
        let reading = Reading {
            what: format!("{}\n{}", show(&schema, &self.model), rules.describe()),
            visible: naive.visible(&self.model),
            naive,
            view,
        };
        let found = read(&reading.view, &root, &report_all).unwrap();
        assert_same(&schema, &found, &all, &reading.what);
        for _ in 0..READS {
            let model = self.model.clone();
            let path = self.generator().path(&model);
            let selection = self.selection(&path, rules.is_closed);
            let page = self.page(&path);
            // Positions count entries that are not shown too.
            let mut steps = path.steps.iter();
            if !steps.any(|step| matches!(step.keys, Keys::Position(_))) {
                let place = place_of(&schema, &model, &path).unwrap_or_default();
                reading.compare(&path, &place, (&selection, page.as_ref()));
            }
        }
    }

    fn selection(&mut self, path: &InstancePath, is_closed: bool) -> Selection {
        let mut selection = Selection::default();
        // A denied entry of which only defaults are permitted is not shown if they are trimmed.
        if is_closed && self.random.random_bool(0.3) {
            selection.with_defaults = WithDefaults::Trim;
        }
        if !is_closed {
            return selection;
        }
        selection.content = *[ContentOf::All, ContentOf::Config, ContentOf::NonConfig]
            .choose(self.random)
            .unwrap();
        let depth = self.random.random_range(1..12);
        selection.depth = (depth < 6).then_some(depth);
        let children: Vec<NodeId> = match path.target() {
            Some(node) => self.schema.node(node).children.clone(),
            None => self.schema.roots().to_vec(),
        };
        if let Some(&child) = children.choose(self.random)
            && self.random.random_bool(0.3)
        {
            let node = self.schema.node(child);
            let text = format!("{}:{}", self.schema.module(node.module).name, node.name);
            selection.fields = Fields::parse(&self.schema, path.target(), &text).ok();
        }
        selection
    }

    fn page(&mut self, path: &InstancePath) -> Option<Page> {
        let step = path.steps.last()?;
        let is_list = is_whole(self.schema.node(step.node), &step.keys);
        (is_list && self.random.random_bool(0.7)).then(|| Page {
            offset: self.random.random_range(0..3),
            limit: self.random.random_range(1..4),
        })
    }

    fn compare_commit(&mut self, rules: &Rules) {
        let schema = Arc::clone(&self.schema);
        let model = self.model.clone();
        let change = self.generator().change(&model);
        let mut next = model.clone();
        if apply(&schema, &mut next, std::slice::from_ref(&change)).is_err() {
            return;
        }
        // What changes, by the store's own diff, which has tests of its own.
        let before = self.tree.view().unwrap().version().unwrap();
        let edit = change.to_edit();
        let made = commit(&self.tree, std::slice::from_ref(&edit)).unwrap();
        if !made.is_changed {
            return;
        }
        let diff = self.tree.diff(before, made.version).unwrap();
        // Entries without keys have other positions in each try.
        let has_position = diff.changes().any(|change| {
            let mut steps = change.path.steps.iter();
            steps.any(|step| matches!(step.keys, Keys::Position(_)))
        });
        if has_position {
            self.model = next;
            return;
        }
        let naive = Naive {
            schema: &schema,
            rules,
        };
        let changes = diff.changes();
        let denied = changes.filter(|change| !naive.allows_change(change, &model, &next));
        let denied: Vec<InstancePath> = denied.map(|change| change.path).collect();
        let paths = naive.error_paths(&change, &denied, &model, &next);
        let back = self.tree.rollback(before, CommitOptions::default());
        back.unwrap();
        let table = rules.compile(&schema);
        let options = CommitOptions {
            access: Some(&table),
            ..CommitOptions::default()
        };
        let result = self.tree.commit(&[edit], options);
        let what = format!(
            "{change:?} on {}\n{}\n{result:?}",
            show(&schema, &model),
            rules.describe()
        );
        match result {
            Ok(_) => {
                assert!(paths.is_empty(), "{denied:?} {what}");
                self.model = next;
            }
            Err(Error::Data(errors)) => {
                let count = paths.len().min(100);
                assert_eq!(errors.len(), count, "{denied:?} {what}");
                for (error, path) in errors.iter().zip(&paths) {
                    assert_eq!(error.tag, ErrorTag::AccessDenied, "{what}");
                    assert_eq!(error.path, *path, "{what}");
                }
            }
            Err(error) => panic!("{error} {what}"),
        }
        let found = read_all(&self.tree);
        assert_same(&schema, &found, &self.model, &what);
    }
}

#[test]
fn reads_and_commits_are_those_of_the_naive_rules() {
    let count = seed::number_from_environment(RULE_SETS_VARIABLE).unwrap_or(RULE_SETS);
    seed::run_each("access rules", count, RULE_SETS_VARIABLE, |random| {
        let tree = memory_tree(MODEL);
        let mut run = Run {
            random,
            schema: Arc::clone(tree.schema()),
            tree,
            model: DataTree::default(),
        };
        run.change_data();
        for _ in 0..3 {
            let rules = run.rules();
            run.compare_reads(&rules);
            run.compare_commit(&rules);
        }
        assert_sound(run.tree.store());
    });
}
