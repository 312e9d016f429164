//! A server with a model that has the kinds of nodes which the problems are about.

use espalier_protocols::netconf::NetconfLimits;
use espalier_service::AccessControl;

use crate::support::Fixture;

const MODEL: &str = "module r {
  yang-version 1.1; namespace 'urn:r'; prefix r;
  identity kind; identity large { base kind; }
  container top {
    leaf mode { type string; default fast; }
    leaf note { type string; }
    leaf kind { type identityref { base kind; } }
    leaf link { type instance-identifier { require-instance false; } }
    leaf odd { type uint8; must '. mod 2 = 1'; }
    container part { leaf text { type string; } leaf speed { type uint8; default 5; } }
    list entry { key name; leaf name { type string; } leaf value { type uint8; }
      leaf kind { type identityref { base kind; } } container more { leaf x { type string; } } }
    leaf-list word { type string; ordered-by user; }
    leaf-list preset { type string; ordered-by user; default one; default two; }
    list step { key id; ordered-by user; leaf id { type uint8; } leaf text { type string; } }
  }
  container health { config false; leaf temperature { type uint8; } }
  container traffic { config false; list port { key name; leaf name { type string; } leaf bytes { type uint64; } } }
}";

const KINDS: &str = "module k {
  yang-version 1.1; namespace 'urn:k'; prefix k; import r { prefix r; }
  identity small { base r:kind; }
}";

/// The namespace of messages, as `nc`, and of the attributes of ordered entries, as `yang`.
pub const PREFIXES: &str = "xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" xmlns:yang=\"urn:ietf:params:xml:ns:yang:1\"";

pub const RUNNING: &str = "<get-config><source><running/></source></get-config>";
pub const CANDIDATE: &str = "<get-config><source><candidate/></source></get-config>";

/// A server without access rules.
pub fn fixture() -> Fixture {
    Fixture::of(
        &[MODEL, KINDS],
        AccessControl::Off,
        NetconfLimits::default(),
    )
}

/// A server with access rules, which are those of RFC 8341 in its data.
pub fn fixture_with_rules() -> Fixture {
    let nacm = espalier_yang::standard::module("ietf-netconf-acm", None).expect("the module");
    let modules = [MODEL, KINDS, nacm.text];
    Fixture::of(&modules, AccessControl::Rules, NetconfLimits::default())
}

/// An edit of a datastore: what is in `top`.
pub fn edit(target: &str, content: &str) -> String {
    edit_with(target, "", &top(content))
}

/// An edit with options and any content.
pub fn edit_with(target: &str, options: &str, content: &str) -> String {
    format!(
        "<edit-config><target><{target}/></target>{options}<config {PREFIXES}>{content}</config></edit-config>"
    )
}

/// `top` with content.
pub fn top(content: &str) -> String {
    format!("<top xmlns=\"urn:r\">{content}</top>")
}

/// A read of running with a filter.
pub fn read(filter: &str) -> String {
    format!("<get-config><source><running/></source>{filter}</get-config>")
}
