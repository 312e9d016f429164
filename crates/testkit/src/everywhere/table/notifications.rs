//! Sending notifications, and subscriptions (RFC 8639).

use super::requests::{invoke, json};
use crate::everywhere::{Case, Operation};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![sending(), establishing(), ending()]
}

pub(super) fn send(input: &'static str) -> Operation {
    invoke("/espalier-notifications:send-notification", json(input))
}

fn establish(input: &'static str) -> Operation {
    invoke(
        "/ietf-subscribed-notifications:establish-subscription",
        json(input),
    )
}

fn sending() -> Case {
    Case::new("notifications are validated")
        .ok(send(
            r#"{"espalier-notifications:input":{"content":{"orchard:ripe":{"kind":"pear","count":3}}}}"#,
        ))
        .ok(send(
            r#"{"espalier-notifications:input":{"parent":"/orchard:tree[name='oak']",
            "content":{"orchard:felled":{"by":"wind"}}}}"#,
        ))
        // The parent is missing, and does not exist.
        .fails(
            "unknown-element",
            send(
                r#"{"espalier-notifications:input":{"content":{"orchard:felled":{"by":"wind"}}}}"#,
            ),
        )
        .fails(
            "data-missing",
            send(
                r#"{"espalier-notifications:input":{"parent":"/orchard:tree[name='none']",
                "content":{"orchard:felled":{"by":"wind"}}}}"#,
            ),
        )
        .fails(
            "data-missing",
            send(r#"{"espalier-notifications:input":{"content":{"orchard:ripe":{"count":3}}}}"#),
        )
        .fails(
            "invalid-value",
            send(
                r#"{"espalier-notifications:input":{"content":{"orchard:ripe":{"kind":"stone"}}}}"#,
            ),
        )
        .fails(
            "unknown-element",
            send(r#"{"espalier-notifications:input":{"content":{"orchard:none":{}}}}"#),
        )
}

fn establishing() -> Case {
    Case::new("subscriptions that are not possible")
        .fails(
            "invalid-value",
            establish(r#"{"ietf-subscribed-notifications:input":{"stream":"none"}}"#),
        )
        .fails(
            "invalid-value",
            establish(
                r#"{"ietf-subscribed-notifications:input":{"stream":"NETCONF",
                "stream-subtree-filter":{"none:ripe":{}}}}"#,
            ),
        )
        .fails(
            "invalid-value",
            establish(
                r#"{"ietf-subscribed-notifications:input":{"stream":"NETCONF",
                "stream-xpath-filter":"/orchard:ripe["}}"#,
            ),
        )
        .fails(
            "invalid-value",
            establish(
                r#"{"ietf-subscribed-notifications:input":{"stream":"NETCONF",
                "replay-start-time":"2099-01-01T00:00:00Z"}}"#,
            ),
        )
        .fails(
            "invalid-value",
            establish(
                r#"{"ietf-subscribed-notifications:input":{"stream":"NETCONF",
                "stop-time":"2020-01-01T00:00:00Z"}}"#,
            ),
        )
        // Such a time was taken for none.
        .fails(
            "invalid-value",
            establish(
                r#"{"ietf-subscribed-notifications:input":{"stream":"NETCONF",
                "stop-time":"1969-01-01T00:00:00Z"}}"#,
            ),
        )
}

fn ending() -> Case {
    Case::new("subscriptions that there are not")
        .fails(
            "invalid-value",
            invoke(
                "/ietf-subscribed-notifications:delete-subscription",
                json(r#"{"ietf-subscribed-notifications:input":{"id":7}}"#),
            ),
        )
        .fails(
            "invalid-value",
            invoke(
                "/ietf-subscribed-notifications:kill-subscription",
                json(r#"{"ietf-subscribed-notifications:input":{"id":7}}"#),
            ),
        )
        .fails(
            "invalid-value",
            invoke(
                "/ietf-subscribed-notifications:modify-subscription",
                json(
                    r#"{"ietf-subscribed-notifications:input":{"id":7,"stream-xpath-filter":"/orchard:ripe"}}"#,
                ),
            ),
        )
}
