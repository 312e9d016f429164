//! The generator and the judge, tested without the store's own validation.

use espalier_testkit::random_schemas::Features;
use espalier_testkit::seed;
use espalier_yang::data::DataTree;
use rand::Rng;

use crate::edits::changes;
use crate::fixture::{Fixture, Tries, parse, show};

/// The number of schemas in a run.
const SCHEMAS: usize = 400;

/// The number of edits of each schema.
const EDITS: usize = 15;

/// The minimum percentages of valid and of invalid edits among those that do not contradict the tree.
const PERCENT_MIN: u64 = 25;

/// The maximum percentage of edits on which libyang gives no verdict.
const UNDECIDED_PERCENT_MAX: u64 = 10;

#[test]
fn schemas_have_every_feature_and_half_of_the_edits_are_valid() {
    seed::run("generator", |random| {
        let mut tries = Tries::default();
        let mut features = Features::default();
        let (mut valid, mut invalid, mut impossible) = (0_u64, 0_u64, 0_u64);
        let mut undecided = 0_u64;
        for _ in 0..SCHEMAS {
            let fixture = Fixture::random(random, &mut tries);
            features.add(&fixture.generated.as_ref().unwrap().features);
            let mut tree = DataTree::default();
            for _ in 0..EDITS {
                let (_, result) = changes(&fixture.schema, random, &tree);
                let Some(result) = result else {
                    impossible += 1;
                    continue;
                };
                let new = show(&fixture.schema, &result);
                let old = show(&fixture.schema, &tree);
                round_trip(&fixture, &result, &new);
                let verdict = fixture.judge.verdict(&old, &new);
                if verdict.is_undecided {
                    undecided += 1;
                    continue;
                }
                match verdict.problem {
                    None => {
                        valid += 1;
                        tree = parse(&fixture.schema, &verdict.tree);
                    }
                    Some(_) => {
                        invalid += 1;
                        // Some data to continue with, now and then.
                        if random.random_ratio(1, 50) {
                            tree = DataTree::default();
                        }
                    }
                }
            }
        }
        println!(
            "{valid} valid, {invalid} invalid, {impossible} impossible, {undecided} undecided; {tries:?}"
        );
        assert_eq!(features.missing(), Vec::<&str>::new());
        assert!(tries.refused < tries.accepted, "{tries:?}");
        let least = (valid + invalid) * PERCENT_MIN / 100;
        assert!(
            valid > least && invalid > least,
            "{valid} valid, {invalid} invalid"
        );
        let most = (valid + invalid) * UNDECIDED_PERCENT_MAX / 100;
        assert!(undecided <= most, "{undecided} undecided");
    });
}

fn round_trip(fixture: &Fixture, tree: &DataTree, text: &str) {
    let read = fixture.judge.read(text);
    let read = read.unwrap_or_else(|problem| panic!("{problem}\n{}\n{text}", fixture.text()));
    let back = parse(&fixture.schema, &read);
    assert!(
        back.is_equivalent(tree, &fixture.schema),
        "{}\n{text}\n{read}",
        fixture.text()
    );
}
