//! The interface by which a driver stores human-readable data without knowing the meaning of keys.

use std::io;

use crate::{Result, Snapshot};

/// Converts rows to human-readable form. A caller that knows the meaning of its keys passes a lens to
/// [`DriverExtension::set_lens`](crate::DriverExtension::set_lens). All results depend only on the given state: if the
/// meaning of keys changes (another model, a new tree), it changes with rows of the state, so a lens never
/// has to be replaced. It holds no driver.
pub trait Lens: Send + Sync + 'static {
    /// Lists the documents that contain the rows of a state. Linear in their number.
    fn documents(&self, state: &dyn Snapshot) -> Result<Vec<Document>>;

    /// Writes a document. The same rows always give the same bytes.
    fn print(&self, state: &dyn Snapshot, name: &str, out: &mut dyn io::Write) -> Result<()>;

    /// Converts a row; `None` if the row has no readable form. Reads other rows of the state if the key
    /// alone is not sufficient.
    fn row(&self, state: &dyn Snapshot, key: &[u8], value: &[u8]) -> Result<Option<ReadableRow>>;
}

/// A document, as [`Lens::documents`] lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// A relative path of plain names with `/` between them, without `.` and `..`.
    pub name: String,
    /// Changes whenever the document may have changed; `None` if there are no rows for it.
    pub stamp: Option<Vec<u8>>,
}

/// A row in human-readable form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadableRow {
    /// The name of its document, without the file extension.
    pub document: String,
    /// The schema node: its path without list keys.
    pub node: String,
    /// Its path.
    pub path: String,
    /// Its content, as JSON.
    pub json: String,
}

/// A document that was edited while the engine was closed.
pub struct EditedDocument<'a> {
    /// The name, as [`Lens::documents`] has it.
    pub name: &'a str,
    /// The location of the document, for messages.
    pub place: &'a str,
    /// Where the stored version of the document is written if the edited one is rejected.
    pub stored_path: &'a str,
    /// The edited text.
    pub text: &'a [u8],
}

/// Imports an edited document into the engine, or fails and changes nothing.
pub type ImportDocument<'a> = &'a mut dyn FnMut(&EditedDocument<'_>) -> Result<()>;
