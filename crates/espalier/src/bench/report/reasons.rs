//! Why rows grow, are far from the raw engine, or miss their target: what profiles of them showed.

use crate::bench::row::Row;

/// What a reason explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum About {
    /// More than twice the time for each tenfold size.
    Growth,
    /// More than five times the raw engine.
    Raw,
    /// A missed target.
    Target,
}

/// Said of a row that has no reason of its own.
const OTHERWISE: &str =
    "measure again with --repeat on an idle machine; if it stays, it is a fault";

const PRINTED: &str =
    "raw walks over the stored bytes; here every value is decoded and written as text";
const TREES: &str = "raw walks over the stored bytes; here every node is decoded into a tree in memory, which is \
                     freed again within the measured time";
const REQUEST: &str = "a request and its answer over HTTP, client and server on the same core, which raw does \
                       without; the same through the library is above";
const PARSED: &str = "raw is handed finished rows; here each entry is parsed, its types and rules are checked, its \
                      place is found, and its rows are made and sorted";
const HASH: &str =
    "raw is one look for a key; here a snapshot is opened and asked for its version first";
const EXPRESSION: &str =
    "raw is one look for a key; here an expression is parsed each time, half of it, and evaluated";
const PROVIDED: &str = "the state is a provider's, which is asked each time: only a few rows come from the engine, \
                        and raw reads those";
const DELIVERED: &str =
    "raw does the 20 commits alone; here each of 12 subscribers also gets and reads every diff";
const REMOVED: &str =
    "raw removes a range; here each entry that goes is read, told to subscribers and to the log";
const CANDIDATE: &str =
    "a candidate is an overlay in memory: of what is done here only a few reads go to the engine";
const REFUSED: &str =
    "raw looks 100 keys up; here 100 paths are parsed, and 100 errors that name them are made";
const JOINED: &str =
    "raw reads each posting once; here two lists are joined, and the documents read and decoded";
const DECODED: &str =
    "half of it is LMDB finding 5,000 rows on as many pages of 250,000 documents, the rest JSON";
const ADDED: &str = "the journal takes a fifth of it; the rest is encoding the document, and finding the places of its \
                     six entries in memory that does not fit into the processor's caches";
const PASSED_BY: &str = "rows that were removed stay in the memory of the journal until it is merged, and clearing a range passes \
                         them by: those of the candidates before";
const FLUSHED: &str = "most of it is the flush of the log at the end of a durable commit, for which PostgreSQL, and Redis with \
                       an append-only file, wait in both rows; the peer's Redis had no such file, and without it ours \
                       takes 0.34 ms";
const MISSES: &str = "memory that does not fit into the processor's caches takes longer to reach";

/// What is explained, the suite, what the row's name begins with, and the reason. The first that fits
/// is told.
const REASONS: &[(About, &str, &str, &str)] = &[
    (
        About::Growth,
        "clixon",
        "read 1, xpath on non-key leaf",
        "the leaf has no index, so every entry is looked at; with an index it is one read",
    ),
    (
        About::Growth,
        "clixon",
        "GET page, limit=10&offset=N/2",
        "the keys before the offset are read and counted; a page after a key does not grow",
    ),
    (
        About::Growth,
        "clixon",
        "read 1, beside commits",
        "a reader waits for a core while the other session commits, not for the commit",
    ),
    (About::Growth, "clixon", "discard-changes", PASSED_BY),
    (About::Growth, "dodb", "get by index", MISSES),
    (About::Raw, "scale", "read all", PRINTED),
    (About::Raw, "scale", "page of 10", PRINTED),
    (About::Raw, "field", "a: commit all", PARSED),
    (About::Raw, "field", "c: commit all", PARSED),
    (About::Raw, "field", "d: load all", PARSED),
    (About::Raw, "field", "f: ", PARSED),
    (About::Raw, "field", "g: ", REMOVED),
    (About::Raw, "scale", "delete half", REMOVED),
    (About::Raw, "sysrepo", "get user ordered tree", PRINTED),
    (About::Raw, "sysrepo", "get oper tree", PROVIDED),
    (About::Raw, "sysrepo", "get tree hash", HASH),
    (About::Raw, "sysrepo", "get tree", EXPRESSION),
    (About::Raw, "sysrepo", "get item", EXPRESSION),
    (About::Raw, "sysrepo", "many oper change_subs", DELIVERED),
    (About::Raw, "sysrepo", "create ", PARSED),
    (About::Raw, "drivers", "get user ordered tree", PRINTED),
    (About::Raw, "drivers", "get oper tree", PROVIDED),
    (About::Raw, "drivers", "get tree hash", HASH),
    (About::Raw, "drivers", "get tree", EXPRESSION),
    (About::Raw, "drivers", "get item", EXPRESSION),
    (About::Raw, "drivers", "many oper change_subs", DELIVERED),
    (About::Raw, "drivers", "create ", PARSED),
    (About::Raw, "drivers", "remove ", REMOVED),
    (About::Raw, "clixon", "read N", PRINTED),
    (About::Raw, "clixon", "read 1", PRINTED),
    (About::Raw, "clixon", "GET all", PRINTED),
    (About::Raw, "clixon", "GET", REQUEST),
    (About::Raw, "clixon", "PUT", REQUEST),
    (About::Raw, "clixon", "PATCH", REQUEST),
    (About::Raw, "clixon", "POST", REQUEST),
    (About::Raw, "clixon", "DELETE", REQUEST),
    (About::Raw, "clixon", "validate", CANDIDATE),
    (About::Raw, "clixon", "discard-changes", PASSED_BY),
    (About::Raw, "clixon", "discard", CANDIDATE),
    (About::Raw, "clixon", "write 1, same", CANDIDATE),
    (About::Raw, "clixon", "write N", PARSED),
    (About::Raw, "clixon", "commit, nothing", CANDIDATE),
    (About::Raw, "cps", "Read", TREES),
    (About::Raw, "cps", "Query", TREES),
    (About::Raw, "cps", "Delta", TREES),
    (About::Raw, "cps", "Replace", PARSED),
    (About::Raw, "cps", "Batch delete 100 non-existing", REFUSED),
    (About::Raw, "dodb", "two tags", JOINED),
    (About::Raw, "dodb", "tag", JOINED),
    (About::Target, "trifle", "TRACK of 23 values", FLUSHED),
    (About::Target, "trifle", "ASSORT of 23 values", FLUSHED),
    (About::Target, "dodb", "partition", DECODED),
    (About::Target, "dodb", "add", ADDED),
    (About::Target, "dodb", "get by index", MISSES),
];

/// The reason of a row.
pub fn of(about: About, row: &Row) -> &'static str {
    let is_meant = |known: &&(About, &str, &str, &str)| {
        known.0 == about && row.suite == known.1 && row.row.starts_with(known.2)
    };
    let known = REASONS.iter().find(is_meant);
    known.map_or(OTHERWISE, |known| known.3)
}
