//! Receiving past events: replay, filters, the events of commits, and what access rules hide.

use super::notifications::send;
use super::notifications_model;
use super::requests::{delete, edit, invoke, json, set};
use crate::everywhere::{Case, EventFilterText, Format, Moment, Operation, Receive, Request};

/// The events of a stream since the start of the case.
fn receive(stream: &'static str) -> Receive {
    Receive {
        stream,
        start: Some(Moment::Step(1)),
        stop: None,
        filter: None,
        format: Format::Json,
    }
}

/// All events since the start of the case.
fn all() -> Receive {
    receive("NETCONF")
}

fn commits() -> Receive {
    receive("espalier-commits")
}

impl Receive {
    fn xml(self) -> Self {
        let format = Format::Xml;
        Self { format, ..self }
    }

    fn between(self, start: Moment, stop: Moment) -> Self {
        Self {
            start: Some(start),
            stop: Some(stop),
            ..self
        }
    }

    fn xpath(self, text: &'static str) -> Self {
        let filter = Some(EventFilterText::XPath(text));
        Self { filter, ..self }
    }

    fn subtree(self, text: &'static str) -> Self {
        let filter = Some(EventFilterText::Subtree(text));
        Self { filter, ..self }
    }
}

impl From<Receive> for Request {
    fn from(receive: Receive) -> Self {
        Operation::Receive(receive).into()
    }
}

fn ripe() -> Operation {
    send(
        r#"{"espalier-notifications:input":{"content":{"orchard:ripe":{"kind":"pear","count":1}}}}"#,
    )
}

fn ripe_apples() -> Operation {
    send(
        r#"{"espalier-notifications:input":{"content":{"orchard:ripe":{"kind":"orchard:apple","count":7}}}}"#,
    )
}

fn windfall() -> Operation {
    send(r#"{"espalier-notifications:input":{"content":{"orchard:windfall":{"count":9}}}}"#)
}

fn felled_oak() -> Operation {
    send(
        r#"{"espalier-notifications:input":{"parent":"/orchard:tree[name='oak']",
        "content":{"orchard:felled":{"by":"<wind> & rain"}}}}"#,
    )
}

fn felled_elm() -> Operation {
    send(
        r#"{"espalier-notifications:input":{"parent":"/orchard:tree[name='elm']",
        "content":{"orchard:felled":{"by":"wind"}}}}"#,
    )
}

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        replay(),
        times(),
        times_of_events(),
        xpath_filters(),
        subtree_filters(),
        wrong_requests(),
        wrong_times(),
        commit_events(),
        config_changes(),
    ]
}

fn replay() -> Case {
    Case::new("events are replayed in their order")
        .receives(0, all())
        .ok(ripe())
        .ok(felled_oak())
        .ok(ripe_apples())
        .receives(3, all())
        .receives(3, all().xml())
        .receives(0, commits())
        .receives(
            0,
            all()
                .between(Moment::Step(1), Moment::Text("2099-01-01T00:00:00Z"))
                .xpath("/none"),
        )
}

fn times() -> Case {
    let (second, third) = (Moment::Step(2), Moment::Step(3));
    let from = |start| Receive {
        start: Some(start),
        ..all()
    };
    Case::new("a replay has a start and an end")
        .ok(ripe())
        .ok(felled_oak())
        .ok(ripe_apples())
        .receives(2, from(second))
        .receives(1, from(third).xml())
        .receives(0, from(Moment::Step(4)))
        .receives(1, all().between(Moment::Step(1), second))
        .receives(1, all().between(second, third))
        .receives(1, all().between(second, third).xml())
        .receives(0, all().between(second, second))
        .receives(0, all().between(second, third).xpath("/orchard:ripe"))
        .receives(
            1,
            all()
                .between(second, third)
                .subtree(r#"{"orchard:tree":{}}"#),
        )
}

/// Events are selected by the times when they occurred, and keep the order in which they were sent.
fn times_of_events() -> Case {
    let range = |start, stop| all().between(Moment::Text(start), Moment::Text(stop));
    Case::new("an event has the time when it occurred")
        .ok(send(
            r#"{"espalier-notifications:input":{"event-time":"2001-02-03T04:05:07Z","content":{"orchard:windfall":{"count":2}}}}"#,
        ))
        .ok(send(
            r#"{"espalier-notifications:input":{"event-time":"2001-02-03T05:05:06.250+01:00","content":{"orchard:windfall":{"count":1}}}}"#,
        ))
        .ok(send(
            r#"{"espalier-notifications:input":{"event-time":"2001-02-03T04:05:08Z","content":{"orchard:windfall":{"count":3}}}}"#,
        ))
        .receives(3, range("2001-02-03T00:00:00Z", "2001-02-04T00:00:00Z"))
        .receives(3, range("2001-02-03T00:00:00Z", "2001-02-04T00:00:00Z").xml())
        .receives(2, range("2001-02-03T05:05:06.250+01:00", "2001-02-03T04:05:07Z"))
        .receives(1, range("2001-02-03T04:05:07.001Z", "2001-02-03T04:05:08Z"))
        .receives(0, all())
}

fn xpath_filters() -> Case {
    Case::new("events are filtered by XPath")
        .ok(ripe())
        .ok(felled_oak())
        .ok(ripe_apples())
        .ok(windfall())
        .receives(2, all().xpath("/orchard:ripe"))
        .receives(1, all().xpath("/orchard:ripe[orchard:count > 1]"))
        .receives(
            1,
            all()
                .xpath("/ripe[count > 1 and kind = 'orchard:apple']")
                .xml(),
        )
        .receives(
            1,
            all().xpath("/orchard:tree[orchard:name = 'oak']/orchard:felled"),
        )
        .receives(1, all().xpath("//count[. = 9]"))
        .receives(2, all().xpath("not(/orchard:ripe)"))
        .receives(0, all().xpath("/orchard:ripe[count = 100]"))
        .receives(0, all().xpath("/none:ripe"))
        .receives(0, all().xpath("false()"))
}

fn subtree_filters() -> Case {
    Case::new("events are filtered by subtree")
        .ok(ripe())
        .ok(felled_oak())
        .ok(ripe_apples())
        .ok(windfall())
        .receives(2, all().subtree(r#"{"orchard:ripe":{}}"#))
        .receives(1, all().subtree(r#"{"orchard:ripe":{"count":7}}"#))
        .receives(
            1,
            all()
                .subtree(r#"{"orchard:tree":{"name":"oak","felled":[null]}}"#)
                .xml(),
        )
        .receives(
            1,
            all().subtree(r#"{"orchard:tree":{"name":"elm","felled":{}},"orchard:windfall":{}}"#),
        )
        .receives(0, all().subtree(r#"{"orchard:ripe":{"count":100}}"#))
        .receives(0, all().subtree("{}"))
}

fn wrong_requests() -> Case {
    Case::new("wrong requests for events")
        .ok(ripe())
        .fails("invalid-value", receive("none"))
        .fails("invalid-value", receive("orchard"))
        .fails("invalid-value", receive(""))
        .fails("invalid-value", receive("none").subtree("{}"))
        .fails("invalid-value", all().xpath("/orchard:ripe["))
        .fails("invalid-value", all().xpath("none()"))
        .fails("invalid-value", all().xpath(""))
        .fails("invalid-value", all().subtree(r#"{"none:ripe":{}}"#))
        .receives(1, all())
}

fn wrong_times() -> Case {
    let from = |start| Receive {
        start: Some(Moment::Text(start)),
        ..all()
    };
    let until = |stop| Receive {
        start: None,
        stop: Some(Moment::Text(stop)),
        ..all()
    };
    let (past, future) = ("2001-01-01T00:00:00Z", "2099-01-01T00:00:00Z");
    Case::new("wrong times of events")
        .fails("invalid-value", from(future))
        .fails(
            "invalid-value",
            from(future).subtree(r#"{"orchard:ripe":{}}"#),
        )
        .fails("invalid-value", from("yesterday"))
        .fails("invalid-value", from("2026-02-30T00:00:00Z"))
        .fails(
            "invalid-value",
            from(past).between(Moment::Text(past), Moment::Text("now")),
        )
        .fails(
            "invalid-value",
            all().between(Moment::Step(1), Moment::Text(past)),
        )
        .fails(
            "invalid-value",
            all()
                .between(Moment::Step(1), Moment::Text(past))
                .subtree(r#"{"orchard:ripe":{}}"#),
        )
        .fails("invalid-value", until(past))
        .fails(
            "invalid-value",
            until(past).subtree(r#"{"orchard:ripe":{}}"#),
        )
}

fn commit_events() -> Case {
    Case::new("commits are events")
        .ok(Request::from(set("/orchard:tree=oak/age", "301")).by("ann", "a year & a day"))
        .ok(edit(r#"{"orchard:c":{"weight":5}}"#))
        .ok(delete("/orchard:tree=elm"))
        .ok(edit(
            r#"{"orchard:tree":[{"name":"ash","age":1}],"orchard:c":{"few":[1,2]}}"#,
        ))
        .ok(ripe())
        .ok(Operation::Rollback { version: 1 })
        .receives(4, commits())
        .receives(4, commits().xml())
        .receives(9, all())
        .receives(2, commits().between(Moment::Step(3), Moment::Step(6)))
        .receives(
            1,
            commits().xpath("/espalier-notifications:commit[author = 'ann']"),
        )
        .receives(
            2,
            commits().xpath("/commit[path = \"/orchard:tree[name='elm']\"]"),
        )
        .receives(
            1,
            commits().subtree(r#"{"espalier-notifications:commit":{"author":"ann"}}"#),
        )
        .receives(
            4,
            all().xpath("/ietf-netconf-notifications:netconf-config-change"),
        )
}

/// Installs a module.
fn install(text: &str) -> Operation {
    let input = serde_json::json!({"espalier-modules:input": {"install": [{"text": text}]}});
    // Cases have the lifetime of the test.
    let input: &'static str = input.to_string().leak();
    invoke("/espalier-modules:change-modules", json(input))
}

/// Edits are listed if the models have the module of the notification. Its installation is a commit too.
fn config_changes() -> Case {
    Case::new("changes of the configuration are events")
        .ok(edit(r#"{"orchard:c":{"size":"large"}}"#))
        .ok(install(notifications_model()))
        .ok(Request::from(edit(
            r#"{"orchard:c":{"size":"small","few":[3]},"orchard:tree":[{"@":{"ietf-netconf:operation":"delete"},"name":"elm"}]}"#,
        ))
        .by("ann", "autumn"))
        .ok(delete("/orchard:c/few=3"))
        .receives(8, all())
        .receives(8, all().xml())
        .receives(2, all().xpath("/ietf-netconf-notifications:netconf-config-change/edit[operation = 'delete']"))
        .receives(1, all().subtree(
            r#"{"ietf-netconf-notifications:netconf-config-change":{"changed-by":{"username":"ann"}}}"#,
        ))
}

/// The notifications of a module are hidden from the user.
pub fn denied_by_module() -> Case {
    Case::new("denied notifications of a module")
        .ok(Request::from(set("/orchard:tree=oak/age", "301")).by("gardener", "a year"))
        .ok(set("/orchard:c/text", "on o"))
        .receives(2, all())
        .receives(2, all().xml())
        .receives(2, commits())
        .receives(
            0,
            all().xpath("/ietf-netconf-notifications:netconf-config-change"),
        )
        .receives(2, all().subtree(r#"{"espalier-notifications:commit":{}}"#))
}

/// The cases of a user from whom a notification, an entry and a leaf are hidden.
pub fn denied() -> Vec<Case> {
    vec![
        denied_notifications(),
        denied_inside_hidden_entries(),
        denied_changes(),
    ]
}

fn denied_notifications() -> Case {
    Case::new("denied events")
        .ok(ripe())
        .ok(windfall())
        .ok(felled_oak())
        .receives(2, all())
        .receives(2, all().xml())
        .receives(0, all().between(Moment::Step(2), Moment::Step(3)))
        .receives(0, all().xpath("/orchard:windfall"))
        .receives(2, all().xpath("/*"))
        .receives(
            1,
            all().subtree(r#"{"orchard:windfall":{},"orchard:ripe":{}}"#),
        )
}

/// The result showed whether the hidden entry exists.
fn denied_inside_hidden_entries() -> Case {
    let inside_nothing = send(
        r#"{"espalier-notifications:input":{"parent":"/orchard:tree[name='none']",
        "content":{"orchard:felled":{"by":"wind"}}}}"#,
    );
    Case::new(
        "regression: a notification inside a hidden entry is denied, whether there is one or not",
    )
    .fails("access-denied", felled_elm())
    .fails("access-denied", inside_nothing)
    .receives(0, all())
}

/// Of a commit, hidden nodes are omitted, with the comment; a filter does not find them.
fn denied_changes() -> Case {
    let hidden = "/orchard:c/size";
    Case::new("denied events of commits")
        .ok(Request::from(edit(r#"{"orchard:c":{"few":[1]}}"#)).by("herald", "shown"))
        .ok(
            Request::from(edit(r#"{"orchard:c":{"few":[2],"size":"large"}}"#))
                .by("herald", "secret"),
        )
        .ok(Request::from(set(hidden, "small")).by("herald", "secret"))
        .receives(2, commits())
        .receives(2, commits().xml())
        .receives(4, all())
        .receives(0, commits().xpath("/commit[comment = 'secret']"))
        .receives(0, commits().xpath("/commit[path = '/orchard:c/size']"))
        .receives(
            0,
            commits().subtree(r#"{"espalier-notifications:commit":{"comment":"secret"}}"#),
        )
        .receives(
            1,
            all().xpath("/ietf-netconf-notifications:netconf-config-change/edit"),
        )
}
