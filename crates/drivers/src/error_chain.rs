//! The causes of an error, flattened into one message.

use std::error::Error;
use std::fmt;

/// An error with the message of its causes as text.
#[derive(Debug)]
pub(crate) struct ErrorChain(pub(crate) String);

impl ErrorChain {
    /// Joins an error and its causes, each once: many errors repeat their cause.
    pub(crate) fn of(error: &dyn Error) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let message = error.to_string();
            if !text.contains(&message) {
                text = format!("{text}: {message}");
            }
            cause = error.source();
        }
        Self(text)
    }
}

impl fmt::Display for ErrorChain {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Error for ErrorChain {}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn each_cause_appears_once() {
        let inner =
            espalier_keyspace::Error::new(espalier_keyspace::ErrorKind::Engine, "the cause");
        let outer =
            espalier_keyspace::Error::new(espalier_keyspace::ErrorKind::Engine, "the effect");
        let error = io::Error::other(outer.with_source(inner));
        assert_eq!(ErrorChain::of(&error).to_string(), "the effect: the cause");
    }
}
