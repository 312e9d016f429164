//! Filtered reads compared with a filter on the naive tree.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_store::{
    Content as ContentOf, Filter, FilterExpression, Selection, View, WithDefaults,
};
use espalier_testkit::seed;
use espalier_yang::data::subtree_filter::SubtreeFilter;
use espalier_yang::data::{DataNode, DataTree, TreeBuilder};
use espalier_yang::{InstancePath, Keys, NodeId, Value};
use rand::Rng;
use rand::seq::IndexedRandom;

use crate::access::Run;
use crate::filter_reference::{
    Element, ElementKind, select_elements, select_paths, selected_paths,
};
use crate::fixture::{MODEL, assert_same, open_tree, read, show};

/// The number of documents in a run.
const DOCUMENTS: u64 = 300;

/// Sets the number of documents.
const DOCUMENTS_VARIABLE: &str = "ESPALIER_FILTERED_DOCUMENTS";

/// The number of filters of each kind for each document.
const FILTERS: usize = 30;

fn documents() -> u64 {
    seed::number_from_environment(DOCUMENTS_VARIABLE).unwrap_or(DOCUMENTS)
}

/// The result of a filtered read.
fn filtered(view: &View, filter: &Filter, selection: &Selection) -> DataTree {
    let mut builder = TreeBuilder::new();
    view.read_filtered(filter, selection, &mut builder).unwrap();
    builder.finish().unwrap()
}

#[test]
fn filtered_reads_in_memory() {
    seed::run_each(
        "filtered reads",
        documents(),
        DOCUMENTS_VARIABLE,
        |random| {
            let driver = espalier_drivers::open("memory:").unwrap();
            compare(&mut run_on(random, driver));
        },
    );
}

#[test]
fn filtered_reads_in_an_embedded_store() {
    let count = documents() / 4;
    seed::run_each(
        "embedded filtered reads",
        count.max(1),
        DOCUMENTS_VARIABLE,
        |random| {
            let directory = tempfile::tempdir().unwrap();
            let url = format!("embedded:{}?durability=relaxed", directory.path().display());
            compare(&mut run_on(random, espalier_drivers::open(&url).unwrap()));
        },
    );
}

fn run_on(random: &mut rand::rngs::StdRng, driver: Arc<dyn Driver>) -> Run<'_> {
    let tree = open_tree(driver, MODEL);
    let mut run = Run {
        random,
        schema: Arc::clone(tree.schema()),
        tree,
        model: DataTree::default(),
    };
    run.change_data();
    run
}

fn compare(run: &mut Run<'_>) {
    let schema = Arc::clone(&run.schema);
    for has_rules in [false, true] {
        let (mut view, mut rules) = (run.tree.view().unwrap(), String::new());
        if has_rules {
            let new = run.rules();
            rules = new.describe();
            view = view.with_access(Some(new.compile(&schema)));
        }
        for _ in 0..FILTERS {
            let selection = random_selection(run);
            let (root, modes) = (InstancePath::root(), mode_of(&selection));
            let reported = read(&view, &root, &modes).unwrap();
            let visible = read(&view, &root, &Selection::default()).unwrap();
            let what = |filter: &str| {
                format!(
                    "{filter}\n{selection:?}\nof {}\n{rules}",
                    show(&schema, &reported)
                )
            };
            let elements = run.elements(&visible.nodes, None, 0);
            let text = xml(&elements);
            let parsed = Filter::Subtree(SubtreeFilter::parse_xml(&text).unwrap());
            let expected = select_elements(&schema, &reported, &elements, &selection);
            let found = filtered(&view, &parsed, &selection);
            assert_same(&schema, &found, &expected, &what(&text));

            let text = run.expression(&visible);
            let parsed = FilterExpression::parse(&schema, &text, &|prefix| {
                (prefix == Some("x")).then(|| "urn:m".into())
            });
            let parsed = parsed.unwrap_or_else(|error| panic!("{text}: {error}"));
            let data = match selection.with_defaults {
                WithDefaults::Explicit | WithDefaults::Trim => &visible,
                _ => &reported,
            };
            let paths: HashSet<_> = selected_paths(&schema, data, parsed.expression());
            let expected = select_paths(&schema, &reported, &paths, &selection);
            let found = filtered(&view, &Filter::XPath(parsed), &selection);
            assert_same(&schema, &found, &expected, &what(&text));
        }
    }
}

/// The same mode of defaults, without a selection.
fn mode_of(selection: &Selection) -> Selection {
    Selection {
        with_defaults: selection.with_defaults,
        ..Selection::default()
    }
}

fn random_selection(run: &mut Run<'_>) -> Selection {
    let modes = [
        WithDefaults::Explicit,
        WithDefaults::Trim,
        WithDefaults::ReportAll,
        WithDefaults::ReportAllTagged,
    ];
    let mut selection = Selection {
        with_defaults: *modes.choose(run.random).unwrap(),
        ..Selection::default()
    };
    match run.random.random_range(0..4) {
        0 => selection.depth = Some(run.random.random_range(1..4)),
        1 => selection.content = ContentOf::Config,
        2 => selection.content = ContentOf::NonConfig,
        _ => {}
    }
    selection
}

impl Run<'_> {
    fn chance(&mut self, one_in: u32) -> bool {
        self.random.random_ratio(1, one_in)
    }

    /// Random elements for these siblings, mostly of existing nodes.
    pub fn elements(
        &mut self,
        siblings: &[DataNode],
        parent: Option<NodeId>,
        depth: u32,
    ) -> Vec<Element> {
        let count = self.random.random_range(0..4);
        (0..count)
            .filter_map(|_| self.element(siblings, parent, depth))
            .collect()
    }

    fn element(
        &mut self,
        siblings: &[DataNode],
        parent: Option<NodeId>,
        depth: u32,
    ) -> Option<Element> {
        let schema = Arc::clone(&self.schema);
        let all = parent.map_or(schema.roots(), |parent| &schema.node(parent).children);
        let data = siblings
            .choose(self.random)
            .filter(|_| !self.random.random_ratio(1, 6));
        let id = match data {
            Some(data) => data.node,
            None => *all.choose(self.random)?,
        };
        let node = schema.node(id);
        let kind = match node.as_value() {
            _ if self.chance(3) => ElementKind::Selection,
            Some(_) => self.content_match(id, data),
            None if node.children.is_empty() => ElementKind::Selection,
            None => {
                let below = data.map_or(&[][..], DataNode::children);
                match self.elements(below, Some(id), depth + 1) {
                    children if children.is_empty() => ElementKind::Selection,
                    children => ElementKind::Containment(children),
                }
            }
        };
        let is_known = !self.chance(30);
        let name = if is_known { &*node.name } else { "unknown" };
        Some(Element {
            node: is_known.then_some(id),
            name: name.to_owned(),
            has_namespace: !self.chance(4),
            has_attribute: self.chance(40),
            kind,
        })
    }

    /// A content match node, if a value has a text that can be one.
    fn content_match(&mut self, id: NodeId, data: Option<&DataNode>) -> ElementKind {
        let existing = data.and_then(DataNode::value).cloned();
        let existing = existing.filter(|_| !self.random.random_ratio(1, 5));
        let value = existing.unwrap_or_else(|| self.generator().value(id));
        match element_text(&value) {
            Some(_) => ElementKind::Match(value),
            None => ElementKind::Selection,
        }
    }

    /// A random expression with a node-set.
    pub fn expression(&mut self, tree: &DataTree) -> String {
        let count = self.random.random_range(1..4);
        let paths: Vec<String> = (0..count).map(|_| self.location(tree)).collect();
        paths.join(" | ")
    }

    fn location(&mut self, tree: &DataTree) -> String {
        let schema = Arc::clone(&self.schema);
        let path = self.generator().path(tree);
        let mut text = String::new();
        let is_relative = self.chance(8);
        let mut is_first = true;
        for step in &path.steps {
            // A step left out, for its descendants.
            if self.chance(12) {
                is_first = false;
                text.push('/');
                continue;
            }
            if !(is_first && is_relative) {
                text.push('/');
            }
            while text.contains("///") {
                text = text.replace("///", "//");
            }
            is_first = false;
            let node = schema.node(step.node);
            match self.random.random_range(0..12) {
                0 => text.push('*'),
                1..4 => text.push_str(&node.name),
                4 => write!(text, "m:{}", node.name).unwrap(),
                _ => write!(text, "x:{}", node.name).unwrap(),
            }
            let predicates = self.predicates(step.node, &step.keys);
            text.push_str(&predicates);
        }
        match text.trim_end_matches('/') {
            "" => "/*".to_owned(),
            text => text.to_owned(),
        }
    }

    fn predicates(&mut self, id: NodeId, keys: &Keys) -> String {
        let schema = Arc::clone(&self.schema);
        let node = schema.node(id);
        let mut text = String::new();
        match keys {
            Keys::Values(values) if node.is_list() => {
                for (&key, value) in node.keys().iter().zip(values) {
                    let literal = literal(value);
                    if let Some(literal) = literal
                        && !self.chance(6)
                    {
                        let name = &schema.node(key).name;
                        match self.chance(5) {
                            true => write!(text, "[{literal}={name}]").unwrap(),
                            false => write!(text, "[x:{name}={literal}]").unwrap(),
                        }
                    }
                }
            }
            Keys::Values(values) => {
                if let Some(literal) = values.first().and_then(literal) {
                    write!(text, "[.={literal}]").unwrap();
                }
            }
            Keys::Position(at) if self.chance(2) => write!(text, "[{at}]").unwrap(),
            _ => {}
        }
        if self.chance(8)
            && let Some(&child) = node.children.choose(self.random)
        {
            let name = &schema.node(child).name;
            // The keys of long texts are not in the order of the texts.
            let last = if node.is_positional() { "[last()]" } else { "" };
            let forms = [
                format!("[{name}]"),
                format!("[not({name})]"),
                last.to_owned(),
                format!("[count({name}) = 1]"),
            ];
            text.push_str(forms.choose(self.random).unwrap());
        }
        text
    }
}

/// A string literal that equals a value; `None` if there is none that is easy to write.
fn literal(value: &Value) -> Option<String> {
    if matches!(value, Value::InstanceIdentifier(_)) {
        return None;
    }
    let text = value.to_string();
    match (text.contains('\''), text.contains('"')) {
        (false, _) => Some(format!("'{text}'")),
        (true, false) => Some(format!("\"{text}\"")),
        _ => None,
    }
}

/// The text of a content match node.
fn element_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::InstanceIdentifier(_) => return None,
        Value::Identity(name) => name.replacen("m:", "y:", 1),
        value => value.to_string(),
    };
    (!text.is_empty() && text.trim() == text).then_some(text)
}

pub fn xml(elements: &[Element]) -> String {
    let mut text = String::new();
    for element in elements {
        let namespace = if element.has_namespace { "urn:m" } else { "" };
        let attribute = match element.has_attribute {
            true => " n:a='1' xmlns:n='urn:other'",
            false => " b:operation='delete' xmlns:b='urn:ietf:params:xml:ns:netconf:base:1.0'",
        };
        let name = &element.name;
        write!(text, "<{name} xmlns='{namespace}'{attribute}").unwrap();
        match &element.kind {
            ElementKind::Selection => text.push_str("/>"),
            ElementKind::Match(value) => {
                let value = element_text(value).expect("a text");
                let value = value.replace('&', "&amp;").replace('<', "&lt;");
                write!(text, " xmlns:y='urn:m'>\n {value} </{name}>").unwrap();
            }
            ElementKind::Containment(children) => {
                let inside = xml(children);
                write!(text, ">\n{inside} </{name}>").unwrap();
            }
        }
    }
    text
}
