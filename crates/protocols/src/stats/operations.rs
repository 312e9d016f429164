//! Everything that can be asked: the router and the OpenAPI description are made of this table.

use espalier_stats::Stats;
use http::Method;

use super::{metrics, series, settings, status, values, write};
use crate::api::{Content, Operation as OperationOf, of};

type Operation = OperationOf<Stats>;

const SETTINGS: &str = "/stats/settings";
const TRACK: &str = "/stats/track";
const ASSERT: &str = "/stats/assert";
const ASSORT: &str = "/stats/assort";
const OBSERVE: &str = "/stats/observe";
const WRITES: &str = "/stats/writes";
const IMPORT: &str = "/stats/import";
const VALUES: &str = "/stats/values";
const SERIES: &str = "/stats/series";
const BEAM: &str = "/stats/beam";
const SCAN: &str = "/stats/scan";
const KEYS: &str = "/stats/keys";

const METRIC: (&str, &str) = ("metric", "the name of the metric");
const LABEL: (&str, &str) = ("label", "NAME=VALUE; given several times");
const GRANULARITY: (&str, &str) = (
    "granularity",
    "how long the buckets are, as in 15m, 1h, 1d, 1mo [1h]",
);
const FROM: (&str, &str) = (
    "from",
    "the first bucket is that of this time [24 buckets in all]",
);
const TO: (&str, &str) = ("to", "the last bucket is that of this time [now]");
const SKIP_BLANKS: (&str, &str) = ("skip-blanks", "true leaves out buckets without values");

const OF_VALUES: &[(&str, &str)] = &[
    METRIC,
    LABEL,
    GRANULARITY,
    FROM,
    TO,
    SKIP_BLANKS,
    ("format", "json or csv [as Accept says, else json]"),
];

const OF_SERIES: &[(&str, &str)] = &[
    METRIC,
    LABEL,
    GRANULARITY,
    FROM,
    TO,
    SKIP_BLANKS,
    (
        "path",
        "which values; may have * for any name, and stands for what is below it too [*]",
    ),
    (
        "slices",
        "into how many parts of the range, the oldest first [1]",
    ),
    (
        "aggregate",
        "one number of the values: sum, mean, min, max or count",
    ),
    ("category", "true gives the total of each path"),
    (
        "top",
        "so many paths with the largest totals; with group-by, groups",
    ),
    (
        "quantile",
        "a quantile of what was observed, between 0 and 1; given several times",
    ),
    (
        "group-by",
        "a label; metrics that differ in it are shown apart; given several times",
    ),
    (
        "of",
        "a path that the expression calls a, b, ... in this order; given several times",
    ),
    (
        "expression",
        "a value computed from others: + - * / ( ) sum mean min max sqrt",
    ),
    ("as", "the path of the computed value"),
];

/// All operations.
pub(super) fn all() -> Vec<Operation> {
    let mut all = that_write();
    all.extend(that_read());
    all
}

fn that_write() -> Vec<Operation> {
    use Content::{Nothing, Schema, Text};
    const DONE: &[(u16, Content)] = &[(200, Schema("Outcome"))];
    vec![
        of(Method::POST, TRACK, "track", "Add values to the buckets of a time, one of each granularity, in one atomic commit", write::track)
            .takes(Schema("Write"))
            .gives(DONE),
        of(Method::POST, ASSERT, "assert", "Set values in place of what is there; others stay", write::assert)
            .takes(Schema("Write"))
            .gives(DONE),
        of(Method::POST, ASSORT, "assort", "Count values by class: a histogram at each path", write::assort)
            .takes(Schema("Write"))
            .gives(DONE),
        of(Method::POST, OBSERVE, "observe", "Put values into sketches, which tell quantiles", write::observe)
            .takes(Schema("Write"))
            .gives(DONE),
        of(Method::POST, WRITES, "writeSeveral", "Several writes, of one metric or of many, in one atomic commit", write::several)
            .takes(Schema("Writes"))
            .gives(DONE),
        of(Method::POST, IMPORT, "import", "Lines of StatsD, or the text format of Prometheus; lines that cannot be read are told", write::import)
            .query(&[("format", "statsd or prometheus"), ("at", "when they were so, where they do not say [now]")])
            .takes(Text)
            .gives(&[(200, Schema("Imported"))]),
        of(Method::POST, BEAM, "beam", "Say the status of a metric: any JSON, of which the latest is kept", status::beam)
            .takes(Schema("Said"))
            .gives(DONE),
        of(Method::DELETE, KEYS, "deleteMetric", "Delete the metric with exactly these labels: its values, sketches and status", metrics::delete)
            .query(&[METRIC, LABEL])
            .gives(&[(204, Nothing)]),
        of(Method::PATCH, SETTINGS, "changeSettings", "Change how is counted; time zone and beginning of week stay as they are once there are any", settings::patch)
            .takes(Schema("Settings"))
            .gives(&[(200, Schema("Settings"))]),
    ]
}

fn that_read() -> Vec<Operation> {
    use Content::{Csv, Schema};
    vec![
        of(
            Method::GET,
            VALUES,
            "values",
            "The values of a metric over a range",
            values::get,
        )
        .query(OF_VALUES)
        .gives(&[(200, Csv("Values"))]),
        of(
            Method::GET,
            SERIES,
            "series",
            "Timelines of a metric, or what is computed of its values",
            series::get,
        )
        .query(OF_SERIES)
        .gives(&[(200, Schema("Series"))]),
        of(
            Method::GET,
            SCAN,
            "scan",
            "The latest status of a metric, or of all whose names begin alike",
            status::scan,
        )
        .query(&[
            METRIC,
            LABEL,
            ("prefix", "all metrics whose names begin so, instead of one"),
        ])
        .gives(&[(200, Schema("Status"))]),
        of(
            Method::GET,
            KEYS,
            "listMetrics",
            "Which metrics there are",
            metrics::list,
        )
        .query(&[("prefix", "those whose names begin so")])
        .gives(&[(200, Schema("Metrics"))]),
        of(
            Method::GET,
            SETTINGS,
            "getSettings",
            "How is counted",
            settings::get,
        )
        .gives(&[(200, Schema("Settings"))]),
    ]
}
