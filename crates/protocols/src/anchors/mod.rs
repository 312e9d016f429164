//! All anchors of a store, served under paths of their own.
//!
//! - [`ServedAnchors`] has the anchors that are open: the *default anchor*, which is served at the root and stays open,
//!   and those at `/dataspaces/{dataspace}/anchors/{anchor}`, which are opened by their first request and closed when
//!   they are idle or when too many are open. A closed anchor costs nothing; an open one costs little, because
//!   everything that depends on the models alone is shared by the anchors of a schema set.
//! - [`ServedAnchor`] is one of them. Requests that have it finish with it, whatever happens to it meanwhile.
//! - [`router`] creates the routes of every anchor: RESTCONF, and the routes of the caller, whose handlers get their
//!   anchor with [`RequestAnchor`].
//! - `watch.rs` has the one thread that looks for changes of the catalog by other processes: it reads one row, whatever
//!   the number of anchors. After a change, the next request of each anchor checks whether the anchor is still current.
//!   A request that fails on an anchor that is no longer current is repeated if it only reads, else it gets status 503.
//!
//! The key decision: routes are built once, and a request finds its anchor. A router for each anchor would be as large as
//! the anchor itself.

mod anchor_name;
mod anchor_route;
mod limits;
mod list;
mod open_anchors;
mod retry;
mod routes;
mod served_anchor;
mod served_anchors;
mod watch;

pub use anchor_name::AnchorName;
pub use anchor_route::{AnchorRoute, RequestAnchor};
pub use limits::AnchorLimits;
pub use routes::router;
pub use served_anchor::ServedAnchor;
pub use served_anchors::{DefaultAnchor, ServedAnchors};
