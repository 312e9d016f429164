//! Filtered reads of the operational state: which providers are called, and filters of origins.

use std::sync::Arc;

use espalier_store::{
    CommitOptions, Edit, Filter, FilterExpression, OriginFilter, Provider, Selection, WithOrigin,
};
use espalier_testkit::seed;
use espalier_yang::data::subtree_filter::SubtreeFilter;
use espalier_yang::data::{
    Annotation, Content, DataNode, DataTree, Origin, PrintOptions, TreeBuilder, json,
};
use espalier_yang::{InstancePath, Schema};
use parking_lot::Mutex;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::fixture::{Fixture, parse};
use crate::naive::Generator;

/// Rounds of a run.
const ROUNDS: usize = 60;

fn subtree(text: &str) -> Filter {
    Filter::Subtree(SubtreeFilter::parse_xml(text).expect(text))
}

fn xpath(schema: &Schema, text: &str) -> Filter {
    Filter::XPath(FilterExpression::parse(schema, text, &|_| None).expect(text))
}

fn json_of(fixture: &Fixture, filter: &Filter, selection: &Selection) -> String {
    let view = fixture.operational.view().expect("a view");
    let mut printer = json::Printer::new(fixture.schema(), Vec::new(), PrintOptions::default());
    view.read_filtered(filter, selection, &mut printer)
        .expect("a read");
    String::from_utf8(printer.finish().expect("a document")).expect("text")
}

/// A provider with the state of all entries, and the paths that it is called with.
fn state_of_entries(fixture: &Fixture) -> (Provider, Arc<Mutex<Vec<String>>>) {
    let paths = Arc::new(Mutex::new(Vec::new()));
    let (calls, schema) = (Arc::clone(&paths), Arc::clone(fixture.schema()));
    let provider = Provider::new("entries", move |request| {
        let path = request.path.to_instance_identifier(&schema);
        calls.lock().push(path);
        Ok(parse(
            &request.schema,
            r#"{"m:e":[{"name":"x","state":{"up":true}},{"name":"y","state":{"up":false}}]}"#,
        ))
    });
    (provider, paths)
}

/// A filter on one entry reached the provider as a read of the whole list.
#[test]
fn providers_are_called_for_what_the_filter_selects() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:top":"t","m:e":[{"name":"x","v":"1"},{"name":"y"},{"name":"z"}]}"#);
    let (provider, calls) = state_of_entries(&fixture);
    let at = fixture.path("/m:e");
    let kept = fixture
        .operational
        .provide(at, provider)
        .expect("a provider");
    let schema = Arc::clone(fixture.schema());
    let e = |inside: &str| subtree(&format!("<e xmlns='urn:m'>{inside}</e>"));
    let x = r#"{"m:e":[{"name":"x","v":"1","state":{"up":true}}]}"#;
    for (filter, path, expected) in [
        (e("<name>x</name>"), "/m:e[name='x']", x),
        (
            e("<name>x</name><state/>"),
            "/m:e[name='x']",
            r#"{"m:e":[{"name":"x","state":{"up":true}}]}"#,
        ),
        (
            e("<state><up>false</up></state>"),
            "/m:e/state",
            r#"{"m:e":[{"name":"y","state":{"up":false}}]}"#,
        ),
        (subtree("<top xmlns='urn:m'/>"), "", r#"{"m:top":"t"}"#),
        (subtree("<is xmlns='urn:m'/>"), "", "{}"),
        (subtree(""), "", "{}"),
        (xpath(&schema, "/m:e[name='x']"), "/m:e[name='x']", x),
        (
            xpath(&schema, "/m:e[m:name='y']/state"),
            "/m:e[name='y']/state",
            r#"{"m:e":[{"name":"y","state":{"up":false}}]}"#,
        ),
        (xpath(&schema, "/e[state/up='true']"), "/m:e", x),
        (xpath(&schema, "/top[.='t']"), "", r#"{"m:top":"t"}"#),
        (
            xpath(&schema, "/top[.='t'][/e/state/up='true']"),
            "/m:e",
            r#"{"m:top":"t"}"#,
        ),
    ] {
        let found = json_of(&fixture, &filter, &Selection::default());
        assert_eq!(found, expected, "{filter:?}");
        let called = std::mem::take(&mut *calls.lock());
        assert_eq!(called.concat(), path, "{filter:?}");
    }
    drop(kept);
}

#[test]
fn origins_are_filtered() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:e":[{"name":"x","v":"1"},{"name":"y"}],"m:plain":{"a":"1"}}"#);
    let pushed = r#"{"m:e":[{"name":"x","w":"2"},{"name":"z"}],"m:plain":{"s":"state"}}"#;
    fixture.push_from(pushed, Origin::Learned);
    for (origins, expected) in [
        (
            OriginFilter::Only(vec![Origin::Learned]),
            r#"{"m:plain":{"s":"state"},"m:e":[{"name":"x","w":"2"},{"name":"z"}]}"#,
        ),
        (
            OriginFilter::Except(vec![Origin::Learned]),
            r#"{"m:plain":{"a":"1","s":"state"},"m:e":[{"name":"x","v":"1"},{"name":"y"}]}"#,
        ),
        (
            OriginFilter::Only(vec![Origin::System]),
            r#"{"m:plain":{"s":"state"}}"#,
        ),
    ] {
        let selection = Selection {
            origins: origins.clone(),
            ..Selection::default()
        };
        let found = json_of(&fixture, &Filter::All, &selection);
        assert_eq!(found, expected, "{origins:?}");
        let view = fixture.running.view().expect("a view");
        assert!(view.check_selection(&selection).is_err());
    }
}

/// The nodes of a tree with origins that pass a filter.
fn passing(
    schema: &Schema,
    nodes: &[DataNode],
    inherited: Option<Origin>,
    origins: &OriginFilter,
) -> Vec<DataNode> {
    let pass = |data: &DataNode| {
        let node = schema.node(data.node);
        let own = data
            .annotations
            .iter()
            .find_map(|annotation| match annotation {
                Annotation::Origin(origin) => Some(*origin),
                _ => None,
            });
        let origin = own.or(inherited);
        let passes = !node.is_config || origins.passes(origin.unwrap_or_default());
        let Content::Inner(children) = &data.content else {
            return passes.then(|| data.clone());
        };
        let mut inside = passing(schema, children, origin, origins);
        let is_key = |child: &DataNode| node.keys().contains(&child.node);
        let has_more = inside.iter().any(|child| !is_key(child));
        let is_shown = passes && !node.is_np_container();
        if !is_shown && !has_more {
            return None;
        }
        for &key in node.keys() {
            if inside.iter().all(|child| child.node != key) {
                inside.extend(data.child(key).cloned());
            }
        }
        let mut copy = data.clone();
        copy.content = Content::Inner(inside);
        Some(copy)
    };
    nodes.iter().filter_map(pass).collect()
}

#[test]
fn filters_of_origins_are_those_of_the_naive_tree() {
    seed::run("filters of origins", |random| {
        (0..ROUNDS).for_each(|_| compare_origins(random));
    });
}

fn compare_origins(random: &mut StdRng) {
    let fixture = Fixture::new();
    let schema = fixture.schema();
    let tree = Generator { schema, random }.tree(schema.roots());
    let edits = [Edit::merge(InstancePath::root(), tree)];
    let committed = fixture.running.commit(&edits, CommitOptions::default());
    committed.expect("a commit");
    for _ in 0..3 {
        let tree = Generator { schema, random }.tree(schema.roots());
        let origin = *Origin::ALL.choose(random).expect("an origin");
        let options = CommitOptions {
            origin,
            ..CommitOptions::default()
        };
        let edits = [Edit::merge(InstancePath::root(), tree)];
        fixture.operational.commit(&edits, options).expect("a push");
    }
    let view = fixture.operational.view().expect("a view");
    let read = |filter: &Filter, selection: &Selection| {
        let mut builder = TreeBuilder::new();
        let sent = view.read_filtered(filter, selection, &mut builder);
        sent.expect("a read");
        builder.finish().expect("a tree")
    };
    let mut selection = Selection {
        with_origin: WithOrigin::Shown,
        ..Selection::default()
    };
    let all = read(&Filter::All, &selection);
    for _ in 0..6 {
        let count = random.random_range(1..3);
        let chosen: Vec<Origin> = Origin::ALL
            .choose_multiple(random, count)
            .copied()
            .collect();
        selection.origins = match random.random_bool(0.5) {
            true => OriginFilter::Only(chosen),
            false => OriginFilter::Except(chosen),
        };
        let expected = DataTree {
            nodes: passing(schema, &all.nodes, None, &selection.origins),
        };
        let found = read(&Filter::All, &selection);
        assert!(
            found.is_equivalent(&expected, schema),
            "{:?}\nof {all:#?}\nfound {found:#?}\nexpected {expected:#?}",
            selection.origins
        );
    }
}
