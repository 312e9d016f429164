//! State that the process knows and the store does not: callbacks that are asked when it is read.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use espalier_yang::data::{DataTree, Origin};
use espalier_yang::{Errors, InstancePath, Schema};

use super::union::LAYERS_MAX;

/// How long a provider may take where nothing else is said.
pub const PROVIDER_TIMEOUT: Duration = Duration::from_secs(5);

/// The most calls of one provider that may be under way: those that timed out go on until they
/// return by themselves.
pub const PROVIDER_CALLS_MAX: usize = 16;

/// The most answers of one provider that are kept for later readings.
pub const PROVIDER_ANSWERS_MAX: usize = 64;

/// The most providers that can have a part in one reading.
pub const PROVIDERS_IN_READING_MAX: usize = LAYERS_MAX - 2;

/// Why a provider could not tell.
pub type ProviderError = Box<dyn StdError + Send + Sync>;

/// What a provider is asked for.
#[derive(Clone, Debug)]
pub struct ProviderRequest {
    /// The schema of the answer: the nodes of the answer are nodes of this one.
    pub schema: Arc<Schema>,
    /// What is read: the path that the provider was registered for or something in it. A list on
    /// the way without keys means every entry. To answer with more than this, up to what the
    /// provider was registered for, is allowed: what was not asked for is not shown.
    pub path: InstancePath,
}

/// What a provider does: the data, as a tree from the root of the datastore, with the containers
/// and the keys of the entries that it stands in.
pub type ProviderCall =
    dyn Fn(&ProviderRequest) -> Result<DataTree, ProviderError> + Send + Sync + 'static;

/// A source of state, and how it is treated.
#[derive(Clone)]
pub struct Provider {
    pub(super) name: Box<str>,
    pub(super) call: Arc<ProviderCall>,
    pub(super) timeout: Duration,
    pub(super) valid_for: Duration,
    pub(super) origin: Origin,
}

impl Provider {
    /// A provider that is asked at every reading, and has [`PROVIDER_TIMEOUT`] for it. The name is
    /// for warnings and logs.
    pub fn new(
        name: impl Into<Box<str>>,
        call: impl Fn(&ProviderRequest) -> Result<DataTree, ProviderError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            call: Arc::new(call),
            timeout: PROVIDER_TIMEOUT,
            valid_for: Duration::ZERO,
            origin: Origin::default(),
        }
    }

    /// Gives it this long; readings go on without it then.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Uses its answers again for readings of the same path within this time.
    #[must_use]
    pub fn with_validity(mut self, valid_for: Duration) -> Self {
        self.valid_for = valid_for;
        self
    }

    /// The origin of the configuration nodes in its answers (RFC 8342 §5.3.4); `unknown` where
    /// nothing is said. State has none.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.name)
            .field("timeout", &self.timeout)
            .field("valid_for", &self.valid_for)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// Something that a reading had to do without; the rest was answered.
#[derive(Clone, Debug)]
pub struct Warning {
    /// The provider.
    pub provider: Box<str>,
    /// What it was asked for, as an instance identifier.
    pub path: String,
    /// Why there is no answer of it.
    pub reason: WarningReason,
}

/// Why a provider's answer is missing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WarningReason {
    /// It did not answer in this time.
    TimedOut(Duration),
    /// It said that it cannot tell.
    Failed(String),
    /// It panicked.
    Panicked(String),
    /// [`PROVIDER_CALLS_MAX`] calls of it are still under way.
    Busy,
    /// Its answer is not what the model says, or not what it was asked for.
    Invalid(Errors),
    /// More than [`PROVIDERS_IN_READING_MAX`] have a part in the reading.
    TooMany,
    /// What it is registered for is not in the model any more.
    NotInSchema,
}

impl fmt::Display for WarningReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(time) => write!(f, "no answer within {time:?}"),
            Self::Failed(message) => write!(f, "it failed: {message}"),
            Self::Panicked(message) => write!(f, "it panicked: {message}"),
            Self::Busy => write!(f, "{PROVIDER_CALLS_MAX} calls of it are under way already"),
            Self::Invalid(errors) => write!(f, "its answer is wrong: {errors}"),
            Self::TooMany => f.write_str("too many providers have a part in one reading"),
            Self::NotInSchema => f.write_str("the model no longer has what it provides"),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the provider “{}” has no part in {}: {}",
            self.provider, self.path, self.reason
        )
    }
}
