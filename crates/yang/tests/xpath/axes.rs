//! Comparison of the axes from one node with the axes from all nodes.

use espalier_testkit::seed;
use espalier_yang::Instances;
use espalier_yang::data::TreeInstances;
use espalier_yang::schema::{ModuleSource, Schema, SchemaSource};
use espalier_yang::xpath::Expression;
use espalier_yang::xpath::evaluate::{Evaluator, Item, Limits};

use crate::fixture::TreeItem;
use crate::{random_data, random_schema};

const ROUNDS: usize = 15;

/// XPath 1.0 §2.2: the ancestor, descendant, following, preceding and self axes partition a document.
#[test]
fn five_axes_partition_the_tree() {
    seed::run("five_axes_partition_the_tree", |random| {
        for _ in 0..ROUNDS {
            let text = random_schema::module(random);
            let source = SchemaSource {
                modules: vec![ModuleSource::from_text(text).expect("a module")],
                ..SchemaSource::default()
            };
            let schema = Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"));
            let tree = random_data::tree(&schema, random);
            let data = TreeInstances::new(&schema, &tree);
            let all = select(&data, "/descendant::node()", &Item::Inner(data.root()));
            for (index, item) in all.iter().enumerate() {
                check(&data, &all, index, item);
            }
        }
    });
}

fn check<'a>(data: &TreeInstances<'a>, all: &[TreeItem<'a>], index: usize, item: &TreeItem<'a>) {
    let ancestors = select(data, "ancestor::node()[parent::node()]", item);
    let descendants = select(data, "descendant::node()", item);
    let (before, after) = (&all[..index], &all[index + 1..]);
    let mut following = after.to_vec();
    following.retain(|other| !descendants.contains(other));
    assert_eq!(select(data, "following::node()", item), following);
    let mut preceding = before.to_vec();
    preceding.retain(|other| !ancestors.contains(other));
    assert_eq!(select(data, "preceding::node()", item), preceding);
    assert_eq!(descendants.len() + following.len(), after.len());
    assert_eq!(ancestors.len() + preceding.len(), before.len());
    preceding.reverse();
    let nearest = select(data, "preceding::node()[1]", item);
    assert_eq!(nearest.first(), preceding.first());
    let nearest = select(data, "following::*[last()]", item);
    assert_eq!(nearest.first(), following.last());
    let around = "preceding-sibling::node() | self::node() | following-sibling::node()";
    assert_eq!(select(data, around, item), select(data, "../node()", item));
}

fn select<'a>(data: &TreeInstances<'a>, text: &str, context: &TreeItem<'a>) -> Vec<TreeItem<'a>> {
    let expression = Expression::parse(text, &|_| None).expect("an expression");
    let evaluator = Evaluator::new(data, Limits::default());
    evaluator.select(&expression, context).expect("a value")
}
