//! Caching of shared values: an evaluator that caches returns the same as one that does not, for random expressions
//! at every node of random trees.

use espalier_testkit::seed;
use espalier_yang::data::TreeInstances;
use espalier_yang::schema::{ModuleSource, Schema, SchemaSource};
use espalier_yang::xpath::Expression;
use espalier_yang::xpath::evaluate::{Evaluator, Item, Limits};
use espalier_yang::{Instances, NodeId};
use rand::rngs::StdRng;

use crate::fixture::{TreeItem, expression};
use crate::random_expressions::Expressions;
use crate::{random_data, random_schema};

/// The number of schemas per run.
const SCHEMAS: usize = 12;

/// The number of trees per schema.
const TREES: usize = 4;

/// The number of expressions per tree.
const EXPRESSIONS: usize = 60;

#[test]
fn cached_values_equal_evaluated_values() {
    seed::run("cached_values_equal_evaluated_values", |random| {
        let mut shared = 0;
        for _ in 0..SCHEMAS {
            let text = random_schema::module(random);
            let source = SchemaSource {
                modules: ModuleSource::from_text(text.clone()).into_iter().collect(),
                ..SchemaSource::default()
            };
            let schema =
                Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
            for _ in 0..TREES {
                shared += check_tree(&schema, random);
            }
        }
        assert!(
            shared > SCHEMAS * TREES * EXPRESSIONS,
            "{shared} evaluations"
        );
    });
}

/// Compares at every node of a random tree; returns the number of evaluations.
fn check_tree(schema: &Schema, random: &mut StdRng) -> usize {
    let tree = random_data::tree(schema, random);
    let leaves: Vec<NodeId> = schema
        .nodes()
        .filter(|node| node.as_value().is_some())
        .map(|node| node.id)
        .collect();
    let nodes: Vec<NodeId> = schema.nodes().map(|node| node.id).collect();
    // The expressions outlive the evaluator, as an evaluator that caches requires.
    let expressions: Vec<(NodeId, Expression)> = (0..EXPRESSIONS)
        .map(|index| {
            let current = nodes[index % nodes.len()];
            (current, random_expression(schema, random, current))
        })
        .collect();
    let data = TreeInstances::new(schema, &tree).with_indexes(&leaves);
    let root = Item::Inner(data.root());
    let plain = Evaluator::new(&data, Limits::default());
    let all = plain.select(&expression("//*"), &root).expect("nodes");
    let keeping = Evaluator::new(&data, Limits::default()).caching_from(0);
    let mut evaluations = 0;
    for (current, expression) in &expressions {
        let items = all.iter().filter(|item| item.node(&data) == Some(*current));
        for item in items {
            // Twice: the first evaluation may only detect that caching is worthwhile.
            for _ in 0..2 {
                compare(&data, (&plain, &keeping), expression, item);
                evaluations += 1;
            }
        }
    }
    evaluations
}

fn random_expression(schema: &Schema, random: &mut StdRng, current: NodeId) -> Expression {
    let mut expressions = Expressions {
        schema,
        random,
        current,
    };
    let (left, right) = (
        expressions.boolean(Some(current), 3),
        expressions.number(Some(current), 3),
    );
    let text = format!("({left}) = ({right} > 2)");
    Expression::parse(&text, &|prefix| prefix.map(Into::into)).expect("an expression")
}

fn compare<'a>(
    data: &'a TreeInstances<'a>,
    (plain, keeping): (
        &Evaluator<'a, TreeInstances<'a>>,
        &Evaluator<'a, TreeInstances<'a>>,
    ),
    expression: &'a Expression,
    item: &TreeItem<'a>,
) {
    let expected = plain
        .test(expression, item)
        .map_err(|error| error.to_string());
    let found = keeping
        .test_shared(expression, item)
        .map_err(|error| error.to_string());
    assert_eq!(
        expected,
        found,
        "{} at {item:?}, {:?}",
        expression.text,
        data.root()
    );
}
