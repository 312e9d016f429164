//! Runs the rows.

use super::fixture::{Fixture, RowSpec};
use super::startup::startup;
use super::{candidate, library, netconf, restconf};
use crate::configuration::Configuration;
use crate::engine::Engine;
use crate::output::Output;
use crate::row::Row;
use espalier_terminal::Result;

/// The parameters of the suite.
pub struct Clixon {
    /// Numbers of list entries, ascending.
    pub sizes: Vec<u64>,
    /// The configurations to measure.
    pub configurations: Vec<Configuration>,
}

/// Runs the suite. Fails at the first wrong result.
pub fn run(clixon: &Clixon, output: &mut Output) -> Result<()> {
    for &size in &clixon.sizes {
        for configuration in &clixon.configurations {
            let fixture = Fixture::open(configuration, size)?;
            for (rank, (row, note, measure)) in ROWS.into_iter().enumerate() {
                if row == FIRST_OF_FULL {
                    fixture.fill()?;
                }
                let row = measure(&fixture, RowSpec { row, note })?;
                output.add_row(&Row { rank, ..row })?;
            }
            // A store in memory cannot be reopened.
            if configuration.engine != Engine::Memory {
                let rank = ROWS.len();
                output.add_row(&Row {
                    rank,
                    ..startup(fixture)?
                })?;
            }
        }
    }
    Ok(())
}

/// A row: its name, its description, and its measurement.
type Measured = (
    &'static str,
    &'static str,
    fn(&Fixture, RowSpec) -> Result<Row>,
);

/// The first row with every entry in running, which is empty before it.
const FIRST_OF_FULL: &str = "read N";

/// All rows, in the order of the published table.
const ROWS: [Measured; 34] = [
    (
        "write N in one edit",
        "a JSON document is parsed and replaces the empty candidate; through the library instead of NETCONF",
        candidate::write_all,
    ),
    (
        "commit N",
        "the candidate with N entries is committed to empty running; through the library",
        candidate::commit_all,
    ),
    (
        "NETCONF, write N in one edit",
        "edit-config of the empty candidate, over one session",
        netconf::write_all,
    ),
    (
        "NETCONF, commit N",
        "the candidate with N entries is committed to empty running, over one session",
        netconf::commit_all,
    ),
    (
        FIRST_OF_FULL,
        "running is printed as XML into memory; through the library",
        library::read_all,
    ),
    (
        "read 1, xpath on key",
        "the expression is parsed, the entry found printed as XML; through the library",
        library::read_by_key,
    ),
    (
        "read 1, subtree filter on key",
        "path and selection of both leaves are parsed, the entry printed as XML; through the library, which has no \
         subtree filter",
        library::read_by_selection,
    ),
    (
        "read 1, xpath on non-key leaf",
        "the leaf has no index, so every entry is read; printed as XML; through the library",
        library::read_by_leaf,
    ),
    (
        "write 1, same value",
        "a leaf is set in the candidate to its current value, by a path that is parsed; through the library",
        candidate::write_same,
    ),
    (
        "write 1, new value",
        "a leaf is set in the candidate, by a path that is parsed; through the library",
        candidate::write_new,
    ),
    (
        "delete 1",
        "an entry is deleted in the candidate, by a path that is parsed; through the library",
        candidate::delete_one,
    ),
    (
        "write 1 + commit",
        "a leaf is set in the candidate and the candidate committed; through the library",
        candidate::write_and_commit,
    ),
    (
        "commit, nothing changed",
        "a candidate without changes is committed; through the library",
        candidate::commit_nothing,
    ),
    (
        "commit, 100 entries changed",
        "a candidate with 100 changed entries is committed; through the library",
        candidate::commit_many,
    ),
    (
        "validate, 100 deleted",
        "a candidate with 100 deleted entries is validated; through the library",
        candidate::validate_many,
    ),
    (
        "discard-changes",
        "a candidate with 100 changed entries is discarded; through the library",
        candidate::discard,
    ),
    (
        "read 1, beside commits",
        "an entry by an expression on its key, while another session repeatedly sets a leaf and commits; through \
         the library",
        library::read_during_commits,
    ),
    (
        "NETCONF, read N",
        "get-config of running, over one session; the client counts the entries",
        netconf::read_all,
    ),
    (
        "NETCONF, read 1, xpath on key",
        "get-config, over one session",
        netconf::read_by_xpath,
    ),
    (
        "NETCONF, read 1, subtree filter on key",
        "get-config, over one session",
        netconf::read_by_subtree,
    ),
    (
        "NETCONF, write 1 + commit",
        "edit-config of the candidate and commit, over one session",
        netconf::write_and_commit,
    ),
    (
        "NETCONF, delete 1 + commit",
        "edit-config of the candidate and commit, over one session; restored outside the measured time",
        netconf::delete_and_commit,
    ),
    (
        "GET all",
        "over RESTCONF on one keep-alive connection, as JSON",
        restconf::get_all,
    ),
    (
        "PUT all, over N existing",
        "over RESTCONF; every entry gets a new text; committed",
        |fixture, spec| restconf::put_all(fixture, spec, restconf::NO_CONTENT),
    ),
    (
        "PUT all, into empty",
        "over RESTCONF; committed",
        |fixture, spec| restconf::put_all(fixture, spec, restconf::CREATED),
    ),
    ("GET 1, content=config", "over RESTCONF", |fixture, spec| {
        restconf::get_one(fixture, spec, "?content=config")
    }),
    ("GET 1", "over RESTCONF", |fixture, spec| {
        restconf::get_one(fixture, spec, "")
    }),
    (
        "PUT 1",
        "over RESTCONF; an entry gets a new text; committed",
        |fixture, spec| restconf::write_one(fixture, spec, "PUT"),
    ),
    (
        "PATCH 1",
        "over RESTCONF; an entry gets a new text; committed",
        |fixture, spec| restconf::write_one(fixture, spec, "PATCH"),
    ),
    (
        "POST 1 new",
        "over RESTCONF; committed, and deleted again outside the measured time",
        restconf::post_one,
    ),
    (
        "DELETE 1",
        "over RESTCONF; committed, and restored outside the measured time",
        restconf::delete_one,
    ),
    ("GET page, limit=10", "over RESTCONF", |fixture, spec| {
        restconf::page(fixture, spec, 0)
    }),
    (
        "GET page, limit=10&offset=N/2",
        "over RESTCONF; an offset costs as much as reading the skipped keys",
        |fixture, spec| restconf::page(fixture, spec, fixture.size / 2),
    ),
    (
        "GET page, limit=10&cursor=N/2",
        "over RESTCONF, from a cursor in the middle",
        restconf::page_at_cursor,
    ),
];
