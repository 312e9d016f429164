//! Checks the stored event log.

use espalier_keyspace::{Direction, KeyRange, Snapshot};

use super::record::{self, LogKeys};
use super::settings::EventSettings;
use super::state::EventLogState;
use crate::error::{Error, Result};
use crate::tree::tree::Tree;

impl Tree {
    /// Reads every record of the event log of the anchor, and compares them with its state. Reports each problem with the
    /// key that has it.
    pub(crate) fn check_events(
        &self,
        snapshot: &dyn Snapshot,
        report: &mut dyn FnMut(&[u8], String),
    ) -> Result<()> {
        let keys = LogKeys(self.id());
        if let Err(Error::Corrupt(problem)) = EventSettings::read(snapshot, keys) {
            report(&keys.settings(), problem);
        }
        let state = match EventLogState::read(snapshot, keys) {
            Ok(state) => state,
            Err(Error::Corrupt(problem)) => {
                report(&keys.state(), problem);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut cursor = snapshot.scan(&KeyRange::prefix(&keys.records()), Direction::Forward)?;
        let (mut next, mut bytes) = (state.oldest, 0);
        while let Some((key, value)) = cursor.next()? {
            bytes += value.len() as u64;
            let read = keys.sequence(key);
            let read = read.and_then(|sequence| record::decode(sequence, value));
            match read {
                Ok(record) if record.sequence == next => {}
                Ok(record) => {
                    let found = record.sequence;
                    report(
                        key,
                        format!("the event log has {found} where {next} follows"),
                    );
                    next = found;
                }
                Err(Error::Corrupt(problem)) => report(key, problem),
                Err(error) => return Err(error),
            }
            next += 1;
        }
        if state.last > 0 && (next, bytes) != (state.last + 1, state.bytes) {
            let (last, stored) = (state.last, state.bytes);
            let found = next.saturating_sub(1);
            report(
                &keys.state(),
                format!(
                    "the event log ends at {found} with {bytes} bytes, and its state has {last} and {stored}"
                ),
            );
        }
        Ok(())
    }
}
