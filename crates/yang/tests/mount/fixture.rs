//! Test models: a list of devices, each with the data of a router.

use std::collections::BTreeMap;

use espalier_yang::data::{DataTree, ParseOptions, Root, TreeBuilder, TreeInstances, json};
use espalier_yang::schema::{MountSource, MountedSchemas, SchemaSource};
use espalier_yang::validate::{ValidationPlan, WorkerShare, validate};
use espalier_yang::xpath::evaluate::Limits;
use espalier_yang::{Instances, Schema};

pub use espalier_yang::schema::ModuleSource;

/// The parent schema.
pub const FLEET: &str = r#"module fleet {
  yang-version 1.1; namespace "urn:fleet"; prefix fl;
  import ietf-yang-schema-mount { prefix yangmnt; }
  container devices {
    list device {
      key name;
      leaf name { type string; }
      leaf model { type string; }
      container root { yangmnt:mount-point "device"; }
    }
  }
}"#;

/// A mounted module: absolute and relative paths, identities, a choice, defaults.
pub const ROUTER: &str = r#"module router {
  yang-version 1.1; namespace "urn:router"; prefix rt;
  revision 2025-01-01;
  identity media;
  identity copper { base media; }
  container system {
    must "not(rt:main) or /rt:interface[rt:name = current()/rt:main]/rt:enabled = 'true'";
    leaf hostname { type string; mandatory true; }
    leaf main { type leafref { path "/rt:interface/rt:name"; } }
    leaf-list dns { type string; }
  }
  list interface {
    key name;
    must "count(/rt:interface) <= 3" { error-message "at most three"; }
    must "not(../../fl) and not(../../../model)";
    leaf name { type string; }
    leaf enabled { type boolean; default true; }
    leaf media { type identityref { base media; } }
    leaf mtu { type uint16; must ". <= /rt:limits/rt:mtu-max"; }
    leaf peer {
      when "/rt:system/rt:hostname != 'alone'";
      type leafref { path "../../rt:interface/rt:name"; }
      must "derived-from(/rt:interface[rt:name = current()]/rt:media, 'rt:media') or not(../rt:media)";
    }
    action reset { input { leaf why { type leafref { path "/rt:interface/rt:name"; } } } }
  }
  container limits { leaf mtu-max { type uint16; default 9000; } }
  rpc reboot { input { leaf delay { type uint8; } } }
  notification link-down { leaf name { type string; } }
}"#;

/// A module that augments the router.
pub const OPTICS: &str = r#"module optics {
  yang-version 1.1; namespace "urn:optics"; prefix op;
  import router { prefix rt; }
  revision 2025-02-02;
  identity fibre { base rt:media; }
  container transponder { leaf channel { type uint8; mandatory true; } }
  augment "/rt:interface" {
    leaf wavelength { type uint32; must "/op:transponder/op:channel > 0"; }
  }
}"#;

pub fn module(text: &str) -> ModuleSource {
    ModuleSource::from_text(text).expect("a module")
}

pub fn modules(texts: &[&str]) -> SchemaSource {
    SchemaSource {
        modules: texts.iter().map(|text| module(text)).collect(),
        ..SchemaSource::default()
    }
}

pub fn mount(module: &str, label: &str, schemas: MountedSchemas) -> MountSource {
    MountSource {
        module: module.to_owned(),
        label: label.to_owned(),
        schemas,
    }
}

pub fn shared(texts: &[&str], parent_references: &[&str]) -> MountedSchemas {
    MountedSchemas::Shared {
        schema: modules(texts),
        parent_references: parent_references.iter().map(|&text| text.into()).collect(),
    }
}

pub fn inline(selector: &str, schemas: &[(&str, &[&str])]) -> MountedSchemas {
    let named = schemas.iter();
    let named = named.map(|(name, texts)| ((*name).to_owned(), modules(texts)));
    MountedSchemas::Inline {
        selector: selector.to_owned(),
        schemas: named.collect::<BTreeMap<_, _>>(),
    }
}

/// The devices, with something mounted in each.
pub fn fleet(schemas: MountedSchemas) -> SchemaSource {
    SchemaSource {
        mounts: vec![mount("fleet", "device", schemas)],
        ..modules(&[FLEET])
    }
}

pub fn compile(source: &SchemaSource) -> Schema {
    Schema::compile(source).unwrap_or_else(|errors| panic!("{errors}"))
}

pub fn tree(schema: &Schema, text: &str) -> Result<DataTree, String> {
    let mut tree = TreeBuilder::new();
    let options = ParseOptions::default();
    json::parse(
        schema,
        Root::Datastore,
        text.as_bytes(),
        &mut tree,
        &options,
    )
    .map_err(|error| error.to_string())?;
    tree.finish().map_err(|error| error.to_string())
}

/// The errors of a document, one a line; empty if it is valid.
pub fn errors(schema: &Schema, text: &str) -> String {
    let tree = match tree(schema, text) {
        Ok(tree) => tree,
        Err(error) => return error,
    };
    let data = TreeInstances::new(schema, &tree);
    let plan = ValidationPlan::compile(schema);
    let root = data.root();
    let errors = validate(&plan, &data, &root, Limits::default(), WorkerShare::ALL);
    let errors = errors.expect("readable data");
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// A document with devices of this content.
pub fn devices(entries: &[&str]) -> String {
    format!(
        r#"{{"fleet:devices":{{"device":[{}]}}}}"#,
        entries.join(",")
    )
}

/// A device, and the members of its root.
pub fn device(name: &str, members: &str) -> String {
    format!(r#"{{"name":"{name}","root":{{{members}}}}}"#)
}

/// A device with the name of its schema.
pub fn device_of(model: &str, members: &str) -> String {
    format!(r#"{{"name":"d","model":"{model}","root":{{{members}}}}}"#)
}

#[track_caller]
pub fn assert_valid(schema: &Schema, text: &str) {
    assert_eq!(errors(schema, text), "", "{text}");
}

#[track_caller]
pub fn assert_invalid(schema: &Schema, text: &str, reason: &str) {
    let found = errors(schema, text);
    assert!(
        found.contains(reason),
        "{found:?} has no {reason:?}\n{text}"
    );
}
