//! Reads and writes a tree as JSON (RFC 7951). For XML, and for documents larger than memory, use [`Tree::load`] and
//! [`View::read`](espalier_store::View::read) with the parsers and printers of [`yang::data`](espalier_yang::data).

use espalier_store::{
    Commit, CommitOptions, Edit, Error, LoadMode, LoadOptions, LoadReport, Result, Selection, Tree,
};
use espalier_yang::InstancePath;
use espalier_yang::data::{DataTree, ParseOptions, PrintOptions, Root, TreeBuilder, json};

/// Merges a document into the tree, in one commit.
///
/// # Errors
/// [`Error::Data`] with every error of the document, and every constraint that the result would violate. Nothing is
/// changed then.
pub fn merge(tree: &Tree, document: &str) -> Result<Commit> {
    let edit = Edit::merge(InstancePath::root(), parse(tree, document)?);
    tree.commit(&[edit], CommitOptions::default())
}

/// Replaces the content of the tree with a document, in one commit.
///
/// # Errors
/// As [`merge`].
pub fn replace(tree: &Tree, document: &str) -> Result<LoadReport> {
    let options = LoadOptions {
        mode: LoadMode::Replace,
        ..LoadOptions::default()
    };
    tree.load(options, &mut |sink| {
        let mut input = document.as_bytes();
        json::parse(
            tree.schema(),
            Root::Datastore,
            &mut input,
            sink,
            &ParseOptions::default(),
        )
        .map_err(Error::from)
    })
}

/// Deletes the node at a path, which must exist, with its descendants.
///
/// # Errors
/// [`Error::Data`] if the node does not exist, or if the result would violate a constraint.
pub fn delete(tree: &Tree, path: &str) -> Result<Commit> {
    let edit = Edit::delete(self::path(tree, path)?);
    tree.commit(&[edit], CommitOptions::default())
}

/// The node at a path with its descendants, without insignificant white space; `None` if it does not exist. Default
/// values in use are omitted.
///
/// # Errors
/// [`Error::Data`] if the models do not define the path.
pub fn get(tree: &Tree, path: &str) -> Result<Option<String>> {
    let path = self::path(tree, path)?;
    let mut printer = json::Printer::new(tree.schema(), Vec::new(), PrintOptions::default());
    if !tree
        .view()?
        .read(&path, &Selection::default(), &mut printer)?
    {
        return Ok(None);
    }
    // Writing to memory does not fail, and the printer writes UTF-8.
    let text = printer.finish().unwrap_or_default();
    Ok(Some(String::from_utf8(text).unwrap_or_default()))
}

/// Parses a document into data for [`Edit`]s.
///
/// # Errors
/// [`Error::Data`] with every error of the document.
pub fn parse(tree: &Tree, document: &str) -> Result<DataTree> {
    let mut builder = TreeBuilder::new();
    let mut input = document.as_bytes();
    json::parse(
        tree.schema(),
        Root::Datastore,
        &mut input,
        &mut builder,
        &ParseOptions::default(),
    )?;
    Ok(builder.finish()?)
}

/// Parses a path, in the syntax of RESTCONF URLs (RFC 8040, section 3.5.3) or as an instance identifier (RFC 7951,
/// section 6.11).
///
/// # Errors
/// [`Error::Data`] if the models do not define the path.
pub fn path(tree: &Tree, text: &str) -> Result<InstancePath> {
    let path = InstancePath::parse_cli_path(tree.schema(), text);
    Ok(path.map_err(|error| error.at(text))?)
}
