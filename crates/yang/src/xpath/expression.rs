//! The syntax tree.

use serde::{Deserialize, Serialize};

use super::{Function, Literal, XPathError, leafref, parser};

/// Resolves a prefix, or its absence, to a module name. For expressions in a model, no prefix means the module of the
/// definition (RFC 7950 §6.4.1). If it returns `None` for no prefix, an unprefixed name matches every module; if it
/// returns `None` for a prefix, the prefix is unknown and the expression is rejected.
pub type Resolve<'a> = dyn Fn(Option<&str>) -> Option<Box<str>> + 'a;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expression {
    /// The expression as written.
    pub text: Box<str>,
    /// The syntax tree.
    pub root: Expr,
}

impl Expression {
    /// Parses any XPath 1.0 expression with the functions of YANG 1.1.
    pub fn parse(text: &str, resolve: &Resolve<'_>) -> Result<Self, XPathError> {
        Self::parse_in_model(text, resolve, resolve)
    }

    /// Parses an expression of a model. `names` resolves the names of nodes, `literals` those in string literals
    /// (identities, instance-identifiers).
    ///
    /// They differ if an expression is used in another module than the one that contains it: in a grouping used by
    /// another module, and in a deviation. A node name without prefix then belongs to the module of the current node
    /// (RFC 7950 §6.4.1, §7.13), an identity without prefix to the module of the text (RFC 7950 §10.4.1).
    pub fn parse_in_model(
        text: &str,
        names: &Resolve<'_>,
        literals: &Resolve<'_>,
    ) -> Result<Self, XPathError> {
        let root = parser::parse(text, names, literals)?;
        Ok(Self {
            text: text.into(),
            root,
        })
    }

    /// Parses the `path` of a leafref (RFC 7950 §9.9.2): a location path up and down, whose predicates compare keys
    /// with paths from `current()`; or `deref(path)` followed by a path.
    pub fn parse_leafref_path(text: &str, resolve: &Resolve<'_>) -> Result<Self, XPathError> {
        let expression = Self::parse(text, resolve)?;
        leafref::check(&expression)?;
        Ok(expression)
    }
}

/// An expression or a subexpression. `Display` prints it, with module names as prefixes, so that it parses to an equal
/// tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    /// `a or b or c`: two operands or more.
    Or(Vec<Expr>),
    /// `a and b and c`: two operands or more.
    And(Vec<Expr>),
    /// `a | b | c`: two operands or more.
    Union(Vec<Expr>),
    /// The other binary operators.
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
    /// `-a`.
    Negate(Box<Expr>),
    /// A location path.
    Path(LocationPath),
    /// An expression filtered by predicates, followed by a path: `(a | b)[1]/c`, `current()/../x`. At least one of
    /// the two is not empty.
    Filter {
        /// The filtered expression.
        primary: Box<Expr>,
        /// The predicates, in order.
        predicates: Vec<Expr>,
        /// The steps of the path.
        steps: Vec<PathStep>,
    },
    /// A function call; the number of arguments is checked.
    Call(Function, Vec<Expr>),
    /// A string.
    Literal(Literal),
    /// A number, finite and not negative.
    Number(f64),
    /// `$module:name`; with a module if the name has a prefix.
    Variable(Option<Box<str>>, Box<str>),
}

/// A binary operator on values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BinaryOperator {
    /// `=`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `div`.
    Divide,
    /// `mod`.
    Modulo,
}

/// A location path (XPath 1.0 §2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LocationPath {
    /// Whether it starts at the root (`/a`), not at the context node.
    pub is_absolute: bool,
    /// The steps; none for `/` alone.
    pub steps: Vec<PathStep>,
}

/// A step of a location path (XPath 1.0 §2.1). `.` is `self::node()`, `..` is `parent::node()`, `//` is
/// `/descendant-or-self::node()/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathStep {
    /// The axis.
    pub axis: Axis,
    /// The node test.
    pub test: NodeTest,
    /// The predicates, in order.
    pub predicates: Vec<Expr>,
}

impl PathStep {
    /// A step without predicates.
    pub fn new(axis: Axis, test: NodeTest) -> Self {
        Self {
            axis,
            test,
            predicates: Vec::new(),
        }
    }
}

/// The axes (XPath 1.0 §2.2). YANG data has no attributes and no namespace nodes: those two axes
/// are always empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Following,
    FollowingSibling,
    Namespace,
    Parent,
    Preceding,
    PrecedingSibling,
    SelfNode,
}

impl Axis {
    const NAMES: [(Self, &'static str); 13] = [
        (Self::Ancestor, "ancestor"),
        (Self::AncestorOrSelf, "ancestor-or-self"),
        (Self::Attribute, "attribute"),
        (Self::Child, "child"),
        (Self::Descendant, "descendant"),
        (Self::DescendantOrSelf, "descendant-or-self"),
        (Self::Following, "following"),
        (Self::FollowingSibling, "following-sibling"),
        (Self::Namespace, "namespace"),
        (Self::Parent, "parent"),
        (Self::Preceding, "preceding"),
        (Self::PrecedingSibling, "preceding-sibling"),
        (Self::SelfNode, "self"),
    ];

    /// The axis with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(_, known)| *known == name);
        found.map(|&(axis, _)| axis)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize].1
    }
}

/// A node test (XPath 1.0 §2.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NodeTest {
    /// A name: in the namespace of a module, or in any namespace if there is no module.
    Name(Option<Box<str>>, Box<str>),
    /// `*`.
    AnyName,
    /// `prefix:*`: any name in the namespace of a module.
    AnyNameIn(Box<str>),
    /// `node()`.
    Node,
    /// `text()`.
    Text,
    /// `comment()`; YANG data has none.
    Comment,
    /// `processing-instruction()`, with a target or without; YANG data has none.
    ProcessingInstruction(Option<Box<str>>),
}
