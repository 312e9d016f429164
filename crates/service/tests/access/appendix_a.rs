//! The examples of RFC 8341, appendix A.

use espalier_service::access::AccessPolicy;
use espalier_store::Tree;

use espalier_testkit::documents::xml_document as xml_data;

use crate::fixture::{delete, denied, policy, put, read, tree_of, user, view_of, write};

const ACME: &str = "module acme { yang-version 1.1; namespace 'http://example.com/ns/netconf'; prefix acme;
    container acme-netconf { container config-parameters { leaf p { type string; } } leaf other { type string; } }
    container interfaces { list interface { key name; leaf name { type string; } leaf mtu { type uint16; } } } }";

const MONITORING: &str = "module ietf-netconf-monitoring { namespace urn:x:ncm; prefix ncm;
    container netconf-state { leaf x { type string; } } rpc get-schema; }";

const SYSTEM: &str = "module acme-system { namespace urn:x:sys; prefix sys;
    notification sys-config-change { leaf x { type string; } } notification sys-restart; }";

const NETCONF: &str =
    "module ietf-netconf { namespace urn:ietf:params:xml:ns:netconf:base:1.0; prefix nc;
    rpc kill-session; rpc delete-config; rpc edit-config; rpc get; rpc close-session; }";

/// The groups, and the rule lists of A.2 to A.5 in one document. Names of rule lists that two examples share are
/// numbered.
const RULES: &str = r#"
<nacm xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-acm">
  <groups>
    <group><name>admin</name><user-name>admin</user-name><user-name>andy</user-name></group>
    <group><name>limited</name><user-name>wilma</user-name><user-name>bam-bam</user-name></group>
    <group><name>guest</name><user-name>guest</user-name><user-name>guest@example.com</user-name></group>
  </groups>
  <rule-list><name>sys-acl</name><group>*</group>
    <rule><name>deny-config-change</name><module-name>acme-system</module-name>
      <notification-name>sys-config-change</notification-name>
      <access-operations>read</access-operations><action>deny</action></rule>
  </rule-list>
  <rule-list><name>guest-acl</name><group>guest</group>
    <rule><name>deny-ncm</name><module-name>ietf-netconf-monitoring</module-name>
      <access-operations>*</access-operations><action>deny</action></rule>
    <rule><name>deny-nacm</name>
      <path xmlns:n="urn:ietf:params:xml:ns:yang:ietf-netconf-acm">/n:nacm</path>
      <access-operations>*</access-operations><action>deny</action></rule>
  </rule-list>
  <rule-list><name>guest-limited-acl</name><group>guest</group><group>limited</group>
    <rule><name>deny-kill-session</name><module-name>ietf-netconf</module-name>
      <rpc-name>kill-session</rpc-name><access-operations>exec</access-operations><action>deny</action></rule>
    <rule><name>deny-delete-config</name><module-name>ietf-netconf</module-name>
      <rpc-name>delete-config</rpc-name><access-operations>exec</access-operations><action>deny</action></rule>
    <rule><name>permit-dummy-interface</name>
      <path xmlns:acme="http://example.com/ns/netconf">/acme:interfaces/acme:interface[acme:name='dummy']</path>
      <access-operations>read update</access-operations><action>permit</action></rule>
  </rule-list>
  <rule-list><name>limited-acl</name><group>limited</group>
    <rule><name>permit-ncm</name><module-name>ietf-netconf-monitoring</module-name>
      <access-operations>read</access-operations><action>permit</action></rule>
    <rule><name>permit-exec</name><module-name>*</module-name>
      <access-operations>exec</access-operations><action>permit</action></rule>
    <rule><name>permit-acme-config</name>
      <path xmlns:acme="http://example.com/ns/netconf">/acme:acme-netconf/acme:config-parameters</path>
      <access-operations>read create update delete</access-operations><action>permit</action></rule>
  </rule-list>
  <rule-list><name>admin-acl</name><group>admin</group>
    <rule><name>permit-all</name><module-name>*</module-name>
      <access-operations>*</access-operations><action>permit</action></rule>
  </rule-list>
</nacm>"#;

const DATA: &str = r#"
<acme-netconf xmlns="http://example.com/ns/netconf"><config-parameters><p>1</p></config-parameters><other>2</other></acme-netconf>
<interfaces xmlns="http://example.com/ns/netconf">
  <interface><name>dummy</name><mtu>1500</mtu></interface><interface><name>eth0</name><mtu>1500</mtu></interface>
</interfaces>
<netconf-state xmlns="urn:x:ncm"><x>3</x></netconf-state>"#;

fn example() -> (Tree, AccessPolicy) {
    let tree = tree_of(&[ACME, MONITORING, SYSTEM, NETCONF]);
    put(&tree, xml_data(tree.schema(), RULES));
    put(&tree, xml_data(tree.schema(), DATA));
    let policy = policy(&tree);
    assert_eq!(policy.problems(), []);
    (tree, policy)
}

#[test]
fn module_rules() {
    let (tree, policy) = example();
    let state = "/ietf-netconf-monitoring:netconf-state";
    assert_eq!(read(&view_of(&tree, &policy, "guest"), state), None);
    for name in ["wilma", "andy", "nobody"] {
        assert!(
            read(&view_of(&tree, &policy, name), state).is_some(),
            "{name}"
        );
    }
    let schema = tree.schema();
    let invokes = |name: &str, module: &str, operation: &str| {
        policy
            .access_of(&user(name))
            .may_invoke(schema, module, operation, None)
    };
    assert!(!invokes("guest", "ietf-netconf-monitoring", "get-schema"));
    assert!(invokes("wilma", "ietf-netconf-monitoring", "get-schema"));
}

#[test]
fn protocol_operation_rules() {
    let (tree, policy) = example();
    let invokes = |name: &str, operation: &str| {
        let access = policy.access_of(&user(name));
        access.may_invoke(tree.schema(), "ietf-netconf", operation, None)
    };
    for name in ["guest", "bam-bam"] {
        assert!(!invokes(name, "kill-session"), "{name}");
        assert!(!invokes(name, "delete-config"), "{name}");
        assert!(invokes(name, "edit-config"), "{name}");
        assert!(invokes(name, "close-session"), "{name}");
    }
    assert!(invokes("andy", "kill-session"));
    // Nobody's rules: both are denied by themselves.
    assert!(!invokes("nobody", "kill-session"));
    assert!(!invokes("nobody", "delete-config"));
    assert!(invokes("nobody", "get"));
}

#[test]
fn data_node_rules() {
    let (tree, policy) = example();
    let nacm = "/ietf-netconf-acm:nacm";
    for name in ["guest", "wilma", "nobody"] {
        // The module marks it with default-deny-all.
        assert_eq!(read(&view_of(&tree, &policy, name), nacm), None, "{name}");
    }
    assert!(read(&view_of(&tree, &policy, "admin"), nacm).is_some());
    let write = |name: &str, document: &str| write(&tree, &policy, name, document);
    let parameters = r#"{"acme:acme-netconf":{"config-parameters":{"p":"new"}}}"#;
    write("wilma", parameters).expect("permit-acme-config");
    assert_eq!(
        denied(write(
            "guest",
            r#"{"acme:acme-netconf":{"config-parameters":{"p":"x"}}}"#
        ))
        .len(),
        1
    );
    let other = r#"{"acme:acme-netconf":{"other":"x"}}"#;
    assert_eq!(denied(write("wilma", other)), ["/acme:acme-netconf/other"]);
    let dummy = r#"{"acme:interfaces":{"interface":[{"name":"dummy","mtu":9000}]}}"#;
    write("guest", dummy).expect("permit-dummy-interface");
    let ethernet = r#"{"acme:interfaces":{"interface":[{"name":"eth0","mtu":9000}]}}"#;
    assert_eq!(
        denied(write("guest", ethernet)),
        ["/acme:interfaces/interface[name='eth0']/mtu"]
    );
    let path = "/acme:interfaces/interface[name='dummy']";
    // Every node of the subtree.
    assert_eq!(denied(delete(&tree, &policy, "guest", path)).len(), 2);
    write("admin", ethernet).expect("permit-all");
    delete(&tree, &policy, "admin", path).expect("permit-all");
}

#[test]
fn notification_rules() {
    let (tree, policy) = example();
    let schema = tree.schema();
    let module = schema.module_by_name("acme-system").expect("the module");
    let receives = |user_name: &str, name: &str| {
        let node = schema.child(None, module, name).expect("the notification");
        policy.access_of(&user(user_name)).may_receive(schema, node)
    };
    for name in ["guest", "wilma", "andy"] {
        assert!(!receives(name, "sys-config-change"), "{name}");
        assert!(receives(name, "sys-restart"), "{name}");
    }
    // `*` matches groups: a user without one has no rules.
    assert!(receives("nobody", "sys-config-change"));
}
