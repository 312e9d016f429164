//! Subscriptions.

use quick_xml::escape::escape;

use super::read::Filter;
use super::xml::optional;

const NOTIFICATION: &str = "urn:ietf:params:xml:ns:netconf:notification:1.0";
const PUSH: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-push";
const DATASTORES: &str = "urn:ietf:params:xml:ns:yang:ietf-datastores";
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

/// What a subscription to a datastore receives (RFC 8641).
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// The datastore, an identity of `ietf-datastores`.
    pub datastore: String,
    /// Which data.
    pub filter: Option<Filter>,
    /// When data are sent.
    pub trigger: PushTrigger,
    /// The end, RFC 3339.
    pub stop: Option<String>,
}

/// When a subscription to a datastore sends data.
#[derive(Clone, Copy, Debug)]
pub enum PushTrigger {
    /// All data, each time this number of centiseconds has passed.
    Periodic {
        /// Hundredths of a second.
        period_centiseconds: u32,
    },
    /// All data at the begin, then each change.
    OnChange {
        /// The least time between two notifications, in hundredths of a second.
        dampening_centiseconds: Option<u32>,
    },
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

/// `establish-subscription` to a datastore (RFC 8641 §4.4.1).
pub fn establish_push(options: &PushOptions) -> String {
    let datastore = escape(&options.datastore);
    // No prefix: a filter declares those of its expression.
    let filter = options.filter.as_ref().map(|filter| match filter {
        Filter::Subtree(elements) => format!(
            "<datastore-subtree-filter xmlns=\"{PUSH}\">{elements}</datastore-subtree-filter>"
        ),
        Filter::Xpath { expression, .. } => format!(
            "<datastore-xpath-filter xmlns=\"{PUSH}\"{}>{}</datastore-xpath-filter>",
            filter.declarations(),
            escape(expression)
        ),
    });
    let trigger = match options.trigger {
        PushTrigger::Periodic {
            period_centiseconds,
        } => {
            format!("<periodic xmlns=\"{PUSH}\"><period>{period_centiseconds}</period></periodic>")
        }
        PushTrigger::OnChange {
            dampening_centiseconds,
        } => {
            let period = dampening_centiseconds.map(|period| period.to_string());
            let period = optional("dampening-period", period.as_deref());
            format!("<on-change xmlns=\"{PUSH}\">{period}</on-change>")
        }
    };
    format!(
        "<establish-subscription xmlns=\"{SUBSCRIBED}\"><datastore xmlns=\"{PUSH}\" \
         xmlns:ds=\"{DATASTORES}\">ds:{datastore}</datastore>{}{}{trigger}</establish-subscription>",
        filter.unwrap_or_default(),
        optional("stop-time", options.stop.as_deref())
    )
}
