//! The edits of the store for those of a patch.

use espalier_store::{Edit, Insert};
use espalier_yang::data::{Content, DataNode, DataTree, MetadataMode, ParseOptions, Root};
use espalier_yang::path::ApiRoot;
use espalier_yang::{Errors, InstancePath, Keys, NodeId, Schema};

use super::document::{PatchDocument, PatchEdit, PatchOperation, malformed};
use super::names::PatchNames;
use crate::restconf::StateWrites;
use crate::restconf::codec;
use crate::restconf::error::{Failure, Result};
use crate::restconf::media::Format;
use crate::restconf::query::Insert as Where;
use crate::restconf::resource::{Methods, methods_of};
use crate::restconf::write::change::Change;
use crate::restconf::write::placement::Placement;
use crate::restconf::write::write_request::Job;

impl Job {
    /// The change of a patch.
    ///
    /// # Errors
    /// That of the document, or else those of all edits whose target or value is wrong.
    pub(in crate::restconf::write) fn yang_patch(
        &self,
        format: Format,
        body: &[u8],
    ) -> Result<Change> {
        let text = std::str::from_utf8(body).map_err(malformed)?;
        let document = PatchDocument::parse(format, text)?;
        let names = names(&document);
        let mut edits = Vec::with_capacity(document.edits.len());
        let mut errors = Errors::new();
        for (number, edit) in document.edits.iter().enumerate() {
            match self.edit(edit, format) {
                Ok(edit) => edits.push(edit),
                Err(failure) => errors.append(failure.errors.of_edit(number)),
            }
        }
        match errors.into_result() {
            Ok(()) => Ok(Change::of_patch(edits, names, document.comment)),
            Err(errors) => Err(Failure::from(errors).of_patch(&names)),
        }
    }

    fn edit(&self, edit: &PatchEdit<'_>, format: Format) -> Result<Edit> {
        check_members(edit)?;
        let path = self.below(&edit.target)?;
        let Some((node, parent)) = path.target().zip(path.parent()) else {
            return self.edit_of_datastore(edit, format);
        };
        let writes = match self.accept {
            espalier_yang::data::Accept::Config => StateWrites::Refused,
            espalier_yang::data::Accept::All => StateWrites::Allowed,
        };
        if let Methods::Read | Methods::Invoke = methods_of(self.schema(), &path, writes) {
            let name = self.schema().path(node);
            return Err(Failure::invalid(format!("{name} cannot be the target")));
        }
        let value = || self.value(edit, format, &path, (node, &parent));
        let placed = |edit_of: Edit| Ok(edit_of.placed(self.place(edit, &path)?));
        match edit.operation {
            PatchOperation::Create => Ok(Edit::create(parent.clone(), value()?)),
            PatchOperation::Merge => Ok(Edit::merge(parent.clone(), value()?)),
            PatchOperation::Replace => Ok(Edit::replace(parent.clone(), value()?)),
            PatchOperation::Insert => placed(Edit::create(parent.clone(), value()?)),
            PatchOperation::Move => placed(Edit::moved(
                parent.clone(),
                entry(self.schema(), node, &path),
            )),
            PatchOperation::Delete => Ok(Edit::delete(path)),
            PatchOperation::Remove => Ok(Edit::remove(path)),
        }
    }

    /// An edit of a whole datastore.
    fn edit_of_datastore(&self, edit: &PatchEdit<'_>, format: Format) -> Result<Edit> {
        let value = || self.parse_value(edit, format, Root::Datastore, InstancePath::root());
        match edit.operation {
            PatchOperation::Merge => Ok(Edit::merge(InstancePath::root(), value()?)),
            PatchOperation::Replace => Ok(Edit::replace_all(value()?)),
            _ => Err(Failure::invalid(
                "a whole datastore can only be merged or replaced",
            )),
        }
    }

    /// The resource at an offset from that of the request (RFC 8072 §2.2).
    fn below(&self, offset: &str) -> Result<InstancePath> {
        if !offset.starts_with('/') {
            let message = format!("“{offset}” does not begin with “/”");
            return Err(Failure::invalid(message));
        }
        if offset == "/" {
            return Ok(self.path().clone());
        }
        let base = self.path().to_api_path(self.schema());
        let base = base.ok_or_else(|| Failure::invalid("the entry has no keys"))?;
        let path = format!("{base}{offset}");
        Ok(InstancePath::parse_api_path(
            self.schema(),
            &path,
            ApiRoot::Data,
        )?)
    }

    fn place(&self, edit: &PatchEdit<'_>, path: &InstancePath) -> Result<Insert> {
        let point = edit.point.as_deref().map(|point| self.below(point));
        let place = Placement::new(edit.place.unwrap_or(Where::Last), point.transpose()?);
        place.position(self.schema(), path)
    }

    /// The value of an edit: the target, and nothing else.
    fn value(
        &self,
        edit: &PatchEdit<'_>,
        format: Format,
        path: &InstancePath,
        (node, parent): (NodeId, &InstancePath),
    ) -> Result<DataTree> {
        let tree = self.parse_value(edit, format, Root::Resource(node), parent.clone())?;
        let is_target = |node: &DataNode| {
            let keys = path.steps.last().map(|step| &step.keys);
            Some(&node.instance(self.schema())) == keys
        };
        match tree.nodes.as_slice() {
            [node] if is_target(node) => Ok(tree),
            _ => Err(Failure::invalid(
                "the keys in the value differ from those in the target",
            )),
        }
    }

    fn parse_value(
        &self,
        edit: &PatchEdit<'_>,
        format: Format,
        root: Root,
        place: InstancePath,
    ) -> Result<DataTree> {
        let options = ParseOptions {
            accept: self.accept,
            metadata: MetadataMode::Plain,
            place,
            wrapping: self.wrapping,
            ..ParseOptions::default()
        };
        let text = edit.value.as_ref().map_or("", |value| &value.text);
        codec::parse_tree(self.schema(), format, root, text.as_bytes(), &options)
    }
}

fn names(document: &PatchDocument<'_>) -> PatchNames {
    let edits = document.edits.iter().map(|edit| {
        let value = edit.value.as_ref();
        let lines = value.map_or(0, |value| value.lines_before);
        (edit.id.clone(), lines)
    });
    PatchNames::new(&document.id, edits)
}

/// Checks that an edit has the members of its operation, and no others (RFC 8072 §2.5).
fn check_members(edit: &PatchEdit<'_>) -> Result<()> {
    let operation = edit.operation;
    let needs_point = matches!(edit.place, Some(Where::Before | Where::After));
    let message = match () {
        () if operation.has_value() && edit.value.is_none() => "“value” is missing",
        () if !operation.has_value() && edit.value.is_some() => "the operation has no “value”",
        () if !operation.has_place() && edit.place.is_some() => "the operation has no “where”",
        () if !needs_point && edit.point.is_some() => {
            "“point” is only for “insert” and “move” with the place “before” or “after”"
        }
        () if needs_point && edit.point.is_none() => "“point” is missing",
        () => return Ok(()),
    };
    Err(Failure::invalid(message))
}

/// The entry at a path, with its keys only.
fn entry(schema: &Schema, node: NodeId, path: &InstancePath) -> DataTree {
    let values = match path.steps.last().map(|step| &step.keys) {
        Some(Keys::Values(values)) => values.as_slice(),
        _ => &[],
    };
    let content = match (schema.node(node).is_leaf_list(), values) {
        (true, [value]) => Content::Value(value.clone()),
        _ => {
            let keys = schema.node(node).keys().iter().zip(values);
            let keys = keys.map(|(&key, value)| DataNode::new(key, Content::Value(value.clone())));
            Content::Inner(keys.collect())
        }
    };
    DataTree {
        nodes: vec![DataNode::new(node, content)],
    }
}
