//! Several edits in one commit, and the errors of a commit that violates constraints.
//!
//! $ cargo run -p espalier --example transaction

use espalier::{CommitOptions, Edit, Error, InstancePath, json};

const MODULE: &str = r#"
module pools {
  yang-version 1.1;
  namespace "urn:example:pools";
  prefix p;
  list pool {
    key name;
    leaf name { type string; }
    leaf size { type uint32; must ". <= 256" { error-message "a pool has at most 256 addresses"; } }
  }
  list customer {
    key name;
    leaf name { type string; }
    leaf pool { type leafref { path "/pool/name"; } }
  }
}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = espalier::open("memory:")?;
    let tree = espalier::tree(&store, &[MODULE])?;
    json::merge(
        &tree,
        r#"{"pools:pool":[{"name":"old","size":16}],
            "pools:customer":[{"name":"a","pool":"old"}]}"#,
    )?;

    // Either edit alone would leave a reference to a pool that does not exist.
    let merged = json::parse(
        &tree,
        r#"{"pools:pool":[{"name":"new","size":64}],
            "pools:customer":[{"name":"a","pool":"new"}]}"#,
    )?;
    let edits = [
        Edit::merge(InstancePath::root(), merged),
        Edit::delete(json::path(&tree, "/pools:pool=old")?),
    ];
    let options = CommitOptions {
        author: "migration",
        comment: "pool old becomes new",
        ..CommitOptions::default()
    };
    let commit = tree.commit(&edits, options)?;
    println!("version {}", commit.version);

    let wrong = r#"{"pools:pool":[{"name":"new","size":1000}],
                    "pools:customer":[{"name":"b","pool":"none"}]}"#;
    match json::merge(&tree, wrong) {
        Err(Error::Data(errors)) => {
            for error in errors.iter() {
                println!("{}: {} ({})", error.path, error.message, error.tag.as_str());
            }
        }
        other => println!("unexpected: {other:?}"),
    }
    println!("{}", json::get(&tree, "/pools:pool")?.unwrap_or_default());
    Ok(())
}
