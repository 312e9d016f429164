//! The conformance suite of drivers. It depends on no driver.
//!
//! Each case takes a function that opens the engine. The engine is empty at the first call; a later call,
//! after the driver of the earlier one was dropped, opens the same engine again (for a driver that is not
//! durable: an empty one). [`conformance!`](crate::conformance) generates a `#[test]` for each case:
//!
//! ```ignore
//! mod memory {
//!     espalier_testkit::conformance!(|| espalier_drivers::open("memory:").unwrap());
//! }
//! ```

pub mod commits;
pub mod limits;
pub mod maintenance;
mod operations;
pub mod own_writes;
pub mod scans;
pub mod single_keys;
pub mod threads;
pub mod versions;
pub mod watches;
pub mod writes;

use std::sync::Arc;

use espalier_keyspace::Driver;

/// Opens the engine under test.
pub type Open<'a> = &'a dyn Fn() -> Arc<dyn Driver>;

/// Generates a `#[test]` for every case of the suite and for the random model test. Takes an expression,
/// evaluated once per test, whose value opens the engine (see the [module](crate::conformance)).
///
/// `conformance!(few: ...)` uses fewer keys in the four cases with large batches and fewer commits in six
/// long ones, for a server that is slow with many documents.
#[macro_export]
macro_rules! conformance {
    (few: $new:expr) => {
        $crate::conformance_suite! { $new;
        commits: a_batch_of_three_hundred; writes: three_hundred_keys_in_one_write;
        own_writes: a_write_of_two_hundred_reads_itself;
            watches: a_commit_of_long_values_is_told_or_a_gap, a_short_past_is_told_or_a_gap;
            threads: a_snapshot_outlives_five_commits, few_conflicting_commits_count_exactly,
                few_adds_count_exactly, readers_see_few_whole_batches; model: run_few; }
    };
    ($new:expr) => {
        $crate::conformance_suite! { $new;
        commits: a_batch_of_one_hundred_thousand; writes: many_keys_in_one_write;
        own_writes: a_long_write_reads_itself; watches: a_large_commit_is_told_or_a_gap, a_forgotten_past_is_a_gap;
            threads: a_snapshot_never_changes, conflicting_commits_count_exactly,
                adds_count_exactly, readers_see_whole_batches; model: run; }
    };
}

/// See [`conformance!`](crate::conformance).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_suite {
    ($new:expr; commits: $large_batch:ident; writes: $large_write:ident;
            own_writes: $long_write:ident; watches: $($past:ident),+;
            threads: $($long:ident),+; model: $model:ident;) => {
        $crate::conformance_cases! { $new;
            single_keys: what_is_put_is_got, what_is_deleted_is_gone, an_empty_value_is_a_value,
                any_bytes_are_a_key, the_empty_key_is_absent, many_keys_are_got_at_once;
            scans: keys_come_in_byte_order, every_kind_of_boundary, seek_moves_within_the_range,
                an_exhausted_cursor_stays_so, large_values_in_a_scan;
            limits: the_longest_key_works, a_longer_key_is_refused, the_longest_value_works,
                a_longer_value_is_refused, a_refused_batch_changes_nothing,
                a_writer_refuses_the_same;
            commits: operations_apply_in_order, preconditions_that_hold, preconditions_that_do_not,
                preconditions_that_were_met,
                the_first_broken_precondition_is_named, preconditions_see_the_state_before,
                counters_add_up, an_overflow_refuses_all, a_value_that_is_no_counter,
                delete_range_boundaries, delete_range_and_put_in_one_batch,
                versions_grow, a_commit_of_nothing, $large_batch;
            writes: what_is_written_is_there, an_error_of_the_fill_undoes_all,
                a_writer_sees_its_own_writes, put_new_leaves_what_is_there,
                preconditions_of_a_write, a_panic_in_the_fill_undoes_all,
                an_overflow_in_a_write, $large_write, snapshots_during_a_write,
                a_write_is_not_applied_over_what_it_did_not_get,
                a_write_is_not_applied_over_what_its_view_did_not_get,
                a_write_is_not_applied_over_what_its_view_did_not_get_with_others,
                a_write_is_not_applied_over_what_it_did_not_scan,
                a_write_is_not_applied_over_a_sum_that_it_did_not_read,
                a_write_is_not_applied_over_a_key_that_it_did_not_find,
                a_write_is_applied_beside_what_it_did_not_read;
            own_writes: a_write_reads_itself, ranges_of_a_write, a_deleted_range_is_passed_backward,
                a_write_is_its_own_until_it_ends,
                $long_write;
            threads: $($long),+, scans_during_commits, a_failing_commit_fails_alone,
                snapshots_move_between_threads, a_step_is_all_between_two_versions;
            versions: old_versions_show_what_was_there, large_commits_leave_old_versions,
                what_is_expected_is_read, a_view_to_change_shows_its_own_commits;
            watches: commits_are_told_in_order, only_the_range_is_told, $($past),+,
                a_watch_wakes_up, no_event_is_none,
                a_watched_state_is_visible, a_watcher_misses_nothing;
            maintenance: a_durable_engine_keeps_everything, usage_counts_keys, a_sound_engine_has_no_findings,
                versions_grow_across_reopening, values_may_shrink, flush_succeeds;
        }

        #[test]
        fn random_operations_match_the_model() {
            let open = $new;
            $crate::random_operations::$model(&open);
        }
    };
}

/// See [`conformance!`](crate::conformance).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($new:expr; $($group:ident: $($case:ident),+;)+) => {
        $(mod $group {
            #[allow(unused_imports)]
            use super::*;
            $(#[test]
            fn $case() {
                let open = $new;
                $crate::conformance::$group::$case(&open);
            })+
        })+
    };
}
