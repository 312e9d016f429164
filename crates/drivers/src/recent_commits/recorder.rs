//! Records the changes of a commit while it is applied.

use espalier_keyspace::KeyRange;

use super::changes::Changes;

/// Maximum bytes of recorded changes of one commit: 1 MiB. A larger commit becomes a gap.
pub(crate) const RECORD_BYTES_MAX: usize = 1 << 20;

/// The changes of a commit in progress.
pub(crate) struct Recorder {
    /// `None` if they exceed the limit.
    changes: Option<Changes>,
    effect: Effect,
}

/// Whether a commit changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Nothing,
    Changed,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            changes: Some(Changes::new()),
            effect: Effect::Nothing,
        }
    }

    /// A recorder that only detects whether there are changes.
    pub(crate) fn effect_only() -> Self {
        Self {
            changes: None,
            effect: Effect::Nothing,
        }
    }

    /// A recorder that contains `changes`.
    pub(crate) fn of(changes: Changes) -> Self {
        let effect = match changes.bytes().is_empty() {
            true => Effect::Nothing,
            false => Effect::Changed,
        };
        Self {
            changes: Some(changes),
            effect,
        }
    }

    /// A recorder with capacity for about this many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self {
            changes: Some(Changes::with_capacity(bytes.min(RECORD_BYTES_MAX))),
            effect: Effect::Nothing,
        }
    }

    /// A recorder whose changes exceed the limit.
    pub(crate) fn overflowed() -> Self {
        Self {
            changes: None,
            effect: Effect::Changed,
        }
    }

    pub(crate) fn effect(&self) -> Effect {
        self.effect
    }

    /// The changes in order; `None` if they exceed the limit.
    pub(crate) fn changes(&self) -> Option<&Changes> {
        self.changes.as_ref()
    }

    /// The changes in order; `None` if they exceed the limit.
    pub(crate) fn into_changes(self) -> Option<Changes> {
        self.changes
    }

    /// Appends the changes of another recorder.
    pub(crate) fn append(&mut self, other: Self) {
        if other.effect == Effect::Changed {
            match other.changes {
                Some(further) => self.record(|changes| changes.append(&further)),
                None => {
                    self.effect = Effect::Changed;
                    self.changes = None;
                }
            }
        }
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.record(|changes| changes.put(key, value));
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        self.record(|changes| changes.delete(key));
    }

    pub(crate) fn delete_range(&mut self, range: &KeyRange) {
        self.record(|changes| changes.delete_range(range));
    }

    fn record(&mut self, change: impl FnOnce(&mut Changes)) {
        self.effect = Effect::Changed;
        if let Some(changes) = &mut self.changes {
            change(changes);
            if changes.bytes().len() > RECORD_BYTES_MAX {
                self.changes = None;
            }
        }
    }
}
