//! The records of a process: one line before each operation, and one after it.

use super::space::{Change, State};

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The operation, unique in the run; for a change, its stamp.
    pub(super) operation: u64,
    /// Nanoseconds of the monotonic clock of the machine.
    pub(super) at: u64,
    pub(super) said: Said,
}

/// The event of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A read starts.
    Reads,
    /// A change starts.
    Changes(Change),
    /// The result of a read: a state and its version.
    Saw(State, u64),
    /// The change was committed in this version.
    Made(u64),
    /// The change was rejected, because the register holds another stamp.
    Refused,
    /// The operation failed without effect.
    Failed,
    /// The outcome is unknown.
    Unknown,
}

impl Line {
    pub(super) fn print(&self) -> String {
        let said = match &self.said {
            Said::Reads => "reads".to_owned(),
            Said::Changes(change) => {
                let expected = change
                    .expected
                    .map_or("any".to_owned(), |it| it.to_string());
                let (register, counts) = (change.register, u8::from(change.counts));
                format!("changes {register} {expected} {counts}")
            }
            Said::Saw(state, version) => {
                let registers = state.registers.map(|stamp| stamp.to_string());
                format!("saw {version} {} {}", state.count, registers.join(" "))
            }
            Said::Made(version) => format!("made {version}"),
            Said::Refused => "refused".to_owned(),
            Said::Failed => "failed".to_owned(),
            Said::Unknown => "unknown".to_owned(),
        };
        format!("{} {} {said}", self.operation, self.at)
    }

    /// Parses a line; `None` if it is incomplete, as after a kill.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut next = || words.next();
        let operation = next()?.parse().ok()?;
        let at = next()?.parse().ok()?;
        let said = match next()? {
            "reads" => Said::Reads,
            "changes" => Said::Changes(Change {
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
                Said::Saw(state, version)
            }
            "made" => Said::Made(next()?.parse().ok()?),
            "refused" => Said::Refused,
            "failed" => Said::Failed,
            "unknown" => Said::Unknown,
            _ => return None,
        };
        Some(Self {
            operation,
            at,
            said,
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
            Said::Reads,
            Said::Changes(change),
            Said::Changes(any),
            Said::Saw(state, 8),
            Said::Made(3),
            Said::Refused,
            Said::Failed,
            Said::Unknown,
        ];
        for said in all {
            let (operation, at) = (5, 6);
            let line = Line {
                operation,
                at,
                said,
            };
            assert_eq!(Line::parse(&line.print()), Some(line));
        }
        assert_eq!(Line::parse("5 6 mad"), None);
        assert_eq!(Line::parse("5 6 saw 1 2"), None);
    }
}
