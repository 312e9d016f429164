//! The URL that names an engine: `scheme:place?option=value&option=value`.

use espalier_keyspace::{Error, ErrorKind, Result};

use crate::redact::redacted;

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

    /// Options without a place.
    #[cfg(feature = "memory")]
    pub(crate) fn of_options(scheme: &'a str, options: &'a str) -> Self {
        Self {
            scheme,
            place: "",
            options,
        }
    }

    /// The same with other options.
    #[cfg(feature = "memory")]
    pub(crate) fn with_options<'b>(&self, options: &'b str) -> Url<'b>
    where
        'a: 'b,
    {
        Url { options, ..*self }
    }

    /// The place, where there must be one: `what` it is (a file, say), and how that is written.
    #[cfg(any(feature = "embedded", feature = "file", feature = "sqlite"))]
    pub(crate) fn needed_place(&self, what: &str, form: &str) -> Result<&'a str> {
        if self.place.is_empty() {
            let scheme = self.scheme;
            let message = format!("{scheme}: needs a {what}; write {scheme}:{form}");
            return Err(refusal(message));
        }
        Ok(self.place)
    }

    /// Refuses an option that is given twice: one of the two would be ignored.
    pub(crate) fn check(&self) -> Result<()> {
        let mut seen = Vec::new();
        for (name, _) in self.options() {
            if seen.contains(&name) {
                let scheme = self.scheme;
                return Err(refusal(format!(
                    "{scheme}: the option {name} is given twice"
                )));
            }
            seen.push(name);
        }
        Ok(())
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
    Error::new(ErrorKind::Engine, redacted(&message).into_owned())
}

/// The refusal of an option that a scheme does not have.
pub(crate) fn unknown_option<T>(scheme: &str, option: &str, known: &str) -> Result<T> {
    // What stands behind a `?` in a password looks like an option.
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let problem = match option.bytes().all(is_name) {
        true => format!("{scheme}: has no option {option:?}; it has {known}"),
        false => format!(
            "{scheme}: an option has a name that none has; a ? in user or password is written %3F, an & \
             %26; the options are {known}"
        ),
    };
    Err(refusal(problem))
}

/// A number.
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
pub(crate) fn number<T: std::str::FromStr>(option: &str, value: &str) -> Result<T> {
    let wrong = |_| refusal(format!("{option} is {value:?}; it may be a number"));
    value.parse().map_err(wrong)
}

/// A span of time in milliseconds, at least one.
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
pub(crate) fn milliseconds(option: &str, value: &str) -> Result<std::time::Duration> {
    match number(option, value)? {
        0 => Err(refusal(format!("{option} is 0; it is at least 1"))),
        milliseconds => Ok(std::time::Duration::from_millis(milliseconds)),
    }
}

/// Whether an option is on: it is where it stands without a value.
#[cfg(any(feature = "mongo", feature = "etcd"))]
pub(crate) fn switch(option: &str, value: &str) -> Result<bool> {
    match value {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(refusal(format!(
            "{option} is {value:?}; it may be true or false"
        ))),
    }
}

/// A number of bytes, such as `4096`, `64K`, `2G`.
#[cfg(any(feature = "embedded", feature = "memory"))]
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
            "{option} is {value:?}; it may be a number of bytes, or one with K, M, G or T"
        ))
    })
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
        url.check().expect("each option once");
        let twice = Url::parse("memory:?x=1&x=2").expect("a scheme");
        assert!(twice.check().is_err());
        assert_eq!(Url::parse("nothing"), None);
        let bare = Url::parse("memory:").expect("a scheme");
        assert_eq!((bare.place, bare.options().count()), ("", 0));
    }
}
