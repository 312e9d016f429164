//! The cost of a filtered read depends on what it selects, not on what the datastore has.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use espalier_keyspace::metered::{Meter, Metered};
use espalier_store::{Filter, FilterExpression, LoadMode, Selection, Tree, View};
use espalier_yang::Schema;
use espalier_yang::data::TreeBuilder;
use espalier_yang::data::subtree_filter::SubtreeFilter;

use crate::fixture::{load_json, open_tree};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  container top {
    leaf before { type string; }
    list user { key "site id"; leaf site { type string; } leaf id { type uint32; } leaf name { type string; }
      container in { leaf v { type string; } } }
    list rule { key id; ordered-by user; leaf id { type uint32; } leaf name { type string; } }
  }
}"#;

/// The number of entries of a site.
const SITE: u32 = 5;

fn tree_of(url: &str, entries: u32) -> (Tree, Arc<Meter>) {
    let metered = Metered::new(espalier_drivers::open(url).unwrap());
    let meter = metered.meter();
    let tree = open_tree(Arc::new(metered), MODEL);
    let (mut users, mut rules) = (String::new(), String::new());
    for number in 0..entries {
        let (comma, site) = (if number == 0 { "" } else { "," }, number / SITE);
        let inside = format!(r#""name":"n{number}","in":{{"v":"{number}"}}"#);
        write!(
            users,
            r#"{comma}{{"site":"s{site}","id":{number},{inside}}}"#
        )
        .unwrap();
        write!(rules, r#"{comma}{{"id":{number},"name":"n{number}"}}"#).unwrap();
    }
    let text = format!(r#"{{"m:top":{{"user":[{users}],"rule":[{rules}]}}}}"#);
    load_json(&tree, LoadMode::Create, &text).unwrap();
    (tree, meter)
}

/// The filters, each with the number of entries that it selects.
fn filters(schema: &Schema) -> Vec<(String, Filter, usize)> {
    let subtree = |inside: &str| {
        let text = format!("<top xmlns='urn:m'>{inside}</top>");
        let parsed = SubtreeFilter::parse_xml(&text).unwrap();
        (text, Filter::Subtree(parsed))
    };
    let xpath = |text: &str| {
        let parsed = FilterExpression::parse(schema, text, &|_| None).unwrap();
        (text.to_owned(), Filter::XPath(parsed))
    };
    let one = "<site>s100</site><id>502</id>";
    let cases = [
        (subtree(&format!("<user>{one}</user>")), 1),
        (subtree(&format!("<user>{one}<in/></user>")), 1),
        (
            subtree(&format!("<user>{one}</user><user>{one}<name/></user>")),
            1,
        ),
        (subtree("<user><site>s100</site></user>"), SITE as usize),
        (
            subtree("<user><site>s100</site><id/></user>"),
            SITE as usize,
        ),
        (
            subtree("<user><site>s100</site><name>n502</name></user>"),
            1,
        ),
        (subtree("<rule><id>502</id></rule>"), 1),
        (subtree("<rule><id>502</id></rule><before/>"), 1),
        (subtree("<user><site>none</site></user>"), 0),
        (xpath("/m:top/user[site='s100'][id='502']"), 1),
        (xpath("/m:top/m:user[m:id='502' and m:site='s100']/in/v"), 1),
        (xpath("/m:top/user[site='s100']"), SITE as usize),
        (xpath("/m:top/rule[id='502']/name | /m:top/before"), 1),
    ];
    let cases = cases.into_iter();
    cases
        .map(|((text, filter), entries)| (text, filter, entries))
        .collect()
}

fn entries(view: &View, filter: &Filter) -> usize {
    let mut builder = TreeBuilder::new();
    view.read_filtered(filter, &Selection::default(), &mut builder)
        .unwrap();
    let tree = builder.finish().unwrap();
    tree.nodes.first().map_or(0, |top| {
        top.children()
            .iter()
            .filter(|child| !child.children().is_empty())
            .count()
    })
}

/// The calls of the engine, and the rows that they returned.
fn work(meter: &Meter) -> u64 {
    let readings = meter.readings();
    readings.iter().map(|reading| reading.count).sum()
}

fn costs(entries_of_list: u32) -> Vec<(String, u64)> {
    let (tree, meter) = tree_of("memory:", entries_of_list);
    let view = tree.view().unwrap();
    let mut costs = Vec::new();
    for (text, filter, expected) in filters(tree.schema()) {
        let before = work(&meter);
        assert_eq!(entries(&view, &filter), expected, "{text}");
        costs.push((text, work(&meter) - before));
    }
    costs
}

#[test]
fn a_filter_with_keys_reads_what_it_selects() {
    let (few, many) = (costs(1_000), costs(20_000));
    for ((text, few), (_, many)) in few.into_iter().zip(many) {
        assert_eq!(few, many, "{text}");
        assert!(few < 60, "{few} calls for {text}");
    }
}

/// Figures, printed by `cargo test --release -p espalier-store --test model -- --ignored --nocapture filter_cost`.
#[test]
#[ignore = "figures"]
fn figures() {
    const ROUNDS: u32 = 2_000;
    for size in [1_000, 100_000] {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("embedded:{}?durability=relaxed", directory.path().display());
        let (tree, _) = tree_of(&url, size);
        for (text, filter, _) in filters(tree.schema()) {
            let begun = Instant::now();
            for _ in 0..ROUNDS {
                let view = tree.view().unwrap();
                entries(&view, &filter);
            }
            let each = begun.elapsed() / ROUNDS;
            println!("{size:>7} entries: {each:>10.1?} {text}");
        }
        let all =
            SubtreeFilter::parse_xml("<top xmlns='urn:m'><user><name/></user></top>").unwrap();
        let value =
            SubtreeFilter::parse_xml("<top xmlns='urn:m'><user><name>n502</name></user></top>")
                .unwrap();
        for filter in [all, value] {
            let begun = Instant::now();
            let found = entries(&tree.view().unwrap(), &Filter::Subtree(filter));
            println!(
                "{size:>7} entries: {:>10.1?} {found} found by a scan",
                begun.elapsed()
            );
        }
        let text = "/m:top/user[name='n502']/id";
        let parsed = FilterExpression::parse(tree.schema(), text, &|_| None).unwrap();
        let begun = Instant::now();
        entries(&tree.view().unwrap(), &Filter::XPath(parsed));
        println!("{size:>7} entries: {:>10.1?} {text}", begun.elapsed());
    }
}
