//! The table of all operations: the router and the OpenAPI description are built from it.

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
    Parameter::new("label", "NAME=VALUE; repeatable").holds(Holds::Several);
const GRANULARITY: Parameter = Parameter::new(
    "granularity",
    "length of the buckets, such as 15m, 1h, 1d, 1mo [1h]",
);
const FROM: Parameter = Parameter::new(
    "from",
    "a time in the first bucket [24 buckets in total]",
);
const TO: Parameter = Parameter::new("to", "a time in the last bucket [now]");
const SKIP_BLANKS: Parameter =
    Parameter::new("skip-blanks", "true omits buckets without values").holds(Holds::Flag);

const OF_VALUES: &[Parameter] = &[
    METRIC.required(),
    LABEL,
    GRANULARITY,
    FROM,
    TO,
    SKIP_BLANKS,
    Parameter::new("format", "format of the response [by Accept, otherwise json]")
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
        "selects values, including those below the path; * matches any name [*]",
    ),
    Parameter::new(
        "slices",
        "number of parts that the range is divided into, oldest first [1]",
    )
    .holds(Holds::Number(1, SLICES_MAX as u64)),
    Parameter::new("aggregate", "combines the values to one number")
        .holds(Holds::OneOf(&["sum", "mean", "min", "max", "count"])),
    Parameter::new("category", "true returns the total of each path").holds(Holds::Flag),
    Parameter::new(
        "top",
        "number of paths with the largest totals to return; with group-by, of groups",
    )
    .holds(Holds::Number(0, u64::MAX)),
    Parameter::new(
        "quantile",
        "a quantile of the observed values, between 0 and 1; repeatable",
    )
    .holds(Holds::Several),
    Parameter::new(
        "group-by",
        "a label; metrics with different values of it are separate groups; repeatable",
    )
    .holds(Holds::Several),
    Parameter::new(
        "of",
        "a path, named a, b, ... in the expression, in this order; repeatable",
    )
    .holds(Holds::Several),
    Parameter::new(
        "expression",
        "computes a value from others: + - * / ( ) sum mean min max sqrt",
    ),
    Parameter::new("as", "the path of the computed value"),
];

const OF_IMPORT: &[Parameter] = &[
    Parameter::new("format", "format of the lines")
        .holds(Holds::OneOf(&["statsd", "prometheus", "jsonl"]))
        .required(),
    Parameter::new("at", "the time of lines without a time [now]"),
    Parameter::new(
        "id",
        "a name for this import: lines that were applied with it within a day are not applied again",
    ),
];

const EXACT: &[Parameter] = &[METRIC.required(), LABEL];

const OF_SCAN: &[Parameter] = &[
    METRIC,
    LABEL,
    Parameter::new("prefix", "all metrics whose names start with this, instead of one"),
];

const OF_KEYS: &[Parameter] = &[Parameter::new("prefix", "metrics whose names start with this")];

/// Returns all operations.
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
        of(Method::POST, ASSERT, "assert", "Set values, replacing existing ones; others are kept", write::assert)
            .takes(Schema("Write"))
            .gives(DONE),
        of(Method::POST, ASSORT, "assort", "Count values by class: a histogram at each path", write::assort)
            .takes(Schema("Write"))
            .gives(DONE),
        of(Method::POST, OBSERVE, "observe", "Add values to sketches, from which quantiles are estimated", write::observe)
            .takes(Schema("Write"))
            .gives(DONE),
        of(Method::POST, WRITES, "writeSeveral", "Make several writes, to one or more metrics, in one atomic commit", write::several)
            .takes(Schema("Writes"))
            .gives(DONE),
        of(Method::POST, IMPORT, "import", "Import lines of StatsD, of the Prometheus text format, or JSON lines with one write each; invalid lines are reported", write::import)
            .query(OF_IMPORT)
            .takes(Text)
            .gives(&[(200, Schema("Imported"))]),
        of(Method::POST, BEAM, "beam", "Set the status of a metric: any JSON; only the latest is kept", status::beam)
            .takes(Schema("Said"))
            .gives(DONE),
        of(Method::DELETE, KEYS, "deleteMetric", "Delete the metric with exactly these labels: its values, sketches and status", metrics::delete)
            .query(EXACT)
            .gives(&[(204, Nothing)]),
        of(Method::PATCH, SETTINGS, "changeSettings", "Change the settings with a JSON Merge Patch (RFC 7396); the time zone and the first day of the week cannot be changed once there are values", settings::patch)
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
            "Read the values of a metric over a range",
            values::get,
        )
        .query(OF_VALUES)
        .gives(&[(200, Csv("Values"))]),
        of(
            Method::GET,
            SERIES,
            "series",
            "Read timelines of a metric, or results computed from its values",
            series::get,
        )
        .query(OF_SERIES)
        .gives(&[(200, Schema("Series"))]),
        of(
            Method::GET,
            SCAN,
            "scan",
            "Read the latest status of a metric, or of all metrics with a name prefix",
            status::scan,
        )
        .query(OF_SCAN)
        .gives(&[(200, Schema("Status"))]),
        of(
            Method::GET,
            KEYS,
            "listMetrics",
            "List the metrics",
            metrics::list,
        )
        .query(OF_KEYS)
        .gives(&[(200, Schema("Metrics"))]),
        of(
            Method::GET,
            SETTINGS,
            "getSettings",
            "Read the settings",
            settings::get,
        )
        .gives(&[(200, Schema("Settings"))]),
    ]
}
