//! The options of the memory driver.

use espalier_keyspace::Result;

use crate::url::{Url, refusal, unknown_option};

/// The name of the driver, and the scheme of its URLs.
pub const NAME: &str = "memory";

/// The options of the memory driver: none so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {}

impl Config {
    /// Parses the options of a URL such as `memory:`.
    pub(crate) fn from_url(url: &Url<'_>) -> Result<Self> {
        if !url.place.is_empty() {
            let message = format!(
                "{0}: takes no path; write {0}: without {1:?}",
                url.scheme, url.place
            );
            return Err(refusal(message));
        }
        match url.options().next() {
            Some((option, _)) => unknown_option(url.scheme, option, "none"),
            None => Ok(Self {}),
        }
    }
}
