//! The options of memory policies. The URL of every engine accepts them; the engines never see them.

use std::time::Duration;

use espalier_keyspace::{Policy, Result};

use crate::url::{Url, bytes, refusal};

/// The default staleness bound of `cached`.
const STALENESS: Duration = Duration::from_secs(2);

/// The minimum staleness bound: less would reject reads whenever the machine is busy.
const STALENESS_MIN: Duration = Duration::from_millis(100);

/// The default memory of `recent`: 64 MiB.
const CACHE_BYTES: usize = 64 << 20;

/// The default size limit of values in memory under `indexed`.
const VALUE_BYTES: usize = 256;

/// The consistency of reads under `cached`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadConsistency {
    /// The newest state known to this process: bounded staleness.
    Local,
    /// The newest state of the engine: its version is read first.
    Linearizable,
}

/// A policy and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) policy: Policy,
    pub(crate) reads: ReadConsistency,
    pub(crate) staleness: Duration,
    pub(crate) cache_bytes: usize,
    pub(crate) value_bytes: usize,
}

impl Options {
    /// Extracts the policy options from a URL; also returns the remaining options for the engine.
    pub(crate) fn extract(url: &Url<'_>) -> Result<(Self, String)> {
        let mut options = Self {
            policy: Policy::Uncached,
            reads: ReadConsistency::Local,
            staleness: STALENESS,
            cache_bytes: CACHE_BYTES,
            value_bytes: VALUE_BYTES,
        };
        let mut given = Vec::new();
        let mut rest = Vec::new();
        for (name, value) in url.options() {
            let only = match name {
                "policy" => {
                    options.policy = policy(value)?;
                    continue;
                }
                "read" => {
                    options.reads = reads(value)?;
                    Policy::Cached
                }
                "staleness_ms" => {
                    options.staleness = staleness(value)?;
                    Policy::Cached
                }
                "cache_bytes" => {
                    options.cache_bytes = bytes(name, value)?;
                    Policy::Recent
                }
                "value_bytes" => {
                    options.value_bytes = bytes(name, value)?;
                    Policy::Indexed
                }
                _ => {
                    rest.push((name, value));
                    continue;
                }
            };
            given.push((name, only));
        }
        if let Some((name, only)) = given.iter().find(|(_, only)| *only != options.policy) {
            return Err(refusal(format!(
                "{name} is an option of policy={}, but the policy is {}",
                only.name(),
                options.policy.name()
            )));
        }
        Ok((options, joined(&rest)))
    }
}

fn joined(options: &[(&str, &str)]) -> String {
    let texts = options.iter().map(|(name, value)| match *value {
        "" => (*name).to_owned(),
        value => format!("{name}={value}"),
    });
    texts.collect::<Vec<_>>().join("&")
}

fn policy(value: &str) -> Result<Policy> {
    Policy::named(value).ok_or_else(|| {
        let names = Policy::ALL.map(Policy::name).join(", ");
        refusal(format!("policy is {value:?}; it must be one of {names}"))
    })
}

fn reads(value: &str) -> Result<ReadConsistency> {
    match value {
        "local" => Ok(ReadConsistency::Local),
        "linearizable" => Ok(ReadConsistency::Linearizable),
        _ => Err(refusal(format!(
            "read is {value:?}; it must be local or linearizable"
        ))),
    }
}

fn staleness(value: &str) -> Result<Duration> {
    let bound = value.parse().ok().map(Duration::from_millis);
    bound
        .filter(|bound| *bound >= STALENESS_MIN)
        .ok_or_else(|| {
            refusal(format!(
                "staleness_ms is {value:?}; it must be a number of milliseconds, at least {}",
                STALENESS_MIN.as_millis()
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract(url: &str) -> Result<(Options, String)> {
        Options::extract(&Url::parse(url).expect("a scheme"))
    }

    #[test]
    fn other_options_are_left_for_the_engine() {
        let (options, rest) =
            extract("x:p?a=1&policy=cached&tls&read=linearizable&staleness_ms=500")
                .expect("options");
        assert_eq!(rest, "a=1&tls");
        assert_eq!(options.policy, Policy::Cached);
        assert_eq!(options.reads, ReadConsistency::Linearizable);
        assert_eq!(options.staleness, Duration::from_millis(500));
        let (options, rest) = extract("x:p").expect("none");
        assert_eq!((options.policy, rest.as_str()), (Policy::Uncached, ""));
        let (options, _) = extract("x:p?cache_bytes=2M&policy=recent").expect("options");
        assert_eq!(options.cache_bytes, 2 << 20);
    }

    #[test]
    fn invalid_options_are_rejected() {
        for (wrong, word) in [
            ("x:?policy=some", "uncached"),
            ("x:?policy=recent&cache_bytes=much", "cache_bytes"),
            ("x:?policy=cached&staleness_ms=0", "staleness_ms"),
            ("x:?policy=cached&read=dirty", "linearizable"),
            ("x:?cache_bytes=1M", "policy=recent"),
            ("x:?policy=indexed&read=local", "policy=cached"),
        ] {
            let error = extract(wrong).expect_err(wrong).to_string();
            assert!(error.contains(word), "{wrong}: {error}");
        }
    }
}
