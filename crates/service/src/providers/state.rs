//! The state that programs serve.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use espalier_store::{Error, Provider, ProviderError, ProviderRequest, Registration, Result, Tree};
use espalier_yang::data::{DataTree, MetadataMode, Origin, Root};
use espalier_yang::{DataError, ErrorTag, Errors, InstancePath, Schema};
use parking_lot::Mutex;
use serde_json::{Map, Value as Json};

use super::connection::{CALL_TIMEOUT, SharedConnection, data_of};
use super::description::StateRole;
use super::messages::{parse_data, path_text};

/// The maximum size of the state that a program pushed, as JSON, of all its roles together.
pub const PUSHED_BYTES_MAX: usize = 64 << 20;

/// The state that a program pushed, by the path of its role.
#[derive(Default)]
pub(super) struct PushedState {
    by_path: Mutex<HashMap<String, Pushed>>,
}

struct Pushed {
    schema: Arc<Schema>,
    data: Json,
    /// The size of the data as JSON.
    bytes: usize,
    parsed: Arc<DataTree>,
}

impl PushedState {
    fn add(&self, path: &str, schema: &Arc<Schema>) {
        let pushed = Pushed {
            schema: Arc::clone(schema),
            data: Json::Object(Map::new()),
            bytes: 0,
            parsed: Arc::default(),
        };
        self.by_path.lock().insert(path.to_owned(), pushed);
    }

    /// Replaces the state at a path of a role.
    pub fn replace(&self, path: &str, data: &Json) -> std::result::Result<(), Errors> {
        let bytes = data.to_string().len();
        let mut by_path = self.by_path.lock();
        let others = by_path.iter().filter(|(other, _)| *other != path);
        let total = bytes + others.map(|(_, pushed)| pushed.bytes).sum::<usize>();
        if total > PUSHED_BYTES_MAX {
            let message = format!(
                "a program pushes at most {PUSHED_BYTES_MAX} bytes of state (PUSHED_BYTES_MAX); write more into the operational datastore"
            );
            return Err(DataError::new(ErrorTag::TooBig, message).into());
        }
        let Some(pushed) = by_path.get_mut(path) else {
            let message = format!("{path} is not registered with “push”");
            return Err(DataError::new(ErrorTag::InvalidValue, message).into());
        };
        let parsed = parse_data(&pushed.schema, Root::Datastore, MetadataMode::Plain, data)?;
        pushed.parsed = Arc::new(parsed);
        pushed.data = data.clone();
        pushed.bytes = bytes;
        Ok(())
    }

    /// The state at the path of a role, under a schema.
    fn get(&self, path: &str, schema: &Arc<Schema>) -> std::result::Result<DataTree, Errors> {
        let mut by_path = self.by_path.lock();
        let Some(pushed) = by_path.get_mut(path) else {
            return Ok(DataTree::default());
        };
        if !Arc::ptr_eq(&pushed.schema, schema) {
            let root = Root::Datastore;
            let parsed = parse_data(schema, root, MetadataMode::Plain, &pushed.data)?;
            pushed.schema = Arc::clone(schema);
            pushed.parsed = Arc::new(parsed);
        }
        Ok(DataTree::clone(&pushed.parsed))
    }
}

/// Registers a role, until the result is dropped.
///
/// # Errors
/// The path is not in the models; `invalid-value` for an unknown origin.
pub(super) fn register(
    connection: &SharedConnection,
    tree: &Tree,
    (number, role): (usize, &StateRole),
) -> Result<Registration> {
    let at = InstancePath::parse_pattern(tree.schema(), &role.path)?;
    let timeout = seconds(role.timeout, CALL_TIMEOUT)?;
    let (connection, path) = (Arc::clone(connection), role.path.clone());
    let name = connection.name().to_owned();
    let provider = match role.push {
        true => {
            connection.pushed.add(&path, tree.schema());
            Provider::new(name, move |request: &ProviderRequest| {
                let data = connection.pushed.get(&path, &request.schema);
                data.map_err(|errors| Box::new(errors) as ProviderError)
            })
        }
        // The store's own timeout is a little longer, so that the program learns that the call ended.
        false => Provider::new(name, move |request: &ProviderRequest| {
            read((&connection, number), request, timeout)
        })
        .with_timeout(timeout + timeout / 8),
    };
    let provider = provider.with_validity(seconds(Some(role.cache), Duration::ZERO)?);
    tree.provide(at, provider.with_origin(origin(role.origin.as_deref())?))
}

fn read(
    (connection, role): (&SharedConnection, usize),
    request: &ProviderRequest,
    timeout: Duration,
) -> std::result::Result<DataTree, ProviderError> {
    let mut message = Map::new();
    message.insert("role".to_owned(), role.into());
    message.insert("path".to_owned(), path_text(&request.schema, &request.path));
    let answer = connection.call("state", message, timeout, &|| true)?;
    let Some(data) = data_of(answer) else {
        return Ok(DataTree::default());
    };
    let root = Root::Datastore;
    let parsed = parse_data(&request.schema, root, MetadataMode::Plain, &data);
    parsed.map_err(|errors| Box::new(errors) as ProviderError)
}

/// The origin of a name.
fn origin(name: Option<&str>) -> Result<Origin> {
    let Some(name) = name else {
        return Ok(Origin::default());
    };
    Origin::parse(name).ok_or_else(|| {
        let message = format!("“{name}” is no origin");
        Error::data(ErrorTag::InvalidValue, message)
    })
}

/// A time in seconds.
///
/// # Errors
/// `invalid-value` for a negative one, or more than a day.
pub(super) fn seconds(given: Option<f64>, default: Duration) -> Result<Duration> {
    const SECONDS_MAX: f64 = 86_400.0;
    match given {
        None => Ok(default),
        Some(seconds) if (0.0..=SECONDS_MAX).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        Some(seconds) => {
            let message = format!("{seconds} is not a time from 0 to {SECONDS_MAX} seconds");
            Err(Error::data(ErrorTag::InvalidValue, message))
        }
    }
}
