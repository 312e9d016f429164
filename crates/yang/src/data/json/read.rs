//! Reading JSON.

use std::io::Read;

use super::token::{Place, Scalar, Shape, Tokens};
use crate::data::assemble::{Assembler, ChildName, Comes, Halt};
use crate::data::metadata;
use crate::data::options::{Envelope, Metadata, ParseError, ParseOptions, Root};
use crate::data::sink::{Annotation, Annotations, Mark, Sink};
use crate::error::{DataError, ErrorTag};
use crate::schema::{JsonScalar, ModuleNames, NodeId, NodeKind, Schema};

/// Content of `anydata` and `anyxml` longer than this (in bytes of JSON) is refused.
pub const ANY_LENGTH_MAX: usize = 16 << 20;

/// Reads a JSON document of any size and sends what it holds to `sink`, types checked, in document
/// order. See [`ParseOptions`] for what is accepted.
///
/// Everything that is wrong is reported, not only the first mistake; from the first mistake on the
/// sink gets nothing more. Memory is bounded but for 16 to 40 bytes an entry of the lists that are
/// open ([`crate::data::ENTRIES_MAX`]). `input` is read in large pieces; it needs no buffer.
pub fn parse(
    schema: &Schema,
    root: Root,
    input: impl Read,
    sink: &mut dyn Sink,
    options: &ParseOptions,
) -> Result<(), ParseError> {
    let mut assembler = Assembler::new(schema, root, sink, options);
    if options.metadata == Metadata::Kept {
        assembler = assembler.holding();
    }
    let nesting = match root {
        Root::Datastore => Nesting::Outermost,
        _ => Nesting::Inside,
    };
    read(input, assembler, nesting)
}

/// Reads top-level data nodes, of which none is taken for an envelope.
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

struct Reader<'a, R> {
    tokens: Tokens<R>,
    assembler: Assembler<'a>,
}

/// The metadata of one object, applied at its end because it may come before what it is about.
type Pending = Vec<(NodeId, Vec<Annotations>, Mark)>;

impl<R: Read> Reader<'_, R> {
    fn document(&mut self, nesting: Nesting) -> Result<(), Halt> {
        if self.tokens.shape()? != Shape::Object {
            return Err(self.tokens.unexpected("an object"));
        }
        let mark = self.tokens.mark();
        let members = self.members(nesting)?;
        if self.assembler.is_single() && members != 1 {
            let message = format!("the document holds {members} nodes, and must hold one");
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

    /// The members of an object, its braces included; how many there were.
    fn members(&mut self, nesting: Nesting) -> Result<usize, Halt> {
        self.tokens.descend()?;
        let mut count = 0;
        let mut place = Place::First;
        let mut pending = Pending::new();
        while self.tokens.another(b'}', place)? {
            place = Place::Later;
            self.tokens.peek()?;
            let mark = self.tokens.mark();
            let name = self.tokens.name()?;
            if nesting == Nesting::Outermost && is_envelope(name) {
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
                Some(child) => self.member(child, mark)?,
                None => self.tokens.skip()?,
            }
        }
        for (node, annotations, mark) in pending {
            self.assembler.annotate_children(node, annotations, mark);
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

    /// A member whose node is known; its value comes next.
    fn member(&mut self, node: NodeId, mark: Mark) -> Result<(), Halt> {
        let is_at_root = self.assembler.is_at_root();
        self.assembler.note(node, Comes::Once, mark);
        match &self.assembler.schema.node(node).kind {
            NodeKind::Leaf(_) => self.leaf(node),
            NodeKind::LeafList(_) => self.array(node, is_at_root, mark),
            NodeKind::List(_) => self.array(node, is_at_root, mark),
            NodeKind::AnyData | NodeKind::AnyXml => self.any(node, mark),
            _ => self.object(node),
        }
    }

    /// A container, list entry or the like.
    fn object(&mut self, node: NodeId) -> Result<(), Halt> {
        if self.tokens.shape()? != Shape::Object {
            return self.refuse(node, "an object");
        }
        self.assembler.open(node, self.tokens.mark())?;
        self.members(Nesting::Inside)?;
        self.assembler.close(self.tokens.mark())
    }

    /// A list or leaf-list.
    fn array(&mut self, node: NodeId, is_at_root: bool, mark: Mark) -> Result<(), Halt> {
        if self.tokens.shape()? != Shape::Array {
            return self.refuse(node, "an array");
        }
        let is_list = self.assembler.schema.node(node).is_list();
        let mut count = 0u64;
        self.tokens.descend()?;
        while self.tokens.another(b']', place_of(count))? {
            count += 1;
            match is_list {
                true => self.object(node)?,
                false => self.leaf(node)?,
            }
        }
        if is_at_root && self.assembler.is_single() && count != 1 {
            let message = format!("the array holds {count} entries, and must hold one");
            let error = DataError::new(ErrorTag::BadElement, message);
            self.assembler.report(error, Some(node), mark);
        }
        Ok(())
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
            Shape::Object => return self.refuse(node, "a value"),
            Shape::Array => match self.only_null()? {
                OnlyNull::Yes => JsonScalar::EmptyArray,
                OnlyNull::No => return self.refuse_read(node, "a value", mark),
            },
            Shape::Scalar => match self.tokens.scalar()? {
                Scalar::String(text) => JsonScalar::String(text),
                Scalar::Number(text) => JsonScalar::Number(text),
                Scalar::Boolean(value) => JsonScalar::Boolean(value),
                Scalar::Null => return self.refuse_read(node, "a value", mark),
            },
        };
        let names = ModuleNames {
            leaf_module: schema.node(node).module,
        };
        let value = leaf.value_type.parse_json(schema, scalar, &names);
        self.assembler.leaf(node, value, mark)
    }

    /// Reads an array; whether it is `[null]`.
    fn only_null(&mut self) -> Result<OnlyNull, Halt> {
        self.tokens.descend()?;
        let mut count = 0;
        let mut is_null = OnlyNull::No;
        while self.tokens.another(b']', place_of(count))? {
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

    /// The content of an `anydata` or `anyxml`, kept as it is but for white space.
    fn any(&mut self, node: NodeId, mark: Mark) -> Result<(), Halt> {
        let is_data = matches!(self.assembler.schema.node(node).kind, NodeKind::AnyData);
        if is_data && self.tokens.shape()? != Shape::Object {
            return self.refuse(node, "an object");
        }
        let mut json = Vec::new();
        self.tokens.copy(&mut json, ANY_LENGTH_MAX)?;
        // Copied from strings and ASCII.
        let json = String::from_utf8(json).unwrap_or_default();
        if has_forbidden_character(&json) {
            let message = "a control character, which YANG and XML do not have";
            let error = DataError::new(ErrorTag::InvalidValue, message);
            self.assembler.report(error, Some(node), mark);
            return Ok(());
        }
        self.assembler.any(node, &json, mark)
    }

    /// Reports a value of the wrong shape, and reads past it.
    fn refuse(&mut self, node: NodeId, expected: &str) -> Result<(), Halt> {
        let mark = self.tokens.mark();
        self.tokens.skip()?;
        self.refuse_read(node, expected, mark)
    }

    fn refuse_read(&mut self, node: NodeId, expected: &str, mark: Mark) -> Result<(), Halt> {
        let name = &self.assembler.schema.node(node).name;
        let message = format!("'{name}' must be {expected}");
        let error = DataError::new(ErrorTag::InvalidValue, message);
        self.assembler.report(error, Some(node), mark);
        Ok(())
    }

    /// A metadata member: of the open node for an empty name, of a child else (RFC 7952 §5.2).
    fn metadata(&mut self, about: &str, mark: Mark, pending: &mut Pending) -> Result<(), Halt> {
        if !self.assembler.keeps_metadata() {
            return match self.assembler.options.metadata {
                Metadata::Plain => self.plain_metadata(mark),
                _ => self.tokens.skip(),
            };
        }
        if about.is_empty() {
            let annotations = self.annotations(self.assembler.parent())?;
            self.assembler.annotate_open(annotations);
            return Ok(());
        }
        let Some(node) = self.assembler.find(ChildName::Json(about), mark) else {
            return self.tokens.skip();
        };
        let mut all = Vec::new();
        if self.tokens.shape()? == Shape::Array {
            self.tokens.descend()?;
            while self.tokens.another(b']', place_of(all.len() as u64))? {
                all.push(self.annotations(Some(node))?);
            }
        } else {
            all.push(self.annotations(Some(node))?);
        }
        pending.push((node, all, mark));
        Ok(())
    }

    /// Metadata that is read past, unless it is for edits.
    fn plain_metadata(&mut self, mark: Mark) -> Result<(), Halt> {
        let mut all = Annotations::new();
        if self.tokens.shape()? == Shape::Array {
            self.tokens.descend()?;
            let mut place = Place::First;
            while self.tokens.another(b']', place)? {
                place = Place::Later;
                all.extend(self.annotations(None)?);
            }
        } else {
            all = self.annotations(None)?;
        }
        for error in all.iter().filter_map(metadata::refused_as_plain) {
            self.assembler.report(error, None, mark);
        }
        Ok(())
    }

    /// One metadata object, or `null` for none.
    fn annotations(&mut self, node: Option<NodeId>) -> Result<Annotations, Halt> {
        let mut annotations = Annotations::new();
        let mark = self.tokens.mark();
        match self.tokens.shape()? {
            Shape::Object => {}
            Shape::Scalar if self.tokens.scalar()? == Scalar::Null => return Ok(annotations),
            Shape::Scalar => return self.wrong_metadata(mark).map(|()| annotations),
            Shape::Array => {
                self.tokens.skip()?;
                return self.wrong_metadata(mark).map(|()| annotations);
            }
        }
        self.tokens.descend()?;
        let mut place = Place::First;
        while self.tokens.another(b'}', place)? {
            place = Place::Later;
            let name = self.tokens.name()?.to_owned();
            let mark = self.tokens.mark();
            let (module, name) = name.split_once(':').unwrap_or(("", &name));
            if self.tokens.shape()? != Shape::Scalar {
                self.tokens.skip()?;
                self.wrong_metadata(mark)?;
                continue;
            }
            let value = match self.tokens.scalar()? {
                Scalar::String(text) | Scalar::Number(text) => text,
                Scalar::Boolean(true) => "true",
                Scalar::Boolean(false) => "false",
                Scalar::Null => "",
            };
            let annotation = metadata::annotation(module, name, value);
            match annotation.and_then(|one| canonical(self.assembler.schema, node, one)) {
                Ok(annotation) => annotations.push(annotation),
                Err(error) => self.assembler.report(error, None, mark),
            }
        }
        Ok(annotations)
    }

    fn wrong_metadata(&mut self, mark: Mark) -> Result<(), Halt> {
        let message = "metadata must be an object of values (RFC 7952 §5.2)";
        let error = DataError::new(ErrorTag::BadAttribute, message);
        self.assembler.report(error, None, mark);
        Ok(())
    }
}

fn canonical(
    schema: &Schema,
    node: Option<NodeId>,
    annotation: Annotation,
) -> Result<Annotation, DataError> {
    let Some(node) = node else {
        return Ok(annotation);
    };
    let names = ModuleNames {
        leaf_module: schema.node(node).module,
    };
    metadata::canonical(schema, node, annotation, &names)
}

/// Whether a string in JSON as [`Tokens::copy`] writes it, where only control characters have
/// escapes of letters, has a character that XML cannot have (RFC 7950 §14, `yang-char`).
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

fn place_of(count: u64) -> Place {
    if count == 0 {
        Place::First
    } else {
        Place::Later
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnlyNull {
    Yes,
    No,
}

fn is_envelope(name: &str) -> bool {
    let known = Envelope::ALL.iter();
    let parts = name.split_once(':');
    parts.is_some_and(|parts| known.into_iter().any(|one| parts == (one.module, one.name)))
}

/// Whether an object may hold the datastore's envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nesting {
    Outermost,
    Inside,
}
