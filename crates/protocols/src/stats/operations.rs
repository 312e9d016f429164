//! Everything that can be asked: the router and the OpenAPI description are made of this table.

use espalier_stats::Stats;
use http::Method;

use super::series::SLICES_MAX;
use super::{metrics, series, settings, status, values, write};
use crate::api::{Content, Holds, Operation as OperationOf, Parameter, of};

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

const METRIC: Parameter = Parameter::new("metric", "the name of the metric");
const LABEL: Parameter =
    Parameter::new("label", "NAME=VALUE; given several times").holds(Holds::Several);
const GRANULARITY: Parameter = Parameter::new(
    "granularity",
    "how long the buckets are, as in 15m, 1h, 1d, 1mo [1h]",
);
const FROM: Parameter = Parameter::new(
    "from",
    "the first bucket is that of this time [24 buckets in all]",
);
const TO: Parameter = Parameter::new("to", "the last bucket is that of this time [now]");
const SKIP_BLANKS: Parameter =
    Parameter::new("skip-blanks", "true leaves out buckets without values").holds(Holds::Flag);

const OF_VALUES: &[Parameter] = &[
    METRIC.required(),
    LABEL,
    GRANULARITY,
    FROM,
    TO,
    SKIP_BLANKS,
    Parameter::new("format", "how values are shown [as Accept says, else json]")
        .holds(Holds::OneOf(&["json", "csv"])),
];

const OF_SERIES: &[Parameter] = &[
    METRIC.required(),
    LABEL,
    GRANULARITY,
    FROM,
    TO,
    SKIP_BLANKS,
    Parameter::new(
        "path",
        "which values; may have * for any name, and stands for what is below it too [*]",
    ),
    Parameter::new(
        "slices",
        "into how many parts of the range, the oldest first [1]",
    )
    .holds(Holds::Number(1, SLICES_MAX as u64)),
    Parameter::new("aggregate", "one number of the values")
        .holds(Holds::OneOf(&["sum", "mean", "min", "max", "count"])),
    Parameter::new("category", "true gives the total of each path").holds(Holds::Flag),
    Parameter::new(
        "top",
        "so many paths with the largest totals; with group-by, groups",
    )
    .holds(Holds::Number(0, u64::MAX)),
    Parameter::new(
        "quantile",
        "a quantile of what was observed, between 0 and 1; given several times",
    )
    .holds(Holds::Several),
    Parameter::new(
        "group-by",
        "a label; metrics that differ in it are shown apart; given several times",
    )
    .holds(Holds::Several),
    Parameter::new(
        "of",
        "a path that the expression calls a, b, ... in this order; given several times",
    )
    .holds(Holds::Several),
    Parameter::new(
        "expression",
        "a value computed from others: + - * / ( ) sum mean min max sqrt",
    ),
    Parameter::new("as", "the path of the computed value"),
];

const OF_IMPORT: &[Parameter] = &[
    Parameter::new("format", "what the lines are")
        .holds(Holds::OneOf(&["statsd", "prometheus", "jsonl"]))
        .required(),
    Parameter::new("at", "when they were so, where they do not say [now]"),
    Parameter::new(
        "id",
        "a name for this import: lines that were done under it within a day are not done again",
    ),
];

const EXACT: &[Parameter] = &[METRIC.required(), LABEL];

const OF_SCAN: &[Parameter] = &[
    METRIC,
    LABEL,
    Parameter::new("prefix", "all metrics whose names begin so, instead of one"),
];

const OF_KEYS: &[Parameter] = &[Parameter::new("prefix", "those whose names begin so")];

/// All operations.
pub(super) fn all() -> Vec<Operation> {
    let mut all = that_write();
    all.extend(that_read());
    all
}

fn that_write() -> Vec<Operation> {
    use Content::{Nothing, Patch, Schema, Text};
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
        of(Method::POST, IMPORT, "import", "Lines of StatsD, the text format of Prometheus, or JSON lines of a write each; lines that cannot be read are told", write::import)
            .query(OF_IMPORT)
            .takes(Text)
            .gives(&[(200, Schema("Imported"))]),
        of(Method::POST, BEAM, "beam", "Say the status of a metric: any JSON, of which the latest is kept", status::beam)
            .takes(Schema("Said"))
            .gives(DONE),
        of(Method::DELETE, KEYS, "deleteMetric", "Delete the metric with exactly these labels: its values, sketches and status", metrics::delete)
            .query(EXACT)
            .gives(&[(204, Nothing)]),
        of(Method::PATCH, SETTINGS, "changeSettings", "Change how is counted, as a JSON Merge Patch (RFC 7396) says; time zone and beginning of week stay as they are once there are any", settings::patch)
            .takes(Patch("Settings"))
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
        .query(OF_SCAN)
        .gives(&[(200, Schema("Status"))]),
        of(
            Method::GET,
            KEYS,
            "listMetrics",
            "Which metrics there are",
            metrics::list,
        )
        .query(OF_KEYS)
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
