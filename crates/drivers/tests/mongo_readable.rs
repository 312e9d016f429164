//! The documents for human readers in MongoDB: they follow the rows.
#![cfg(feature = "mongo")]

use std::io;
use std::sync::Arc;

use espalier_keyspace::{
    Batch, Document, Driver, EditedDocument, KeyRange, Lens, ReadableRow, Result, Snapshot,
};
use espalier_testkit::servers::Mongo;

/// Decodes keys that begin with `row`; the document name is the value of the key `name`.
struct Named;

impl Lens for Named {
    fn documents(&self, _state: &dyn Snapshot) -> Result<Vec<Document>> {
        Ok(Vec::new())
    }

    fn print(&self, _: &dyn Snapshot, _: &str, _: &mut dyn io::Write) -> Result<()> {
        Ok(())
    }

    fn row(&self, state: &dyn Snapshot, key: &[u8], value: &[u8]) -> Result<Option<ReadableRow>> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let name = state.get(b"name")?.map(|name| text(&name));
        Ok(key.starts_with(b"row").then(|| ReadableRow {
            document: name.unwrap_or_default(),
            node: "/rows".to_owned(),
            path: format!("/{}", text(key)),
            json: format!(
                r#"{{"a.b": "{}", "length": {}}}"#,
                text(&value[..3]),
                value.len()
            ),
        }))
    }
}

fn open(url: &str) -> Arc<dyn Driver> {
    let driver = espalier_drivers::open(url).expect("the server is there");
    let refuse = &mut |_: &EditedDocument<'_>| panic!("MongoDB documents cannot be edited");
    driver.set_lens(Arc::new(Named), refuse).expect("a lens");
    driver
}

fn rows(mongo: &Mongo, url: &str) -> Vec<String> {
    let found = mongo.run(
        Mongo::database(url),
        r#"{"find": "espalier.data", "filter": {"node": "/rows"}, "sort": {"path": 1},
            "projection": {"_id": 0, "document": 1, "path": 1, "leaves": 1}}"#,
    );
    let rows = found["cursor"]["firstBatch"].as_array().expect("rows");
    let text = |row: &serde_json::Value| {
        let leaves = &row["leaves"];
        let (first, length) = (&leaves["a\u{ff0e}b"], &leaves["length"]);
        format!("{} {} {first} {length}", row["document"], row["path"]).replace('"', "")
    };
    rows.iter().map(text).collect()
}

#[test]
fn fields_follow_the_rows() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("");
    let plain = open(&url);
    let mut batch = Batch::new();
    batch.put("name", "things");
    for number in 0..3 {
        batch.put(format!("row{number}"), "old");
    }
    plain.commit(batch).expect("a batch");
    assert_eq!(rows(mongo, &url), [""; 0]);
    drop(plain);
    let readable = open(&format!("{url}&readable=true"));
    let shown = [
        "things /row0 old 3",
        "things /row1 old 3",
        "things /row2 old 3",
    ];
    assert_eq!(rows(mongo, &url), shown);
    drop(readable);
    // The key space stays readable.
    let driver = open(&url);
    let mut batch = Batch::new();
    batch.put("row0", "new value");
    batch.delete("row1");
    batch.put("row9", vec![b'l'; 600_000]);
    driver.commit(batch).expect("a batch");
    let shown = [
        "things /row0 new 9",
        "things /row2 old 3",
        "things /row9 lll 600000",
    ];
    assert_eq!(rows(mongo, &url), shown);
    let mut batch = Batch::new();
    batch.delete_range(KeyRange::prefix(b"row"));
    batch.put("row5", "five");
    driver.commit(batch).expect("a batch");
    assert_eq!(rows(mongo, &url), ["things /row5 fiv 4"]);
    assert_eq!(driver.check().expect("a check"), []);
    drop(driver);
    drop(open(&format!("{url}&readable=false")));
    assert_eq!(rows(mongo, &url), [""; 0]);
}
