//! Hashing of passwords on their way into a datastore (RFC 7317 §3.3, `crypt-hash`).

use espalier_yang::data::{Annotations, Stop};
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
    password: Option<NodeId>,
    scheme: Scheme,
    hashed: usize,
    errors: Errors,
}

impl<'a> PasswordHashing<'a> {
    /// A sink in front of `receiver`.
    pub fn new(schema: &Schema, receiver: &'a mut dyn Sink) -> Self {
        Self {
            receiver,
            password: password_leaf(schema),
            scheme: password_scheme(schema),
            hashed: 0,
            errors: Errors::new(),
        }
    }

    /// Returns the number of passwords that were hashed. Must be called at the end of the document.
    ///
    /// # Errors
    /// Some passwords cannot be accepted; they were not passed on, so the document must be rejected.
    pub fn finish(self) -> Result<usize, Errors> {
        match self.errors.is_empty() {
            true => Ok(self.hashed),
            false => Err(self.errors),
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

impl Sink for PasswordHashing<'_> {
    fn open(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop> {
        self.receiver.open(node, mark)
    }

    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> Result<(), Stop> {
        let text = match &value {
            Value::String(text) if self.password == Some(node) => text,
            _ => return self.receiver.leaf(node, value, mark),
        };
        match self.hash(text) {
            Ok(hash) => self.receiver.leaf(node, hash, mark),
            Err(error) => {
                let error = error.at("/ietf-system:system/authentication/user/password");
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
