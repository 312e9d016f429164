//! A page from a cursor costs the page, wherever it is and however many entries there are.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use espalier_keyspace::metered::{Meter, Metered};
use espalier_store::{LoadMode, LoadOptions, View};
use espalier_yang::InstancePath;
use espalier_yang::data::{ParseOptions, Root, json};

use crate::fixture::{Fixture, page};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  container top {
    list flat { key id; leaf id { type uint32; } leaf name { type string; } }
    list deep { key "site id"; leaf site { type string; } leaf id { type uint32; }
      container in { leaf v { type string; } } list sub { key n; leaf n { type uint8; } } }
    list rule { key id; ordered-by user; leaf id { type uint32; } leaf name { type string; } }
  }
}"#;

const LISTS: [&str; 3] = ["flat", "deep", "rule"];

fn loaded(url: &str, entries: u32) -> (Fixture, Arc<Meter>) {
    let metered = Metered::new(espalier_drivers::open(url).unwrap());
    let meter = metered.meter();
    let fixture = Fixture::new(Arc::new(metered), MODEL);
    let mut texts = [String::new(), String::new(), String::new()];
    for id in 0..entries {
        let comma = if id == 0 { "" } else { "," };
        let site = id / 100;
        let [flat, deep, rule] = &mut texts;
        write!(flat, r#"{comma}{{"id":{id},"name":"n{id}"}}"#).unwrap();
        write!(
            deep,
            r#"{comma}{{"site":"s{site:06}","id":{id},"in":{{"v":"x"}},"sub":[{{"n":1}},{{"n":2}}]}}"#
        )
        .unwrap();
        write!(rule, r#"{comma}{{"id":{id},"name":"n{id}"}}"#).unwrap();
    }
    let [flat, deep, rule] = texts;
    let text = format!(r#"{{"m:top":{{"flat":[{flat}],"deep":[{deep}],"rule":[{rule}]}}}}"#);
    let options = LoadOptions {
        mode: LoadMode::Create,
        ..LoadOptions::default()
    };
    let tree = &fixture.running;
    let loaded = tree.load(options, &mut |sink| {
        let options = ParseOptions::default();
        let parsed = json::parse(
            tree.schema(),
            Root::Datastore,
            text.as_bytes(),
            sink,
            &options,
        );
        parsed.map_err(espalier_store::Error::from)
    });
    loaded.unwrap();
    (fixture, meter)
}

/// The calls of the engine, and the rows that they returned.
fn work(meter: &Meter) -> u64 {
    meter.readings().iter().map(|reading| reading.count).sum()
}

/// A cursor after the entries before a place.
fn cursor_at(view: &View, list: (&InstancePath, &str), offset: u32, direction: &str) -> String {
    let offset = (offset - 1).to_string();
    let pairs = [
        ("offset", &*offset),
        ("limit", "1"),
        ("direction", direction),
    ];
    page(view, list, &pairs)
        .unwrap()
        .info
        .next
        .expect("a cursor")
}

fn costs(entries: u32) -> Vec<(String, u64)> {
    let (fixture, meter) = loaded("memory:", entries);
    let mut costs = Vec::new();
    for list in LISTS {
        let path = fixture.path(&format!("/m:top/{list}"));
        let name = format!("m:{list}");
        for direction in ["forwards", "backwards"] {
            for offset in [10, entries / 2, entries - 20] {
                let view = fixture.running.view().unwrap();
                let cursor = cursor_at(&view, (&path, &name), offset, direction);
                let before = work(&meter);
                let pairs = [
                    ("cursor", &*cursor),
                    ("limit", "10"),
                    ("direction", direction),
                ];
                let found = page(&view, (&path, &name), &pairs).unwrap();
                costs.push((format!("{list} {direction}"), work(&meter) - before));
                let first = match direction {
                    "forwards" => offset,
                    _ => entries - 1 - offset,
                };
                assert_eq!(found.entries[0]["id"], first, "{list} {direction} {offset}");
                assert_eq!(found.entries.len(), 10);
            }
        }
    }
    costs
}

#[test]
fn a_page_from_a_cursor_costs_the_page() {
    let (few, many) = (costs(1_000), costs(20_000));
    for at in 0..few.len() {
        let (what, cost) = &few[at];
        assert_eq!((what, cost), (&many[at].0, &many[at].1), "by size");
        assert_eq!(
            (what, cost),
            (&few[at / 3 * 3].0, &few[at / 3 * 3].1),
            "by place"
        );
        assert!(*cost < 120, "{cost} for {what}");
    }
}

/// As above, in 100,000 entries, and the time of it: printed by
/// `cargo test --release -p espalier-store --test pages -- --ignored --nocapture figures`.
#[test]
#[ignore = "figures"]
fn figures() {
    const ROUNDS: u32 = 2_000;
    assert_eq!(costs(1_000), costs(100_000));
    for entries in [1_000, 100_000, 1_000_000] {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("embedded:{}?durability=relaxed", directory.path().display());
        let (fixture, _) = loaded(&url, entries);
        for list in LISTS {
            let path = fixture.path(&format!("/m:top/{list}"));
            let name = format!("m:{list}");
            for direction in ["forwards", "backwards"] {
                let view = fixture.running.view().unwrap();
                let cursor = cursor_at(&view, (&path, &name), entries / 2, direction);
                let pairs = [
                    ("cursor", &*cursor),
                    ("limit", "10"),
                    ("direction", direction),
                ];
                let begun = Instant::now();
                for _ in 0..ROUNDS {
                    let view = fixture.running.view().unwrap();
                    assert_eq!(
                        page(&view, (&path, &name), &pairs).unwrap().entries.len(),
                        10
                    );
                }
                println!(
                    "{entries:>7} {list} {direction}: {:.1?}",
                    begun.elapsed() / ROUNDS
                );
            }
        }
    }
}
