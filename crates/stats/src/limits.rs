//! The named limits. Past one is an error, never truncation.

/// Bytes in the name of a metric, in the name of a label, and in the value of one.
pub const NAME_BYTES_MAX: usize = 1024;

/// Labels of one metric.
pub const LABELS_MAX: usize = 32;

/// Bytes in a value path, as it is written.
pub const PATH_BYTES_MAX: usize = 1024;

/// Names in a value path: how deep values are nested.
pub const PATH_NAMES_MAX: usize = 64;

/// Values in one write.
pub const VALUES_MAX: usize = 100_000;

/// Writes in one atomic request.
pub const WRITES_MAX: usize = 100_000;

/// Granularities of a store.
pub const GRANULARITIES_MAX: usize = 32;

/// The count of a granularity: `9999d`.
pub const GRANULARITY_COUNT_MAX: u32 = 9_999;

/// Buckets that one reading may return, of all its groups together, blanks included.
pub const BUCKETS_MAX: usize = 1_000_000;

/// Rows at the beginning of a range that are asked for together with the view that they are read in:
/// one round trip for most series where the engine is elsewhere, and no more than a mebibyte of them.
pub(crate) const ROWS_AT_ONCE: usize = 256;

/// Series that are asked for so.
pub(crate) const SERIES_AT_ONCE: usize = 16;

/// Metrics that one query may read.
pub const METRICS_MAX: usize = 100_000;

/// Bytes of values in one row of a bucket; beyond, its values are spread over 16 rows, and so on.
pub const ROW_BYTES: usize = 4096;

/// Digits of an exact number after the point.
pub const SCALE_MAX: u8 = 18;

/// Bytes in the name of a request (for writes that may be repeated).
pub const REQUEST_ID_BYTES_MAX: usize = 256;

/// Seconds for which the names of requests are remembered: a day.
pub const REQUEST_ID_SECONDS: i64 = 86_400;

/// Bytes of the JSON text of a status.
pub const STATUS_BYTES_MAX: usize = 1 << 20;

/// How often a commit is tried with what was read before, until it is tried once in a write, which
/// others wait for where the engine can have them wait. Elsewhere it is tried as before, for
/// [`espalier_keyspace::CONFLICT_PATIENCE`] altogether.
pub const CONFLICTS_MAX: u32 = 8;

/// Metrics that one step of removing old buckets looks at.
pub const EXPIRY_METRICS: usize = 256;

/// Rows that one step of removing old buckets removes.
pub const EXPIRY_ROWS: u64 = 4096;

/// Seconds since 1970 of the first time that has buckets: the year 1.
pub const TIME_MIN: i64 = -62_135_596_800;

/// Seconds since 1970 after the last time that has buckets: the year 9900.
pub const TIME_MAX: i64 = 250_246_000_000;

/// Seconds by which clocks may differ, or be set, without anything being made of it.
pub const CLOCK_STEP_SECONDS: i64 = 60;

/// Seconds that a clock has to go on after it was set ahead before anything is removed by it: a day.
pub const CLOCK_TRIAL_SECONDS: i64 = 86_400;

/// Seconds after which it is written until when time is known: an hour.
pub const CLOCK_NOTE_SECONDS: i64 = 3600;
