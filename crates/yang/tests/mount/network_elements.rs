//! RFC 8528 appendix A with the standard modules: logical network elements (RFC 8530), in each of them network instances
//! (RFC 8529), in each of those routing, which refers to interfaces of the network element.

use espalier_yang::Schema;
use espalier_yang::schema::{MountedSchemas, SchemaSource};
use espalier_yang::standard;

use crate::fixture::{assert_invalid, assert_valid, compile, module, mount};

const ELEMENTS: &str = include_str!("../../../../models/ietf/ietf-logical-network-element.yang");

/// Appendix A.3, with names of modules as prefixes.
const REFERENCE: &str = "/ietf-interfaces:interfaces/ietf-interfaces:interface[ietf-network-instance:bind-ni-name = current()/../ietf-network-instance:name]";

fn built_in(names: &[&str]) -> SchemaSource {
    let modules = names.iter().map(|name| standard::module(name, None));
    SchemaSource {
        modules: modules
            .map(|module| module.expect("built in").source())
            .collect(),
        ..SchemaSource::default()
    }
}

fn shared(schema: SchemaSource, parent_references: &[&str]) -> MountedSchemas {
    MountedSchemas::Shared {
        schema,
        parent_references: parent_references.iter().map(|&text| text.into()).collect(),
    }
}

/// Static routing that names an interface, as ietf-ipv4-unicast-routing does.
const ROUTES: &str = r#"module routes {
  yang-version 1.1; namespace "urn:routes"; prefix r;
  import ietf-routing { prefix rt; }
  import ietf-interfaces { prefix if; }
  augment "/rt:routing/rt:control-plane-protocols/rt:control-plane-protocol" {
    when "derived-from-or-self(rt:type, 'rt:static')";
    list route {
      key prefix;
      leaf prefix { type string; }
      leaf interface { type leafref { path "/if:interfaces/if:interface/if:name"; } mandatory true; }
    }
  }
}"#;

fn schema() -> Schema {
    let mut device = built_in(&["ietf-interfaces", "iana-if-type"]);
    device.modules.push(module(ELEMENTS));
    let element = built_in(&[
        "ietf-interfaces",
        "ietf-ip",
        "iana-if-type",
        "ietf-network-instance",
    ]);
    let mut instance = built_in(&["ietf-routing", "ietf-interfaces"]);
    instance.modules.push(module(ROUTES));
    instance.implement = ["ietf-routing", "routes"].map(str::to_owned).to_vec();
    device.mounts = vec![
        mount("ietf-logical-network-element", "root", shared(element, &[])),
        mount(
            "ietf-network-instance",
            "vrf-root",
            shared(instance, &[REFERENCE]),
        ),
    ];
    compile(&device)
}

/// Two network elements with the same interfaces; in each, a network instance with a route.
fn document(interface: &str, binding: &str) -> String {
    let element = |name: &str, interface: &str| {
        format!(
            r#"{{"name":"{name}","root":{{
              "ietf-interfaces:interfaces":{{"interface":[
                {{"name":"eth0","type":"iana-if-type:ethernetCsmacd","ietf-network-instance:bind-ni-name":"{binding}"}},
                {{"name":"{name}","type":"iana-if-type:ethernetCsmacd"}}]}},
              "ietf-network-instance:network-instances":{{"network-instance":[
                {{"name":"blue","vrf-root":{{"ietf-routing:routing":{{"control-plane-protocols":{{
                  "control-plane-protocol":[{{"type":"ietf-routing:static","name":"s",
                    "routes:route":[{{"prefix":"0/0","interface":"{interface}"}}]}}]}}}}}}}},
                {{"name":"red","vrf-root":{{"ietf-routing:routing":{{"router-id":"192.0.2.1"}}}}}}]}}}}}}"#
        )
    };
    format!(
        r#"{{"ietf-interfaces:interfaces":{{"interface":[{{"name":"host0","type":"iana-if-type:ethernetCsmacd",
             "ietf-logical-network-element:bind-lne-name":"one"}}]}},
            "ietf-logical-network-element:logical-network-elements":{{"logical-network-element":[{},{}]}}}}"#,
        element("one", interface),
        element("two", "eth0"),
    )
}

#[test]
fn interfaces_are_those_of_the_element_and_bound_to_the_instance() {
    let schema = schema();
    assert_valid(&schema, &document("eth0", "blue"));
    // Of the host, of the other element, and not bound.
    for interface in ["host0", "two", "one"] {
        assert_invalid(&schema, &document(interface, "blue"), "refers to nothing");
    }
    assert_invalid(&schema, &document("eth0", "red"), "refers to nothing");
    assert_invalid(&schema, &document("eth0", "green"), "refers to nothing");
}

#[test]
fn the_mounts_of_each_level_have_the_modules_of_the_appendix() {
    let schema = schema();
    let mounts: Vec<(String, Vec<&str>)> = schema
        .mounts()
        .iter()
        .map(|mount| {
            let modules = mount.schemas[0].modules.iter();
            let names = modules.filter(|module| module.is_implemented);
            let names = names.map(|module| &*module.name);
            let of_interest = [
                "ietf-interfaces",
                "ietf-network-instance",
                "ietf-routing",
                "ietf-yang-library",
            ];
            (
                schema.path(mount.node),
                names.filter(|name| of_interest.contains(name)).collect(),
            )
        })
        .collect();
    let root =
        "/ietf-logical-network-element:logical-network-elements/logical-network-element/root";
    assert_eq!(mounts[0].0, root);
    assert_eq!(
        mounts[0].1,
        [
            "ietf-interfaces",
            "ietf-network-instance",
            "ietf-yang-library"
        ]
    );
    let (path, modules) = &mounts[1];
    assert_eq!(
        *path,
        format!("{root}/ietf-network-instance:network-instances/network-instance/vrf-root")
    );
    // The leafref needs the interfaces, and finds those of the element.
    assert_eq!(*modules, ["ietf-routing", "ietf-yang-library"]);
    let children = &schema.node(schema.mounts()[1].node).children;
    let names = children.iter().map(|&child| &*schema.node(child).name);
    assert!(!names.into_iter().any(|name| name == "interfaces"));
}
