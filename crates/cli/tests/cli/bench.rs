//! The format of the rows of the bench command.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::process::Sandbox;

const MEMBERS: [&str; 17] = [
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
    "peak_bytes",
    "spread",
    "raw_s",
    "peer",
    "note",
    "rank",
];

fn rows(arguments: &[&str]) -> Vec<Value> {
    let sandbox = Sandbox::new();
    let arguments = [
        &["bench", "scale", "--sizes", "30,60", "--json", "-"],
        arguments,
    ]
    .concat();
    json_lines(&sandbox.run(&arguments).ok())
}

/// Parses the rows of `--json`.
pub fn json_lines(text: &str) -> Vec<Value> {
    let rows = text.lines().map(serde_json::from_str);
    rows.map(|row| row.expect("JSON")).collect()
}

#[test]
fn scale_prints_one_row_per_line_with_the_documented_members() {
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
    for expected in [
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
        assert!(found.contains(&expected), "no {expected:?} in {found:?}");
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

/// The names of the rows with this durability.
fn names<'r>(rows: &'r [Value], durability: &str) -> Vec<&'r str> {
    let of_it = rows.iter().filter(|row| row["durability"] == durability);
    of_it
        .map(|row| row["row"].as_str().expect("a name"))
        .collect()
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

#[test]
fn field_runs_every_case_and_reports_how_rows_grow() {
    let sandbox = Sandbox::new();
    let arguments = [
        "bench",
        "field",
        "--sizes",
        "12,120",
        "--store",
        "embedded:stores",
        "--json",
        "-",
    ];
    let text = sandbox.run(&arguments).ok();
    let rows = json_lines(&text);
    for row in &rows {
        let members: Vec<_> = row.as_object().expect("an object").keys().collect();
        assert_eq!(members, MEMBERS);
        assert_eq!(
            (&row["suite"], &row["durability"]),
            (&"field".into(), &"relaxed".into())
        );
    }
    let found = names(&rows, "relaxed");
    for case in [
        "a: ",
        "b: ",
        "c: ",
        "d: ",
        "e: ",
        "f: ",
        "g: ",
        "h: ",
        "one-leaf commit",
        "anchors: ",
    ] {
        let count = found.iter().filter(|name| name.starts_with(case)).count();
        assert!(count >= 2 && count % 2 == 0, "{case}: {found:?}");
    }
    let large = |name: &str| {
        let row = rows
            .iter()
            .find(|row| row["row"] == name && row["size"] == 120);
        row.expect("the row")["note"]
            .as_str()
            .expect("a note")
            .to_owned()
    };
    assert!(large("a: change one reference").contains("from size 12"));
    assert!(large("a: change one reference").contains("0 fallbacks"));
    assert!(large("g: delete a list that is referred to").contains("rejected with 120 errors"));
}

#[test]
fn field_runs_some_cases_in_memory() {
    let sandbox = Sandbox::new();
    let arguments = [
        "bench",
        "field",
        "--cases",
        "a,one-leaf",
        "--sizes",
        "10",
        "--store",
        "memory:",
        "--json",
        "-",
    ];
    let text = sandbox.run(&arguments).ok();
    let rows = json_lines(&text);
    let expected = [
        "a: commit all references",
        "a: change one reference",
        "one-leaf commit",
        "one-leaf commit of a reference",
    ];
    assert_eq!(sorted(names(&rows, "none")), sorted(expected.to_vec()));
}

/// The rows of sysrepo's bench, in its order.
const SYSREPO: [&str; 22] = [
    "get tree",
    "get item",
    "get tree hash",
    "get user ordered tree",
    "get oper tree",
    "create batch",
    "create user ordered items",
    "create all items",
    "create all items oper",
    "many oper change_subs",
    "remove all items",
    "remove whole subtree",
    "create an item",
    "create an item oper",
    "modify an item",
    "remove an item",
    "get tree hash cached",
    "remove all items cached",
    "remove whole subtree cached",
    "create an item cached",
    "modify an item cached",
    "remove an item cached",
];

#[test]
fn sysrepo_prints_all_rows_for_each_driver_and_durability() {
    let sandbox = Sandbox::new();
    let text = sandbox
        .run(&["bench", "sysrepo", "--sizes", "20", "--json", "-"])
        .ok();
    let rows = json_lines(&text);
    for durability in ["none", "relaxed", "durable"] {
        // The order is random.
        assert_eq!(
            sorted(names(&rows, durability)),
            sorted(SYSREPO.to_vec()),
            "{durability}"
        );
    }
    assert_eq!(rows.len(), 3 * SYSREPO.len());
    let has_raw = |row: &Value| row["raw_s"].is_number();
    assert!(
        rows.iter()
            .all(|row| has_raw(row) == (row["driver"] == "embedded"))
    );
}

#[test]
fn sysrepo_measures_only_the_named_rows() {
    let sandbox = Sandbox::new();
    let subset = [
        "bench",
        "sysrepo",
        "--store",
        "memory:",
        "--sizes",
        "20",
        "--rows",
        "oper,batch",
        "--json",
        "-",
    ];
    let text = sandbox.run(&subset).ok();
    let rows = json_lines(&text);
    let expected: Vec<&str> = SYSREPO
        .into_iter()
        .filter(|row| row.contains("oper") || row.contains("batch"))
        .collect();
    assert_eq!(sorted(names(&rows, "none")), sorted(expected));
    let unknown = sandbox.run(&["bench", "sysrepo", "--rows", "nothing"]);
    let error = unknown.failed(2);
    assert!(error.contains("get tree hash"), "{error}");
}

/// Regression: it measured the embedded engine for every request.
#[test]
fn dodb_measures_the_requested_engines() {
    let sandbox = Sandbox::new();
    let command = ["bench", "dodb", "--sizes", "200", "--matches", "20"];
    let engines = ["--drivers", "memory,sqlite", "--policies", "ram,uncached"];
    let text = sandbox.run(&[&command[..], &engines, &["--json", "-"]].concat());
    let rows = json_lines(&text.ok());
    let of = |driver: &str| rows.iter().filter(|row| row["driver"] == driver).count();
    assert!(of("none") > 0, "{rows:?}");
    assert_eq!((of("memory"), of("sqlite")), (of("none"), of("none")));
    let durable = sandbox.run(&[&command[..], &["--durability", "durable"]].concat());
    let error = durable.failed(2);
    assert!(error.contains("--durability"), "{error}");
}

#[test]
fn dodb_prints_the_data_of_its_three_graphs_for_each_policy() {
    let sandbox = Sandbox::new();
    let text = sandbox
        .run(&[
            "bench",
            "dodb",
            "--sizes",
            "300,600",
            "--matches",
            "20,50",
            "--store",
            "embedded:stores",
            "--json",
            "-",
        ])
        .ok();
    let rows = json_lines(&text);
    for policy in ["ram", "cached", "indexed", "uncached"] {
        let of = |name: &str| {
            let rows = rows
                .iter()
                .filter(|row| row["policy"] == policy && row["row"] == name);
            rows.map(|row| row["size"].as_u64().expect("a size"))
                .collect::<Vec<_>>()
        };
        assert_eq!(of("get by index"), [300, 600]);
        assert_eq!(of("add"), [300, 600]);
        for graph in ["partition", "tag", "two tags"] {
            assert_eq!(of(graph), [20, 50], "{graph}");
        }
    }
    for row in &rows {
        let members: Vec<_> = row.as_object().expect("an object").keys().collect();
        assert_eq!(members, MEMBERS);
        let [min, median, p99] =
            ["min_s", "median_s", "p99_s"].map(|name| row[name].as_f64().expect("seconds"));
        assert!(min <= median && median <= p99, "{row}");
        assert!(
            row["peer"]
                .as_array()
                .expect("an array")
                .iter()
                .all(|peer| peer["source"].is_string())
        );
    }
}

/// The rows of a suite in JSON.
fn suite(arguments: &[&str]) -> Vec<Value> {
    let sandbox = Sandbox::new();
    let text = sandbox.run(&[&["bench"], arguments, &["--json", "-"]].concat());
    let rows = json_lines(&text.ok());
    for row in &rows {
        let members: Vec<_> = row.as_object().expect("an object").keys().collect();
        assert_eq!(members, MEMBERS);
        assert_eq!(row["suite"], arguments[0]);
        assert!(row["median_s"].is_number(), "{row}");
        assert!(!row["note"].as_str().expect("a note").is_empty(), "{row}");
    }
    rows
}

/// The rows of Clixon's table, in its order.
const CLIXON: [&str; 34] = [
    "write N in one edit",
    "commit N",
    "NETCONF, write N in one edit",
    "NETCONF, commit N",
    "read N",
    "read 1, xpath on key",
    "read 1, subtree filter on key",
    "read 1, xpath on non-key leaf",
    "write 1, same value",
    "write 1, new value",
    "delete 1",
    "write 1 + commit",
    "commit, nothing changed",
    "commit, 100 entries changed",
    "validate, 100 deleted",
    "discard-changes",
    "read 1, beside commits",
    "NETCONF, read N",
    "NETCONF, read 1, xpath on key",
    "NETCONF, read 1, subtree filter on key",
    "NETCONF, write 1 + commit",
    "NETCONF, delete 1 + commit",
    "GET all",
    "PUT all, over N existing",
    "PUT all, into empty",
    "GET 1, content=config",
    "GET 1",
    "PUT 1",
    "PATCH 1",
    "POST 1 new",
    "DELETE 1",
    "GET page, limit=10",
    "GET page, limit=10&offset=N/2",
    "GET page, limit=10&cursor=N/2",
];

#[test]
fn clixon_prints_its_table_with_the_published_figures() {
    let rows = suite(&["clixon", "--sizes", "20,100", "--store", "memory:"]);
    assert_eq!(names(&rows, "none"), [CLIXON, CLIXON].concat());
    for row in &rows {
        let peers = row["peer"].as_array().expect("an array");
        let has_peers = row["size"] == 100
            && ![
                "read 1, beside commits",
                "NETCONF, delete 1 + commit",
                "GET page, limit=10",
                "GET page, limit=10&offset=N/2",
                "GET page, limit=10&cursor=N/2",
            ]
            .contains(&row["row"].as_str().expect("a name"));
        assert_eq!(!peers.is_empty(), has_peers, "{row}");
        assert!(peers.iter().all(|peer| peer["source"].is_string()));
    }
}

#[test]
fn clixon_compares_with_the_raw_engine_and_ends_with_its_table() {
    let rows = suite(&["clixon", "--sizes", "12", "--store", "embedded:stores"]);
    for durability in ["relaxed", "durable"] {
        let expected: Vec<&str> = CLIXON.into_iter().chain(["startup"]).collect();
        assert_eq!(names(&rows, durability), expected);
    }
    let without_raw = |row: &&Value| row["raw_s"].is_null();
    let without: BTreeSet<_> = rows
        .iter()
        .filter(without_raw)
        .map(|row| row["row"].as_str())
        .collect();
    let expected = [Some("read 1, beside commits"), Some("startup")];
    assert_eq!(without, expected.into());
    let sandbox = Sandbox::new();
    let text = sandbox.run(&["bench", "clixon", "--sizes", "12,20", "--store", "memory:"]);
    let text = text.ok();
    let table = text
        .split("clixon, memory, by size")
        .nth(1)
        .expect("a table");
    let lines: Vec<_> = table.lines().skip(2).collect();
    assert_eq!(lines.len(), CLIXON.len(), "{table}");
}

/// The rows of CPS' tests: a title, and the sizes that differ from the requested ones.
const CPS: [(&str, &[u64]); 52] = [
    ("Creating anchors with large data tree", &[]),
    ("Read datatree with no descendants", &[]),
    ("Read datatree with direct descendants", &[]),
    ("Read datatree with all descendants", &[]),
    ("Read datatrees for multiple xpaths", &[]),
    ("Read non-existing xpaths", &[]),
    ("Read datatrees using root", &[]),
    ("Read datatrees using top element", &[]),
    ("Read datatrees using whole list", &[]),
    ("Query 1 anchor top element", &[]),
    ("Query 1 anchor leaf condition", &[]),
    ("Query 1 anchor ancestors", &[]),
    ("Query 1 anchor leaf condition + ancestors", &[]),
    ("Query 1 anchor non-existing data", &[]),
    ("Query with no descendants", &[]),
    ("Query with direct descendants", &[]),
    ("Query with all descendants", &[]),
    ("Query ancestors with no descendants", &[]),
    ("Query ancestors with direct descendants", &[]),
    ("Query ancestors with all descendants", &[]),
    ("Query across anchors top element", &[]),
    ("Query across anchors leaf condition", &[]),
    ("Query across anchors ancestors", &[]),
    ("Query across anchors leaf condition + ancestors", &[]),
    ("Query data leaf unique leaf value", &[]),
    ("Query data leaf common leaf value", &[]),
    ("Query data leaf non-existing data leaf", &[]),
    ("Writing devices", &[50, 100, 200, 400]),
    ("Writing books", &[800, 1600, 3200, 6400]),
    ("Creating 33,000 books", &[33_000]),
    ("Saving list of devices", &[50, 100, 200, 400]),
    ("Replace 0 nodes with 100", &[100]),
    ("Replace 100 using same data", &[100]),
    ("Replace 100 with new leaf values", &[100]),
    ("Replace 100 with 100 new nodes", &[100]),
    ("Replace 50 existing and 50 new", &[100]),
    ("Replace 100 nodes with 0", &[100]),
    ("Replace list of 0 with 100", &[100]),
    ("Replace list of 100 using same data", &[100]),
    ("Replace list of 100 with new leaf values", &[100]),
    ("Replace list with 100 new nodes", &[100]),
    ("Replace list with 50 existing and 50 new", &[100]),
    ("Replace list of 100 nodes with 1", &[100]),
    ("Update leaves for 100 data nodes", &[200]),
    ("Delete 100 containers", &[300]),
    ("Batch delete 100 containers", &[300]),
    ("Delete 100 lists elements", &[300]),
    ("Batch delete 100 lists elements", &[300]),
    ("Delete 100 whole lists", &[300]),
    ("Batch delete 100 whole lists", &[300]),
    ("Delta of 2 anchors no grouping all descendants", &[400]),
    ("Apply delta report to an anchor", &[400]),
];

#[test]
fn cps_prints_the_rows_of_its_tests_with_their_budgets() {
    let rows = suite(&["cps", "--sizes", "4,400", "--store", "memory:"]);
    let sizes = |title: &str| -> Vec<u64> {
        let of_it = rows.iter().filter(|row| row["row"] == title);
        of_it
            .map(|row| row["size"].as_u64().expect("a size"))
            .collect()
    };
    for (title, fixed) in CPS {
        let expected = match (
            title.starts_with("Delete") || title.starts_with("Batch"),
            fixed,
        ) {
            (_, []) => vec![4, 400],
            (true, _) => vec![4, 300, 400],
            (false, fixed) => fixed.to_vec(),
        };
        assert_eq!(sizes(title), expected, "{title}");
    }
    for title in [
        "Batch delete 100 non-existing data nodes",
        "Delete one large node",
        "Delete root node",
    ] {
        assert_eq!(sizes(title), [4, 300, 400], "{title}");
    }
    for row in &rows {
        let peers = row["peer"].as_array().expect("an array");
        let is_theirs = match row["row"].as_str().expect("a name") {
            "Writing devices" | "Saving list of devices" => true,
            _ => ![4, 400].contains(&row["size"].as_u64().expect("a size")),
        };
        assert_eq!(peers.len(), if is_theirs { 2 } else { 0 }, "{row}");
    }
}

#[test]
fn trifle_fills_the_published_table_for_each_engine_and_durability() {
    let sandbox = Sandbox::new();
    let text = sandbox
        .run(&["bench", "trifle", "--counts", "3", "--json", "-"])
        .ok();
    let rows = json_lines(&text);
    let columns = ["ASSORT", "ASSERT", "TRACK", "VALUES", "BEAM", "SCAN"];
    let payloads = ["1 value", "5 values", "5 nested values", "23 values"];
    let engines = [
        ("memory", "none"),
        ("embedded", "relaxed"),
        ("embedded", "durable"),
        ("sqlite", "relaxed"),
        ("sqlite", "durable"),
    ];
    for (driver, durability) in engines {
        let of = |row: &&Value| row["driver"] == driver && row["durability"] == durability;
        let found: BTreeSet<&str> = rows
            .iter()
            .filter(of)
            .filter_map(|row| row["row"].as_str())
            .collect();
        for (column, payload) in columns
            .iter()
            .flat_map(|column| payloads.map(|payload| (column, payload)))
        {
            let name = format!("{column} of {payload}");
            assert!(
                found.contains(name.as_str()),
                "{driver} {durability} has no {name}"
            );
        }
        assert_eq!(
            found.len(),
            columns.len() * payloads.len() + 3,
            "{driver} {durability}"
        );
    }
}

#[test]
fn report_is_written_and_rows_are_compared_with_earlier_ones() {
    let sandbox = Sandbox::new();
    let run = |more: &[&str]| {
        let rows = [
            "bench", "sysrepo", "--store", "memory:", "--sizes", "20,40", "--rows", "batch",
        ];
        sandbox.run(&[&rows, more].concat())
    };
    run(&["--json", "before.jsonl"]).ok();
    let after = run(&[
        "--json",
        "now.jsonl",
        "--html",
        "report.html",
        "--baseline",
        "before.jsonl",
    ]);
    assert_eq!(after.status, 0, "{after:?}");
    assert!(after.stderr.contains("within the noise"), "{after:?}");
    let page = std::fs::read_to_string(sandbox.path("report.html")).expect("a report");
    for part in [
        "<h2 id=\"sysrepo\"",
        "<svg",
        "create batch",
        "against before",
        "median of one operation",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let rows = std::fs::read_to_string(sandbox.path("now.jsonl")).expect("rows");
    assert_eq!(rows.lines().count(), 2);
    let error = run(&["--html", "now.jsonl/report.html"]).failed(1);
    assert!(error.contains("now.jsonl/report.html"), "{error}");
    let error = run(&["--baseline", "report.html"]).failed(2);
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn all_suites_go_into_one_report() {
    let sandbox = Sandbox::new();
    let all = [
        "bench",
        "all",
        "--sizes",
        "20,40",
        "--counts",
        "3",
        "--drivers",
        "embedded",
        "--durability",
        "relaxed",
        "--json",
        "rows.jsonl",
        "--html",
        "report.html",
    ];
    sandbox.run(&all).ok();
    let page = std::fs::read_to_string(sandbox.path("report.html")).expect("a report");
    for suite in [
        "scale", "field", "sysrepo", "drivers", "clixon", "cps", "trifle", "dodb",
    ] {
        assert!(page.contains(&format!("<h2 id=\"{suite}\"")), "{suite}");
    }
}

#[test]
fn drivers_compares_every_local_engine_with_its_own_client() {
    let sandbox = Sandbox::new();
    let subset = [
        "bench",
        "drivers",
        "--drivers",
        "local",
        "--policies",
        "uncached,cached",
        "--sizes",
        "20",
        "--rows",
        "modify an item,create all items",
        "--repeat",
        "2",
        "--json",
        "-",
    ];
    let text = sandbox.run(&subset).ok();
    let rows = json_lines(&text);
    for driver in ["memory", "embedded", "file", "sqlite"] {
        let of = |row: &&Value| row["driver"] == driver && row["row"] == "modify an item";
        let policies: Vec<_> = rows.iter().filter(of).map(|row| &row["policy"]).collect();
        let expected: &[&str] = if driver == "memory" {
            &["ram"]
        } else {
            &["uncached", "cached"]
        };
        assert_eq!(policies, expected, "{driver}");
    }
    for row in &rows {
        assert_eq!(row["raw_s"].is_null(), row["driver"] == "memory", "{row}");
        assert!(row["spread"].is_number(), "{row}");
        let note = row["note"].as_str().expect("a note");
        let is_compared = row["row"] != "modify an item" || row["driver"] == "memory";
        assert!(is_compared || note.contains("of one raw write"), "{row}");
    }
}

#[test]
fn tables_are_printed_as_markdown_also_from_earlier_rows() {
    let sandbox = Sandbox::new();
    let rows = [
        "bench",
        "sysrepo",
        "--drivers",
        "memory",
        "--sizes",
        "20,40",
        "--rows",
        "batch",
    ];
    sandbox
        .run(&[&rows[..], &["--json", "rows.jsonl"]].concat())
        .ok();
    let text = sandbox
        .run(&["bench", "--from", "rows.jsonl", "--markdown", "report.md"])
        .ok();
    assert!(text.contains("sysrepo, 20. "), "{text}");
    let report = std::fs::read_to_string(sandbox.path("report.md")).expect("a report");
    for part in ["# Performance", "## Headlines", "| create batch |", "$ "] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[test]
fn processes_measures_the_engines_that_processes_share() {
    let sandbox = Sandbox::new();
    let arguments = [
        "bench",
        "processes",
        "--drivers",
        "memory,sqlite",
        "--sizes",
        "20",
    ];
    let more = ["--policies", "cached", "--json", "-"];
    let text = sandbox.run(&[&arguments[..], &more].concat()).ok();
    let rows = json_lines(&text);
    let names: Vec<_> = rows.iter().map(|row| row["row"].as_str()).collect();
    let expected = [
        "read one entry, 1 process",
        "read one entry, 3 processes",
        "a change is visible in 3 processes",
    ];
    assert_eq!(names, expected.map(Some));
    for row in &rows {
        assert_eq!(
            (&row["driver"], &row["policy"]),
            (&"sqlite".into(), &"cached".into())
        );
        assert!(
            row["n"].as_u64() > Some(0) && row["median_s"].is_number(),
            "{row}"
        );
    }
    let note = rows[1]["note"].as_str().expect("a note");
    assert!(note.contains("cores") && note.contains("reads/s"), "{note}");
}

#[test]
fn telemetry_measures_many_series() {
    let sandbox = Sandbox::new();
    let arguments = ["bench", "telemetry", "--drivers", "memory,embedded"];
    let more = ["--sizes", "20", "--minutes", "70", "--json", "-"];
    let text = sandbox.run(&[&arguments[..], &more].concat()).ok();
    let rows = json_lines(&text);
    let names: Vec<_> = rows.iter().filter_map(|row| row["row"].as_str()).collect();
    let expected = [
        "write, 70 minutes",
        "one series by 1m, 70 minutes",
        "sum over all by 1m, 70 minutes",
        "one series by 1h, 70 minutes",
        "sum over all by 1h, 70 minutes",
        "one series by 1d, 70 minutes",
        "sum over all by 1d, 70 minutes",
    ];
    assert_eq!(names, [expected, expected].concat());
    for row in &rows {
        assert!(
            row["n"].as_u64() > Some(0) && row["median_s"].is_number(),
            "{row}"
        );
    }
    let note = rows[0]["note"].as_str().expect("a note");
    assert!(
        note.contains("values per second") && note.contains("bytes a call"),
        "{note}"
    );
}

#[test]
fn impossible_suite_options_are_rejected() {
    let sandbox = Sandbox::new();
    let cases: [(&[&str], &str); 8] = [
        (&["trifle", "--minutes", "60"], "--minutes"),
        (&["load", "--drivers", "memory"], "a server process"),
        (&["scale", "--clients", "8"], "--clients"),
        (
            &["processes", "--drivers", "memory,file"],
            "several processes",
        ),
        (&["scale", "--rows", "get"], "--rows"),
        (&["sysrepo", "--drivers", "nothing"], "embedded:DIR"),
        (&["sysrepo", "--policies", "ram"], "cached"),
        (&["scale", "--drivers", "sqlite"], "drivers measures"),
    ];
    for (arguments, expected) in cases {
        let error = sandbox.run(&[&["bench"], arguments].concat()).failed(2);
        assert!(error.contains(expected), "{error}");
    }
}
