//! Providers: callbacks that return operational state on reads.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use espalier_yang::data::{DataTree, Origin};
use espalier_yang::{Errors, InstancePath, Schema};

use super::union::LAYERS_MAX;

/// The default timeout of a provider.
pub const PROVIDER_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of concurrent calls of one provider. Calls that timed out count until they return.
pub const PROVIDER_CALLS_MAX: usize = 16;

/// Maximum number of cached results of one provider.
pub const PROVIDER_CACHE_MAX: usize = 64;

/// Maximum number of providers in one read.
pub const PROVIDERS_PER_READ_MAX: usize = LAYERS_MAX - 2;

/// The error of a provider.
pub type ProviderError = Box<dyn StdError + Send + Sync>;

/// The request to a provider.
#[derive(Clone, Debug)]
pub struct ProviderRequest {
    /// The schema of the data to return.
    pub schema: Arc<Schema>,
    /// The path to read: the registered path or a node in it. A list on the path without keys stands for
    /// every entry. Returning more, up to the registered path, is allowed: the rest is ignored.
    pub path: InstancePath,
}

/// The function of a provider. Returns the data as a tree from the root of the datastore, with the
/// enclosing containers and the keys of entries.
pub type ProviderCall =
    dyn Fn(&ProviderRequest) -> Result<DataTree, ProviderError> + Send + Sync + 'static;

/// A source of state, with its settings.
#[derive(Clone)]
pub struct Provider {
    pub(super) name: Box<str>,
    pub(super) call: Arc<ProviderCall>,
    pub(super) timeout: Duration,
    pub(super) valid_for: Duration,
    pub(super) origin: Origin,
}

impl Provider {
    /// A provider that is called on every read, with a timeout of [`PROVIDER_TIMEOUT`]. The name appears in
    /// warnings and logs.
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

    /// Sets the timeout; after it, reads continue without the data.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how long its data is cached for reads of the same path.
    #[must_use]
    pub fn with_validity(mut self, valid_for: Duration) -> Self {
        self.valid_for = valid_for;
        self
    }

    /// Sets the origin of the configuration nodes in its data (RFC 8342 §5.3.4); `unknown` by default.
    /// State data has no origin.
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

/// Data that is missing in the result of a read.
#[derive(Clone, Debug)]
pub struct Warning {
    /// The provider.
    pub provider: Box<str>,
    /// The requested path, as an instance identifier.
    pub path: String,
    /// Why its data is missing.
    pub reason: WarningReason,
}

/// Why the data of a provider is missing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WarningReason {
    /// It did not return within its timeout.
    TimedOut(Duration),
    /// It returned an error.
    Failed(String),
    /// It panicked.
    Panicked(String),
    /// [`PROVIDER_CALLS_MAX`] calls of it are in progress.
    Busy,
    /// Its data does not conform to the schema or the registered path.
    Invalid(Errors),
    /// The read selects more than [`PROVIDERS_PER_READ_MAX`] providers.
    TooMany,
    /// Its registered path is no longer in the schema.
    NotInSchema,
}

impl fmt::Display for WarningReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(time) => write!(f, "no answer within {time:?}"),
            Self::Failed(message) => write!(f, "it failed: {message}"),
            Self::Panicked(message) => write!(f, "it panicked: {message}"),
            Self::Busy => write!(
                f,
                "{PROVIDER_CALLS_MAX} calls of it are already in progress"
            ),
            Self::Invalid(errors) => write!(f, "its data is invalid: {errors}"),
            Self::TooMany => f.write_str("one read needs too many providers"),
            Self::NotInSchema => f.write_str("its path is no longer in the schema"),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the data of the provider “{}” is missing in {}: {}",
            self.provider, self.path, self.reason
        )
    }
}
