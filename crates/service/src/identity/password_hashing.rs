//! Hashing of passwords on their way into a datastore (RFC 7317 §3.3, `crypt-hash`).

use espalier_yang::data::{Annotations, Content, DataNode, Stop};
use espalier_yang::{DataError, ErrorTag, Errors, Mark, NodeId, Schema, Sink, Value};

use super::password::{PasswordError, Scheme, clear_text, hash_to_store};
use super::users::{password_leaf, password_scheme};

/// The maximum number of passwords in clear text in a document; each takes tens of milliseconds to hash.
pub const CLEAR_PASSWORDS_MAX: usize = 50;

/// A sink that replaces the passwords of ietf-system in clear text (`$0$`) by their hashes and passes everything else on.
/// It stands between a parser and the receiver of every document that a client writes, so that clear text is neither
/// stored nor logged.
pub struct PasswordHashing<'a> {
    receiver: &'a mut dyn Sink,
    /// `None` if the schema has no passwords.
    hasher: Option<PasswordHasher>,
    errors: Errors,
}

/// Hashes the passwords of one document.
pub struct PasswordHasher {
    password: NodeId,
    scheme: Scheme,
    hashed: usize,
}

/// The path of the passwords, for errors.
const PASSWORD_PATH: &str = "/ietf-system:system/authentication/user/password";

impl PasswordHasher {
    /// A hasher for the passwords of a schema; `None` if it has none.
    pub fn new(schema: &Schema) -> Option<Self> {
        Some(Self {
            password: password_leaf(schema)?,
            scheme: password_scheme(schema),
            hashed: 0,
        })
    }

    /// Replaces the passwords in clear text in these nodes and below by their hashes.
    ///
    /// # Errors
    /// Some passwords cannot be accepted: the document must be rejected.
    pub fn hash_all<'n>(
        mut self,
        nodes: impl IntoIterator<Item = &'n mut DataNode>,
    ) -> Result<(), Errors> {
        let mut errors = Errors::new();
        let mut pending: Vec<&mut DataNode> = nodes.into_iter().collect();
        while let Some(node) = pending.pop() {
            match &mut node.content {
                Content::Value(value) if self.password == node.node => {
                    let hashed = match &*value {
                        Value::String(text) => self.hash(text),
                        _ => continue,
                    };
                    match hashed {
                        Ok(hash) => *value = hash,
                        Err(error) => errors.push(error.at(PASSWORD_PATH)),
                    }
                }
                Content::Inner(children) => pending.extend(children),
                _ => {}
            }
        }
        match errors.is_empty() {
            true => Ok(()),
            false => Err(errors),
        }
    }

    fn hash(&mut self, text: &str) -> Result<Value, DataError> {
        if clear_text(text).is_some() {
            self.hashed += 1;
            if self.hashed > CLEAR_PASSWORDS_MAX {
                let message = format!(
                    "more than {CLEAR_PASSWORDS_MAX} passwords in clear text \
                     (CLEAR_PASSWORDS_MAX); write fewer at a time, or hashes"
                );
                return Err(DataError::new(ErrorTag::TooBig, message));
            }
        }
        match hash_to_store(text, self.scheme) {
            Ok(hash) => Ok(Value::string(hash.as_str())),
            Err(error @ PasswordError::Random(_)) => {
                Err(DataError::new(ErrorTag::OperationFailed, error.to_string()))
            }
            Err(error) => Err(DataError::new(ErrorTag::InvalidValue, error.to_string())),
        }
    }
}

impl<'a> PasswordHashing<'a> {
    /// A sink in front of `receiver`.
    pub fn new(schema: &Schema, receiver: &'a mut dyn Sink) -> Self {
        Self {
            receiver,
            hasher: PasswordHasher::new(schema),
            errors: Errors::new(),
        }
    }

    /// Returns the number of passwords that were hashed. Must be called at the end of the document.
    ///
    /// # Errors
    /// Some passwords cannot be accepted; they were not passed on, so the document must be rejected.
    pub fn finish(self) -> Result<usize, Errors> {
        match self.errors.is_empty() {
            true => Ok(self.hasher.map_or(0, |hasher| hasher.hashed)),
            false => Err(self.errors),
        }
    }
}

impl Sink for PasswordHashing<'_> {
    fn open(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop> {
        self.receiver.open(node, mark)
    }

    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> Result<(), Stop> {
        let hashed = match (&mut self.hasher, &value) {
            (Some(hasher), Value::String(text)) if hasher.password == node => hasher.hash(text),
            _ => return self.receiver.leaf(node, value, mark),
        };
        match hashed {
            Ok(hash) => self.receiver.leaf(node, hash, mark),
            Err(error) => {
                let error = error.at(PASSWORD_PATH);
                self.errors.push(error.on_line(mark.line));
                Ok(())
            }
        }
    }

    fn any(&mut self, node: NodeId, json: &str, mark: Mark) -> Result<(), Stop> {
        self.receiver.any(node, json, mark)
    }

    fn close(&mut self, mark: Mark) -> Result<(), Stop> {
        self.receiver.close(mark)
    }

    fn annotate(&mut self, annotations: Annotations) -> Result<(), Stop> {
        self.receiver.annotate(annotations)
    }

    fn bare(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop> {
        self.receiver.bare(node, mark)
    }
}
