//! What a server, or what speaks with it, said.

use std::error::Error;
use std::fmt;

/// The cause of an error in words, where nobody will ask for more of it.
#[derive(Debug)]
pub(crate) struct ErrorChain(pub(crate) String);

impl ErrorChain {
    /// An error and what caused it, each once: many an error says its cause as well.
    pub(crate) fn of(error: &dyn Error) -> Self {
        let mut words = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let said = error.to_string();
            if !words.contains(&said) {
                words = format!("{words}: {said}");
            }
            cause = error.source();
        }
        Self(words)
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
    fn each_cause_is_said_once() {
        let inner =
            espalier_keyspace::Error::new(espalier_keyspace::ErrorKind::Engine, "the cause");
        let outer =
            espalier_keyspace::Error::new(espalier_keyspace::ErrorKind::Engine, "the effect");
        let error = io::Error::other(outer.with_source(inner));
        assert_eq!(ErrorChain::of(&error).to_string(), "the effect: the cause");
    }
}
