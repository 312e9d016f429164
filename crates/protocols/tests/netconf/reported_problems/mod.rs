//! Problems that users of other servers have reported: the behaviour of Espalier. The rows are those of §5 of the
//! specification of the NETCONF server; the rows that are not here have their tests where their part is tested.
//!
//! | file | rows |
//! |---|---|
//! | `messages.rs` | 2, 4 to 16, 35, 48: frames, hello, envelope, idle sessions |
//! | `filters.rs` | 17 to 23: filters |
//! | `edits.rs` | 24 to 34, 60: edits, defaults |
//! | `datastores.rs` | 40 to 45: candidates, confirmed commits, copies, large data |
//! | `notifications.rs` | 9, 19, 38, 39: subscriptions |
//! | `access.rs` | 49 to 52, 59: access rules, schemas |

mod access;
mod datastores;
mod edits;
mod filters;
mod fixture;
mod messages;
mod notifications;
