//! Pages of the entries of a list or leaf-list (draft-ietf-netconf-list-pagination), for all protocols.
//!
//! | file | content |
//! |---|---|
//! | `parameters.rs` | the parameters of a page as text, and the request that they stand for |
//! | `request.rs` | a request: which entries, in which order, from where, how many |
//! | `condition.rs` | `where`: an expression, and the keys that it gives |
//! | `known_names.rs` | the names of an expression that are of no node |
//! | `sort_key.rs` | `sort-by`: a leaf of the entries |
//! | `cursor.rs` | the position after or before an entry, as text |
//! | `scope.rs` | the range of the keys of the entries that can be on the page |
//! | `page.rs` | the entries of a page, and what surrounds it |
//! | `cut.rs`, `sorted.rs` | finding them, in the order of the list and in that of a leaf |
//! | `entries.rs` | the test of an entry against access rules, filter and condition |
//! | `output.rs`, `filtered_output.rs` | sending entries: as a resource, or what a filter selects |
//! | `defaults.rs` | the page of an unset leaf-list |
//! | `read.rs` | a page of one state of a datastore |
//! | `metadata.rs` | the annotations of a page |
//! | `view.rs` | reading a page of a view |
//!
//! The key decision: the order of a list is the order of its keys in the tree, so a page is a range of a scan in one of two
//! directions, and a cursor is a bound of that range. It costs the page at any position, and needs no state in the server
//! (decision 0084).

mod condition;
mod cursor;
mod cut;
mod defaults;
mod entries;
mod filtered_output;
mod known_names;
mod limits;
mod metadata;
mod output;
mod page;
mod parameters;
mod read;
mod request;
mod scope;
mod sort_key;
mod sorted;
mod view;

pub use limits::{
    PAGE_ENTRIES_EXAMINED_MAX, PAGE_KEYS_BYTES_MAX, PAGE_SORT_BYTES_MAX, PAGE_SORT_VALUE_BYTES_MAX,
    PAGE_XPATH_STEPS_MAX,
};
pub use metadata::{PageInfo, Remaining};
pub use parameters::{PageNames, PageParameters};
pub use request::{PageDirection, PageRequest};

pub(super) use metadata::remaining_annotation;
