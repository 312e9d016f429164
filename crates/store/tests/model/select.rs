//! Selections from the naive tree.

use espalier_store::{Content as ContentOf, Selection, WithDefaults};
use espalier_yang::data::{Annotation, Content, DataNode, DataTree};
use espalier_yang::path::Selection as Wanted;
use espalier_yang::schema::Node;
use espalier_yang::{InstancePath, Keys, NodeId, Schema};

use crate::fixture::Page;
use crate::reference::{below, find, has_content, is_leaf};

/// The result of reading `path`; `None` if the target does not exist. Pages of entries are taken from
/// `order`, which is every entry of the target in the order of the store.
pub fn select(
    schema: &Schema,
    tree: &DataTree,
    path: &InstancePath,
    (selection, page): (&Selection, Option<&Page>),
    order: &[DataNode],
) -> Option<DataTree> {
    let reader = Reader {
        schema,
        selection,
        page,
    };
    let Some(step) = path.steps.last() else {
        let whole = DataNode::new(NodeId(u32::MAX), Content::Inner(tree.nodes.clone()));
        let nodes = reader.children(None, &whole, 1, false);
        return Some(DataTree { nodes });
    };
    let node = schema.node(step.node);
    let nodes = match find(schema, tree, path) {
        Some(found) if is_whole(node, &step.keys) => {
            let mut found: Vec<DataNode> = found.into_iter().cloned().collect();
            if let Some(page) = page {
                found = paged(order, page);
            }
            found.retain(|_| reader.may_show(node));
            found.iter().map(|one| reader.target(one)).collect()
        }
        Some(found) => vec![reader.target(found[0])],
        None => reader.absent_target(tree, path, node)?,
    };
    Some(DataTree { nodes })
}

pub fn is_whole(node: &Node, keys: &Keys) -> bool {
    *keys == Keys::None && (node.is_list() || node.is_leaf_list())
}

fn paged(order: &[DataNode], page: &Page) -> Vec<DataNode> {
    let rest = order.iter().skip(page.offset as usize);
    rest.take(page.limit as usize).cloned().collect()
}

struct Reader<'a> {
    schema: &'a Schema,
    selection: &'a Selection,
    page: Option<&'a Page>,
}

impl Reader<'_> {
    fn reports_defaults(&self) -> bool {
        matches!(
            self.selection.with_defaults,
            WithDefaults::ReportAll | WithDefaults::ReportAllTagged
        )
    }

    fn target(&self, data: &DataNode) -> DataNode {
        match &data.content {
            Content::Inner(_) => {
                let is_whole = self.wanted(data.node, false, true) == Wanted::Whole;
                let children = self.children(Some(data.node), data, 1, is_whole);
                DataNode::new(data.node, Content::Inner(children))
            }
            content => DataNode::new(data.node, content.clone()),
        }
    }

    /// The result for a target that is not stored: an empty container, a default.
    fn absent_target(
        &self,
        tree: &DataTree,
        path: &InstancePath,
        node: &Node,
    ) -> Option<Vec<DataNode>> {
        let siblings = below(self.schema, tree, &path.parent()?)?;
        if node.is_np_container() {
            let empty = DataNode::new(node.id, Content::Inner(Vec::new()));
            return Some(vec![self.target(&empty)]);
        }
        let is_default = (is_leaf(node) || path.steps.last()?.keys == Keys::None)
            && self.reports_defaults()
            && self.is_in_use(node, siblings);
        let defaults = self.defaults(node);
        if !is_default || defaults.is_empty() {
            return None;
        }
        match self.page {
            Some(page) if is_whole(node, &path.steps.last()?.keys) => Some(paged(&defaults, page)),
            _ => Some(defaults),
        }
    }

    /// Whether entries of a whole list can have the requested content.
    fn may_show(&self, node: &Node) -> bool {
        let schema = self.schema;
        match self.selection.content {
            ContentOf::All => true,
            ContentOf::Config => node.is_config,
            ContentOf::NonConfig => {
                let mut nodes = schema.nodes().filter(|other| !other.is_config);
                nodes.any(|other| schema.path(other.id).starts_with(&schema.path(node.id)))
            }
        }
    }

    fn wanted(&self, node: NodeId, is_whole: bool, is_target: bool) -> Wanted {
        match &self.selection.fields {
            None => Wanted::Whole,
            Some(_) if is_target => Wanted::Partial,
            Some(_) if is_whole => Wanted::Whole,
            Some(fields) => fields.selection(self.schema, node),
        }
    }

    fn is_content(&self, node: &Node) -> bool {
        match self.selection.content {
            ContentOf::All => true,
            ContentOf::Config => node.is_config,
            ContentOf::NonConfig => !node.is_config,
        }
    }

    /// The visible children of a node at a level.
    fn children(
        &self,
        parent: Option<NodeId>,
        data: &DataNode,
        level: u32,
        is_whole: bool,
    ) -> Vec<DataNode> {
        // Nodes selected by fields have level 1, and so have their ancestors (RFC 8040 §4.8.2).
        let level = match self.selection.fields.is_some() && !is_whole {
            true => 1,
            false => level + 1,
        };
        if self.selection.depth.is_some_and(|depth| level > depth) {
            return Vec::new();
        }
        let mut shown: Vec<DataNode> = data
            .children()
            .iter()
            .filter_map(|child| self.child(child, level, is_whole))
            .collect();
        if self.reports_defaults() {
            self.absent(parent, data, level, is_whole, &mut shown);
        }
        self.keys_of_state(data, parent, &mut shown);
        shown
    }

    fn child(&self, data: &DataNode, level: u32, is_whole: bool) -> Option<DataNode> {
        let node = self.schema.node(data.node);
        let wanted = self.wanted(node.id, is_whole, false);
        if wanted == Wanted::Not {
            return None;
        }
        if !matches!(data.content, Content::Inner(_)) {
            let is_shown = self.is_content(node) && !self.is_trimmed(data);
            return is_shown.then(|| DataNode::new(node.id, data.content.clone()));
        }
        if self.selection.content == ContentOf::Config && !node.is_config {
            return None;
        }
        let children = self.children(Some(node.id), data, level, wanted == Wanted::Whole);
        let is_own = wanted == Wanted::Whole && self.is_content(node) && !node.is_np_container();
        let says_more = children.iter().any(|child| !self.is_state_key(child.node));
        let shows = is_own || says_more || self.has_state_beyond(data, wanted);
        shows.then(|| DataNode::new(node.id, Content::Inner(children)))
    }

    /// Whether a node has state, within the depth or beyond it: read without state, it would not be shown at all.
    fn has_state_beyond(&self, data: &DataNode, wanted: Wanted) -> bool {
        if self.selection.content != ContentOf::NonConfig || self.selection.depth.is_none() {
            return false;
        }
        let selection = Selection {
            depth: None,
            with_defaults: match self.reports_defaults() {
                true => WithDefaults::Explicit,
                false => self.selection.with_defaults,
            },
            ..self.selection.clone()
        };
        let reader = Reader {
            schema: self.schema,
            selection: &selection,
            page: None,
        };
        let children = reader.children(Some(data.node), data, 1, wanted == Wanted::Whole);
        children.iter().any(|child| !self.is_state_key(child.node))
    }

    fn is_state_key(&self, node: NodeId) -> bool {
        let node = self.schema.node(node);
        self.selection.content == ContentOf::NonConfig
            && node.is_config
            && node.as_value().is_some_and(|leaf| leaf.is_key)
    }

    /// When reading state, the keys of config entries are visible too.
    fn keys_of_state(&self, data: &DataNode, parent: Option<NodeId>, shown: &mut Vec<DataNode>) {
        let Some(parent) = parent else { return };
        for &key in self.schema.node(parent).keys() {
            if self.is_state_key(key)
                && let Some(key) = data.child(key)
            {
                shown.insert(0, DataNode::new(key.node, key.content.clone()));
            }
        }
    }

    fn is_trimmed(&self, data: &DataNode) -> bool {
        let node = self.schema.node(data.node);
        let leaf = node.as_value().filter(|leaf| !leaf.is_key);
        self.selection.with_defaults == WithDefaults::Trim
            && !node.is_leaf_list()
            && leaf.is_some_and(|leaf| leaf.defaults.first() == data.value())
            && data.value().is_some()
    }

    fn absent(
        &self,
        parent: Option<NodeId>,
        data: &DataNode,
        level: u32,
        is_whole: bool,
        shown: &mut Vec<DataNode>,
    ) {
        let schema = self.schema;
        let all = parent.map_or(schema.roots(), |parent| &schema.node(parent).children);
        for &id in all {
            let node = schema.node(id);
            let is_there = data
                .children()
                .iter()
                .any(|child| child.node == id && has_content(schema, child));
            let wanted = self.wanted(id, is_whole, false);
            if is_there || wanted == Wanted::Not || !self.is_in_use(node, data.children()) {
                continue;
            }
            if node.is_np_container() {
                if self.selection.content == ContentOf::Config && !node.is_config {
                    continue;
                }
                let empty = DataNode::new(id, Content::Inner(Vec::new()));
                let children = self.children(Some(id), &empty, level, wanted == Wanted::Whole);
                if !children.is_empty() {
                    shown.push(DataNode::new(id, Content::Inner(children)));
                }
            } else if self.is_content(node) {
                shown.extend(self.defaults(node));
            }
        }
    }

    fn defaults(&self, node: &Node) -> Vec<DataNode> {
        let values = node.as_value().map_or(&[][..], |leaf| &leaf.defaults);
        let is_tagged = self.selection.with_defaults == WithDefaults::ReportAllTagged;
        let default = |value: &espalier_yang::Value| {
            let mut data = DataNode::new(node.id, Content::Value(value.clone()));
            data.annotations
                .extend(is_tagged.then_some(Annotation::Default));
            data
        };
        values.iter().map(default).collect()
    }

    /// Whether the defaults of a node are in use with its siblings: it has no `when`, and each of its choices
    /// has its case, or none and its case is the default.
    fn is_in_use(&self, node: &Node, siblings: &[DataNode]) -> bool {
        let schema = self.schema;
        let is_active = |mine: &espalier_yang::schema::CaseChoice| {
            let mut cases = siblings
                .iter()
                .filter(|one| has_content(schema, one))
                .flat_map(|one| &schema.node(one.node).cases)
                .filter(|theirs| theirs.choice == mine.choice)
                .map(|theirs| theirs.case);
            let default = schema.choices()[mine.choice as usize].default_case;
            cases.next().or(default) == Some(mine.case)
        };
        node.whens.is_empty() && node.cases.iter().all(is_active)
    }
}
