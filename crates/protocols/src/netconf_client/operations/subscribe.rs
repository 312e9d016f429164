//! Subscriptions.

use super::read::Filter;
use super::xml::optional;

const NOTIFICATION: &str = "urn:ietf:params:xml:ns:netconf:notification:1.0";
const SUBSCRIBED: &str = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications";

/// What a subscription receives.
#[derive(Clone, Debug, Default)]
pub struct SubscribeOptions {
    /// The event stream; by default `NETCONF`.
    pub stream: Option<String>,
    /// Which notifications.
    pub filter: Option<Filter>,
    /// Past notifications since this time, RFC 3339.
    pub start: Option<String>,
    /// The end, RFC 3339.
    pub stop: Option<String>,
}

/// `create-subscription` (RFC 5277 §2.1.1).
pub fn create_subscription(options: &SubscribeOptions) -> String {
    let filter = options.filter.as_ref().map(Filter::element);
    format!(
        "<create-subscription xmlns=\"{NOTIFICATION}\">{}{}{}{}</create-subscription>",
        optional("stream", options.stream.as_deref()),
        filter.unwrap_or_default(),
        optional("startTime", options.start.as_deref()),
        optional("stopTime", options.stop.as_deref())
    )
}

/// `establish-subscription` (RFC 8639 §2.4.2).
pub fn establish_subscription(options: &SubscribeOptions) -> String {
    let filter = options.filter.as_ref();
    let filter = filter.map(|filter| filter.element_with("stream-"));
    format!(
        "<establish-subscription xmlns=\"{SUBSCRIBED}\">{}{}{}{}</establish-subscription>",
        optional(
            "stream",
            Some(options.stream.as_deref().unwrap_or("NETCONF"))
        ),
        filter.unwrap_or_default(),
        optional("replay-start-time", options.start.as_deref()),
        optional("stop-time", options.stop.as_deref())
    )
}
