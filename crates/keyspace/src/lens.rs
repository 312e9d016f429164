//! How a driver can store what a person can read, although it knows nothing of what keys mean.

use std::io;

use crate::{Result, Snapshot};

/// Shows rows to people. A caller that knows what its keys mean hands one to
/// [`Driver::use_lens`](crate::Driver::use_lens). Everything is asked of a state, and follows from
/// that state alone: where the meaning of keys changes (another model, a new tree), it changes with
/// the rows that say so, so a lens never has to be replaced. It holds no driver.
pub trait Lens: Send + Sync + 'static {
    /// The documents that rows of a state are shown in. Linear in their number.
    fn documents(&self, state: &dyn Snapshot) -> Result<Vec<Document>>;

    /// Writes a document. The same rows always give the same bytes.
    fn print(&self, state: &dyn Snapshot, name: &str, out: &mut dyn io::Write) -> Result<()>;

    /// Where a person finds a row, and what it says; `None` where the row is nothing to read. Reads
    /// other rows of the state where the key alone does not tell.
    fn row(&self, state: &dyn Snapshot, key: &[u8], value: &[u8]) -> Result<Option<ReadableRow>>;
}

/// A document, as [`Lens::documents`] lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// A relative path of plain names with `/` between them, without `.` and `..`.
    pub name: String,
    /// Differs whenever the document may; `None` where nothing is stored that it would show.
    pub stamp: Option<Vec<u8>>,
}

/// A row as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadableRow {
    /// The name of its document, without what the file's name ends in.
    pub document: String,
    /// Which kind of thing it is: its path without what names one of several.
    pub node: String,
    /// Its path.
    pub path: String,
    /// What it holds, as JSON.
    pub json: String,
}

/// A document that somebody changed while nobody had the engine open.
pub struct EditedDocument<'a> {
    /// The name, as [`Lens::documents`] has it.
    pub name: &'a str,
    /// Where it is, for people.
    pub place: &'a str,
    /// Where the document as it is stored is put, when the changed one is not taken.
    pub place_of_stored: &'a str,
    /// What it says now.
    pub text: &'a [u8],
}

/// Takes what was changed by hand into the engine, or fails and leaves everything as it was.
pub type Take<'a> = &'a mut dyn FnMut(&EditedDocument<'_>) -> Result<()>;
