//! Reading JSON.

use std::io::Read;

use super::escape::write_string;
use super::metadata::PendingMetadata;
use super::token::{ElementPosition, Scalar, Shape, Tokens};
use crate::data::assemble::{Assembler, ChildName, Halt, Occurrence};
use crate::data::options::{MetadataMode, ParseError, ParseOptions, Root};
use crate::data::sink::{Annotations, Mark, Sink};
use crate::error::{DataError, ErrorTag};
use crate::schema::{JsonScalar, ModuleNames, NodeId, NodeKind, Schema};

/// The maximum length of `anydata` and `anyxml` content (in bytes of JSON).
pub const ANY_LENGTH_MAX: usize = 16 << 20;

/// Reads a JSON document of any size and sends its content, type-checked and in document order, to `sink`. See
/// [`ParseOptions`] for what is accepted.
///
/// All errors are reported, not only the first; after the first error the sink gets no more events. Memory is
/// bounded except for 16 to 40 bytes per entry of the open lists ([`crate::data::ENTRIES_MAX`]). `input` is read in
/// large blocks; it needs no buffer.
pub fn parse(
    schema: &Schema,
    root: Root,
    input: impl Read,
    sink: &mut dyn Sink,
    options: &ParseOptions,
) -> Result<(), ParseError> {
    let mut assembler = Assembler::new(schema, root, sink, options);
    if options.metadata == MetadataMode::Kept {
        assembler = assembler.buffered();
    }
    let nesting = match root {
        Root::Datastore => Nesting::Outermost,
        _ => Nesting::Inside,
    };
    read(input, assembler, nesting)
}

/// Reads top-level data nodes, without an envelope.
pub(in crate::data) fn parse_nodes(
    schema: &Schema,
    input: &[u8],
    sink: &mut dyn Sink,
) -> Result<(), ParseError> {
    let options = ParseOptions::default();
    read(
        input,
        Assembler::new(schema, Root::Datastore, sink, &options),
        Nesting::Inside,
    )
}

fn read(input: impl Read, assembler: Assembler<'_>, nesting: Nesting) -> Result<(), ParseError> {
    let mut reader = Reader {
        tokens: Tokens::new(input),
        assembler,
    };
    let end = reader.document(nesting);
    reader.assembler.finish(end)
}

/// A document being read.
pub(super) struct Reader<'a, R> {
    pub(super) tokens: Tokens<R>,
    pub(super) assembler: Assembler<'a>,
}

impl<R: Read> Reader<'_, R> {
    fn document(&mut self, nesting: Nesting) -> Result<(), Halt> {
        if self.tokens.shape()? != Shape::Object {
            return Err(self.tokens.unexpected("an object"));
        }
        let mark = self.tokens.mark();
        let members = self.members(nesting)?;
        if self.assembler.is_single() && members != 1 {
            let message = format!("the document contains {members} nodes, not one");
            let tag = if members == 0 {
                ErrorTag::MissingElement
            } else {
                ErrorTag::BadElement
            };
            self.assembler
                .report(DataError::new(tag, message), None, mark);
        }
        self.tokens.finish()
    }

    /// Reads the members of an object, including its braces; returns their number.
    fn members(&mut self, nesting: Nesting) -> Result<usize, Halt> {
        self.tokens.descend()?;
        let mut count = 0;
        let mut place = ElementPosition::First;
        let mut pending = PendingMetadata::default();
        let mut envelopes = 0;
        while self.tokens.another(b'}', place)? {
            place = ElementPosition::Later;
            self.tokens.peek()?;
            let mark = self.tokens.mark();
            let name = self.tokens.name()?;
            if nesting == Nesting::Outermost && self.assembler.options.is_envelope_json(name) {
                envelopes += 1;
                self.envelope(mark)?;
                continue;
            }
            if let Some(about) = name.strip_prefix('@') {
                let about = about.to_owned();
                self.metadata(&about, mark, &mut pending)?;
                continue;
            }
            count += 1;
            match self.assembler.find(ChildName::Json(name), mark) {
                Some(child) => self.member(child, mark, &mut pending)?,
                None => self.tokens.skip()?,
            }
        }
        self.apply_metadata(pending);
        if nesting == Nesting::Outermost {
            let mark = self.tokens.mark();
            self.assembler.check_envelope(envelopes, count, mark);
        }
        Ok(count)
    }

    fn envelope(&mut self, mark: Mark) -> Result<(), Halt> {
        if self.tokens.shape()? == Shape::Object {
            return self.members(Nesting::Inside).map(drop);
        }
        let error = DataError::new(ErrorTag::BadElement, "the datastore must be an object");
        self.assembler.report(error, None, mark);
        self.tokens.skip()
    }

    /// Reads a member of a resolved node, at its value.
    fn member(
        &mut self,
        node: NodeId,
        mark: Mark,
        pending: &mut PendingMetadata,
    ) -> Result<(), Halt> {
        let is_at_root = self.assembler.is_at_root();
        self.assembler.record_child(node, Occurrence::Once, mark);
        match &self.assembler.schema.node(node).kind {
            NodeKind::Leaf(_) => self.leaf(node),
            NodeKind::LeafList(_) => {
                let entries = self.array(node, is_at_root, mark)?;
                pending.count(node, entries);
                Ok(())
            }
            NodeKind::List(_) => self.array(node, is_at_root, mark).map(drop),
            NodeKind::AnyData => self.anydata(node, mark),
            NodeKind::AnyXml => self.anyxml(node, mark),
            _ => self.object(node),
        }
    }

    /// Reads a container, list entry or other interior node.
    fn object(&mut self, node: NodeId) -> Result<(), Halt> {
        if self.tokens.shape()? != Shape::Object {
            return self.reject(node, "an object");
        }
        self.assembler.open(node, self.tokens.mark())?;
        self.members(Nesting::Inside)?;
        self.assembler.close(self.tokens.mark())
    }

    /// Reads a list or leaf-list; returns its number of entries.
    fn array(&mut self, node: NodeId, is_at_root: bool, mark: Mark) -> Result<usize, Halt> {
        if self.tokens.shape()? != Shape::Array {
            return self.reject(node, "an array").map(|()| 0);
        }
        let is_list = self.assembler.schema.node(node).is_list();
        let mut count = 0;
        self.tokens.descend()?;
        while self.tokens.another(b']', element_position(count))? {
            count += 1;
            match is_list {
                true => self.object(node)?,
                false => self.leaf(node)?,
            }
        }
        if is_at_root && self.assembler.is_single() && count != 1 {
            let message = format!("the array contains {count} entries, not one");
            let error = DataError::new(ErrorTag::BadElement, message);
            self.assembler.report(error, Some(node), mark);
        }
        Ok(count)
    }

    /// The value of a leaf or of a leaf-list entry.
    fn leaf(&mut self, node: NodeId) -> Result<(), Halt> {
        let shape = self.tokens.shape()?;
        let mark = self.tokens.mark();
        let schema = self.assembler.schema;
        let Some(leaf) = schema.node(node).as_value() else {
            return self.tokens.skip();
        };
        let scalar = match shape {
            Shape::Object => return self.reject(node, "a value"),
            Shape::Array => match self.only_null()? {
                OnlyNull::Yes => JsonScalar::EmptyArray,
                OnlyNull::No => return self.reject_consumed(node, "a value", mark),
            },
            Shape::Scalar => match self.tokens.scalar()? {
                Scalar::String(text) => JsonScalar::String(text),
                Scalar::Number(text) => JsonScalar::Number(text),
                Scalar::Boolean(value) => JsonScalar::Boolean(value),
                Scalar::Null => return self.reject_consumed(node, "a value", mark),
            },
        };
        let names = ModuleNames {
            leaf_module: schema.node(node).module,
        };
        let value = leaf.value_type.parse_json(schema, scalar, &names);
        self.assembler.leaf(node, value, mark)
    }

    /// Reads an array; returns whether it is `[null]`.
    pub(super) fn only_null(&mut self) -> Result<OnlyNull, Halt> {
        self.tokens.descend()?;
        let mut count = 0;
        let mut is_null = OnlyNull::No;
        while self.tokens.another(b']', element_position(count))? {
            count += 1;
            let is_scalar = self.tokens.shape()? == Shape::Scalar;
            is_null = match is_scalar {
                true if self.tokens.scalar()? == Scalar::Null && count == 1 => OnlyNull::Yes,
                true => OnlyNull::No,
                false => {
                    self.tokens.skip()?;
                    OnlyNull::No
                }
            };
        }
        Ok(is_null)
    }

    /// Reads the content of an `anyxml`, unchanged except for white space.
    fn anyxml(&mut self, node: NodeId, mark: Mark) -> Result<(), Halt> {
        let mut json = Vec::new();
        self.tokens.copy(&mut json, ANY_LENGTH_MAX)?;
        self.any(node, json, mark)
    }

    /// Reads the content of an `anydata`, unchanged except for white space and its metadata (RFC 7952 §5.2.2).
    fn anydata(&mut self, node: NodeId, mark: Mark) -> Result<(), Halt> {
        if self.tokens.shape()? != Shape::Object {
            return self.reject(node, "an object");
        }
        let is_ignored = self.assembler.options.metadata == MetadataMode::Ignored;
        let mut annotations = Annotations::new();
        let mut json = vec![b'{'];
        self.tokens.descend()?;
        let mut place = ElementPosition::First;
        while self.tokens.another(b'}', place)? {
            place = ElementPosition::Later;
            let name = self.tokens.name()?;
            if name != "@" {
                if json.len() > 1 {
                    json.push(b',');
                }
                write_string(&mut json, name);
                json.push(b':');
                self.tokens.copy(&mut json, ANY_LENGTH_MAX)?;
            } else if is_ignored {
                self.tokens.skip()?;
            } else if self.tokens.shape()? == Shape::Object {
                annotations.extend(self.annotations(Some(node))?);
            } else {
                let message = "metadata is an object (RFC 7952 §5.2)";
                self.reject_metadata(Some(node), mark, message)?;
            }
        }
        json.push(b'}');
        self.assembler.annotate(annotations)?;
        self.any(node, json, mark)
    }

    fn any(&mut self, node: NodeId, json: Vec<u8>, mark: Mark) -> Result<(), Halt> {
        // The bytes are copied from checked strings and ASCII.
        let json = String::from_utf8(json).unwrap_or_default();
        if has_forbidden_character(&json) {
            let message = "a control character, which YANG and XML do not allow";
            let error = DataError::new(ErrorTag::InvalidValue, message);
            self.assembler.report(error, Some(node), mark);
            return Ok(());
        }
        self.assembler.any(node, &json, mark)
    }

    /// Reports a value of the wrong type, and skips it.
    fn reject(&mut self, node: NodeId, expected: &str) -> Result<(), Halt> {
        let mark = self.tokens.mark();
        self.tokens.skip()?;
        self.reject_consumed(node, expected, mark)
    }

    fn reject_consumed(&mut self, node: NodeId, expected: &str, mark: Mark) -> Result<(), Halt> {
        let name = &self.assembler.schema.node(node).name;
        let message = format!("'{name}' must be {expected}");
        let error = DataError::new(ErrorTag::InvalidValue, message);
        self.assembler.report(error, Some(node), mark);
        Ok(())
    }
}

/// Returns whether a JSON string as [`Tokens::copy`] writes it, in which only control characters have letter escapes,
/// contains a character that XML cannot represent (RFC 7950 §14, `yang-char`).
fn has_forbidden_character(json: &str) -> bool {
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && matches!(bytes.next(), Some(b'u' | b'b' | b'f')) {
            return true;
        }
    }
    json.contains(|character| {
        matches!(character, '\u{fdd0}'..='\u{fdef}') || u32::from(character) & 0xfffe == 0xfffe
    })
}

fn element_position(count: usize) -> ElementPosition {
    if count == 0 {
        ElementPosition::First
    } else {
        ElementPosition::Later
    }
}

/// Whether an array is `[null]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnlyNull {
    Yes,
    No,
}

/// Whether an object may contain the datastore's envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nesting {
    Outermost,
    Inside,
}
