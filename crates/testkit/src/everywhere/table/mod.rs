//! The cases, by subject. Every case begins with the fixture in running and all other datastores reset.

mod bodies;
mod candidates;
mod datastores;
mod denials;
mod edits;
mod events;
mod filters;
mod history;
mod invocations;
mod locks;
mod modules;
mod notifications;
mod reads;
mod regressions;
mod requests;
mod resources;
mod values;

use super::case::Case;

/// The module of the data.
pub fn model() -> &'static str {
    include_str!("../orchard.yang")
}

/// The module of the changes of the configuration (RFC 6470).
pub fn notifications_model() -> &'static str {
    include_str!("../../../../../models/ietf-netconf-notifications.yang")
}

/// The data of running at the start of each case.
pub fn fixture() -> &'static str {
    r#"{"orchard:c":{"text":"on","weight":5,"prefix":"A","size":"small",
        "e":[{"k":"a","l":1,"box":{"v":"1","inner":{"w":"2"}},"o":"x"},{"k":"b","l":2}],
        "u":[{"k":"1"},{"k":"2","v":"two"},{"k":"3"}],"w":["1","2","3"],
        "q":[{"k":"1","a":"s"},{"k":"2","a":"t"}],"ref":"1"},
        "orchard:tree":[{"name":"oak","age":300},{"name":"elm"},{"name":"a/b, c"}],
        "orchard:tag":["x","y"]}"#
}

/// The user of [`denied_cases`], and its group.
pub const DENIED_USER: [&str; 2] = ["gardener", "gardeners"];

/// The user of [`denied_event_cases`], and its group.
pub const EVENT_USER: [&str; 2] = ["herald", "heralds"];

/// The access rules of both users. Some nodes are hidden from the gardener, who can change trees and one leaf, and does
/// not receive the notifications of one module. The herald sends notifications, but does not receive those with one name,
/// and can change a leaf that is hidden.
pub fn access_rules() -> &'static str {
    r#"{"ietf-netconf-acm:nacm":{"rule-list":[{"name":"gardeners","group":["gardeners"],"rule":[
        {"name":"hide-entries","path":"/orchard:c/orchard:e[orchard:k='a']","access-operations":"*","action":"deny"},
        {"name":"hide-tags","path":"/orchard:tag","access-operations":"*","action":"deny"},
        {"name":"hide-leaf","path":"/orchard:c/orchard:q/orchard:a","access-operations":"*","action":"deny"},
        {"name":"hide-container","path":"/orchard:c/orchard:pc","access-operations":"*","action":"deny"},
        {"name":"trees","path":"/orchard:tree","access-operations":"*","action":"permit"},
        {"name":"text","path":"/orchard:c/orchard:text","access-operations":"update","action":"permit"},
        {"name":"no-cancel","module-name":"ietf-netconf","rpc-name":"cancel-commit","access-operations":"exec","action":"deny"},
        {"name":"no-config-changes","module-name":"ietf-netconf-notifications","notification-name":"*","access-operations":"read","action":"deny"}
    ]},{"name":"heralds","group":["heralds"],"rule":[
        {"name":"send","module-name":"espalier-notifications","rpc-name":"send-notification","access-operations":"exec","action":"permit"},
        {"name":"hide-notification","module-name":"orchard","notification-name":"windfall","access-operations":"read","action":"deny"},
        {"name":"hide-tree","path":"/orchard:tree[orchard:name='elm']","access-operations":"*","action":"deny"},
        {"name":"hide-leaf","path":"/orchard:c/orchard:size","access-operations":"read","action":"deny"},
        {"name":"change","path":"/orchard:c","access-operations":"create update delete","action":"permit"}
    ]}]}}"#
}

/// The cases of [`DENIED_USER`].
pub fn denied_cases() -> Vec<Case> {
    denials::cases()
}

/// The cases of [`EVENT_USER`].
pub fn denied_event_cases() -> Vec<Case> {
    events::denied()
}

/// All cases, each with the name of its subject.
pub fn cases() -> Vec<(&'static str, Vec<Case>)> {
    vec![
        ("reads", reads::cases()),
        ("filters", filters::cases()),
        ("values", values::cases()),
        ("edits", edits::cases()),
        ("bodies", bodies::cases()),
        ("resources", resources::cases()),
        ("locks", locks::cases()),
        ("candidates", candidates::cases()),
        ("datastores", datastores::cases()),
        ("history", history::cases()),
        ("invocations", invocations::cases()),
        ("notifications", notifications::cases()),
        ("events", events::cases()),
        ("regressions", regressions::cases()),
        ("modules", modules::cases()),
    ]
}
