//! Random expressions over random data of random schemas, compared with libyang.
//!
//! libyang 5.4.9 differs from XPath 1.0 and RFC 7950 in the following points. Espalier follows the specifications,
//! and the random expressions avoid these cases:
//!
//! - XPath 1.0 §2.4: a position in a predicate counts the nodes from one context node; libyang counts the nodes from
//!   all (`a/b[1]` is one node, `//b[1]` too), and truncates numbers (`[1.5]` is `[1]`).
//! - §2.2: `following` and `preceding` of libyang are empty for a node without sibling on that side, and `preceding`
//!   includes ancestors. Both are tested by their definition instead (`partition`).
//! - §2.2: `//name` of libyang returns nodes twice if it starts from nested nodes.
//! - A step or `deref()` from nodes that include the root crashes libyang.
//! - §2.1: children of nested nodes (`//a/b`) are not in document order in libyang, nor are the targets of `deref()`;
//!   the order of such nodes is not compared.
//! - §2.3: `*` on `ancestor` and `parent` matches the root in libyang.
//! - §3.4: a node-set compared with a boolean is converted to a boolean; libyang checks whether some node compares.
//! - §4.2, §4.4: libyang writes non-integers with one digit, reads hexadecimal and exponents, rounds towards zero in
//!   `floor()`, counts bytes in `string-length()`, `substring()` and `translate()`.
//! - §5.2: the string-value of an interior node is the text in it; libyang adds line feeds and indentation. Text nodes
//!   are not in its results.
//! - A string that was made canonical for one node stays so for the next in libyang.
//! - RFC 7950 §10.3.1: `deref()` without target is an empty node-set, in libyang an error; such expressions are
//!   skipped.
//! - RFC 7950 §7.6.1: a node of a nested choice is a node of the enclosing case, whose defaults it enables; in
//!   libyang only those of the inner case. The random schemas have no nested choices.
//! - §10.4.1: an unknown identity is derived from nothing, in libyang an error.
//! - §10.5.1, §10.6.1: Espalier supports `enum-value()` and `bit-is-set()` of leafrefs and unions by their values.

use std::collections::HashMap;

use espalier_testkit::seed;
use espalier_yang::data::{DataTree, PrintOptions, TreeInstances, json};
use espalier_yang::path::{InstancePath, Keys};
use espalier_yang::schema::{ModuleNames, ModuleSource, Schema, SchemaSource};
use espalier_yang::xpath::Expression;
use espalier_yang::xpath::evaluate::{Evaluator, Item, Limits, Object, number_to_string};
use espalier_yang::{Instances, ModuleId, NodeId};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use yang5::context::{Context, ContextFlags, EmbeddedModuleKey, EmbeddedModules};
use yang5::data::{
    Data, DataFormat, DataNodeRef, DataParserFlags, DataTree as TheirTree, DataValidationFlags,
};

use crate::fixture::TreeItem;
use crate::random_expressions::{Expressions, is_sorted};
use crate::{random_data, random_schema};

/// The number of schemas per run.
const SCHEMAS: usize = 12;

/// The number of trees per schema.
const TREES: usize = 6;

/// The number of expressions per tree.
const EXPRESSIONS: usize = 120;

/// The number of attempts to generate a valid tree.
const TRIES: usize = 30;

#[test]
fn expressions_have_the_same_value_as_in_libyang() {
    seed::run("expressions_have_the_same_value_as_in_libyang", |random| {
        let mut tally = Tally::default();
        for _ in 0..SCHEMAS {
            let text = random_schema::module(random);
            check_schema(&text, random, &mut tally);
        }
        // Most are compared, and many of those are not empty.
        assert!(
            tally.compared > SCHEMAS * TREES * EXPRESSIONS / 2,
            "{tally:?}"
        );
        assert!(tally.not_empty > tally.compared / 4, "{tally:?}");
        assert!(tally.rejected < tally.compared / 10, "{tally:?}");
    });
}

#[derive(Debug, Default)]
struct Tally {
    compared: usize,
    not_empty: usize,
    rejected: usize,
}

fn check_schema(text: &str, random: &mut StdRng, tally: &mut Tally) {
    let module = ModuleSource::from_text(text).expect("a module");
    let source = SchemaSource {
        modules: vec![module],
        ..SchemaSource::default()
    };
    let schema = Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let context = context(text);
    let leaves = schema.nodes().filter(|node| node.as_value().is_some());
    let leaves: Vec<NodeId> = leaves.map(|node| node.id).collect();
    for _ in 0..TREES {
        let Some((document, tree)) = valid_tree(&schema, &context, random) else {
            continue;
        };
        let theirs = parse(&context, &document).expect("a valid tree");
        let mut data = TreeInstances::new(&schema, &tree);
        if random.random_bool(0.5) {
            data = data.with_indexes(&leaves);
        }
        let places: Vec<DataNodeRef<'_>> = theirs.traverse().collect();
        for _ in 0..EXPRESSIONS {
            let Some(place) = places.choose(random) else {
                break;
            };
            check_one(&data, place, random, tally).unwrap_or_else(|difference| {
                panic!("{difference}\nat {}\n{document}\n{text}", place.path())
            });
        }
    }
}

fn context(text: &str) -> Context {
    let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let key = EmbeddedModuleKey::new("o", None, None, None);
    let modules: EmbeddedModules = HashMap::from([(key, leak(text))]);
    let mut context = Context::new(ContextFlags::NO_YANGLIBRARY).expect("a context");
    context.set_embedded_modules(&modules);
    let loaded = context.load_module("o", None, &[]);
    loaded.unwrap_or_else(|error| panic!("{error}\n{text}"));
    context
}

fn parse<'c>(context: &'c Context, document: &str) -> Option<TheirTree<'c>> {
    let parsed = TheirTree::parse_string(
        context,
        document,
        DataFormat::JSON,
        DataParserFlags::STRICT,
        DataValidationFlags::PRESENT,
    );
    parsed.ok()
}

/// A tree in which all `when`s are true.
fn valid_tree(
    schema: &Schema,
    context: &Context,
    random: &mut StdRng,
) -> Option<(String, DataTree)> {
    (0..TRIES).find_map(|_| {
        let tree = random_data::tree(schema, random);
        let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
        let _ = tree.emit(&mut printer);
        let document = String::from_utf8(printer.finish().expect("printed")).expect("UTF-8");
        parse(context, &document).map(|_| (document, tree))
    })
}

/// Compares the value of one random expression; returns the difference, if any.
fn check_one(
    data: &TreeInstances<'_>,
    place: &DataNodeRef<'_>,
    random: &mut StdRng,
    tally: &mut Tally,
) -> Result<(), String> {
    let names = ModuleNames {
        leaf_module: ModuleId(0),
    };
    let schema = data.schema();
    let path = InstancePath::parse_instance_identifier(schema, &place.path(), &names)
        .map_err(|error| error.to_string())?;
    let evaluator = Evaluator::new(data, Limits::default());
    let item = evaluator
        .resolve(&path)
        .map_err(|error| error.to_string())?;
    let item = item.ok_or("libyang has a node that we have not")?;
    let current = path.target().ok_or("no node")?;
    let kind = random.random_range(0..10);
    let mut expressions = Expressions {
        schema,
        random,
        current,
    };
    let text = match kind {
        0..=4 => expressions.nodes(Some(current), 3).text,
        5..=7 => expressions.boolean(Some(current), 3),
        8 => expressions.number(Some(current), 3),
        _ => expressions.string(Some(current), 3),
    };
    let expression = Expression::parse(&text, &|prefix| prefix.map(Into::into))
        .map_err(|error| format!("{text}: {error}"))?;
    let object = evaluator
        .evaluate(&expression, &item)
        .map_err(|error| format!("{text}: {error}"))?;
    compare(data, place, &text, &object, tally)
}

fn compare(
    data: &TreeInstances<'_>,
    place: &DataNodeRef<'_>,
    text: &str,
    object: &Object<TreeInstances<'_>>,
    tally: &mut Tally,
) -> Result<(), String> {
    let query = match object {
        // Without the root, which the binding cannot represent.
        Object::NodeSet(_) => format!("({text})[parent::node()]"),
        Object::Boolean(true) => format!("self::node()[{text}]"),
        Object::Boolean(false) => format!("self::node()[not({text})]"),
        Object::Number(number) if number.is_nan() => {
            format!("self::node()[string({text}) = 'NaN']")
        }
        Object::Number(number) => {
            format!("self::node()[({text}) = {}]", number_to_string(*number))
        }
        Object::String(string) if string.contains('\'') => {
            format!("self::node()[({text}) = \"{string}\"]")
        }
        Object::String(string) => format!("self::node()[({text}) = '{string}']"),
    };
    let Ok(theirs) = place.find_xpath(&query) else {
        tally.rejected += 1;
        return if text.contains("deref") {
            Ok(())
        } else {
            Err(format!("{query} is rejected"))
        };
    };
    let mut theirs: Vec<String> = theirs.map(|node| node.path()).collect();
    tally.compared += 1;
    let Object::NodeSet(items) = object else {
        let is_same = theirs.len() == 1;
        tally.not_empty += usize::from(is_same);
        return is_same
            .then_some(())
            .ok_or_else(|| format!("different value: {query}; {:?}", their_number(place, text)));
    };
    let mut ours: Vec<String> = items
        .iter()
        .filter_map(|item| path_of(data, item))
        .collect();
    if !is_sorted(text) {
        ours.sort();
        theirs.sort();
    }
    tally.not_empty += usize::from(!ours.is_empty());
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{text}\nours   {ours:?}\ntheirs {theirs:?}"))
}

/// libyang's value of a small number, for a message.
fn their_number(place: &DataNodeRef<'_>, text: &str) -> Option<i32> {
    let is = |number: &i32| {
        let query = format!("self::node()[({text}) = {number}]");
        place
            .find_xpath(&query)
            .is_ok_and(|found| found.count() > 0)
    };
    (-100..100).find(is)
}

/// The path of a node in libyang's form; `None` for the root.
fn path_of(data: &TreeInstances<'_>, item: &TreeItem<'_>) -> Option<String> {
    let path = match item {
        Item::Inner(place) => data.path(place).expect("a path"),
        Item::Leaf(leaf) | Item::Text(leaf) => {
            let node = data.schema().node(leaf.node);
            let keys = match (node.is_leaf_list(), node.is_config) {
                (false, _) => Keys::None,
                (true, true) => Keys::Values(vec![leaf.value.clone()]),
                (true, false) => Keys::Position(leaf.index + 1),
            };
            data.path(&leaf.holder)
                .expect("a path")
                .child(leaf.node, keys)
        }
    };
    (!path.is_root()).then(|| path.to_instance_identifier(data.schema()))
}
