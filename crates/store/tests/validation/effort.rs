//! How the cost of validation grows: that of a load with the data, that of a change with the group of entries
//! that its constraints read. Cost is counted, not timed: rows read, nodes visited by expressions, and rules
//! checked. Each shape is measured with n entries and with [`FACTOR`] times as many.
//!
//! The verdict of every constraint here is independent of the data (`or true()`), so that shapes can be
//! random; the correctness of verdicts is tested by the comparison with libyang (`run`).

use std::fmt::Write;
use std::sync::Arc;

use espalier_keyspace::metered::{Call, Meter, Metered};
use espalier_store::{
    CommitOptions, Datastore, Edit, LoadMode, LoadOptions, Store, SystemClock, Tree,
};
use espalier_testkit::seed;
use espalier_yang::data::{Operation, ParseOptions, Root, json};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::{InstancePath, Schema, Sink};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::edit::Change;
use crate::fixture::parse;

/// Entries in the smaller of two measurements.
const ENTRIES: usize = 200;

/// The ratio of the larger to the smaller number of entries.
const FACTOR: usize = 8;

/// Entries in a group where groups do not grow.
const GROUP: usize = 10;

/// Costs up to this total are not compared.
const SMALL: u64 = 400;

/// Random shapes in one run.
const SHAPES: usize = 40;

/// How the cost of one change may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    /// Not at all.
    Flat,
    /// With the group of the entry that changes, not with the list.
    Group,
    /// With the list: the constraint of every entry reads what changes.
    List,
}

/// A model with one list of entries, and constraints on them.
#[derive(Clone, Debug)]
struct Shape {
    name: String,
    /// The `ordered-by` of the list.
    order: &'static str,
    /// Substatements of the list.
    in_list: String,
    /// Substatements of the enclosing container.
    around: String,
    /// The content of an entry in addition to its leaves, by its number and its group.
    extra: fn(usize, usize) -> String,
    growth: Growth,
}

impl Shape {
    fn new(name: &str, in_list: &str, growth: Growth) -> Self {
        Self {
            name: name.to_owned(),
            order: "system",
            in_list: in_list.to_owned(),
            around: String::new(),
            extra: |_, _| String::new(),
            growth,
        }
    }

    fn must(condition: &str, growth: Growth) -> Self {
        let must = format!("must \"({condition}) or true()\";");
        Self::new(condition, &must, growth)
    }

    fn by_user(mut self) -> Self {
        self.order = "user";
        self.name.push_str(" (by user)");
        self
    }

    fn around(mut self, text: &str) -> Self {
        self.around = text.to_owned();
        self
    }

    fn with(mut self, extra: fn(usize, usize) -> String) -> Self {
        self.extra = extra;
        self
    }

    fn source(&self) -> SchemaSource {
        let text = format!(
            "module m {{ yang-version 1.1; namespace urn:m; prefix m; container c {{
                leaf limit {{ type uint32; }} leaf-list allowed {{ type uint32; }} {}
                list e {{ key k; ordered-by {}; leaf k {{ type uint32; }} leaf g {{ type uint32; }}
                    leaf v {{ type uint32; }} leaf s {{ type string; }} {} }} }} }}",
            self.around, self.order, self.in_list
        );
        SchemaSource {
            modules: ModuleSource::from_text(text).into_iter().collect(),
            ..SchemaSource::default()
        }
    }

    fn entry(&self, number: usize, group: usize) -> String {
        let (of, extra) = (number / group, (self.extra)(number, number / group));
        format!(r#"{{"k":{number},"g":{of},"v":{number},"s":"s{number}"{extra}}}"#)
    }

    fn document(&self, entries: usize, group: usize) -> String {
        let mut text = String::from(r#"{"m:c":{"limit":5,"allowed":["#);
        let all = |one: &dyn Fn(usize) -> String| {
            let all: Vec<String> = (0..entries).map(one).collect();
            all.join(",")
        };
        let _ = write!(text, "{}", all(&|number| number.to_string()));
        let _ = write!(
            text,
            r#"],"e":[{}]}}}}"#,
            all(&|number| self.entry(number, group))
        );
        text
    }
}

/// A store of a shape, with a meter.
struct Measured {
    tree: Tree,
    meter: Arc<Meter>,
    schema: Arc<Schema>,
}

impl Measured {
    fn new(shape: &Shape) -> Self {
        let driver = Metered::new(espalier_drivers::open("memory:").unwrap());
        let meter = driver.meter();
        let store = Store::open(Arc::new(driver), Arc::new(SystemClock)).unwrap();
        store.create_dataspace("d").unwrap();
        let created = store.create_schema_set("d", "s", &shape.source());
        created.unwrap_or_else(|error| panic!("{error}\n{shape:?}"));
        store.create_anchor("d", "a", "s").unwrap();
        let tree = store.tree("d", "a", Datastore::Running).unwrap();
        let schema = Arc::clone(tree.schema());
        Self {
            tree,
            meter,
            schema,
        }
    }

    fn total(&self) -> u64 {
        let counted = [Call::Get, Call::Scan, Call::Step];
        let readings = self.meter.readings();
        let rows = readings
            .iter()
            .filter(|reading| counted.contains(&reading.call));
        let effort = self.tree.store().validation_effort();
        rows.map(|reading| reading.count).sum::<u64>() + effort.checks + effort.visits
    }

    /// The cost of an action.
    fn cost(&self, act: impl FnOnce(&Self)) -> u64 {
        let before = self.total();
        act(self);
        self.total() - before
    }

    fn load(&self, document: &str) -> u64 {
        self.cost(|measured| {
            let options = LoadOptions {
                mode: LoadMode::Replace,
                ..LoadOptions::default()
            };
            let mut read = |sink: &mut dyn Sink| {
                let (root, options) = (Root::Datastore, ParseOptions::default());
                json::parse(&measured.schema, root, document.as_bytes(), sink, &options)
                    .map_err(|error| panic!("{error}"))
                    .map(|_| ())
            };
            let loaded = measured.tree.load(options, &mut read);
            loaded.unwrap_or_else(|error| panic!("{error}"));
        })
    }

    fn merge(&self, document: &str) -> u64 {
        let tree = parse(&self.schema, document);
        self.commit(&[Change::Tree(InstancePath::root(), tree, Operation::Merge).to_edit()])
    }

    fn delete(&self, path: &str) -> u64 {
        let path = InstancePath::parse_cli_path(&self.schema, path).unwrap();
        self.commit(&[Change::Delete(path).to_edit()])
    }

    /// Deletes entries one by one in one commit.
    fn delete_each(&self, entries: std::ops::Range<usize>) -> u64 {
        let path = |entry| InstancePath::parse_cli_path(&self.schema, &format!("/m:c/e={entry}"));
        let delete = |entry| Change::Delete(path(entry).unwrap()).to_edit();
        self.commit(&entries.map(delete).collect::<Vec<_>>())
    }

    fn commit(&self, edits: &[Edit]) -> u64 {
        self.cost(|measured| {
            let done = measured.tree.commit(edits, CommitOptions::default());
            done.unwrap_or_else(|error| panic!("{error}"));
        })
    }
}

/// The cost of a load, and of each of some changes.
fn costs(shape: &Shape, entries: usize, group: usize) -> (u64, Vec<(&'static str, u64)>) {
    let measured = Measured::new(shape);
    let load = measured.load(&shape.document(entries, group));
    let middle = entries / 2;
    let entry = |entry: String| format!(r#"{{"m:c":{{"e":[{entry}]}}}}"#);
    let changes = vec![
        ("add", measured.merge(&entry(shape.entry(entries, group)))),
        (
            "change v",
            measured.merge(&entry(format!(r#"{{"k":{middle},"v":1000000}}"#))),
        ),
        (
            "change g",
            measured.merge(&entry(format!(r#"{{"k":{middle},"g":0}}"#))),
        ),
        ("delete", measured.delete(&format!("/m:c/e={}", middle + 1))),
        ("delete last", measured.delete(&format!("/m:c/e={entries}"))),
        (
            "delete value",
            measured.delete(&format!("/m:c/allowed={middle}")),
        ),
        ("unrelated", measured.merge(r#"{"m:c":{"limit":6}}"#)),
        ("change many", {
            // Values that no entry has.
            let all = (1..entries / 4)
                .map(|entry| format!(r#"{{"k":{entry},"v":{}}}"#, 2_000_000 + entry));
            measured.merge(&entry(all.collect::<Vec<_>>().join(",")))
        }),
        ("add many", {
            let all = entries + 1..entries + entries / 4;
            let all = all.map(|number| shape.entry(number, group));
            measured.merge(&entry(all.collect::<Vec<_>>().join(",")))
        }),
        (
            "delete many",
            measured.delete_each(entries / 4 * 3..entries),
        ),
        ("join many", {
            // The others keep the groups in which something refers to them.
            let all = (1..entries / 4).step_by(2);
            let all = all.map(|entry| format!(r#"{{"k":{entry},"g":1}}"#));
            measured.merge(&entry(all.collect::<Vec<_>>().join(",")))
        }),
        ("delete all", measured.delete("/m:c/e")),
    ];
    (load, changes)
}

/// The costs that grow faster than allowed.
fn grows(shape: &Shape) -> Vec<String> {
    let mut problems = Vec::new();
    for is_one_group in [false, true] {
        let group = |entries| if is_one_group { entries } else { GROUP };
        let (small_load, small) = costs(shape, ENTRIES, group(ENTRIES));
        let large_size = ENTRIES * FACTOR;
        let (large_load, large) = costs(shape, large_size, group(large_size));
        let mut compare = |what: &str, small: u64, large: u64, factor: usize| {
            // 1.5 times as much is allowed, for the depth of indexes and for small caches.
            if large > SMALL && 2 * large > 3 * small * factor as u64 + SMALL {
                problems.push(format!(
                    "{}: {what}, one group: {is_one_group}: {small} -> {large}",
                    shape.name
                ));
            }
        };
        compare("load", small_load, large_load, FACTOR);
        for ((what, small), (_, large)) in small.into_iter().zip(large) {
            let is_flat = match what {
                "delete all" | "delete many" | "change many" | "add many" | "join many" => false,
                "unrelated" => true,
                _ => match shape.growth {
                    Growth::Flat => true,
                    Growth::Group => !is_one_group,
                    Growth::List => false,
                },
            };
            compare(what, small, large, if is_flat { 1 } else { FACTOR });
        }
    }
    problems
}

fn check(shapes: impl IntoIterator<Item = Shape>) {
    let problems: Vec<String> = shapes.into_iter().flat_map(|shape| grows(&shape)).collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn a_must_on_a_group_costs_the_group() {
    use Growth::{Group, List};
    let group = |condition| Shape::must(condition, Group);
    let list = |condition| Shape::must(condition, List);
    check([
        group("count(../e[g = current()/g]) <= 100"),
        group("count(/c/e[g = current()/g]) <= 100"),
        group("count(current()/../e[g = current()/g]) <= 100"),
        group("count(//e[g = current()/g]) <= 100"),
        group("count(../e[current()/g = g][s != '']) <= 100"),
        group("not(../e[g = current()/g]/s = 'none')"),
        group("sum(../e[g = current()/g]/v) < 100000"),
        group("v <= ../e[g = current()/g]/v").by_user(),
        group("count(preceding-sibling::e[g = current()/g]) < 100"),
        group("count(following-sibling::e[g = current()/g]) < 100").by_user(),
        group("not(preceding-sibling::e[g = current()/g])"),
        group("preceding-sibling::e[1]/v < v").by_user(),
        group("following-sibling::e[1]/v > v").by_user(),
        group("not(../e[k != current()/k and s = current()/s])"),
        list("not(../e[v > current()/v])"),
        list("not(../e[current()/v >= v and s != ''])"),
        group("not(../e[k != current()/k][g = current()/g])"),
        list("count(preceding-sibling::e) < 100000"),
        list("sum(../e/v) >= v"),
        list("not(v > ../e/v)"),
        list("v = ../allowed"),
        list("../allowed = v"),
    ]);
}

#[test]
fn a_constraint_on_a_whole_list_is_evaluated_once() {
    let around = |condition: &str, growth| {
        let must = format!("must \"({condition}) or true()\";");
        Shape::new(condition, "", growth).around(&must)
    };
    check([
        around("count(e) <= 100000", Growth::Flat),
        around("sum(e/v) <= 1", Growth::Flat),
        around("sum(/c/e/v) <= 1", Growth::Flat).by_user(),
        around("e/v > 100000000", Growth::Flat),
        around("not(e/v < 0)", Growth::Flat).by_user(),
        around("5 > //e/v", Growth::Flat),
        around("limit >= e/v", Growth::Flat),
        around("count(//e) < 5", Growth::Flat),
        around("e/g = allowed", Growth::List),
    ]);
}

#[test]
fn the_cost_of_references_depends_on_the_changes() {
    let identifier = r#"leaf i { type instance-identifier; }"#;
    let union =
        "leaf u { type union { type leafref { path ../../allowed; } type instance-identifier; } }";
    let leafref = |to: &str| format!("leaf r {{ type leafref {{ path {to}; }} }}");
    let names_limit = |_, _| r#","i":"/m:c/limit""#.to_owned();
    check([
        Shape::new(
            "many leafrefs to one entry",
            &leafref("../../e/k"),
            Growth::Flat,
        )
        .with(|_, _| r#","r":0"#.to_owned()),
        Shape::new(
            "one of many targets with a value",
            &leafref("../../e/g"),
            Growth::Flat,
        )
        .with(|_, group| format!(r#","r":{group}"#)),
        Shape::new(
            "the same by an absolute path",
            &leafref("/c/e/g"),
            Growth::Flat,
        )
        .with(|_, group| format!(r#","r":{group}"#)),
        Shape::new("unique", "unique \"g v\";", Growth::Flat),
        Shape::new("many instance-identifiers", identifier, Growth::Flat).with(names_limit),
        Shape::new("an instance-identifier somewhere", "", Growth::Flat).around(identifier),
        Shape::new("a union of references", union, Growth::Flat),
        Shape::new("a union with values", union, Growth::Flat)
            .with(|_, _| r#","u":"/m:c/limit""#.to_owned()),
    ]);
}

/// The attacker's models of issue 29: loads were quadratic, as each value was searched in each of the lists.
#[test]
fn values_in_nested_lists_are_indexed() {
    let must = |condition: &str| format!("must \"({condition}) or true()\";");
    let in_list = |condition: &str| {
        let in_list = format!(
            "list i {{ key n; leaf n {{ type string; }} leaf ip {{ type string; {} }} }}",
            must(condition)
        );
        Shape::new(condition, &in_list, Growth::List)
            .with(|_, group| format!(r#","i":[{{"n":"a","ip":"10.{group}"}}]"#))
    };
    let in_containers = |condition: &str| {
        let in_list = format!(
            "container x {{ container y {{ leaf ip {{ type string; {} }} }} }}",
            must(condition)
        );
        Shape::new(condition, &in_list, Growth::List)
            .with(|_, group| format!(r#","x":{{"y":{{"ip":"10.{group}"}}}}"#))
    };
    let in_leaf_list = |condition: &str| {
        let in_list = format!("leaf-list ip {{ type string; {} }}", must(condition));
        Shape::new(condition, &in_list, Growth::List)
            .with(|_, group| format!(r#","ip":["10.{group}","11.{group}"]"#))
    };
    check([
        in_list("count(/c/e/i[ip = current()]) = 1"),
        in_list("count(../../../e/i[ip = current()]) = 1"),
        in_list("not(/c/e[k != current()/../../k]/i[ip = current()])"),
        in_list("count(/c/e/i/ip[. = current()]) = 1"),
        in_list("count(/c/e[i/ip = current()]) = 1"),
        in_list("count(//i[ip = current()]) = 1"),
        in_list("count(/c/e/i[n = 'a' and current() = ip]/n) = 1"),
        in_list("count(/c/e/i[ip = current()]/n) = 1"),
        in_containers("count(/c/e/x/y[ip = current()]) = 1"),
        in_containers("count(/c/e[x/y/ip = current()]) = 1"),
        in_containers("/c/e/x/y[ip = current()]/ip = 'none'"),
        in_leaf_list("count(/c/e/ip[. = current()]) = 1"),
        in_leaf_list("count(/c/e[ip = current()]) = 1"),
    ]);
}

#[test]
fn conditions_that_differ_for_each_entry_are_searched_by_value() {
    use Growth::{Group, List};
    check([
        Shape::must("not(current()/g = ../e[k != current()/k]/g)", Group),
        Shape::must("not(../e[k != current()/k]/g = g)", Group),
        Shape::must(
            "count(../e[concat(g,'|',v) = concat(current()/g,'|',current()/v)]) <= 1",
            List,
        ),
        Shape::must("count(../e[string(g) = string(current()/g)]) <= 1", List),
        Shape::must(
            "count(/c/e[normalize-space(s) = normalize-space(current()/s)]) <= 1",
            List,
        ),
        Shape::must("count(../e[translate(s,'s','t') = current()/s]) <= 1", List),
    ]);
}

#[test]
fn a_when_on_a_group_costs_the_group() {
    let when =
        |condition: &str| format!("leaf w {{ when \"({condition}) or true()\"; type uint32; }}");
    let of = |condition: &str| {
        Shape::new(condition, &when(condition), Growth::Group).with(|_, _| r#","w":1"#.to_owned())
    };
    check([
        of("count(../../e[g = current()/../g]) < 100"),
        of("../g = 1"),
        of("sum(../../e[g = current()/../g]/v) < 100000"),
    ]);
}

/// A random constraint on entries that reads other entries.
///
/// Not included, because they cost the list or the group for each entry: the content of siblings on one side
/// (`preceding-sibling::e[...]/v`), and the number of others that differ from an entry (`count(../e[v !=
/// current()/v])`).
fn random_shape(random: &mut StdRng) -> Shape {
    let mut pick = |choices: &[&'static str]| *choices.choose(random).unwrap();
    let all = ["../e", "/c/e", "current()/../e", "//e"];
    let siblings = ["preceding-sibling::e", "following-sibling::e"];
    let is_of_siblings = pick(&["yes", "no", "no"]) == "yes";
    let from = pick(if is_of_siblings {
        &siblings[..]
    } else {
        &all[..]
    });
    let groups = [
        "[g = current()/g]",
        "[current()/g = g]",
        "[g = current()/g and v > 3]",
        "",
    ];
    let (group, other) = (
        pick(&groups),
        pick(&["", "[s != '']", "[v > 3]", "[not(s = '')]"]),
    );
    let path = format!("{from}{group}{other}");
    let condition = match pick(if is_of_siblings {
        &["count", "not", "exists"]
    } else {
        &[
            "count", "not", "exists", "sum", "greater", "less", "equal", "text", "number",
        ]
    }) {
        "count" => format!("count({path}) <= 100"),
        "not" => format!("not({path})"),
        "exists" => path,
        "sum" => format!("sum({path}/v) < 5"),
        "greater" => format!("{path}/v > current()/v"),
        "less" => format!("v <= {path}/v"),
        "equal" => format!("{path}/s = current()/s"),
        "text" => format!("string({path}/s) = 'none'"),
        _ => format!("number({path}/v) > 5"),
    };
    let growth = if group.is_empty() {
        Growth::List
    } else {
        Growth::Group
    };
    let shape = Shape::must(&condition, growth);
    if random.random_bool(0.4) {
        shape.by_user()
    } else {
        shape
    }
}

#[test]
fn random_constraints_cost_the_group() {
    seed::run("random_constraints_cost_the_group", |random| {
        check(
            (0..SHAPES)
                .map(|_| random_shape(random))
                .collect::<Vec<_>>(),
        );
    });
}
