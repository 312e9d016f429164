//! The example of the guide, as printed there.

mod fixture;

use espalier_documents::{Declaration, Documents, Policy, Query, Result};
use fixture::{Car, Fixture, car};
use serde_json::{Value as Json, json};

fn example(fixture: &Fixture) -> Result<()> {
    let (driver, car, note) = (
        fixture.driver(),
        car("Corvet-1", "red", &[], 1999),
        json!(1),
    );
    // begin
    let documents = Documents::new(driver, &[0x30]);
    let notes = Declaration::<Json>::new("notes").open(&documents)?;
    let cars = Declaration::<Car>::new("cars")
        .policy(Policy::Cached)
        .unique("name", |car| car.name.clone())
        // An Option: None is not indexed.
        .partition("color", |car| car.color.clone())
        .partition("color-and-year", |car| {
            car.color.clone().map(|color| (color, car.year))
        })
        .tags("keyword", |car| car.keywords.clone())
        .open(&documents)?;
    let key = cars.insert(car)?;
    let red = cars.index("color")?.find("red")?;
    let nineties = Query::range(("red", 1990)..("red", 2000)).limit(10);
    let some = cars.index("color-and-year")?.find(nineties)?;
    cars.index("name")?
        .update("Corvet-1", |car| car.year += 1)?;
    // All or nothing, over any collections; it may be called again, so it keeps the note.
    documents.transaction(|transaction| {
        transaction.delete(&cars, key)?;
        transaction.insert(&notes, note.clone())
    })?;
    // end
    assert_eq!((red.len(), some.len()), (1, 1));
    Ok(())
}

#[test]
fn the_example_of_the_guide_runs() {
    example(&Fixture::new("memory:")).expect("it runs");
    let (_, example) = include_str!("guide.rs")
        .split_once("    // begin\n")
        .expect("its beginning");
    let (example, _) = example.split_once("    // end\n").expect("its end");
    let lines = example.lines().map(|line| line.strip_prefix("    "));
    let lines: Vec<_> = lines.map(Option::unwrap_or_default).collect();
    let guide = include_str!("../../../docs/guide/collections.md");
    assert!(guide.contains(&lines.join("\n")), "{example}");
}
