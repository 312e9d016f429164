//! Engines of tables that are queried: what `docs/drivers.md` prints, on what it says.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::process::Bench;

const DATA: &str = r#"{"ietf-interfaces:interfaces": {"interface": [
  {"name": "eth0", "type": "iana-if-type:ethernetCsmacd", "description": "uplink", "enabled": true,
   "ietf-ip:ipv4": {"mtu": 1500, "address": [{"ip": "192.0.2.1", "prefix-length": 24}]}},
  {"name": "eth1", "type": "iana-if-type:ethernetCsmacd", "enabled": false,
   "ietf-ip:ipv4": {"address": [{"ip": "192.0.2.2", "prefix-length": 32}, {"ip": "192.0.2.3", "prefix-length": 24}]}},
  {"name": "lo", "type": "iana-if-type:softwareLoopback"}]}}"#;

/// What each of the queries in the documentation answers, in their order.
const ANSWERS: [&str; 4] = [
    "eth0|uplink\neth1|\nlo|",
    "/ietf-interfaces:interfaces/interface[name='eth1']",
    "/ietf-interfaces:interfaces/interface[name='eth0']/ietf-ip:ipv4/address[ip='192.0.2.1']|24\n\
     /ietf-interfaces:interfaces/interface[name='eth1']/ietf-ip:ipv4/address[ip='192.0.2.3']|24",
    "/ietf-interfaces:interfaces/interface|3\n\
     /ietf-interfaces:interfaces/interface/ietf-ip:ipv4|2\n\
     /ietf-interfaces:interfaces/interface/ietf-ip:ipv4/address|3",
];

/// The queries that the documentation prints for an engine.
fn printed(engine: &str) -> Vec<String> {
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

fn load(bench: &Bench, store: &str) {
    bench.write("data.json", DATA);
    let mut load = vec!["load", "data.json", "--store", store];
    for module in ["ietf-interfaces", "ietf-ip", "iana-if-type"] {
        load.extend(["--yang", module]);
    }
    bench.run(&load).ok();
}

/// Rows as lines, columns with `|` between.
fn ask(file: &Path, query: &str) -> String {
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

fn everything(file: &Path) -> String {
    ask(
        file,
        "SELECT document, node, path, leaves FROM data ORDER BY path",
    )
}

#[test]
fn queries_on_sqlite_as_printed() {
    let bench = Bench::new();
    load(&bench, "sqlite:net.db?readable=true");
    let file = bench.path("net.db");
    let queries = printed("SQLite");
    assert_eq!(queries.len(), ANSWERS.len());
    for (query, answer) in queries.iter().zip(ANSWERS) {
        assert_eq!(ask(&file, query), answer, "{query}");
    }
}

/// Rows follow the data, whoever writes them; and a file that is made readable later has what one
/// has that was so from the beginning.
#[test]
fn rows_follow_the_data() {
    let bench = Bench::new();
    load(&bench, "sqlite:net.db");
    load(&bench, "sqlite:other.db?readable=true");
    let (file, other) = (bench.path("net.db"), bench.path("other.db"));
    bench
        .run(&["history", "--store", "sqlite:net.db?readable=true"])
        .ok();
    assert_eq!(everything(&file), everything(&other));
    for store in ["sqlite:net.db", "sqlite:other.db?readable=true"] {
        let interface = "/ietf-interfaces:interfaces/interface=eth0";
        let description = format!("{interface}/description");
        bench
            .run(&["set", &description, "\"a \\\"b\\\" 'c'\"", "--store", store])
            .ok();
        bench
            .run(&[
                "delete",
                "/ietf-interfaces:interfaces/interface=eth1",
                "--store",
                store,
            ])
            .ok();
        let address = format!("{interface}/ietf-ip:ipv4/address=192.0.2.9/prefix-length");
        bench.run(&["set", &address, "8", "--store", store]).ok();
        bench.run(&["check", "--store", store]).ok();
    }
    let now = everything(&file);
    assert_eq!(now, everything(&other));
    assert!(now.contains("192.0.2.9") && !now.contains("eth1"), "{now}");
    let place = "/ietf-interfaces:interfaces/interface[name='eth0']|";
    let row = now.lines().find(|row| row.contains(place)).expect("a row");
    assert!(row.starts_with("default/default/running|/ietf-interfaces:interfaces/interface|"));
    let unshown = ask(&file, "SELECT count(*) FROM entries WHERE path IS NULL");
    assert_eq!(unshown, "0");
}

/// The view was empty until the next command opened the store.
#[test]
fn what_is_copied_or_restored_can_be_queried() {
    let bench = Bench::new();
    load(&bench, "sqlite:net.db?readable=true");
    let wanted = everything(&bench.path("net.db"));
    bench.run(&["backup", "sqlite:net.db", "net.backup"]).ok();
    for (command, from) in [("copy", "sqlite:net.db"), ("restore", "net.backup")] {
        let to = format!("sqlite:{command}.db?readable=true");
        bench.run(&[command, from, &to]).ok();
        assert_eq!(everything(&bench.path(&format!("{command}.db"))), wanted);
        bench.run(&[command, from, &to, "--force"]).ok();
        assert_eq!(everything(&bench.path(&format!("{command}.db"))), wanted);
        let folder = format!("file:{command}");
        bench.run(&[command, from, &folder]).ok();
        let document = format!("{command}/datastores/default/default/running.json");
        assert!(bench.path(&document).is_file(), "{document}");
    }
}

#[cfg(feature = "postgres")]
#[test]
fn queries_on_postgresql_as_printed() {
    use espalier_testkit::servers::Postgres;

    let Some(server) = Postgres::shared() else {
        return;
    };
    let bench = Bench::new();
    let url = server.url("");
    let schema = url.split_once("schema=").expect("a schema").1;
    let schema = schema.trim_end_matches('&');
    // Made readable later: what is there is filled in.
    load(&bench, &url);
    bench
        .run(&["history", "--store", &format!("{url}readable=true")])
        .ok();
    let ask = |query: &str| server.run(&format!("SET search_path = {schema}; {query}"));
    let queries = printed("PostgreSQL");
    assert_eq!(queries.len(), ANSWERS.len());
    for (query, answer) in queries.iter().zip(ANSWERS) {
        assert_eq!(ask(query), answer, "{query}");
    }
    let everything = "SELECT document, node, path, leaves FROM data ORDER BY path";
    let filled_in = ask(everything);
    let other = server.url("readable=true");
    load(&bench, &other);
    let place = other.split_once("schema=").expect("a schema").1;
    let place = place.split('&').next().expect("a name");
    let written = server.run(&format!("SET search_path = {place}; {everything}"));
    assert_eq!(filled_in, written);
    // As it is, without the option: rows follow.
    bench
        .run(&[
            "delete",
            "/ietf-interfaces:interfaces/interface=eth1",
            "--store",
            &url,
        ])
        .ok();
    let description = "/ietf-interfaces:interfaces/interface=eth0/description";
    bench
        .run(&["set", description, "other", "--store", &url])
        .ok();
    let now = ask(everything);
    assert!(
        now.contains("\"description\": \"other\"") && !now.contains("eth1"),
        "{now}"
    );
    assert_eq!(ask("SELECT count(*) FROM entries WHERE path IS NULL"), "0");
    // And gone.
    bench
        .run(&["history", "--store", &format!("{url}readable=false")])
        .ok();
    let columns = format!(
        "SELECT count(*) FROM information_schema.columns \
         WHERE table_schema = '{schema}' AND table_name = 'entries'"
    );
    assert_eq!(ask(&columns), "2");
    bench.run(&["check", "--store", &url]).ok();
}
