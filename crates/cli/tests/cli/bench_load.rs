//! `espalier bench load`.

use crate::bench::json_lines;
use crate::process::Sandbox;

#[test]
fn load_measures_clients_of_a_server_process() {
    let sandbox = Sandbox::new();
    let arguments = [
        "bench",
        "load",
        "--drivers",
        "memory,file",
        "--sizes",
        "200",
    ];
    let workload = ["--clients", "1,3", "--writes", "0,50", "--trees", "1,2"];
    let other = [
        "--choices",
        "skewed",
        "--seconds",
        "1",
        "--durability",
        "relaxed",
    ];
    let text = sandbox.run(&[&arguments[..], &workload, &other, &["--json", "-"]].concat());
    let rows = json_lines(&text.ok());
    let names: Vec<_> = rows.iter().map(|row| row["row"].as_str()).collect();
    let expected = [
        "reads, 1 client, skewed",
        "reads, 3 clients, skewed",
        "50 % writes, 1 client, skewed, reads",
        "50 % writes, 1 client, skewed, writes",
        "50 % writes, 3 clients, skewed, reads",
        "50 % writes, 3 clients, skewed, writes",
        "reads, 1 client, skewed, 2 trees",
        "reads, 3 clients, skewed, 2 trees",
        "50 % writes, 1 client, skewed, 2 trees, reads",
        "50 % writes, 1 client, skewed, 2 trees, writes",
        "50 % writes, 3 clients, skewed, 2 trees, reads",
        "50 % writes, 3 clients, skewed, 2 trees, writes",
        "the engine's own client, groups of 1",
        "the engine's own client, groups of 3",
    ];
    assert_eq!(names, expected.map(Some));
    for row in &rows {
        assert_eq!(
            row["driver"], "file",
            "a server cannot open the memory of the bench"
        );
        assert!(
            row["n"].as_u64() > Some(0) && row["p99_s"].is_number(),
            "{row}"
        );
    }
    let note = rows[0]["note"].as_str().expect("a note");
    assert!(note.contains("requests/s"), "{note}");
}
