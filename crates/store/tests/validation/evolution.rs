//! The generator of schema changes, tested by itself.

use std::collections::BTreeMap;

use espalier_testkit::random_schemas::SchemaEdit;
use espalier_testkit::seed;

use crate::fixture::{Fixture, Tries};

/// The number of changed schemas.
const SCHEMAS: usize = 400;

/// The minimum percentage of changed schemas that libyang accepts.
const PERCENT_MIN: usize = 80;

/// Each is compiled by libyang and, if that accepts it, by this library.
#[test]
fn changed_schemas_compile_and_have_every_edit() {
    seed::run("evolution", |random| {
        let mut tries = Tries::default();
        let mut accepted = 0;
        let mut met: BTreeMap<SchemaEdit, usize> = BTreeMap::new();
        let mut refusals: BTreeMap<String, usize> = BTreeMap::new();
        for _ in 0..SCHEMAS {
            let fixture = Fixture::random(random, &mut tries);
            let generated = fixture.generated.expect("it is random");
            let (evolved, edits) = generated.evolved(random);
            match Fixture::of(evolved) {
                Ok(_) => {
                    accepted += 1;
                    for edit in edits {
                        *met.entry(edit).or_default() += 1;
                    }
                }
                Err(problem) => *refusals.entry(problem.message).or_default() += 1,
            }
        }
        println!("{accepted} of {SCHEMAS} accepted; {refusals:#?}");
        assert!(
            accepted * 100 >= SCHEMAS * PERCENT_MIN,
            "{accepted}: {refusals:#?}"
        );
        let missing: Vec<_> = SchemaEdit::ALL
            .iter()
            .filter(|edit| !met.contains_key(edit))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    });
}
