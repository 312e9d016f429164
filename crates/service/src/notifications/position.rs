//! A position in the events of an anchor.

use std::fmt;
use std::str::FromStr;

use espalier_store::{Result, Tree};

use super::event::{Event, EventSource};
use super::stream::COMMIT_MODULE;

/// The number of events of a commit (`commit_event`).
const PARTS: u8 = 2;

/// A position in the recorded events of an anchor: the next event of each source. Its text is a token for clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The sequence number in the event log.
    pub sequence: u64,
    /// The version of running.
    pub version: u64,
    /// The event of the commit that made the version.
    pub part: u8,
}

impl Position {
    /// Whether an event is at or after this position.
    pub(super) fn is_before(&self, event: &Event) -> bool {
        match event.source() {
            EventSource::Log(sequence) => self.sequence <= sequence,
            EventSource::Commit(version) => (self.version, self.part) <= (version, part(event)),
            EventSource::Server | EventSource::Subscription => true,
        }
    }

    /// Whether `reached` is at or after this position.
    pub(super) fn is_reached(&self, reached: Self) -> bool {
        let is_version_reached = (self.version, self.part) <= (reached.version, reached.part);
        self.sequence <= reached.sequence && is_version_reached
    }

    /// Moves to the position after an event.
    pub(super) fn advance(&mut self, event: &Event) {
        match event.source() {
            EventSource::Log(sequence) => self.sequence = self.sequence.max(sequence + 1),
            EventSource::Commit(version) => {
                let next = part(event) + 1;
                let next = match next < PARTS {
                    true => (version, next),
                    false => (version + 1, 0),
                };
                (self.version, self.part) = next.max((self.version, self.part));
            }
            EventSource::Server | EventSource::Subscription => {}
        }
    }

    /// The position after all events that there are now.
    pub(super) fn newest(tree: &Tree) -> Result<Self> {
        Ok(Self {
            sequence: tree.event_log()?.last + 1,
            version: tree.view()?.version()? + 1,
            part: 0,
        })
    }

    /// The earlier one, for each source.
    pub(super) fn at_most(self, other: Self) -> Self {
        let (version, part) = (self.version, self.part).min((other.version, other.part));
        Self {
            sequence: self.sequence.min(other.sequence),
            version,
            part,
        }
    }
}

/// The place of an event among those of its commit.
fn part(event: &Event) -> u8 {
    u8::from(event.module() != COMMIT_MODULE)
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.sequence, self.version, self.part)
    }
}

/// The error of a text that is no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no position in the events")]
pub struct NotAPosition;

impl FromStr for Position {
    type Err = NotAPosition;

    fn from_str(text: &str) -> std::result::Result<Self, NotAPosition> {
        let numbers: std::result::Result<Vec<u64>, _> = text.split('-').map(str::parse).collect();
        let Ok(&[sequence, version, part]) = numbers.as_deref() else {
            return Err(NotAPosition);
        };
        let part = u8::try_from(part).ok().filter(|&part| part < PARTS);
        Ok(Self {
            sequence,
            version,
            part: part.ok_or(NotAPosition)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_parsed_back() {
        let position = Position {
            sequence: 17,
            version: 4,
            part: 1,
        };
        assert_eq!(position.to_string(), "17-4-1");
        assert_eq!("17-4-1".parse(), Ok(position));
        for wrong in ["", "17", "a-b-c", "1-2-2", "-1-2", "1-2-3-4"] {
            assert_eq!(wrong.parse::<Position>(), Err(NotAPosition), "{wrong}");
        }
    }
}
