//! The table of all operations: the router and the OpenAPI description are built from it.

use espalier_stats::Stats;
use http::Method;

use super::series::SLICES_MAX;
use super::{metrics, series, settings, status, values, write};
use crate::api::{Content, Operation as OperationOf, Parameter, ParameterType, operation};

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
    Parameter::new("label", "NAME=VALUE; repeatable").of_type(ParameterType::TextList);
const GRANULARITY: Parameter = Parameter::new(
    "granularity",
    "length of the buckets, such as 15m, 1h, 1d, 1mo [1h]",
);
const FROM: Parameter = Parameter::new("from", "a time in the first bucket [24 buckets in total]");
const TO: Parameter = Parameter::new("to", "a time in the last bucket [now]");
const SKIP_BLANKS: Parameter = Parameter::new("skip-blanks", "true omits buckets without values")
    .of_type(ParameterType::Boolean);

const VALUES_PARAMETERS: &[Parameter] = &[
    METRIC.required(),
    LABEL,
    GRANULARITY,
    FROM,
    TO,
    SKIP_BLANKS,
    Parameter::new(
        "format",
        "format of the response [by Accept, otherwise json]",
    )
    .of_type(ParameterType::OneOf(&["json", "csv"])),
];

const SERIES_PARAMETERS: &[Parameter] = &[
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
    .of_type(ParameterType::Integer(1, SLICES_MAX as u64)),
    Parameter::new("aggregate", "combines the values to one number").of_type(ParameterType::OneOf(
        &["sum", "mean", "min", "max", "count"],
    )),
    Parameter::new("category", "true returns the total of each path")
        .of_type(ParameterType::Boolean),
    Parameter::new(
        "top",
        "number of paths with the largest totals to return; with group-by, of groups",
    )
    .of_type(ParameterType::Integer(0, u64::MAX)),
    Parameter::new(
        "quantile",
        "a quantile of the observed values, between 0 and 1; repeatable",
    )
    .of_type(ParameterType::TextList),
    Parameter::new(
        "group-by",
        "a label; metrics with different values of it are separate groups; repeatable",
    )
    .of_type(ParameterType::TextList),
    Parameter::new(
        "of",
        "a path, named a, b, ... in the expression, in this order; repeatable",
    )
    .of_type(ParameterType::TextList),
    Parameter::new(
        "expression",
        "computes a value from others: + - * / ( ) sum mean min max sqrt",
    ),
    Parameter::new("as", "the path of the computed value"),
];

const IMPORT_PARAMETERS: &[Parameter] = &[
    Parameter::new("format", "format of the lines")
        .of_type(ParameterType::OneOf(&["statsd", "prometheus", "jsonl"]))
        .required(),
    Parameter::new("at", "the time of lines without a time [now]"),
    Parameter::new(
        "id",
        "a name for this import: lines that were applied with it within a day are not applied again",
    ),
];

const DELETE_PARAMETERS: &[Parameter] = &[METRIC.required(), LABEL];

const SCAN_PARAMETERS: &[Parameter] = &[
    METRIC,
    LABEL,
    Parameter::new(
        "prefix",
        "all metrics whose names start with this, instead of one",
    ),
];

const KEYS_PARAMETERS: &[Parameter] = &[Parameter::new(
    "prefix",
    "metrics whose names start with this",
)];

/// Returns all operations.
pub(super) fn all() -> Vec<Operation> {
    let mut all = write_operations();
    all.extend(read_operations());
    all
}

fn write_operations() -> Vec<Operation> {
    use Content::{Nothing, Patch, Schema, Text};
    const DONE: &[(u16, Content)] = &[(200, Schema("Outcome"))];
    vec![
        operation(Method::POST, TRACK, "track", "Add values to the buckets of a time, one of each granularity, in one atomic commit", write::track)
            .request_body(Schema("Write"))
            .responses(DONE),
        operation(Method::POST, ASSERT, "assert", "Set values, replacing existing ones; others are kept", write::assert)
            .request_body(Schema("Write"))
            .responses(DONE),
        operation(Method::POST, ASSORT, "assort", "Count values by class: a histogram at each path", write::assort)
            .request_body(Schema("Write"))
            .responses(DONE),
        operation(Method::POST, OBSERVE, "observe", "Add values to sketches, from which quantiles are estimated", write::observe)
            .request_body(Schema("Write"))
            .responses(DONE),
        operation(Method::POST, WRITES, "writeSeveral", "Make several writes, to one or more metrics, in one atomic commit", write::several)
            .request_body(Schema("Writes"))
            .responses(DONE),
        operation(Method::POST, IMPORT, "import", "Import lines of StatsD, of the Prometheus text format, or JSON lines with one write each; invalid lines are reported", write::import)
            .query(IMPORT_PARAMETERS)
            .request_body(Text)
            .responses(&[(200, Schema("Imported"))]),
        operation(Method::POST, BEAM, "beam", "Set the status of a metric: any JSON; only the latest is kept", status::beam)
            .request_body(Schema("Said"))
            .responses(DONE),
        operation(Method::DELETE, KEYS, "deleteMetric", "Delete the metric with exactly these labels: its values, sketches and status", metrics::delete)
            .query(DELETE_PARAMETERS)
            .responses(&[(204, Nothing)]),
        operation(Method::PATCH, SETTINGS, "changeSettings", "Change the settings with a JSON Merge Patch (RFC 7396); the time zone and the first day of the week cannot be changed once there are values", settings::patch)
            .request_body(Patch("Settings"))
            .responses(&[(200, Schema("Settings"))]),
    ]
}

fn read_operations() -> Vec<Operation> {
    use Content::{Csv, Schema};
    vec![
        operation(
            Method::GET,
            VALUES,
            "values",
            "Read the values of a metric over a range",
            values::get,
        )
        .query(VALUES_PARAMETERS)
        .responses(&[(200, Csv("Values"))]),
        operation(
            Method::GET,
            SERIES,
            "series",
            "Read timelines of a metric, or results computed from its values",
            series::get,
        )
        .query(SERIES_PARAMETERS)
        .responses(&[(200, Schema("Series"))]),
        operation(
            Method::GET,
            SCAN,
            "scan",
            "Read the latest status of a metric, or of all metrics with a name prefix",
            status::scan,
        )
        .query(SCAN_PARAMETERS)
        .responses(&[(200, Schema("Status"))]),
        operation(
            Method::GET,
            KEYS,
            "listMetrics",
            "List the metrics",
            metrics::list,
        )
        .query(KEYS_PARAMETERS)
        .responses(&[(200, Schema("Metrics"))]),
        operation(
            Method::GET,
            SETTINGS,
            "getSettings",
            "Read the settings",
            settings::get,
        )
        .responses(&[(200, Schema("Settings"))]),
    ]
}
