//! Document collections from the command line, on every engine in a folder.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use espalier_documents::{Declaration, Documents, FieldIndex, Kind};
use espalier_keyspace::{Batch, Direction, Driver, KeyRange};
use espalier_store::Subspace;
use serde_json::{Value, json};

use crate::process::Sandbox;

const ENGINES: [&str; 2] = ["embedded:garage", "sqlite:garage.sqlite"];

struct GarageFixture {
    sandbox: Sandbox,
    url: &'static str,
}

impl GarageFixture {
    fn new(url: &'static str) -> Self {
        let garage = Self {
            sandbox: Sandbox::new(),
            url,
        };
        garage.ok(&[
            "configure",
            "cars",
            "--unique",
            "name=/name",
            "--partition",
            "color=/color",
            "--partition",
            "color-and-year=/color,/year",
            "--tags",
            "keyword=/keywords",
        ]);
        let lines = [
            r#"{"document":{"name":"Corvet-0","color":"red","year":1999,"keywords":["fast","old"]}}"#,
            r#"{"document":{"name":"Corvet-1","color":"blue","year":2001,"keywords":["fast"]}}"#,
            r#"{"document":{"name":"Corvet-2","color":"red","year":2005,"keywords":[]}}"#,
        ];
        garage.sandbox.write("cars.jsonl", lines.join("\n"));
        assert_eq!(
            garage.ok(&["import", "cars", "cars.jsonl"]),
            "3 documents\n"
        );
        garage
    }

    fn arguments<'a>(&self, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["documents"], arguments, &["--store", self.url]].concat()
    }

    fn ok(&self, arguments: &[&str]) -> String {
        self.sandbox.run(&self.arguments(arguments)).ok()
    }

    fn failed(&self, arguments: &[&str], status: i32) -> String {
        self.sandbox.run(&self.arguments(arguments)).failed(status)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let arguments = self.arguments(&[arguments, &["--json"]].concat());
        self.sandbox.run(&arguments).json()
    }

    fn keys(&self, arguments: &[&str]) -> String {
        let text = self.ok(&[&["find", "cars"], arguments, &["--keys"]].concat());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn on_every_engine(check: impl Fn(&GarageFixture)) {
    ENGINES
        .into_iter()
        .for_each(|url| check(&GarageFixture::new(url)));
}

#[test]
fn documents_are_listed_by_collection_index_and_value() {
    on_every_engine(|garage| {
        assert_eq!(garage.ok(&["ls"]), "cars/\n");
        let text = garage.ok(&["ls", "cars"]);
        assert!(
            text.contains("3 documents") && text.contains("keyword/"),
            "{text}"
        );
        assert_eq!(garage.ok(&["ls", "cars", "data", "--limit", "2"]), "0\n1\n");
        let text = garage.ok(&["ls", "cars", "color"]);
        assert_eq!(text, "         1  \"blue\"\n         2  \"red\"\n");
        assert_eq!(garage.ok(&["ls", "cars", "color", "red"]), "0\n2\n");
        assert_eq!(garage.json(&["ls", "cars"])["documents"], 3);
    });
}

#[test]
fn documents_are_found_by_value_range_and_tags() {
    on_every_engine(|garage| {
        let found = garage.json(&["find", "cars", "name", "Corvet-1"]);
        assert_eq!(found["key"], 1);
        assert_eq!(found["document"]["color"], "blue");
        assert_eq!(garage.keys(&["color", "red"]), "0 2");
        assert_eq!(garage.keys(&["color", "red", "blue", "--any"]), "0 1 2");
        assert_eq!(garage.keys(&["keyword", "fast", "old", "--all"]), "0");
        assert_eq!(garage.keys(&["color", "--from", "c"]), "0 2");
        assert_eq!(garage.keys(&["color", "--before", "red", "--reverse"]), "1");
        assert_eq!(garage.keys(&["color-and-year", r#"["red",2005]"#]), "2");
        assert_eq!(garage.keys(&["color-and-year", "red", "--reverse"]), "2 0");
        assert_eq!(
            garage.keys(&[
                "color-and-year",
                "--after",
                r#"["red",1999]"#,
                "--to",
                r#"["red",2005]"#
            ]),
            "2"
        );
        let text = garage.failed(&["find", "cars", "color", "red", "blue"], 2);
        assert!(text.contains("add --all or --any"), "{text}");
        let text = garage.failed(&["find", "cars", "wheels", "4"], 1);
        assert!(
            text.contains("it has name, color, color-and-year, keyword"),
            "{text}"
        );
    });
}

#[test]
fn documents_are_written_and_deleted() {
    on_every_engine(|garage| {
        assert_eq!(garage.ok(&["insert", "cars", r#"{"name":"new"}"#]), "3\n");
        let text = garage.failed(&["insert", "cars", r#"{"name":"new"}"#], 1);
        assert!(
            text.contains(r#"index "name" is unique, but document 3 already has the value "new""#),
            "{text}"
        );
        assert_eq!(
            garage.ok(&["insert", "cars", r#"{"name":"nine"}"#, "--key", "9"]),
            "9\n"
        );
        garage.failed(&["insert", "cars", r#"{"name":"ten"}"#, "--key", "9"], 1);
        assert_eq!(
            garage.ok(&["upsert", "cars", "name", r#"{"name":"nine","color":"red"}"#]),
            "9\n"
        );
        assert_eq!(garage.keys(&["color", "red"]), "0 2 9");
        let new = garage.json(&[
            "update",
            "cars",
            r#"{"color":null,"year":7}"#,
            "--by",
            "name=nine",
        ]);
        assert_eq!(new["document"], json!({"name": "nine", "year": 7}));
        garage.ok(&["update", "cars", r#"{"color":"green"}"#, "--key", "0"]);
        assert_eq!(garage.keys(&["color", "green"]), "0");
        garage.ok(&["put", "cars", "0", r#"{"name":"other"}"#]);
        assert_eq!(
            garage.json(&["get", "cars", "0"])["document"],
            json!({"name": "other"})
        );
        assert_eq!(
            garage.ok(&["delete", "cars", "--by", "color=red"]),
            "1 deleted\n"
        );
        let text = garage.failed(&["delete", "cars", "0", "77", "78"], 1);
        assert!(text.contains("no document 77, 78"), "{text}");
        assert!(text.contains("1 deleted"), "{text}");
        let text = garage.failed(&["get", "cars", "0"], 1);
        assert!(
            text.contains("`espalier documents ls cars data` lists the keys"),
            "{text}"
        );
        let text = garage.failed(&["insert", "cars", "{name}"], 2);
        assert!(text.contains("no JSON"), "{text}");
        garage.ok(&["delete", "cars", "--collection-too"]);
        assert_eq!(garage.ok(&["ls"]), "");
        let text = garage.failed(&["get", "cars", "0"], 1);
        assert!(
            text.contains("`espalier documents configure` makes one"),
            "{text}"
        );
    });
}

#[test]
fn documents_with_an_index_value_are_updated_together() {
    on_every_engine(|garage| {
        let sale = ["update", "cars", r#"{"sale":true}"#, "--by"];
        let updated = garage.json(&[&sale[..], &["color=red"]].concat());
        assert_eq!(updated, json!({"updated": 2, "keys": [0, 2]}));
        let text = garage.ok(&[&sale[..], &["keyword=fast"]].concat());
        assert_eq!(text, "2 updated\n");
        for key in ["0", "1", "2"] {
            let found = garage.json(&["get", "cars", key]);
            assert_eq!(found["document"]["sale"], true, "{key}");
        }
        assert_eq!(
            garage.ok(&[&sale[..], &["color=pink"]].concat()),
            "0 updated\n"
        );
        // The second conflicts with the first, so neither is changed.
        let same = r#"{"name":"same","color":"green"}"#;
        let text = garage.failed(&["update", "cars", same, "--by", "color=red"], 1);
        assert!(text.contains(r#"index "name" is unique"#), "{text}");
        assert_eq!(garage.keys(&["color", "red"]), "0 2");
        assert_eq!(
            garage.ok(&["update", "cars", r#"{"color":"blue"}"#, "--by", "color=red"]),
            "2 updated\n"
        );
        assert_eq!(garage.keys(&["color", "blue"]), "0 1 2");
    });
}

#[test]
fn indexes_are_created_and_dropped_and_a_conflict_is_reported() {
    on_every_engine(|garage| {
        let text = garage.failed(&["configure", "cars", "--unique", "paint=/color"], 1);
        assert!(
            text.contains("documents 0") || text.contains("document 0"),
            "{text}"
        );
        assert!(!garage.ok(&["configure", "cars"]).contains("paint"));
        garage.ok(&[
            "configure",
            "cars",
            "--partition",
            "year=/year",
            "--drop-index",
            "color",
        ]);
        assert_eq!(garage.keys(&["year", "--from", "2000"]), "1 2");
        garage.failed(&["find", "cars", "color", "red"], 1);
        let text = garage.failed(&["configure", "cars", "--policy", "ram"], 2);
        assert!(text.contains("make it in a server"), "{text}");
        let text = garage.failed(&["configure", "cars", "--partition", "year=year"], 2);
        assert!(text.contains("write /year"), "{text}");
    });
}

#[test]
fn documents_are_exported_imported_and_checked() {
    on_every_engine(|garage| {
        let text = garage.ok(&["export", "cars"]);
        garage.sandbox.write("out.jsonl", &text);
        let configured = garage.ok(&["configure", "copy", "--unique", "name=/name"]);
        assert!(configured.contains("  unique    name "), "{configured}");
        assert_eq!(garage.ok(&["import", "copy", "out.jsonl"]), "3 documents\n");
        assert_eq!(garage.ok(&["export", "copy"]), text);
        garage.sandbox.write(
            "bad.jsonl",
            "{\"document\":{\"name\":\"x\"}}\n{\"document\":\n",
        );
        let text = garage.failed(&["import", "copy", "bad.jsonl"], 1);
        assert!(
            text.contains("no documents were imported: line 2, column"),
            "{text}"
        );
        assert!(!text.contains("line 1"), "another place is told: {text}");
        assert_eq!(garage.json(&["check", "cars"]), json!({"findings": []}));
        let repaired = garage.json(&["repair", "cars"]);
        assert_eq!(repaired, json!({"mended": [], "left": []}));
    });
}

/// Opens the engine of a closed store.
fn engine(garage: &GarageFixture) -> Arc<dyn Driver> {
    let place = garage.sandbox.path("");
    let (scheme, name) = garage.url.split_once(':').expect("a scheme");
    let url = format!("{scheme}:{}{name}", place.to_str().expect("a plain path"));
    espalier_drivers::open(&url).expect(&url)
}

/// Changes rows of a closed store directly, bypassing the store.
fn tamper(
    garage: &GarageFixture,
    matches_row: impl Fn(&[u8], &[u8]) -> bool,
    value: Option<&[u8]>,
) {
    let driver = engine(garage);
    let snapshot = driver.snapshot().expect("a snapshot");
    let mut batch = Batch::new();
    let mut cursor = snapshot
        .scan(&KeyRange::all(), Direction::Forward)
        .expect("a scan");
    while let Some((key, stored)) = cursor.next().expect("a row") {
        match value {
            _ if !matches_row(key, stored) => {}
            Some(value) => batch.put(key.to_vec(), value.to_vec()),
            None => batch.delete(key.to_vec()),
        }
    }
    drop(cursor);
    drop(snapshot);
    driver.commit(batch).expect("tampered");
}

fn contains_text(bytes: &[u8], part: &str) -> bool {
    bytes
        .windows(part.len())
        .any(|window| window == part.as_bytes())
}

#[test]
fn faults_are_reported_in_one_json_value() {
    on_every_engine(|garage| {
        tamper(garage, |key, _| contains_text(key, "Corvet-1"), None);
        let failed = |arguments: &[&str]| {
            let ended = garage.sandbox.run(&[arguments, &["--json"]].concat());
            assert_eq!(ended.status, 1, "{ended:?}");
            serde_json::from_str::<Value>(&ended.stdout).expect("one JSON value")
        };
        let check = ["documents", "check", "cars", "--store", garage.url];
        let found = failed(&check)["findings"]
            .as_array()
            .expect("findings")
            .len();
        assert!(found > 0);
        let whole = failed(&["check", garage.url]);
        assert_eq!(whole["findings"].as_array().expect("findings").len(), found);
        let text = garage.failed(&["check", "cars"], 1);
        assert!(
            text.contains("`espalier documents repair cars` mends them"),
            "{text}"
        );
        assert_eq!(garage.json(&["repair", "cars"])["left"], json!([]));

        tamper(
            garage,
            |_, stored| contains_text(stored, "\"Corvet-2\""),
            Some(b"\xff"),
        );
        assert!(
            failed(&check)["findings"]
                .as_array()
                .is_some_and(|found| !found.is_empty())
        );
        let left = failed(&["documents", "repair", "cars", "--store", garage.url]);
        assert!(
            left["left"].as_array().is_some_and(|left| !left.is_empty()),
            "{left}"
        );
    });
}

/// Opens the documents of a closed store.
fn open_documents(garage: &GarageFixture) -> Documents {
    let driver = engine(garage);
    Documents::new(driver, &Subspace::Documents.key())
}

#[test]
fn server_resumes_an_interrupted_index_build() {
    on_every_engine(|garage| {
        let lines: String = (0..2000)
            .map(|n| format!("{}\n", json!({"document": {"n": n, "half": n % 2}})))
            .collect();
        garage.sandbox.write("many.jsonl", lines);
        garage.ok(&["configure", "many"]);
        garage.ok(&["import", "many", "many.jsonl"]);
        let half = FieldIndex {
            name: "half".to_owned(),
            kind: Kind::Partition,
            fields: vec!["/half".to_owned()],
        };
        let documents = open_documents(garage);
        let unbuilt = Declaration::<Value>::new("many").fields(half);
        unbuilt.open_unbuilt(&documents).expect("not built");
        assert_eq!(documents.unbuilt().expect("a list"), ["many"]);
        drop(documents);

        let server = garage.sandbox.serve(&["--store", garage.url]);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            let info = server.request("GET", "/documents/many", None);
            let info: Value = serde_json::from_str(&info.body).expect("JSON");
            let index = &info["indexes"][0];
            if index["is-built"] == true {
                assert!(index["built-before"].is_null(), "{info}");
                break;
            }
            assert!(index["built-before"].is_u64(), "{info}");
            assert!(
                std::time::Instant::now() < deadline,
                "it is not built: {info}"
            );
        }
        let found = "/documents/many/items?index=half&value=1&limit=2000";
        let found = server.request("GET", found, None);
        let found: Value = serde_json::from_str(&found.body).expect("JSON");
        assert_eq!(found["documents"].as_array().map(Vec::len), Some(1000));
        let metrics = server.request("GET", "/metrics", None).body;
        assert!(
            metrics.contains("espalier_documents_unbuilt_collections 0"),
            "{metrics}"
        );
        assert_eq!(server.terminate(), Some(0));
        assert_eq!(garage.json(&["check", "many"]), json!({"findings": []}));
    });
}

/// Changes by other processes, about which these engines send no notifications.
#[test]
fn watch_prints_changes_as_they_happen() {
    on_every_engine(|garage| {
        let watch = garage.arguments(&["watch", "cars", "--count", "3", "--for", "60"]);
        let mut watch_process = garage
            .sandbox
            .command(&watch)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("the binary");
        let lines = BufReader::new(watch_process.stdout.take().expect("standard output"));
        let mut lines = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(&line.expect("a line")).expect("JSON"));
        let begin = lines.next().expect("it watches");
        assert!(begin["version"].is_u64(), "{begin}");
        garage.ok(&["insert", "cars", r#"{"name":"new"}"#]);
        let first = lines.next().expect("a change");
        assert_eq!(
            (&first["key"], &first["document"]),
            (&json!(3), &json!({"name": "new"}))
        );
        assert!(
            first["version"].as_u64() > begin["version"].as_u64(),
            "{first}"
        );
        garage.ok(&["delete", "cars", "0"]);
        let second = lines.next().expect("a change");
        assert_eq!(
            (&second["key"], &second["deleted"]),
            (&json!(0), &json!(true))
        );
        garage.ok(&["put", "cars", "3", r#"{"name":"other"}"#]);
        let third = lines.next().expect("a change");
        assert_eq!(
            (&third["key"], &third["document"]),
            (&json!(3), &json!({"name": "other"}))
        );
        assert_eq!(lines.next(), None);
        assert!(watch_process.wait().expect("an end").success());
        garage.failed(&["watch", "none"], 1);
    });
}

/// A change feed is a request that stays open until its client closes it.
#[test]
fn server_stops_while_a_client_watches() {
    on_every_engine(|garage| {
        let server = garage.sandbox.serve(&["--store", garage.url]);
        let address = server.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("connected");
        let request = "GET /documents/cars/changes HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("sent");
        let mut text = BufReader::new(stream);
        let mut line = String::new();
        while !line.starts_with("event: begin") {
            line.clear();
            assert!(text.read_line(&mut line).expect("a line") > 0, "it ended");
        }
        let car = r#"{"name":"told"}"#;
        let insert = server.request("POST", "/documents/cars/items", Some(car));
        assert_eq!(insert.status, 201, "{insert:?}");
        let started = std::time::Instant::now();
        assert_eq!(server.terminate(), Some(0));
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
        let mut rest = String::new();
        text.read_to_string(&mut rest).expect("the rest");
        assert!(rest.contains(r#""document":{"name":"told"}"#), "{rest}");
        assert!(
            rest.ends_with("0\r\n\r\n"),
            "the feed ended as it should: {rest}"
        );
    });
}

#[test]
fn invalid_arguments_are_rejected() {
    on_every_engine(|garage| {
        let twice = ["--partition", "q=/q", "--unique", "q=/r"];
        let text = garage.failed(&[&["configure", "cars"], &twice[..]].concat(), 2);
        assert!(text.contains("declared twice"), "{text}");
        garage.failed(&["configure", "cars", "--partition", "a=/x~2"], 2);
        garage.failed(&["configure", "cars", "--partition", "data=/x"], 2);
        garage.failed(&["delete", "cars", "--by", "color=[]"], 2);
        garage.failed(&["find", "cars", "color", "[]"], 2);
        garage.failed(&["ls", "cars", "color", "[]"], 2);
        garage.failed(&["find", "cars", "color", "[1,2]"], 2);
        let text = garage.failed(&["insert", "cars", r#"{"n":12345678901234567890123}"#], 2);
        assert!(text.contains("/n: the integer"), "{text}");
        garage.failed(&["get", "cars", "0", "--reverse"], 2);
        garage.failed(&["get", "cars", "0", "--limit", "1"], 2);
        garage.failed(&["get", "cars", "0", "--offset", "1"], 2);
        assert_eq!(garage.ok(&["ls", "cars", "data"]), "0\n1\n2\n");
    });
}

#[test]
fn negative_numbers_are_values() {
    on_every_engine(|garage| {
        garage.ok(&["configure", "cars", "--partition", "year=/year"]);
        garage.ok(&["insert", "cars", r#"{"name":"old","year":-1}"#]);
        assert_eq!(garage.keys(&["year", "--from", "-2", "--to", "2"]), "3");
        assert_eq!(garage.keys(&["year", "-1"]), "3");
    });
}

#[test]
fn export_to_a_file_appears_only_when_complete() {
    on_every_engine(|garage| {
        garage.ok(&["export", "cars", "-o", "whole.jsonl"]);
        let text = garage.ok(&["export", "cars"]);
        let path = garage.sandbox.path("whole.jsonl");
        assert_eq!(std::fs::read_to_string(path).expect("a file"), text);
        assert!(!garage.sandbox.path("whole.jsonl.partial").exists());
    });
}
