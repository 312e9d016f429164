//! The names of executed requests.

use super::batch::BatchBuilder;
use crate::calendar::seconds;
use crate::import::{ImportProgress, name_in_use};
use crate::limits::REQUEST_ID_SECONDS;
use crate::number::{put_varint, take_varint};
use crate::{Request, Result};

/// The maximum number of old request names that a named request removes.
const REQUESTS_REMOVED_MAX: usize = 16;

/// The oldest second whose requests are still remembered.
fn oldest(now: i64) -> i64 {
    now.saturating_sub(REQUEST_ID_SECONDS)
}

/// The content of a request's row, if it is still remembered.
pub(super) fn remembered(stored: Option<&[u8]>, now: i64) -> Result<Option<&[u8]>> {
    let Some(mut row) = stored else {
        return Ok(None);
    };
    let done_at = i64::try_from(take_varint(&mut row)?).unwrap_or(i64::MAX);
    Ok((done_at >= oldest(now)).then_some(row))
}

impl BatchBuilder<'_, '_> {
    /// Whether a named request is to be executed: not if the same request was executed under its name while
    /// names are remembered; a different request under that name is an error. Stores the name, and removes
    /// some old ones.
    pub(super) fn is_due(&mut self, request: &Request, id: &str) -> Result<bool> {
        let now = seconds(self.planner.now());
        let key = self.stats.layout.request(id);
        let stored = self.rows.get(&key)?;
        let remembered_request = remembered(stored, now)?;
        let rest = match request.part {
            Some(part) => {
                let done = remembered_request
                    .map(|remembered_request| ImportProgress::decode(id, remembered_request))
                    .transpose()?;
                if done.map_or(0, |done| done.line) != part.after {
                    return Ok(false);
                }
                part.progress.encode()
            }
            None => {
                let fingerprint = request.fingerprint();
                match remembered_request {
                    // Earlier versions stored the time only; the rest is empty.
                    Some(done) if done.is_empty() || done == fingerprint => return Ok(false),
                    Some(_) => return Err(name_in_use(id)),
                    None => fingerprint.to_vec(),
                }
            }
        };
        let mut value = Vec::new();
        put_varint(&mut value, u128::from(now.max(0).unsigned_abs()));
        value.extend(rest);
        self.rows.put(&key, value)?;
        let time = self.stats.layout.request_time(now.max(0), id);
        self.rows.put(&time, key)?;
        self.remove_requests_before(oldest(now))?;
        Ok(true)
    }

    fn remove_requests_before(&mut self, second: i64) -> Result<()> {
        let range = self.stats.layout.requests_before(second);
        let mut cursor = self
            .snapshot
            .scan(&range, espalier_keyspace::Direction::Forward)?;
        for _ in 0..REQUESTS_REMOVED_MAX {
            let Some((time, request)) = cursor.next()? else {
                break;
            };
            self.rows.forget_request(time, request, second)?;
        }
        Ok(())
    }
}
