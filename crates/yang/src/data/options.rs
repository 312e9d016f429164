//! The options for parsing and printing documents, and their errors.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::error::Errors;
use crate::path::InstancePath;
use crate::schema::{NodeId, Schema};
use crate::value::Value;

/// The content of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Root {
    /// Top-level data nodes, bare or in one recognised envelope: `ietf-restconf:data` (RFC 8040 §3.4), or `data` or
    /// `config` of `ietf-netconf` (RFC 6241).
    #[default]
    Datastore,
    /// Exactly this node: the representation of one resource (RFC 8040 §4.5), the input or output
    /// of an operation, or a notification. A list is exactly one entry of it.
    Resource(NodeId),
    /// Exactly one child of this node (for `None`: one top-level data node), the body of a create request
    /// (RFC 8040 §4.4.1). A list is exactly one entry of it.
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

/// The treatment of metadata: XML attributes with a namespace, JSON members under `@` (RFC 7952).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataMode {
    /// Skipped unchecked: for documents that this program wrote itself.
    #[default]
    Ignored,
    /// Checked (RFC 7952 §5), then dropped. Annotations that only edits may have (operations, positions of entries)
    /// are an error, because dropping them would change the meaning. For documents of any size.
    Plain,
    /// Passed to [`crate::Sink::annotate`]. JSON may put metadata after its node, so a JSON document is first buffered
    /// in memory ([`crate::data::NODES_MAX`] limits it): for edits, not for bulk data. A document with edit operations
    /// may contain data of two cases of one choice (deleting one, creating the other), so that is not an error.
    Kept,
}

/// Whether the content of a datastore is wrapped in an envelope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrapping {
    /// Optional, in one of [`Envelope::ALL`].
    #[default]
    Optional,
    /// The datastore resource, `ietf-restconf:data` (RFC 8040 §3.4), or at least one of its nodes.
    ResourceOrNodes,
}

impl Wrapping {
    /// Returns whether this envelope is accepted.
    pub(super) fn accepts(self, envelope: Envelope) -> bool {
        self == Self::Optional || envelope == Envelope::RESTCONF_DATA
    }
}

/// Options for parsing a document.
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    /// Which data nodes are accepted.
    pub accept: Accept,
    /// The treatment of metadata.
    pub metadata: MetadataMode,
    /// The data node above the content of the document. Only used in the paths of errors.
    pub place: InstancePath,
    /// Whether there is an envelope, for [`Root::Datastore`].
    pub wrapping: Wrapping,
    /// The key values of the document's only list entry, if the document may omit them because they are in the URL
    /// (RFC 8040 §4.6.1). If empty, the document must contain them. They are only used by the checks; the sink does
    /// not receive them.
    pub target_keys: Vec<Value>,
    /// In XML: the models of the data that values like the filter of a subscription are about, if these are not those of the
    /// document. Values of leafs that name modules of any schema can have prefixes for its namespaces.
    pub other_modules: Option<Arc<Schema>>,
}

impl ParseOptions {
    /// Returns whether a JSON member of this name is an envelope.
    pub(super) fn is_envelope_json(&self, name: &str) -> bool {
        name.split_once(':').is_some_and(|name| {
            self.is_envelope(|envelope| (envelope.module, envelope.name) == name)
        })
    }

    /// Returns whether an XML element of this namespace and name is an envelope.
    pub(super) fn is_envelope_xml(&self, namespace: &str, name: &str) -> bool {
        self.is_envelope(|envelope| (envelope.namespace, envelope.name) == (namespace, name))
    }

    fn is_envelope(&self, matches_name: impl Fn(Envelope) -> bool) -> bool {
        let envelopes = Envelope::ALL.into_iter();
        envelopes
            .filter(|envelope| self.wrapping.accepts(*envelope))
            .any(matches_name)
    }
}

/// Why a document was not read to its end, or was rejected at its end.
#[derive(Debug)]
pub enum ParseError {
    /// The document is invalid: all its errors. The caller must drop what the sink received.
    Invalid(Errors),
    /// An I/O error.
    Read(io::Error),
    /// The sink stopped.
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

/// White space in printed documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// None.
    #[default]
    Compact,
    /// One line per node, indented by two spaces per level.
    Pretty,
}

/// An envelope around the content of a datastore.
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
    /// `xml-list`, which has no namespace (draft-ietf-netconf-list-pagination-rc §3.2).
    pub const XML_LIST: Self = Self {
        module: "",
        namespace: "",
        name: "xml-list",
    };
    /// The envelopes that [`Root::Datastore`] recognises.
    pub const ALL: [Self; 3] = [
        Self::RESTCONF_DATA,
        Self::NETCONF_DATA,
        Self::NETCONF_CONFIG,
    ];
}

/// Options for printing.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions {
    /// White space.
    pub layout: Layout,
    /// The envelope, if any.
    pub envelope: Option<Envelope>,
}

/// Why printing failed.
#[derive(Debug)]
pub enum PrintError {
    /// An I/O error.
    Write(io::Error),
    /// The source sent the entries of this list or leaf-list interleaved with other nodes, which JSON cannot
    /// represent. [`crate::data::DataTree::normalise`] groups them.
    NotContiguous(NodeId),
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(error) => write!(f, "writing failed: {error}"),
            Self::NotContiguous(_) => f.write_str("the entries of a list are not contiguous"),
        }
    }
}

impl std::error::Error for PrintError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Write(error) => Some(error),
            Self::NotContiguous(_) => None,
        }
    }
}
