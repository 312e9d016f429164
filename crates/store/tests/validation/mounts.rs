//! Mounted schemas (RFC 8528) in a store: kept, upgraded, and as cheap as the same nodes without a mount.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use espalier_keyspace::metered::{Call, Meter, Metered};
use espalier_store::{
    CommitOptions, Datastore, Error, Selection, Store, SystemClock, Tree, UnknownData,
    UpgradeOptions,
};
use espalier_yang::InstancePath;
use espalier_yang::data::Operation;
use espalier_yang::schema::{ModuleSource, MountSource, MountedSchemas, SchemaSource};

use crate::edit::Change;
use crate::fixture::{parse, sources};

/// The nodes of a device, by the path of its root.
fn content(root: &str) -> String {
    format!(
        "container system {{ leaf hostname {{ type string; }}
           leaf main {{ type leafref {{ path '{root}/interface/name'; }} }} }}
         list interface {{ key name; leaf name {{ type string; }}
           leaf mtu {{ type uint16; must '. <= {root}/limits/mtu-max'; }}
           must 'count({root}/interface[mtu = current()/mtu]) <= 9'; }}
         container limits {{ leaf mtu-max {{ type uint16; default 1500; }} }}"
    )
}

fn router() -> String {
    let content = content("")
        .replace("'/", "'/r:")
        .replace("count(/", "count(/r:");
    let content = content
        .replace("/r:interface/name", "/r:interface/r:name")
        .replace("/r:limits/mtu-max", "/r:limits/r:mtu-max")
        .replace(". <= /limits/mtu-max", ". <= /r:limits/r:mtu-max");
    format!("module r {{ yang-version 1.1; namespace urn:r; prefix r; {content} }}")
}

fn fleet(in_root: &str) -> String {
    format!(
        "module f {{ yang-version 1.1; namespace urn:f; prefix f;
           import ietf-yang-schema-mount {{ prefix yangmnt; }}
           list device {{ key name; leaf name {{ type string; }} leaf model {{ type string; }}
             container root {{ {in_root} }} }} }}"
    )
}

fn mounting(schemas: MountedSchemas) -> SchemaSource {
    SchemaSource {
        mounts: vec![MountSource {
            module: "f".to_owned(),
            label: "d".to_owned(),
            schemas,
        }],
        ..sources([&*fleet("yangmnt:mount-point d;")])
    }
}

fn shared(text: &str) -> SchemaSource {
    mounting(MountedSchemas::Shared {
        schema: sources([text]),
        parent_references: Vec::new(),
    })
}

fn inline(schemas: &[(&str, &str)]) -> SchemaSource {
    let schemas = schemas.iter();
    let named = schemas.map(|(name, text)| ((*name).to_owned(), sources([*text])));
    mounting(MountedSchemas::Inline {
        selector: "model".to_owned(),
        schemas: named.collect::<BTreeMap<_, _>>(),
    })
}

/// The same nodes without a mount: the expressions start at the device.
fn unmounted() -> SchemaSource {
    // From a leaf of `system`, of an interface, and from an interface.
    let content = content("ROOT")
        .replace("'ROOT/interface/name", "'../../interface/name")
        .replace(". <= ROOT", ". <= ../..")
        .replace("count(ROOT", "count(..");
    sources([&*fleet(&content)])
}

struct Measured {
    tree: Tree,
    meter: Arc<Meter>,
    prefix: &'static str,
}

impl Measured {
    fn new(source: &SchemaSource, prefix: &'static str) -> Self {
        let driver = Metered::new(espalier_drivers::open("memory:").unwrap());
        let meter = driver.meter();
        let store = Store::open(Arc::new(driver), Arc::new(SystemClock)).unwrap();
        store.create_dataspace("d").unwrap();
        store.create_schema_set("d", "s", source).unwrap();
        store.create_anchor("d", "a", "s").unwrap();
        Self {
            tree: store.tree("d", "a", Datastore::Running).unwrap(),
            meter,
            prefix,
        }
    }

    fn total(&self) -> u64 {
        let readings = self.meter.readings();
        let counted = [Call::Get, Call::Scan, Call::Step];
        let rows = readings
            .iter()
            .filter(|reading| counted.contains(&reading.call));
        let effort = self.tree.store().validation_effort();
        rows.map(|reading| reading.count).sum::<u64>() + effort.checks + effort.visits
    }

    fn merge(&self, document: &str) -> Result<u64, Error> {
        let before = self.total();
        let tree = parse(self.tree.schema(), &document.replace("r:", self.prefix));
        let edit = Change::Tree(InstancePath::root(), tree, Operation::Merge).to_edit();
        self.tree.commit(&[edit], CommitOptions::default())?;
        Ok(self.total() - before)
    }

    fn device(number: usize) -> String {
        format!(
            r#"{{"name":"r{number}","root":{{"r:system":{{"hostname":"h","main":"a"}},
               "r:interface":[{{"name":"a","mtu":{}}},{{"name":"b"}}]}}}}"#,
            1000 + number % 500
        )
    }

    fn fill(&self, devices: usize) {
        let mut text = String::from(r#"{"f:device":["#);
        for number in 0..devices {
            let comma = if number == 0 { "" } else { "," };
            write!(text, "{comma}{}", Self::device(number)).unwrap();
        }
        self.merge(&(text + "]}")).unwrap();
    }

    /// The costs of changes of one device, and of a read of it.
    fn costs(&self) -> Vec<u64> {
        let one = |members: &str| {
            let device = format!(r#"{{"f:device":[{{"name":"r7","root":{{{members}}}}}]}}"#);
            self.merge(&device).unwrap()
        };
        let mut costs = vec![
            one(r#""r:interface":[{"name":"b","mtu":1400}]"#),
            one(r#""r:interface":[{"name":"c"}],"r:system":{"main":"c"}"#),
            one(r#""r:limits":{"mtu-max":1450}"#),
            self.merge(&format!(r#"{{"f:device":[{}]}}"#, Self::device(5000)))
                .unwrap(),
        ];
        let before = self.total();
        let path = InstancePath::parse_cli_path(self.tree.schema(), "/f:device=r7").unwrap();
        let mut builder = espalier_yang::data::TreeBuilder::new();
        let view = self.tree.view().unwrap();
        assert!(
            view.read(&path, &Selection::default(), &mut builder)
                .unwrap()
        );
        costs.push(self.total() - before);
        costs
    }
}

#[test]
fn a_device_costs_the_same_as_without_a_mount_and_among_any_number() {
    let costs = |source: &SchemaSource, prefix, devices| {
        let measured = Measured::new(source, prefix);
        measured.fill(devices);
        measured.costs()
    };
    let without = costs(&unmounted(), "", 1000);
    let mounted = costs(&shared(&router()), "r:", 1000);
    assert_eq!(mounted, without);
    let few = costs(&shared(&router()), "r:", 100);
    for (few, many) in few.iter().zip(&mounted) {
        assert!(*many <= few + few / 4, "{few} -> {many}");
    }
}

#[test]
fn constraints_are_checked_when_what_they_read_changes() {
    let measured = Measured::new(&shared(&router()), "r:");
    measured.fill(3);
    let set = |device: &str, members: &str| {
        let device = format!(r#"{{"f:device":[{{"name":"{device}","root":{{{members}}}}}]}}"#);
        measured.merge(&device)
    };
    assert!(set("r1", r#""r:limits":{"mtu-max":1000}"#).is_err());
    assert!(set("r1", r#""r:limits":{"mtu-max":1001}"#).is_ok());
    assert!(set("r1", r#""r:interface":[{"name":"b","mtu":1002}]"#).is_err());
    assert!(set("r2", r#""r:interface":[{"name":"b","mtu":1002}]"#).is_ok());
    assert!(set("r2", r#""r:system":{"main":"x"}"#).is_err());
}

const NEWER: &str = "module r { yang-version 1.1; namespace urn:r; prefix r; revision 2027-01-01;
    container system { leaf hostname { type string; } leaf serial { type string; } } }";

fn upgrade(tree: &Tree, source: &SchemaSource, unknown: UnknownData) -> Result<(), Error> {
    let options = UpgradeOptions {
        unknown,
        ..UpgradeOptions::default()
    };
    let upgraded = tree.store().upgrade_schema_set("d", "s", source, options);
    upgraded.map(drop)
}

#[test]
fn what_is_mounted_is_kept_and_upgraded() {
    let source = shared(&router());
    let measured = Measured::new(&source, "r:");
    measured.fill(2);
    let store = measured.tree.store();
    assert_eq!(store.schema_set("d", "s").unwrap().source, source);
    let newer = shared(NEWER);
    let refused = upgrade(&measured.tree, &newer, UnknownData::Refuse);
    let refused = refused.expect_err("data of removed nodes").to_string();
    assert!(
        refused.contains("/f:device[name='r0']/root/r:interface"),
        "{refused}"
    );
    upgrade(&measured.tree, &newer, UnknownData::Drop).unwrap();
    assert_eq!(store.schema_set("d", "s").unwrap().source, newer);
    let tree = store.tree("d", "a", Datastore::Running).unwrap();
    let path = |text: &str| InstancePath::parse_cli_path(tree.schema(), text);
    let hostname = path("/f:device=r1/root/r:system/hostname").unwrap();
    assert!(tree.view().unwrap().exists(&hostname).unwrap());
    assert!(path("/f:device=r1/root/r:interface").is_err());
    // Without the mount, there is nowhere to keep the rest.
    let without = sources([&*fleet("")]);
    assert!(upgrade(&tree, &without, UnknownData::Refuse).is_err());
    upgrade(&tree, &without, UnknownData::Drop).unwrap();
    let texts = espalier_testkit::rows::rows(
        &**store.driver(),
        &espalier_store::Subspace::Catalog.range(),
    );
    let is_text = |text: &str| texts.iter().any(|(_, value)| value == text.as_bytes());
    assert!(is_text(&fleet("")));
}

#[test]
fn the_schema_of_an_instance_changes_with_its_leaf() {
    let schemas = [("old", &*router()), ("new", NEWER)];
    let measured = Measured::new(&inline(&schemas), "r:");
    let set =
        |members: &str| measured.merge(&format!(r#"{{"f:device":[{{"name":"r1",{members}}}]}}"#));
    let old = r#""model":"old","root":{"r:system":{"hostname":"h"},"r:interface":[{"name":"a"}]}"#;
    set(old).unwrap();
    assert!(set(r#""root":{"r:system":{"serial":"s"}}"#).is_err());
    set(r#""model":"new""#).unwrap();
    set(r#""root":{"r:system":{"serial":"s"}}"#).unwrap();
    assert!(set(r#""root":{"r:interface":[{"name":"a"}]}"#).is_err());
    let schema = measured.tree.schema();
    let exists = |text: &str| {
        let path = InstancePath::parse_cli_path(schema, text).unwrap();
        measured.tree.view().unwrap().exists(&path).unwrap()
    };
    assert!(exists("/f:device=r1/root/r:system/hostname"));
    assert!(!exists("/f:device=r1/root/r:interface=a"));
}

#[test]
fn a_large_mounted_schema_is_stored_compiled() {
    let mut text = String::from("module r { yang-version 1.1; namespace urn:r; prefix r;");
    for number in 0..1000 {
        write!(text, "leaf l{number} {{ type leafref {{ path '/r:k'; }} }}").unwrap();
    }
    text.push_str("leaf k { type string; } }");
    let source = shared(&text);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("embedded:{}?durability=relaxed", folder.path().display());
    let open =
        || Store::open(espalier_drivers::open(&url).unwrap(), Arc::new(SystemClock)).unwrap();
    let store = open();
    store.create_dataspace("d").unwrap();
    store.create_schema_set("d", "s", &source).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    drop(store.tree("d", "a", Datastore::Running).unwrap());
    drop(store);
    let store = open();
    let rows = espalier_testkit::rows::rows(
        &**store.driver(),
        &espalier_store::Subspace::Compiled.range(),
    );
    assert!(!rows.is_empty());
    let tree = store.tree("d", "a", Datastore::Running).unwrap();
    let merge = |value: &str| {
        let document =
            format!(r#"{{"f:device":[{{"name":"x","root":{{"r:k":"v","r:l7":"{value}"}}}}]}}"#);
        let tree_of = parse(tree.schema(), &document);
        let edit = Change::Tree(InstancePath::root(), tree_of, Operation::Merge).to_edit();
        tree.commit(&[edit], CommitOptions::default())
    };
    assert!(merge("w").is_err());
    merge("v").unwrap();
    assert_eq!(tree.schema().mounts().len(), 1);
}

/// A module text is a [`ModuleSource`] of its own.
#[test]
fn texts_of_mounted_modules_are_deleted_with_their_last_schema_set() {
    let measured = Measured::new(&shared(&router()), "r:");
    let store = measured.tree.store();
    let has_text = || {
        let module = ModuleSource::from_text(router()).unwrap();
        let rows = espalier_testkit::rows::rows(
            &**store.driver(),
            &espalier_store::Subspace::Catalog.range(),
        );
        rows.iter()
            .any(|(_, value)| *value == module.text.as_bytes())
    };
    assert!(has_text());
    store.delete_anchor("d", "a").unwrap();
    store.delete_schema_set("d", "s").unwrap();
    assert!(!has_text());
}

const ALARMS: &str = "module r { yang-version 1.1; namespace urn:r; prefix r;
    list alarm { key id; leaf id { type uint8; } leaf about { type instance-identifier; } } }";

#[test]
fn what_an_instance_identifier_refers_to_stays() {
    let measured = Measured::new(&shared(ALARMS), "r:");
    let alarms = r#"[{"id":1},{"id":2,"about":"/r:alarm[id='1']"}]"#;
    let device = |name: &str| format!(r#"{{"name":"{name}","root":{{"r:alarm":{alarms}}}}}"#);
    let other = r#"{"name":"c","root":{"r:alarm":[{"id":1}]}}"#;
    let devices = [device("a"), device("b"), other.to_owned()].join(",");
    measured
        .merge(&format!(r#"{{"f:device":[{devices}]}}"#))
        .unwrap();
    let delete = |path: &str| {
        let path = InstancePath::parse_cli_path(measured.tree.schema(), path).unwrap();
        let edits = [Change::Delete(path).to_edit()];
        measured
            .tree
            .commit(&edits, CommitOptions::default())
            .map(drop)
    };
    let refused = delete("/f:device=a/root/r:alarm=1")
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("device[name='a']") && !refused.contains("'b'"),
        "{refused}"
    );
    delete("/f:device=c/root/r:alarm=1").unwrap();
    delete("/f:device=a/root/r:alarm=2").unwrap();
    delete("/f:device=a/root/r:alarm=1").unwrap();
    delete("/f:device=b").unwrap();
}

#[test]
fn references_to_the_parent_are_checked_when_what_they_read_changes() {
    let host = fleet("yangmnt:mount-point d;").replace(
        "list device",
        "list iface { key name; leaf name { type string; } leaf bind { type string; } } list device",
    );
    let mounted = "module r { yang-version 1.1; namespace urn:r; prefix r; import f { prefix f; }
        leaf port { type leafref { path '/f:iface/f:name'; } }
        leaf limit { type uint8; must '. >= count(/f:iface)'; } }";
    let mut schema = sources([mounted, &host]);
    schema.implement = vec!["r".to_owned()];
    let source = SchemaSource {
        mounts: vec![MountSource {
            module: "f".to_owned(),
            label: "d".to_owned(),
            schemas: MountedSchemas::Shared {
                schema,
                parent_references: vec!["/f:iface[f:bind = current()/../f:name]".to_owned()],
            },
        }],
        ..sources([&*host])
    };
    let measured = Measured::new(&source, "r:");
    let iface = |name: &str, bind: &str| {
        let iface = format!(r#"{{"f:iface":[{{"name":"{name}","bind":"{bind}"}}]}}"#);
        measured.merge(&iface)
    };
    let device = |name: &str, members: &str| {
        let device = format!(r#"{{"f:device":[{{"name":"{name}","root":{{{members}}}}}]}}"#);
        measured.merge(&device)
    };
    iface("e0", "d1").unwrap();
    device("d1", r#""r:port":"e0","r:limit":1"#).unwrap();
    assert!(device("d2", r#""r:port":"e0""#).is_err());
    assert!(iface("e0", "d2").is_err());
    // Two are more than the limit of d1, but the second is bound to d2.
    iface("e1", "d2").unwrap();
    device("d2", r#""r:port":"e1""#).unwrap();
    assert!(iface("e2", "d1").is_err());
    device("d1", r#""r:limit":2"#).unwrap();
    iface("e2", "d1").unwrap();
    assert!(device("d1", r#""r:limit":1"#).is_err());
    let delete = |name: &str| {
        let path = format!("/f:iface={name}");
        let path = InstancePath::parse_cli_path(measured.tree.schema(), &path).unwrap();
        let edits = [Change::Delete(path).to_edit()];
        measured
            .tree
            .commit(&edits, CommitOptions::default())
            .map(drop)
    };
    assert!(delete("e0").is_err());
    delete("e2").unwrap();
    device("d1", r#""r:port":"e0","r:limit":1"#).unwrap();
}
