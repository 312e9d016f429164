//! The bench command: the format of its rows.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::process::Bench;

const MEMBERS: [&str; 14] = [
    "suite",
    "row",
    "driver",
    "policy",
    "durability",
    "size",
    "n",
    "median_s",
    "min_s",
    "p99_s",
    "cpu_s",
    "raw_s",
    "peer",
    "note",
];

fn rows(arguments: &[&str]) -> Vec<Value> {
    let bench = Bench::new();
    let arguments = [
        &["bench", "scale", "--sizes", "30,60", "--json", "-"],
        arguments,
    ]
    .concat();
    let text = bench.run(&arguments).ok();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn scale_prints_one_row_a_line_with_the_members_that_are_promised() {
    let rows = rows(&["--store", "embedded:stores"]);
    for row in &rows {
        let members: Vec<_> = row.as_object().expect("an object").keys().collect();
        assert_eq!(members, MEMBERS);
        assert_eq!(
            (&row["suite"], &row["driver"]),
            (&"scale".into(), &"embedded".into())
        );
    }
    let found: BTreeSet<_> = rows
        .iter()
        .map(|row| {
            (
                row["row"].as_str().expect("a name"),
                row["durability"].as_str().expect("one"),
            )
        })
        .collect();
    for wanted in [
        ("load", "durable"),
        ("get one", "durable"),
        ("set one", "durable"),
        ("set one", "relaxed"),
        ("page of 10", "durable"),
        ("read all", "durable"),
        ("restconf get one", "durable"),
        ("delete half", "relaxed"),
        ("ratio: get one", "durable"),
        ("ratio: set one", "relaxed"),
    ] {
        assert!(found.contains(&wanted), "no {wanted:?} in {found:?}");
    }
    let has_raw = |name| {
        rows.iter()
            .filter(|row| row["row"] == name)
            .all(|row| row["raw_s"].is_number())
    };
    assert!(has_raw("get one") && has_raw("set one") && has_raw("load"));
}

#[test]
fn scale_runs_in_memory_too() {
    let rows = rows(&["--store", "memory:"]);
    assert!(
        rows.iter()
            .all(|row| row["driver"] == "memory" && row["raw_s"].is_null())
    );
}
