//! Reads single entries of a list or leaf-list.

use espalier_keyspace::KeyRange;
use espalier_yang::data::Annotations;
use espalier_yang::{InstancePath, NodeId, Sink, Value};

use super::super::selection::Selection;
use super::frame::{Halt, ReadResult, ResourceReader};
use super::resource::Target;
use crate::error::Result;

/// A read of entries of a list or leaf-list, in any order.
pub(in crate::tree) struct EntryReader<'a> {
    reader: ResourceReader<'a>,
    path: &'a InstancePath,
    node: NodeId,
    /// The length of the key of the whole list.
    list: usize,
    /// Whether the content that is selected can have entries of the list.
    is_selected: bool,
}

impl<'a> EntryReader<'a> {
    /// A reader of entries of the target, which must be a whole list or leaf-list with this schema node.
    pub fn new(
        target: &Target<'a>,
        node: NodeId,
        selection: &'a Selection,
        sink: &'a mut dyn Sink,
    ) -> Self {
        let reader = target.reader(selection, sink);
        let is_selected = reader.descends(reader.state.schema().node(node));
        Self {
            reader,
            path: target.path,
            node,
            list: target.place.key.len(),
            is_selected,
        }
    }

    /// Whether entries of the list can have the selected content.
    pub fn is_selected(&self) -> bool {
        self.is_selected
    }

    /// Whether the reader sees anything of an entry with this key; `row` is a row of it.
    pub fn shows(&mut self, entry: &[u8], row: &[u8]) -> Result<bool> {
        match self.reader.shows_entry((self.node, self.list), entry, row) {
            Ok(is_shown) => Ok(is_shown),
            Err(Halt::Error(error)) => Err(error),
            Err(Halt::Stop) => Ok(false),
        }
    }

    /// Annotates the next entry.
    pub fn annotate(&mut self, annotations: Annotations) -> Result<bool> {
        let annotated = self.reader.sink.annotate(annotations);
        is_continued(annotated.map_err(Halt::from))
    }

    /// Sends what a range of keys has of the list; false if the sink accepts no more.
    pub fn send(&mut self, range: &KeyRange) -> Result<bool> {
        is_continued(self.reader.scan(range))
    }

    /// The defaults that an unset leaf-list has and that are reported.
    pub fn defaults(&mut self) -> Result<Vec<Value>> {
        let is_in_use = match self.reader.is_default_in_use(self.node, self.path) {
            Ok(is_in_use) => is_in_use,
            Err(Halt::Error(error)) => return Err(error),
            Err(Halt::Stop) => false,
        };
        let node = self.reader.state.schema().node(self.node);
        let Some(value) = node.as_value().filter(|_| is_in_use) else {
            return Ok(Vec::new());
        };
        let mut defaults = value.defaults.clone();
        defaults.retain(|default| self.reader.shows_value(self.node, Some(default)));
        Ok(defaults)
    }

    /// Sends a default; false if the sink accepts no more.
    pub fn send_default(&mut self, default: &Value) -> Result<bool> {
        is_continued(self.reader.send_default(self.node, default))
    }
}

fn is_continued(result: ReadResult<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(Halt::Stop) => Ok(false),
        Err(Halt::Error(error)) => Err(error),
    }
}
