//! The URL that names an engine: `scheme:place?option=value&option=value`.

use espalier_keyspace::{Error, ErrorKind, Result};

/// A URL, taken apart. Nothing is percent-decoded: places are paths as the shell gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) place: &'a str,
    options: &'a str,
}

impl<'a> Url<'a> {
    /// Takes a URL apart; `None` where there is no scheme. The last `?` begins the options, so a
    /// path with a `?` in it is written with a `?` at the end.
    pub(crate) fn parse(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once(':')?;
        let (place, options) = rest.rsplit_once('?').unwrap_or((rest, ""));
        Some(Self {
            scheme,
            place,
            options,
        })
    }

    /// The options, name and value, in order.
    pub(crate) fn options(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.options
            .split('&')
            .filter(|option| !option.is_empty())
            .map(|option| option.split_once('=').unwrap_or((option, "")))
    }
}

/// The refusal of a URL, in a sentence.
pub(crate) fn refusal(message: String) -> Error {
    Error::new(ErrorKind::Engine, message)
}

/// The refusal of an option that a scheme does not have.
pub(crate) fn unknown_option<T>(scheme: &str, option: &str, known: &str) -> Result<T> {
    Err(refusal(format!(
        "{scheme}: has no option {option:?}; it has {known}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let url = Url::parse("embedded:a/b:c?x=1&y&z=2=3").expect("a scheme");
        assert_eq!((url.scheme, url.place), ("embedded", "a/b:c"));
        let options: Vec<_> = url.options().collect();
        assert_eq!(options, [("x", "1"), ("y", ""), ("z", "2=3")]);
        assert_eq!(Url::parse("nothing"), None);
        let bare = Url::parse("memory:").expect("a scheme");
        assert_eq!((bare.place, bare.options().count()), ("", 0));
    }
}
