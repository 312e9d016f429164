//! The limits. Exceeding one is an error, never truncation.

/// Bytes in the name of a metric, in the name of a label, and in the value of one.
pub const NAME_BYTES_MAX: usize = 1024;

/// Labels of one metric.
pub const LABELS_MAX: usize = 32;

/// Bytes in the text form of a value path.
pub const PATH_BYTES_MAX: usize = 1024;

/// Names in a value path: the nesting depth of values.
pub const PATH_NAMES_MAX: usize = 64;

/// Values in one write.
pub const VALUES_MAX: usize = 100_000;

/// Writes in one atomic request.
pub const WRITES_MAX: usize = 100_000;

/// Values in one atomic request, of all its writes.
pub const REQUEST_VALUES_MAX: usize = 1_000_000;

/// Bytes in one atomic request: of names, labels, paths, and 16 for each number.
pub const REQUEST_BYTES_MAX: usize = 64 << 20;

/// Granularities of a store.
pub const GRANULARITIES_MAX: usize = 32;

/// The count of a granularity: `9999d`.
pub const GRANULARITY_COUNT_MAX: u32 = 9_999;

/// Buckets in the result of one read, in all its groups together, including blanks.
pub const BUCKETS_MAX: usize = 1_000_000;

/// Rows at the start of a range that are prefetched with the snapshot: one round trip for most series on a
/// remote engine, and at most one mebibyte of rows.
pub(crate) const ROWS_AT_ONCE: usize = 256;

/// Block rows at the start of a range that are prefetched with the snapshot.
pub(crate) const BLOCKS_AT_ONCE: usize = 64;

/// Metrics whose recent rows are read together.
pub(crate) const METRICS_AT_ONCE: usize = 256;

/// Series for which rows are prefetched.
pub(crate) const SERIES_AT_ONCE: usize = 16;

/// Metrics that one query may read.
pub const METRICS_MAX: usize = 100_000;

/// Bytes of values in one row of a bucket; beyond that, its values are distributed over 16 rows, recursively.
pub const ROW_BYTES: usize = 4096;

/// Values of a bucket that shares a row with other buckets; one with more has rows of its own.
pub const PACKED_VALUES_MAX: usize = 64;

/// Buckets of one granularity in the recent row of a metric. When there are more after a commit, all but the newest
/// [`RECENT_BUCKETS_KEPT`] move to block rows.
pub const RECENT_BUCKETS_MAX: usize = 32;

/// Buckets that stay in the recent row when the others move, for writes that come late.
pub const RECENT_BUCKETS_KEPT: usize = 4;

/// Buckets of the usual length that fit into the time of one block row.
pub const BLOCK_BUCKETS: i64 = 128;

/// Decimal places of an exact number.
pub const SCALE_MAX: u8 = 18;

/// Bytes in the name of a request (for writes that may be repeated).
pub const REQUEST_ID_BYTES_MAX: usize = 256;

/// Seconds for which the names of requests are remembered: a day.
pub const REQUEST_ID_SECONDS: i64 = 86_400;

/// Bytes of the JSON text of a status.
pub const STATUS_BYTES_MAX: usize = 1 << 20;

/// Writes of the requests of several threads that share one commit; a request with more is committed alone.
pub const GROUP_WRITES_MAX: usize = 4096;

/// Metrics that one step of the removal of expired buckets checks.
pub const EXPIRY_METRICS: usize = 256;

/// Rows that one step of the removal of expired buckets removes.
pub const EXPIRY_ROWS: u64 = 4096;

/// Seconds since 1970 of the first time that has buckets: the year 1.
pub const TIME_MIN: i64 = -62_135_596_800;

/// Seconds since 1970 after the last time that has buckets: the year 9900.
pub const TIME_MAX: i64 = 250_246_000_000;

/// Tolerance for wall clocks in seconds: clocks may differ, or be set, by this much without an effect.
pub const CLOCK_STEP_SECONDS: i64 = 60;

/// Seconds that a clock has to run after it was set forward before anything expires by it: a day.
pub const CLOCK_TRIAL_SECONDS: i64 = 86_400;

/// Seconds after which the trusted time is stored again: an hour.
pub const CLOCK_STORE_SECONDS: i64 = 3600;
