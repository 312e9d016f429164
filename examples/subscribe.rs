//! Follows the changes of a tree.
//!
//! $ cargo run -p espalier --example subscribe

use std::time::Duration;

use espalier::store::write_change_text;
use espalier::{Event, json};

const MODULE: &str = r#"
module ports {
  yang-version 1.1;
  namespace "urn:example:ports";
  prefix p;
  list port {
    key name;
    leaf name { type string; }
    leaf enabled { type boolean; default true; }
  }
}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = espalier::open("memory:")?;
    let tree = espalier::tree(&store, &[MODULE])?;
    // An empty list of paths means everything.
    let events = tree.events(vec![json::path(&tree, "/ports:port")?])?;

    let writer = tree.clone();
    let thread = std::thread::spawn(move || {
        json::merge(&writer, r#"{"ports:port":[{"name":"eth0"}]}"#)?;
        json::merge(
            &writer,
            r#"{"ports:port":[{"name":"eth0","enabled":false}]}"#,
        )?;
        json::delete(&writer, "/ports:port=eth0")
    });
    let mut commits = 0;
    while commits < 3 {
        match events.next(Duration::from_secs(10)) {
            Some(Event::Committed(commit)) => {
                commits += 1;
                for change in commit.diff.changes() {
                    let mut line = Vec::new();
                    write_change_text(&mut line, commit.diff.schema(), &change);
                    println!("{}: {}", commit.version, String::from_utf8_lossy(&line));
                }
            }
            Some(Event::Lagged(lost)) => {
                println!("versions {} to {} were lost", lost.first, lost.last)
            }
            None => return Err("no commit within ten seconds".into()),
        }
    }
    thread.join().map_err(|_| "the writer panicked")??;
    Ok(())
}
