//! What a document holds, what is accepted in it, and how reading it fails.

use std::fmt;
use std::io;

use crate::error::Errors;
use crate::path::InstancePath;
use crate::schema::NodeId;
use crate::value::Value;

/// What a document holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Root {
    /// Top-level data nodes, as they are or inside one envelope that is recognised:
    /// `ietf-restconf:data` (RFC 8040 §3.4), or `data` or `config` of `ietf-netconf` (RFC 6241).
    #[default]
    Datastore,
    /// Exactly this node: the representation of one resource (RFC 8040 §4.5), the input or output
    /// of an operation, or a notification. A list is exactly one entry of it.
    Resource(NodeId),
    /// Exactly one child of this node, a top-level data node for `None`: what RFC 8040 §4.4.1
    /// creates. A list is exactly one entry of it.
    ChildOf(Option<NodeId>),
}

/// Which data nodes are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accept {
    /// Configuration only; state data is an error.
    Config,
    /// Configuration and state data.
    #[default]
    All,
}

/// What is done with metadata: XML attributes with a namespace, JSON members under `@` (RFC 7952).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metadata {
    /// It is read past unchecked: for documents that this program wrote itself.
    #[default]
    Ignored,
    /// It is checked (RFC 7952 §5) and then dropped. What only edits may say (operations, places
    /// of entries) is an error: better refused than not done. For documents of any size.
    Plain,
    /// It is given to [`crate::Sink::annotate`]. JSON may put it after the node it is about, so a
    /// JSON document is held in memory as a whole first ([`crate::data::NODES_MAX`] limits it):
    /// for edits, not for bulk data. A document with edit operations may hold data of two cases
    /// of one choice (deleting one, creating the other), so that is not an error here.
    Kept,
}

/// Whether a document of a datastore's content is wrapped in an envelope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrapping {
    /// It may be, in one of [`Envelope::ALL`].
    #[default]
    Optional,
    /// It is the datastore resource, `ietf-restconf:data` (RFC 8040 §3.4), or at least one of its nodes.
    ResourceOrNodes,
}

impl Wrapping {
    /// Whether this envelope is accepted.
    pub(super) fn accepts(self, envelope: Envelope) -> bool {
        self == Self::Optional || envelope == Envelope::RESTCONF_DATA
    }
}

/// How a document is read.
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    /// Which data nodes are accepted.
    pub accept: Accept,
    /// What is done with metadata.
    pub metadata: Metadata,
    /// Where the document's content stands in the datastore: the data node above it. Only used
    /// in the paths of errors.
    pub place: InstancePath,
    /// Whether there is an envelope, for [`Root::Datastore`].
    pub wrapping: Wrapping,
    /// The key values of the one list entry that the document holds, for a document that need not
    /// repeat them because they are in the URL (RFC 8040 §4.6.1). Empty: the document has them.
    /// They only complete what is checked; the sink does not receive them.
    pub target_keys: Vec<Value>,
}

impl ParseOptions {
    /// Whether a JSON member of this name is an envelope.
    pub(super) fn is_envelope_json(&self, name: &str) -> bool {
        name.split_once(':')
            .is_some_and(|name| self.is_envelope(|one| (one.module, one.name) == name))
    }

    /// Whether an XML element of this namespace and name is an envelope.
    pub(super) fn is_envelope_xml(&self, namespace: &str, name: &str) -> bool {
        self.is_envelope(|one| (one.namespace, one.name) == (namespace, name))
    }

    fn is_envelope(&self, is_it: impl Fn(Envelope) -> bool) -> bool {
        let known = Envelope::ALL.into_iter();
        known.filter(|one| self.wrapping.accepts(*one)).any(is_it)
    }
}

/// Why a document was not read to its end, or was refused at its end.
#[derive(Debug)]
pub enum ParseError {
    /// It is wrong: everything that is wrong with it. What the sink received is to be dropped.
    Invalid(Errors),
    /// It could not be read.
    Read(io::Error),
    /// The sink wanted no more.
    Stopped,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(errors) => errors.fmt(f),
            Self::Read(error) => write!(f, "reading failed: {error}"),
            Self::Stopped => f.write_str("stopped by the receiver"),
        }
    }
}

impl std::error::Error for ParseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Invalid(errors) => Some(errors),
            Self::Read(error) => Some(error),
            Self::Stopped => None,
        }
    }
}

/// White space in what is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// None.
    #[default]
    Compact,
    /// A line a node, indented by two blanks a level.
    Pretty,
}

/// What a datastore's content is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The module of its name.
    pub module: &'static str,
    /// The namespace of that module.
    pub namespace: &'static str,
    /// Its name.
    pub name: &'static str,
}

impl Envelope {
    /// `ietf-restconf:data` (RFC 8040 §3.4).
    pub const RESTCONF_DATA: Self = Self {
        module: "ietf-restconf",
        namespace: "urn:ietf:params:xml:ns:yang:ietf-restconf",
        name: "data",
    };
    /// `data` of NETCONF (RFC 6241 §7.1).
    pub const NETCONF_DATA: Self = Self {
        module: "ietf-netconf",
        namespace: "urn:ietf:params:xml:ns:netconf:base:1.0",
        name: "data",
    };
    /// `config` of NETCONF (RFC 6241 §7.2).
    pub const NETCONF_CONFIG: Self = Self {
        name: "config",
        ..Self::NETCONF_DATA
    };
    /// Those that [`Root::Datastore`] recognises.
    pub const ALL: [Self; 3] = [
        Self::RESTCONF_DATA,
        Self::NETCONF_DATA,
        Self::NETCONF_CONFIG,
    ];
}

/// How data is printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions {
    /// White space.
    pub layout: Layout,
    /// What the content is wrapped in, if anything.
    pub envelope: Option<Envelope>,
}

/// Why printing failed.
#[derive(Debug)]
pub enum PrintError {
    /// It could not be written.
    Write(io::Error),
    /// The source sent entries of this list or leaf-list with other nodes between, which JSON
    /// cannot say. [`crate::data::DataTree::normalise`] brings them together.
    NotTogether(NodeId),
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(error) => write!(f, "writing failed: {error}"),
            Self::NotTogether(_) => f.write_str("the entries of a list are not together"),
        }
    }
}

impl std::error::Error for PrintError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Write(error) => Some(error),
            Self::NotTogether(_) => None,
        }
    }
}
