//! Engines with SQL tables for queries: the queries of `docs/drivers.md` return the documented results.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::process::Sandbox;

const DATA: &str = r#"{"ietf-interfaces:interfaces": {"interface": [
  {"name": "eth0", "type": "iana-if-type:ethernetCsmacd", "description": "uplink", "enabled": true,
   "ietf-ip:ipv4": {"mtu": 1500, "address": [{"ip": "192.0.2.1", "prefix-length": 24}]}},
  {"name": "eth1", "type": "iana-if-type:ethernetCsmacd", "enabled": false,
   "ietf-ip:ipv4": {"address": [{"ip": "192.0.2.2", "prefix-length": 32}, {"ip": "192.0.2.3", "prefix-length": 24}]}},
  {"name": "lo", "type": "iana-if-type:softwareLoopback"}]}}"#;

/// The results of the documented queries, in their order.
const EXPECTED_ROWS: [&str; 4] = [
    "eth0|uplink\neth1|\nlo|",
    "/ietf-interfaces:interfaces/interface[name='eth1']",
    "/ietf-interfaces:interfaces/interface[name='eth0']/ietf-ip:ipv4/address[ip='192.0.2.1']|24\n\
     /ietf-interfaces:interfaces/interface[name='eth1']/ietf-ip:ipv4/address[ip='192.0.2.3']|24",
    "/ietf-interfaces:interfaces/interface|3\n\
     /ietf-interfaces:interfaces/interface/ietf-ip:ipv4|2\n\
     /ietf-interfaces:interfaces/interface/ietf-ip:ipv4/address|3",
];

/// The documented queries for an engine.
fn documented_queries(engine: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/drivers.md");
    let text = fs::read_to_string(path).expect("the documentation");
    let (_, section) = text
        .split_once(&format!("### Queries on {engine}"))
        .expect("the section");
    let (_, block) = section.split_once("```sql\n").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    let queries = block.split(';').map(str::trim);
    let queries = queries.filter(|query| !query.is_empty());
    queries.map(str::to_owned).collect()
}

fn load(sandbox: &Sandbox, store: &str) {
    sandbox.write("data.json", DATA);
    let mut load = vec!["load", "data.json", "--store", store];
    for module in ["ietf-interfaces", "ietf-ip", "iana-if-type"] {
        load.extend(["--yang", module]);
    }
    sandbox.run(&load).ok();
}

/// Rows as lines, columns with `|` between.
fn query_rows(file: &Path, query: &str) -> String {
    let database = Connection::open(file).expect("the file");
    let mut statement = database
        .prepare(query)
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let cell = |at| row.get::<_, rusqlite::types::Value>(at);
        let cells: rusqlite::Result<Vec<_>> = (0..columns).map(cell).collect();
        let cells = cells?.into_iter().map(|cell| match cell {
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Null => String::new(),
            other => panic!("{other:?}"),
        });
        Ok(cells.collect::<Vec<_>>().join("|"))
    });
    let rows: rusqlite::Result<Vec<_>> = rows.expect("rows").collect();
    rows.expect("rows").join("\n")
}

fn all_rows(file: &Path) -> String {
    query_rows(
        file,
        "SELECT document, node, path, leaves FROM data ORDER BY path",
    )
}

#[test]
fn documented_queries_run_on_sqlite() {
    let sandbox = Sandbox::new();
    load(&sandbox, "sqlite:net.db?readable=true");
    let file = sandbox.path("net.db");
    let queries = documented_queries("SQLite");
    assert_eq!(queries.len(), EXPECTED_ROWS.len());
    for (query, answer) in queries.iter().zip(EXPECTED_ROWS) {
        assert_eq!(query_rows(&file, query), answer, "{query}");
    }
}

/// Rows follow the data of every writer. A file that gets the tables later has the same rows as one created with
/// them.
#[test]
fn rows_follow_the_data() {
    let sandbox = Sandbox::new();
    load(&sandbox, "sqlite:net.db");
    load(&sandbox, "sqlite:other.db?readable=true");
    let (file, other) = (sandbox.path("net.db"), sandbox.path("other.db"));
    sandbox
        .run(&["history", "--store", "sqlite:net.db?readable=true"])
        .ok();
    assert_eq!(all_rows(&file), all_rows(&other));
    for store in ["sqlite:net.db", "sqlite:other.db?readable=true"] {
        let interface = "/ietf-interfaces:interfaces/interface=eth0";
        let description = format!("{interface}/description");
        sandbox
            .run(&["set", &description, "\"a \\\"b\\\" 'c'\"", "--store", store])
            .ok();
        sandbox
            .run(&[
                "delete",
                "/ietf-interfaces:interfaces/interface=eth1",
                "--store",
                store,
            ])
            .ok();
        let address = format!("{interface}/ietf-ip:ipv4/address=192.0.2.9/prefix-length");
        sandbox.run(&["set", &address, "8", "--store", store]).ok();
        sandbox.run(&["check", "--store", store]).ok();
    }
    let now = all_rows(&file);
    assert_eq!(now, all_rows(&other));
    assert!(now.contains("192.0.2.9") && !now.contains("eth1"), "{now}");
    let place = "/ietf-interfaces:interfaces/interface[name='eth0']|";
    let row = now.lines().find(|row| row.contains(place)).expect("a row");
    assert!(row.starts_with("default/default/running|/ietf-interfaces:interfaces/interface|"));
    let unshown = query_rows(&file, "SELECT count(*) FROM entries WHERE path IS NULL");
    assert_eq!(unshown, "0");
}

/// Regression: the view was empty until the next command opened the store.
#[test]
fn copied_and_restored_stores_can_be_queried() {
    let sandbox = Sandbox::new();
    load(&sandbox, "sqlite:net.db?readable=true");
    let expected = all_rows(&sandbox.path("net.db"));
    sandbox.run(&["backup", "sqlite:net.db", "net.backup"]).ok();
    for (command, from) in [("copy", "sqlite:net.db"), ("restore", "net.backup")] {
        let to = format!("sqlite:{command}.db?readable=true");
        sandbox.run(&[command, from, &to]).ok();
        assert_eq!(all_rows(&sandbox.path(&format!("{command}.db"))), expected);
        sandbox.run(&[command, from, &to, "--force"]).ok();
        assert_eq!(all_rows(&sandbox.path(&format!("{command}.db"))), expected);
        let folder = format!("file:{command}");
        sandbox.run(&[command, from, &folder]).ok();
        let document = format!("{command}/datastores/default/default/running.json");
        assert!(sandbox.path(&document).is_file(), "{document}");
    }
}

#[cfg(feature = "postgres")]
#[test]
fn documented_queries_run_on_postgresql() {
    use espalier_testkit::servers::Postgres;

    let Some(server) = Postgres::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    let url = server.url("");
    let schema = url.split_once("schema=").expect("a schema").1;
    let schema = schema.trim_end_matches('&');
    // The option is set later: the tables are filled with the existing data.
    load(&sandbox, &url);
    sandbox
        .run(&["history", "--store", &format!("{url}readable=true")])
        .ok();
    let query_rows = |query: &str| server.run(&format!("SET search_path = {schema}; {query}"));
    let queries = documented_queries("PostgreSQL");
    assert_eq!(queries.len(), EXPECTED_ROWS.len());
    for (query, answer) in queries.iter().zip(EXPECTED_ROWS) {
        assert_eq!(query_rows(query), answer, "{query}");
    }
    let all_rows = "SELECT document, node, path, leaves FROM data ORDER BY path";
    let filled_in = query_rows(all_rows);
    let other = server.url("readable=true");
    load(&sandbox, &other);
    let place = other.split_once("schema=").expect("a schema").1;
    let place = place.split('&').next().expect("a name");
    let written = server.run(&format!("SET search_path = {place}; {all_rows}"));
    assert_eq!(filled_in, written);
    // Without the option, the existing tables are still updated.
    sandbox
        .run(&[
            "delete",
            "/ietf-interfaces:interfaces/interface=eth1",
            "--store",
            &url,
        ])
        .ok();
    let description = "/ietf-interfaces:interfaces/interface=eth0/description";
    sandbox
        .run(&["set", description, "other", "--store", &url])
        .ok();
    let now = query_rows(all_rows);
    assert!(
        now.contains("\"description\": \"other\"") && !now.contains("eth1"),
        "{now}"
    );
    assert_eq!(
        query_rows("SELECT count(*) FROM entries WHERE path IS NULL"),
        "0"
    );
    // The columns for queries are removed.
    sandbox
        .run(&["history", "--store", &format!("{url}readable=false")])
        .ok();
    let columns = format!(
        "SELECT count(*) FROM information_schema.columns \
         WHERE table_schema = '{schema}' AND table_name = 'entries'"
    );
    assert_eq!(query_rows(&columns), "2");
    sandbox.run(&["check", "--store", &url]).ok();
}
