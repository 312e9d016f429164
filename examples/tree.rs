//! Stores a YANG tree in an embedded store, and reads it after the store is reopened.
//!
//! $ cargo run -p espalier --example tree

use espalier::json;

const MODULE: &str = r#"
module network {
  yang-version 1.1;
  namespace "urn:example:network";
  prefix n;
  list device {
    key name;
    leaf name { type string; }
    leaf site { type string; mandatory true; }
    leaf mtu { type uint16 { range "68..9216"; } default 1500; }
  }
}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = format!("embedded:{}", folder.path().join("store").display());
    {
        let store = espalier::open(&url)?;
        let tree = espalier::tree(&store, &[MODULE])?;
        let devices = r#"{"network:device":[
            {"name":"core-1","site":"cellar","mtu":9000},
            {"name":"edge-1","site":"roof"}]}"#;
        let commit = json::merge(&tree, devices)?;
        println!("version {}", commit.version);
    }
    let store = espalier::open(&url)?;
    let tree = espalier::tree(&store, &[MODULE])?;
    let found = json::get(&tree, "/network:device=core-1")?;
    println!("{}", found.unwrap_or_default());
    json::delete(&tree, "/network:device=edge-1")?;
    let devices = json::path(&tree, "/network:device")?;
    println!("devices: {}", tree.view()?.count(&devices)?);
    Ok(())
}
