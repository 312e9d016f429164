//! Devices to load: of our own model, or of the OpenROADM data set if it is available.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use espalier_yang::Schema;
use espalier_yang::data::{DataTree, ParseOptions, Root, TreeBuilder, json};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use serde_json::{Value, json};

use crate::process::shared_data;

/// A kind of device.
pub struct Inventory {
    /// The folder of the modules.
    pub modules: PathBuf,
    /// The top-level container.
    pub top: &'static str,
    /// The list in it.
    pub list: &'static str,
    /// A leaf of a device, and two values of it.
    pub leaf: &'static str,
    pub values: [&'static str; 2],
    /// Containers and list entries in one device.
    pub fragments: u64,
    template: String,
}

impl Inventory {
    /// Our own model.
    pub fn own() -> Self {
        let degrees: Vec<_> = (1..=4)
            .map(|number| {
                json!({
                    "number": number,
                    "wavelengths-max": 128,
                    "circuit-pack": [{"index": 1, "pack-name": "a/b, \"c\""}, {"index": 2}],
                })
            })
            .collect();
        let device = json!({
            "device-id": "C201-7-1A-NODE_ID_HERE",
            "ne-state": "inservice",
            "commissioned": "2022-11-06T14:12:23Z",
            "body": {
                "info": {"node-number": 7, "vendor": "vendor-a", "region": ["z", "a", "m"]},
                "degree": degrees,
                "measured": {"temperature": "21.5"},
            },
        });
        Self {
            modules: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/models"),
            top: "inventory:devices",
            list: "device",
            leaf: "ne-state",
            values: ["inservice", "outofservice"],
            fragments: 1 + 1 + 1 + 4 + 8 + 1,
            template: device.to_string(),
        }
    }

    /// The OpenROADM data set of `../shared`, if it exists.
    pub fn openroadm() -> Option<Self> {
        let folder = shared_data()?.join("openroadm");
        let template = fs::read_to_string(folder.join("device.json")).ok()?;
        Some(Self {
            modules: folder.join("yang"),
            top: "openroadm-devices-inventory-v2:openroadm-devices",
            list: "openroadm-device",
            leaf: "ne-state",
            values: ["inservice", "unmanaged"],
            fragments: 86,
            template,
        })
    }

    /// One device; numbers count from 1.
    pub fn device(&self, number: u64) -> Value {
        let text = self.template.replace("NODE_ID_HERE", &number.to_string());
        serde_json::from_str(&text).expect("a device")
    }

    pub fn id(number: u64) -> String {
        format!("C201-7-1A-{number}")
    }

    /// A document of devices.
    pub fn document(&self, devices: impl IntoIterator<Item = Value>) -> Value {
        let devices: Vec<_> = devices.into_iter().collect();
        json!({self.top: {self.list: devices}})
    }

    /// The path of a device in RESTCONF.
    pub fn device_path(&self, number: u64) -> String {
        format!(
            "/restconf/data/{}/{}={}",
            self.top,
            self.list,
            Self::id(number)
        )
    }

    /// The name of the list, as used at the top of a document.
    pub fn qualified_list(&self) -> String {
        let module = self.top.split(':').next().expect("a module");
        format!("{module}:{}", self.list)
    }

    /// The schema, compiled in this process to compare documents.
    pub fn schema(&self) -> Schema {
        let mut modules = Vec::new();
        for entry in fs::read_dir(&self.modules).expect("the modules") {
            let path = entry.expect("a module").path();
            let stem = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .expect("a name");
            let text = fs::read_to_string(&path).expect("a text");
            let lines = text.lines().map(str::trim);
            let revisions = lines.filter_map(|line| line.strip_prefix("revision "));
            let dates =
                revisions.map(|date| date.trim_start_matches('"').get(..10).unwrap_or(date));
            modules.push(ModuleSource {
                name: stem.split('@').next().unwrap_or(stem).to_owned(),
                revision: dates.max().map(str::to_owned),
                text,
            });
        }
        let source = SchemaSource {
            modules,
            ..SchemaSource::default()
        };
        Schema::compile(&source).expect("a schema")
    }
}

/// The expected devices by number.
pub type Devices = BTreeMap<u64, Value>;

/// Parses a document to a tree.
pub fn tree(schema: &Schema, document: &str) -> DataTree {
    let mut builder = TreeBuilder::new();
    let options = ParseOptions::default();
    json::parse(
        schema,
        Root::Datastore,
        document.as_bytes(),
        &mut builder,
        &options,
    )
    .expect("a document");
    builder.finish().expect("a tree")
}
