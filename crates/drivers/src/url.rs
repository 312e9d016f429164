//! Parses engine URLs: `scheme:place?option=value&option=value`.

use espalier_keyspace::{Error, ErrorKind, Result};

use crate::redact::redacted;

/// A parsed URL. Nothing is percent-decoded: the place is a path as given by the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) place: &'a str,
    options: &'a str,
}

impl<'a> Url<'a> {
    /// Parses a URL; `None` if it has no scheme. The options start at the last `?`, so a path that contains
    /// a `?` needs one at its end.
    pub(crate) fn parse(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once(':')?;
        let (place, options) = rest.rsplit_once('?').unwrap_or((rest, ""));
        Some(Self {
            scheme,
            place,
            options,
        })
    }

    /// A URL with options only.
    pub(crate) fn of_options(scheme: &'a str, options: &'a str) -> Self {
        Self {
            scheme,
            place: "",
            options,
        }
    }

    /// The same URL with other options.
    pub(crate) fn with_options<'b>(&self, options: &'b str) -> Url<'b>
    where
        'a: 'b,
    {
        Url { options, ..*self }
    }

    /// The place, which is required: `what` it is (such as a file), and how it is written.
    pub(crate) fn needed_place(&self, what: &str, form: &str) -> Result<&'a str> {
        if self.place.is_empty() {
            let scheme = self.scheme;
            let message = format!("{scheme}: needs a {what}; write {scheme}:{form}");
            return Err(refusal(message));
        }
        Ok(self.place)
    }

    /// Rejects an option that is given twice: one of the two would be ignored.
    pub(crate) fn check(&self) -> Result<()> {
        let mut names = Vec::new();
        for (name, _) in self.options() {
            if names.contains(&name) {
                let scheme = self.scheme;
                return Err(refusal(format!(
                    "{scheme}: the option {name} is given twice"
                )));
            }
            names.push(name);
        }
        Ok(())
    }

    /// The options as pairs of name and value, in order.
    pub(crate) fn options(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.options
            .split('&')
            .filter(|option| !option.is_empty())
            .map(|option| option.split_once('=').unwrap_or((option, "")))
    }
}

/// The error of an invalid URL.
pub(crate) fn refusal(message: String) -> Error {
    Error::new(ErrorKind::Engine, redacted(&message).into_owned())
}

/// The error of an option that a scheme does not have.
pub(crate) fn unknown_option<T>(scheme: &str, option: &str, supported: &str) -> Result<T> {
    // A `?` in a password makes the rest of it look like an option.
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let problem = match option.bytes().all(is_name) {
        true => format!("{scheme}: has no option {option:?}; it has {supported}"),
        false => format!(
            "{scheme}: invalid option name; in user or password, escape ? as %3F and & as %26; the \
             options are {supported}"
        ),
    };
    Err(refusal(problem))
}

/// Parses a number.
pub(crate) fn number<T: std::str::FromStr>(option: &str, value: &str) -> Result<T> {
    let invalid = |_| refusal(format!("{option} is {value:?}; it must be a number"));
    value.parse().map_err(invalid)
}

/// Parses a duration in milliseconds, at least one.
pub(crate) fn milliseconds(option: &str, value: &str) -> Result<std::time::Duration> {
    match number(option, value)? {
        0 => Err(refusal(format!("{option} is 0; it must be at least 1"))),
        milliseconds => Ok(std::time::Duration::from_millis(milliseconds)),
    }
}

/// Parses a boolean option; without a value it is true.
pub(crate) fn switch(option: &str, value: &str) -> Result<bool> {
    match value {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(refusal(format!(
            "{option} is {value:?}; it must be true or false"
        ))),
    }
}

/// Parses a number of bytes, such as `4096`, `64K`, `2G`.
pub(crate) fn bytes(option: &str, value: &str) -> Result<usize> {
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match &value[digits.len()..] {
        "" => Some(0),
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        "T" => Some(40),
        _ => None,
    };
    let number = digits.parse::<usize>().ok();
    let product = number
        .zip(shift)
        .and_then(|(number, shift)| number.checked_mul(1 << shift));
    product.ok_or_else(|| {
        refusal(format!(
            "{option} is {value:?}; it must be a number of bytes, optionally with K, M, G or T"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_parsed() {
        let url = Url::parse("embedded:a/b:c?x=1&y&z=2=3").expect("a scheme");
        assert_eq!((url.scheme, url.place), ("embedded", "a/b:c"));
        let options: Vec<_> = url.options().collect();
        assert_eq!(options, [("x", "1"), ("y", ""), ("z", "2=3")]);
        url.check().expect("each option once");
        let twice = Url::parse("memory:?x=1&x=2").expect("a scheme");
        assert!(twice.check().is_err());
        assert_eq!(Url::parse("nothing"), None);
        let bare = Url::parse("memory:").expect("a scheme");
        assert_eq!((bare.place, bare.options().count()), ("", 0));
    }
}
