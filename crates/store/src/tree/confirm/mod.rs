//! Confirmed commits (RFC 6241 §8.4): a commit that is rolled back unless it is confirmed in time.
//!
//! The pending commit is stored with the locks of running, in the same batch as the commit itself, so it
//! survives a restart. After the timeout it is rolled back by a server's timer, or when the datastore is
//! next opened.

mod commit;
mod effect;
mod expire;

pub use commit::{CONFIRM_SECONDS_DEFAULT, ConfirmOptions};

pub(in crate::tree) use effect::{ConfirmEffect, is_overdue};
