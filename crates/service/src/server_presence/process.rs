//! A process, as another one of the same machine can observe it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process;

use espalier_keyspace::compact_encoding::{put_number, take_number};

/// The field of `/proc/PID/stat` with the start time of a process, counted from the one after its name.
const START_FIELD: usize = 19;

/// A process of a machine, for as long as that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub boot: u128,
    /// The inode of its namespace of process ids, as of a container.
    pub namespace: u64,
    pub id: u32,
    /// In clock ticks since the boot.
    pub started: u64,
}

impl Process {
    /// This process; `None` without `/proc`.
    pub fn current() -> Option<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(Self {
            boot: u128::from_str_radix(&boot.trim().replace('-', ""), 16).ok()?,
            namespace: fs::metadata("/proc/self/ns/pid").ok()?.ino(),
            id: process::id(),
            started: start_of(process::id())?,
        })
    }

    /// Whether this process has ended; `false` if that is not known.
    pub fn is_ended(&self, observer: &Self) -> bool {
        let is_visible = (self.boot, self.namespace) == (observer.boot, observer.namespace);
        is_visible && start_of(self.id) != Some(self.started)
    }

    pub fn encode(&self, changes: u64) -> Vec<u8> {
        let mut row = self.boot.to_be_bytes().to_vec();
        for number in [self.namespace, self.id.into(), self.started, changes] {
            put_number(&mut row, number);
        }
        row
    }

    pub fn decode(row: &[u8]) -> Option<Self> {
        let (boot, mut rest) = row.split_first_chunk()?;
        Some(Self {
            boot: u128::from_be_bytes(*boot),
            namespace: take_number(&mut rest)?,
            id: take_number(&mut rest)?.try_into().ok()?,
            started: take_number(&mut rest)?,
        })
    }
}

/// When a process was started; `None` if there is none, or if it is a zombie.
fn start_of(id: u32) -> Option<u64> {
    let text = fs::read_to_string(Path::new("/proc").join(id.to_string()).join("stat")).ok()?;
    // The name before the last parenthesis may have spaces.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let started = fields.nth(START_FIELD - 1)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(started)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_process_is_ended_when_its_id_is_that_of_another() {
        let own = Process::current().expect("/proc");
        assert_eq!(Process::decode(&own.encode(7)), Some(own.clone()));
        assert!(!own.is_ended(&own));
        let earlier = Process {
            started: own.started - 1,
            ..own.clone()
        };
        assert!(earlier.is_ended(&own));
        for invisible in [
            Process {
                boot: own.boot ^ 1,
                ..earlier.clone()
            },
            Process {
                namespace: own.namespace + 1,
                ..earlier
            },
        ] {
            assert!(!invisible.is_ended(&own), "{invisible:?}");
        }
    }

    #[test]
    fn an_ended_process_that_is_not_waited_for_has_ended() {
        let mut child = process::Command::new("true").spawn().expect("true");
        let start = Instant::now();
        while start_of(child.id()).is_some() {
            assert!(start.elapsed() < Duration::from_secs(20));
        }
        child.wait().expect("an end");
    }
}
