//! The records of a process: one line before each operation, and one after it.

use super::sequential_model::{Change, State};

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The operation, unique in the run; for a change, its stamp.
    pub(super) operation: u64,
    /// Nanoseconds of the monotonic clock of the machine.
    pub(super) at: u64,
    pub(super) event: Event,
}

/// The event of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A read starts.
    ReadStarted,
    /// A change starts.
    ChangeStarted(Change),
    /// The result of a read: a state and its version.
    ReadResult(State, u64),
    /// The change was committed in this version.
    Committed(u64),
    /// The change was rejected, because the register holds another stamp.
    Rejected,
    /// The operation failed without effect.
    Failed,
    /// The outcome is unknown.
    Unknown,
}

impl Record {
    pub(super) fn print(&self) -> String {
        let event = match &self.event {
            Event::ReadStarted => "reads".to_owned(),
            Event::ChangeStarted(change) => {
                let expected = change
                    .expected
                    .map_or("any".to_owned(), |it| it.to_string());
                let (register, counts) = (change.register, u8::from(change.counts));
                format!("changes {register} {expected} {counts}")
            }
            Event::ReadResult(state, version) => {
                let registers = state.registers.map(|stamp| stamp.to_string());
                format!("saw {version} {} {}", state.count, registers.join(" "))
            }
            Event::Committed(version) => format!("made {version}"),
            Event::Rejected => "refused".to_owned(),
            Event::Failed => "failed".to_owned(),
            Event::Unknown => "unknown".to_owned(),
        };
        format!("{} {} {event}", self.operation, self.at)
    }

    /// Parses a line; `None` if it is incomplete, as after a kill.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut next = || words.next();
        let operation = next()?.parse().ok()?;
        let at = next()?.parse().ok()?;
        let event = match next()? {
            "reads" => Event::ReadStarted,
            "changes" => Event::ChangeStarted(Change {
                register: next()?.parse().ok()?,
                expected: match next()? {
                    "any" => None,
                    stamp => Some(stamp.parse().ok()?),
                },
                stamp: operation,
                counts: next()? == "1",
            }),
            "saw" => {
                let version = next()?.parse().ok()?;
                let mut state = State {
                    count: next()?.parse().ok()?,
                    ..State::default()
                };
                for stamp in &mut state.registers {
                    *stamp = next()?.parse().ok()?;
                }
                Event::ReadResult(state, version)
            }
            "made" => Event::Committed(next()?.parse().ok()?),
            "refused" => Event::Rejected,
            "failed" => Event::Failed,
            "unknown" => Event::Unknown,
            _ => return None,
        };
        Some(Self {
            operation,
            at,
            event,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_lines_are_parsed() {
        let change = Change {
            register: 4,
            expected: Some(17),
            stamp: 5,
            counts: true,
        };
        let any = Change {
            expected: None,
            counts: false,
            ..change
        };
        let state = State {
            registers: [1, 2, 3, 4, u64::MAX],
            count: 9,
        };
        let all = [
            Event::ReadStarted,
            Event::ChangeStarted(change),
            Event::ChangeStarted(any),
            Event::ReadResult(state, 8),
            Event::Committed(3),
            Event::Rejected,
            Event::Failed,
            Event::Unknown,
        ];
        for event in all {
            let (operation, at) = (5, 6);
            let line = Record {
                operation,
                at,
                event,
            };
            assert_eq!(Record::parse(&line.print()), Some(line));
        }
        assert_eq!(Record::parse("5 6 mad"), None);
        assert_eq!(Record::parse("5 6 saw 1 2"), None);
    }
}
