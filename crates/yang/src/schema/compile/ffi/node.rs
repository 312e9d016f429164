//! Compiled schema nodes and their properties.

use libyang5_sys as sys;

use super::module::prefixes;
use super::{Module, ParsedType, Prefix, Type, raw};

/// What kind of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(in crate::schema::compile) enum NodeType {
    Container,
    Choice,
    Leaf,
    LeafList,
    List,
    AnyXml,
    AnyData,
    Case,
    Rpc,
    Action,
    Notification,
    Input,
    Output,
}

/// A compiled schema node.
#[derive(Clone, Copy)]
pub(in crate::schema::compile) struct Node<'c>(&'c sys::lysc_node);

/// A `must` or `when`.
#[derive(Clone)]
pub(in crate::schema::compile) struct Condition<'c> {
    /// The expression.
    pub(in crate::schema::compile) text: &'c str,
    /// The meaning of its prefixes at its position in the model.
    pub(in crate::schema::compile) prefixes: Vec<Prefix<'c>>,
    /// The module of the node that has it. It may be written in another module, by a grouping or a deviation.
    pub(in crate::schema::compile) module: Option<Module<'c>>,
    /// `error-message`.
    pub(in crate::schema::compile) error_message: Option<&'c str>,
    /// `error-app-tag`.
    pub(in crate::schema::compile) error_app_tag: Option<&'c str>,
    /// The context node.
    pub(in crate::schema::compile) context: ContextNode<'c>,
}

/// The context node of a condition.
#[derive(Clone, Copy)]
pub(in crate::schema::compile) enum ContextNode<'c> {
    /// The node that has the condition, which is a `must`.
    Own,
    /// The root.
    Root,
    /// This node, or the closest data node above if it is a choice or case.
    Node(Node<'c>),
}

/// A default value, as in the model.
#[derive(Clone)]
pub(in crate::schema::compile) struct Default<'c> {
    /// The value.
    pub(in crate::schema::compile) text: &'c str,
    /// The meaning of its prefixes.
    pub(in crate::schema::compile) prefixes: Vec<Prefix<'c>>,
}

// SAFETY, for every block below: the view borrows a compiled context, whose structures, strings,
// lists and arrays do not change during `'c`. A node is read as the structure of its node type,
// which is given by `nodetype`.
impl<'c> Node<'c> {
    /// # Safety
    /// `raw` is null or a compiled node that lives, unchanged, for `'c`.
    pub(super) unsafe fn from_raw(raw: *const sys::lysc_node) -> Option<Self> {
        unsafe { raw.as_ref().map(Self) }
    }

    /// Identifies the node within its context.
    pub(in crate::schema::compile) fn address(self) -> usize {
        std::ptr::from_ref(self.0) as usize
    }

    /// The node as the structure of its node type.
    ///
    /// # Safety
    /// `T` must be libyang's structure for the node's type.
    unsafe fn cast<T>(self) -> &'c T {
        unsafe { &*std::ptr::from_ref(self.0).cast::<T>() }
    }

    /// `None` for an unsupported node type.
    pub(in crate::schema::compile) fn node_type(self) -> Option<NodeType> {
        Some(match u32::from(self.0.nodetype) {
            sys::LYS_CONTAINER => NodeType::Container,
            sys::LYS_CHOICE => NodeType::Choice,
            sys::LYS_LEAF => NodeType::Leaf,
            sys::LYS_LEAFLIST => NodeType::LeafList,
            sys::LYS_LIST => NodeType::List,
            sys::LYS_ANYXML => NodeType::AnyXml,
            sys::LYS_ANYDATA => NodeType::AnyData,
            sys::LYS_CASE => NodeType::Case,
            sys::LYS_RPC => NodeType::Rpc,
            sys::LYS_ACTION => NodeType::Action,
            sys::LYS_NOTIF => NodeType::Notification,
            sys::LYS_INPUT => NodeType::Input,
            sys::LYS_OUTPUT => NodeType::Output,
            _ => return None,
        })
    }

    pub(in crate::schema::compile) fn name(self) -> &'c str {
        unsafe { raw::text(self.0.name) }
    }

    pub(in crate::schema::compile) fn description(self) -> Option<&'c str> {
        unsafe { raw::optional_text(self.0.dsc) }
    }

    pub(in crate::schema::compile) fn module(self) -> Option<Module<'c>> {
        unsafe { self.0.module.as_ref().map(Module) }
    }

    pub(in crate::schema::compile) fn parent(self) -> Option<Self> {
        unsafe { Self::from_raw(self.0.parent) }
    }

    fn next(self) -> Option<Self> {
        unsafe { Self::from_raw(self.0.next) }
    }

    fn has_flag(self, flag: u32) -> bool {
        u32::from(self.0.flags) & flag != 0
    }

    pub(in crate::schema::compile) fn is_config(self) -> bool {
        self.has_flag(sys::LYS_CONFIG_W)
    }

    pub(in crate::schema::compile) fn is_mandatory(self) -> bool {
        self.has_flag(sys::LYS_MAND_TRUE)
    }

    pub(in crate::schema::compile) fn is_deprecated(self) -> bool {
        self.has_flag(sys::LYS_STATUS_DEPRC)
    }

    pub(in crate::schema::compile) fn is_obsolete(self) -> bool {
        self.has_flag(sys::LYS_STATUS_OBSLT)
    }

    /// Returns whether libyang itself added it to the module: `rpc-error` in ietf-netconf, for example.
    pub(in crate::schema::compile) fn is_internal(self) -> bool {
        // LY_CTX_SET_PRIV_PARSED is on: `priv` is the parsed node or null; all kinds of parsed nodes have the layout of
        // `lysp_node` at their start.
        let parsed = unsafe { self.0.priv_.cast::<sys::lysp_node>().as_ref() };
        parsed.is_some_and(|parsed| u32::from(parsed.flags) & sys::LYS_INTERNAL != 0)
    }

    /// For a container.
    pub(in crate::schema::compile) fn has_presence(self) -> bool {
        self.has_flag(sys::LYS_PRESENCE)
    }

    /// For a leaf.
    pub(in crate::schema::compile) fn is_key(self) -> bool {
        self.has_flag(sys::LYS_KEY)
    }

    /// For a list or leaf-list.
    pub(in crate::schema::compile) fn is_ordered_by_user(self) -> bool {
        self.has_flag(sys::LYS_ORDBY_USER)
    }

    /// This node and the siblings after it.
    pub(in crate::schema::compile) fn and_siblings(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |node| node.next())
    }

    /// The child schema nodes: the cases of a choice, input and output of an operation, otherwise data nodes and
    /// choices, then actions, then notifications.
    pub(in crate::schema::compile) fn children(self) -> Vec<Self> {
        let (first, actions, notifications) = unsafe {
            if self.node_type() == Some(NodeType::Choice) {
                let cases = self.cast::<sys::lysc_node_choice>().cases;
                return siblings_within(self, Self::from_raw(cases.cast()));
            }
            if matches!(self.node_type(), Some(NodeType::Rpc | NodeType::Action)) {
                let action = self.cast::<sys::lysc_node_action>();
                let input = std::ptr::from_ref(&action.input).cast();
                let output = std::ptr::from_ref(&action.output).cast();
                return [Self::from_raw(input), Self::from_raw(output)]
                    .into_iter()
                    .flatten()
                    .collect();
            }
            (
                Self::from_raw(sys::lysc_node_child(self.0)),
                Self::from_raw(sys::lysc_node_actions(self.0).cast()),
                Self::from_raw(sys::lysc_node_notifs(self.0).cast()),
            )
        };
        [first, actions, notifications]
            .into_iter()
            .flat_map(|first| siblings_within(self, first))
            .collect()
    }

    /// The default case of a choice.
    pub(in crate::schema::compile) fn default_case(self) -> Option<Self> {
        match self.node_type() {
            Some(NodeType::Choice) => unsafe {
                Self::from_raw(self.cast::<sys::lysc_node_choice>().dflt.cast())
            },
            _ => None,
        }
    }

    pub(in crate::schema::compile) fn musts(self) -> Vec<Condition<'c>> {
        unsafe {
            raw::sized_array(sys::lysc_node_musts(self.0).cast_const())
                .iter()
                .map(|must| Condition {
                    text: raw::text(sys::lyxp_get_expr(must.cond)),
                    prefixes: prefixes(must.prefixes),
                    module: self.module(),
                    error_message: raw::optional_text(must.emsg),
                    error_app_tag: raw::optional_text(must.eapptag),
                    context: ContextNode::Own,
                })
                .collect()
        }
    }

    /// Its own `when` statements and those of the `augment` and `uses` that it comes from.
    pub(in crate::schema::compile) fn whens(self) -> Vec<Condition<'c>> {
        unsafe {
            raw::sized_array(sys::lysc_node_when(self.0).cast_const())
                .iter()
                .filter_map(|when| when.as_ref())
                .map(|when| Condition {
                    text: raw::text(sys::lyxp_get_expr(when.cond)),
                    prefixes: prefixes(when.prefixes),
                    module: self.module(),
                    error_message: None,
                    error_app_tag: None,
                    context: Self::from_raw(when.context)
                        .map_or(ContextNode::Root, ContextNode::Node),
                })
                .collect()
        }
    }

    /// Module, name and argument of each extension instance of the node.
    pub(in crate::schema::compile) fn extensions(self) -> Vec<(&'c str, &'c str, Option<&'c str>)> {
        unsafe {
            raw::sized_array(self.0.exts)
                .iter()
                .filter_map(|instance| {
                    let definition = instance.def.as_ref()?;
                    let module = definition.module.as_ref()?;
                    let argument = raw::optional_text(instance.argument);
                    Some((raw::text(module.name), raw::text(definition.name), argument))
                })
                .collect()
        }
    }

    /// `min-elements` and `max-elements` of a list or leaf-list.
    pub(in crate::schema::compile) fn element_limits(self) -> (u32, Option<u32>) {
        let (min, max) = match self.node_type() {
            Some(NodeType::List) => {
                let list = unsafe { self.cast::<sys::lysc_node_list>() };
                (list.min, list.max)
            }
            Some(NodeType::LeafList) => {
                let list = unsafe { self.cast::<sys::lysc_node_leaflist>() };
                (list.min, list.max)
            }
            _ => (0, 0),
        };
        // libyang stores "unbounded" as the greatest number (and "none" as 0).
        (min, Some(max).filter(|&max| max != 0 && max != u32::MAX))
    }

    /// The addresses of the leaves of each `unique` of a list, as compiled by libyang: without the leaves whose
    /// `if-feature` is false. They are not dereferenced, because libyang may keep the address of such a leaf after
    /// freeing it.
    pub(in crate::schema::compile) fn uniques(self) -> Vec<Vec<usize>> {
        if self.node_type() != Some(NodeType::List) {
            return Vec::new();
        }
        unsafe {
            raw::sized_array(self.cast::<sys::lysc_node_list>().uniques)
                .iter()
                .map(|&leaves| {
                    let leaves = raw::sized_array(leaves.cast_const()).iter();
                    leaves.map(|leaf| leaf.cast::<()>() as usize).collect()
                })
                .collect()
        }
    }

    /// The arguments of the `unique` statements of a list in the model, without deviations.
    pub(in crate::schema::compile) fn parsed_uniques(self) -> Vec<&'c str> {
        if self.node_type() != Some(NodeType::List) {
            return Vec::new();
        }
        // LY_CTX_SET_PRIV_PARSED is on: `priv` is the parsed node, of the same node type.
        unsafe {
            let parsed = self.0.priv_.cast::<sys::lysp_node_list>().as_ref();
            parsed.map_or_else(Vec::new, |list| {
                let uniques = raw::sized_array(list.uniques).iter();
                uniques.map(|unique| raw::text(unique.str_)).collect()
            })
        }
    }

    /// The type of a leaf or leaf-list.
    pub(in crate::schema::compile) fn value_type(self) -> Option<Type<'c>> {
        unsafe {
            match self.node_type()? {
                NodeType::Leaf => Type::from_raw(self.cast::<sys::lysc_node_leaf>().type_),
                NodeType::LeafList => Type::from_raw(self.cast::<sys::lysc_node_leaflist>().type_),
                _ => None,
            }
        }
    }

    /// The type of a leaf or leaf-list as in the model, without deviations.
    pub(in crate::schema::compile) fn parsed_type(self) -> Option<ParsedType<'c>> {
        unsafe {
            // LY_CTX_SET_PRIV_PARSED is on: `priv` is the parsed node, of the same node type.
            let parsed = match self.node_type()? {
                NodeType::Leaf => &self.0.priv_.cast::<sys::lysp_node_leaf>().as_ref()?.type_,
                NodeType::LeafList => {
                    &self
                        .0
                        .priv_
                        .cast::<sys::lysp_node_leaflist>()
                        .as_ref()?
                        .type_
                }
                _ => return None,
            };
            ParsedType::from_raw(parsed, self.0.priv_.cast())
        }
    }

    /// `units` of a leaf or leaf-list.
    pub(in crate::schema::compile) fn units(self) -> Option<&'c str> {
        unsafe {
            match self.node_type()? {
                NodeType::Leaf => raw::optional_text(self.cast::<sys::lysc_node_leaf>().units),
                NodeType::LeafList => {
                    raw::optional_text(self.cast::<sys::lysc_node_leaflist>().units)
                }
                _ => None,
            }
        }
    }

    /// The defaults of a leaf or leaf-list, including that of the type.
    pub(in crate::schema::compile) fn defaults(self) -> Vec<Default<'c>> {
        unsafe {
            let values = match self.node_type() {
                Some(NodeType::Leaf) => {
                    std::slice::from_ref(&self.cast::<sys::lysc_node_leaf>().dflt)
                }
                Some(NodeType::LeafList) => {
                    raw::sized_array(self.cast::<sys::lysc_node_leaflist>().dflts)
                }
                _ => &[],
            };
            values
                .iter()
                .filter_map(|value| {
                    Some(Default {
                        text: raw::optional_text(value.str_)?,
                        prefixes: prefixes(value.prefixes),
                    })
                })
                .collect()
        }
    }

    /// The targets of a leafref, or of the leafrefs of a union in their order.
    pub(in crate::schema::compile) fn leafref_targets(self) -> Vec<Self> {
        if !matches!(self.node_type(), Some(NodeType::Leaf | NodeType::LeafList)) {
            return Vec::new();
        }
        unsafe {
            let mut set = std::ptr::null_mut();
            if sys::lysc_node_lref_targets(self.0, &mut set) != sys::LY_ERR::LY_SUCCESS {
                return Vec::new();
            }
            let Some(targets) = set.as_ref() else {
                return Vec::new();
            };
            let nodes = targets.__bindgen_anon_1.snodes;
            let targets = (0..targets.count as usize)
                .filter_map(|index| Self::from_raw(*nodes.add(index)))
                .collect();
            sys::ly_set_free(set, None);
            targets
        }
    }
}

/// `first` and its siblings that are children of `parent`: libyang links the nodes of all cases of a choice into one
/// list.
fn siblings_within<'c>(parent: Node<'c>, first: Option<Node<'c>>) -> Vec<Node<'c>> {
    let siblings = first.into_iter().flat_map(Node::and_siblings);
    siblings
        .take_while(|node| {
            node.parent()
                .is_none_or(|above| above.address() == parent.address())
        })
        .collect()
}
