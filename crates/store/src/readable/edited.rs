//! Documents that were edited by hand: parsed, validated and committed like any change.

use espalier_keyspace::EditedDocument;
use espalier_yang::data::{MetadataMode, ParseOptions, Root, TreeBuilder, json};
use espalier_yang::{Errors, Schema, Sink};

use super::line_numbers::with_lines;
use super::names;
use crate::error::{Error, Result};
use crate::store::Store;
use crate::tree::{CommitOptions, Datastore, Edit, LoadMode, LoadOptions, Tree};

/// Some editors write this at the start of a UTF-8 file (RFC 8259 §8.1: a parser may ignore it).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Replaces the content of a datastore with an edited document, or fails and changes nothing. Every error has
/// its line.
pub(crate) fn apply_edited_document(store: &Store, document: &EditedDocument<'_>) -> Result<()> {
    let parts = names::parse(document.name).ok_or_else(|| Error::Unknown {
        kind: "document",
        name: document.name.to_owned(),
    })?;
    let (dataspace, anchor, datastore) = parts;
    let tree = store.tree(&dataspace, &anchor, datastore)?;
    let comment = format!("edited by hand: {}", document.name);
    let taken = match datastore {
        Datastore::FactoryDefault => load(&tree, document.text, &comment),
        _ => replace(&tree, document.text, &comment),
    };
    taken.map_err(|error| Error::Edited {
        file: document.place.to_owned(),
        stored: document.stored_path.to_owned(),
        reason: Box::new(match error {
            Error::Data(errors) => {
                Error::Data(with_line_numbers(tree.schema(), document.text, errors))
            }
            other => other,
        }),
    })
}

/// Replaces the content by an edit, so that the history records the differences.
fn replace(tree: &Tree, text: &[u8], comment: &str) -> Result<()> {
    let mut builder = TreeBuilder::new();
    let parsed = parse(tree.schema(), text, &mut builder);
    let document = builder.finish();
    parsed?;
    let options = CommitOptions {
        comment,
        ..CommitOptions::default()
    };
    tree.commit(&[Edit::replace_all(document?)], options)?;
    Ok(())
}

fn load(tree: &Tree, text: &[u8], comment: &str) -> Result<()> {
    let options = LoadOptions {
        mode: LoadMode::Replace,
        comment,
        ..LoadOptions::default()
    };
    tree.load(options, &mut |sink| parse(tree.schema(), text, sink))?;
    Ok(())
}

fn parse(schema: &Schema, text: &[u8], sink: &mut dyn Sink) -> Result<()> {
    let mut text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let options = ParseOptions {
        metadata: MetadataMode::Plain,
        ..ParseOptions::default()
    };
    json::parse(schema, Root::Datastore, &mut text, sink, &options)?;
    Ok(())
}

/// Adds the line to each error. A violated constraint has a path only.
fn with_line_numbers(schema: &Schema, text: &[u8], errors: Errors) -> Errors {
    match errors.iter().all(|error| error.line > 0) {
        true => errors,
        false => with_lines(errors, schema, &mut |sink| parse(schema, text, sink)),
    }
}
