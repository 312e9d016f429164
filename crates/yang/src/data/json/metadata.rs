//! Metadata in JSON (RFC 7952 §5.2): parsing, and its errors.

use std::io::Read;

use smallvec::SmallVec;

use super::read::Reader;
use super::token::{ElementPosition, Scalar, Shape};
use crate::data::assemble::{ChildName, Halt};
use crate::data::metadata;
use crate::data::options::MetadataMode;
use crate::data::sink::{Annotation, Annotations, Mark, deletes};
use crate::error::{DataError, ErrorTag};
use crate::schema::{ModuleNames, NodeId, NodeKind};

/// The metadata members of one object. They are applied at its end, because they may precede their nodes.
#[derive(Default)]
pub(super) struct PendingMetadata {
    has_own: bool,
    members: Vec<MetadataMember>,
    /// The number of entries of each leaf-list of the object.
    counts: SmallVec<[(NodeId, usize); 2]>,
}

/// The metadata of one child.
struct MetadataMember {
    node: NodeId,
    form: MetadataForm,
    annotations: Vec<Annotations>,
    mark: Mark,
}

/// The JSON form of the metadata of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MetadataForm {
    /// One object: of a leaf or `anyxml` (§5.2.3).
    Object,
    /// An array of objects and nulls: of the entries of a leaf-list (§5.2.4).
    Array,
}

impl PendingMetadata {
    /// Records a leaf-list of the object.
    pub(super) fn count(&mut self, leaf_list: NodeId, entries: usize) {
        self.counts.push((leaf_list, entries));
    }

    fn entries(&self, leaf_list: NodeId) -> usize {
        let counts = self.counts.iter();
        let own = counts.filter(|(node, _)| *node == leaf_list);
        own.map(|(_, entries)| entries).sum()
    }
}

impl<R: Read> Reader<'_, R> {
    /// Reads a metadata member: of the open node if `name` is empty, otherwise of a child.
    pub(super) fn metadata(
        &mut self,
        about: &str,
        mark: Mark,
        pending: &mut PendingMetadata,
    ) -> Result<(), Halt> {
        if self.assembler.options.metadata == MetadataMode::Ignored {
            return self.tokens.skip();
        }
        if about.is_empty() {
            return self.own_metadata(mark, pending);
        }
        let Some(node) = self.assembler.find(ChildName::Json(about), mark) else {
            return self.tokens.skip();
        };
        if pending.members.iter().any(|member| member.node == node) {
            return self.reject_metadata(Some(node), mark, "the metadata is given twice");
        }
        let is_leaf_list = self.assembler.schema.node(node).is_leaf_list();
        let (form, annotations) = match self.tokens.shape()? {
            Shape::Object => (MetadataForm::Object, vec![self.annotations(Some(node))?]),
            Shape::Array if is_leaf_list => (MetadataForm::Array, self.of_entries(node)?),
            _ => {
                let expected = "metadata is an object; that of a leaf-list, an array with an \
                                object or null for each entry (RFC 7952 §5.2)";
                return self.reject_metadata(Some(node), mark, expected);
            }
        };
        pending.members.push(MetadataMember {
            node,
            form,
            annotations,
            mark,
        });
        Ok(())
    }

    /// The metadata of the entries of a leaf-list.
    fn of_entries(&mut self, node: NodeId) -> Result<Vec<Annotations>, Halt> {
        let mut all = Vec::new();
        self.tokens.descend()?;
        let mut position = ElementPosition::First;
        while self.tokens.another(b']', position)? {
            position = ElementPosition::Later;
            let shape = self.tokens.shape()?;
            let mark = self.tokens.mark();
            all.push(match shape {
                Shape::Object => self.annotations(Some(node))?,
                Shape::Scalar if self.tokens.scalar()? == Scalar::Null => Annotations::new(),
                shape => {
                    if shape == Shape::Array {
                        self.tokens.skip()?;
                    }
                    self.report_metadata(
                        Some(node),
                        mark,
                        "metadata of an entry is an object or null",
                    );
                    Annotations::new()
                }
            });
        }
        Ok(all)
    }

    /// `@`: the metadata of the object's own node (§5.2.2).
    fn own_metadata(&mut self, mark: Mark, pending: &mut PendingMetadata) -> Result<(), Halt> {
        if self.assembler.is_at_root() {
            let message =
                "the document itself has no metadata: “@” is only allowed in the object of a node";
            return self.reject_metadata(None, mark, message);
        }
        if std::mem::replace(&mut pending.has_own, true) {
            return self.reject_metadata(None, mark, "the metadata is given twice");
        }
        if self.tokens.shape()? != Shape::Object {
            return self.reject_metadata(None, mark, "metadata is an object (RFC 7952 §5.2)");
        }
        let annotations = self.annotations(self.assembler.parent())?;
        self.assembler.annotate_open(annotations);
        Ok(())
    }

    /// At the end of an object: checks its metadata against its nodes, and applies it.
    pub(super) fn apply_metadata(&mut self, mut pending: PendingMetadata) {
        for member in std::mem::take(&mut pending.members) {
            match self.find_error(&member, &pending) {
                Some((tag, message)) => {
                    let error = DataError::new(tag, message);
                    self.assembler.report(error, Some(member.node), member.mark);
                }
                None if self.assembler.keeps_metadata() => {
                    let MetadataMember {
                        node, annotations, ..
                    } = member;
                    self.assembler
                        .annotate_children(node, annotations, member.mark);
                }
                None => {}
            }
        }
    }

    fn find_error(
        &self,
        member: &MetadataMember,
        pending: &PendingMetadata,
    ) -> Option<(ErrorTag, &'static str)> {
        if !self.assembler.has_child(member.node) {
            // A node that is to be deleted need not exist.
            let is_bare = member.annotations.len() == 1 && deletes(&member.annotations[0]);
            let message = "metadata of a node that does not exist";
            return (!is_bare).then_some((ErrorTag::MissingElement, message));
        }
        match (&self.assembler.schema.node(member.node).kind, member.form) {
            (NodeKind::Leaf(_) | NodeKind::AnyXml, MetadataForm::Object) => None,
            (NodeKind::LeafList(_), MetadataForm::Array) => {
                let is_longer = member.annotations.len() > pending.entries(member.node);
                let message = "metadata of more entries than exist";
                is_longer.then_some((ErrorTag::MissingElement, message))
            }
            (NodeKind::LeafList(_), MetadataForm::Object) => {
                let message = "metadata of a leaf-list is an array (RFC 7952 §5.2.4)";
                Some((ErrorTag::BadAttribute, message))
            }
            _ => {
                let message = "metadata of a container, list entry or anydata is the member “@” \
                               of its object (RFC 7952 §5.2.2)";
                Some((ErrorTag::BadAttribute, message))
            }
        }
    }

    /// One metadata object; the tokens are at its bracket.
    pub(super) fn annotations(&mut self, node: Option<NodeId>) -> Result<Annotations, Halt> {
        let mut annotations = Annotations::new();
        let mut names: SmallVec<[String; 2]> = SmallVec::new();
        self.tokens.descend()?;
        let mut position = ElementPosition::First;
        while self.tokens.another(b'}', position)? {
            position = ElementPosition::Later;
            let name = self.tokens.name()?.to_owned();
            let mark = self.tokens.mark();
            if names.contains(&name) {
                let message = format!("the annotation “{name}” is given twice");
                self.reject_metadata(None, mark, &message)?;
                continue;
            }
            match self.annotation(&name, node)? {
                Ok(annotation) => annotations.push(annotation),
                Err(error) => self.assembler.report(error, None, mark),
            }
            names.push(name);
        }
        if self.assembler.options.metadata == MetadataMode::Plain {
            let mark = self.tokens.mark();
            for error in annotations
                .drain(..)
                .filter_map(|one| metadata::plain_metadata_error(&one))
            {
                self.assembler.report(error, None, mark);
            }
        }
        Ok(annotations)
    }

    /// One annotation, at its value.
    fn annotation(
        &mut self,
        name: &str,
        node: Option<NodeId>,
    ) -> Result<Result<Annotation, DataError>, Halt> {
        let invalid = |message: String| DataError::new(ErrorTag::BadAttribute, message);
        let Some((module, local)) = name.split_once(':') else {
            self.tokens.skip()?;
            // RFC 7952 §5.2.1.
            let message = format!("the annotation “{name}” needs its module: “module:{name}”");
            return Ok(Err(invalid(message)));
        };
        let schema = self.assembler.schema;
        if let Err(error) = metadata::check_defined(schema, module, local) {
            self.tokens.skip()?;
            return Ok(Err(error));
        }
        let is_boolean = metadata::is_boolean(module, local);
        let wrong = || {
            Err(invalid(format!(
                "the annotation “{name}” has a value of the wrong kind"
            )))
        };
        let value = match self.tokens.shape()? {
            // An annotation of type `empty` (RFC 7951 §6.9).
            Shape::Array => match self.only_null()? {
                super::read::OnlyNull::Yes => "",
                super::read::OnlyNull::No => return Ok(wrong()),
            },
            Shape::Object => {
                self.tokens.skip()?;
                return Ok(wrong());
            }
            Shape::Scalar => match self.tokens.scalar()? {
                Scalar::String(text) if is_boolean != Some(true) => text,
                Scalar::Number(text) if is_boolean.is_none() => text,
                Scalar::Boolean(value) if is_boolean != Some(false) => match value {
                    true => "true",
                    false => "false",
                },
                _ => return Ok(wrong()),
            },
        };
        let annotation = metadata::annotation(module, local, value);
        let Some(node) = node else {
            return Ok(annotation);
        };
        let names = ModuleNames {
            leaf_module: schema.node(node).module,
        };
        Ok(annotation.and_then(|one| metadata::canonical(schema, node, one, &names)))
    }

    fn report_metadata(&mut self, node: Option<NodeId>, mark: Mark, message: &str) {
        let error = DataError::new(ErrorTag::BadAttribute, message);
        self.assembler.report(error, node, mark);
    }

    /// Reports invalid metadata, and skips it.
    pub(super) fn reject_metadata(
        &mut self,
        node: Option<NodeId>,
        mark: Mark,
        message: &str,
    ) -> Result<(), Halt> {
        self.report_metadata(node, mark, message);
        self.tokens.skip()
    }
}
