//! The layers of the operational state datastore: the running configuration with state stored next to it,
//! then pushed data, then the data of each provider.

use std::borrow::Cow;
use std::sync::Arc;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result as EngineResult, Snapshot, Version};
use espalier_yang::Schema;
use espalier_yang::data::Origin;

use super::origins;
use super::unapplied::without_unapplied;
use super::union::{Layer, Union, shift_of};
use crate::compiled_schema_set::Compiled;
use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::tree::datastore::Datastore;
use crate::tree::locate::TreeState;
use crate::tree::read::{Source, Sources};

/// Running and pushed data, as one state.
pub(in crate::tree) struct Operational {
    snapshot: Box<dyn Snapshot + Send>,
    compiled: Arc<Compiled>,
    tree: TreeId,
}

impl Operational {
    /// The operational state datastore `tree` in a snapshot of the engine.
    pub fn new(
        snapshot: Box<dyn Snapshot + Send>,
        compiled: Arc<Compiled>,
        tree: TreeId,
    ) -> Result<Self> {
        Ok(Self {
            snapshot: without_unapplied(snapshot, &compiled, tree)?,
            compiled,
            tree,
        })
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.compiled.schema
    }

    fn union(&self) -> Union<'_> {
        let layer = |datastore: Datastore| Layer {
            snapshot: &*self.snapshot,
            tree: TreeId {
                datastore: datastore.id(),
                ..self.tree
            },
        };
        Union {
            compiled: &self.compiled,
            below: layer(Datastore::Running),
            above: layer(Datastore::Operational),
            tree: self.tree,
            shift: shift_of(1),
        }
    }
}

impl Snapshot for Operational {
    fn version(&self) -> Version {
        self.snapshot.version()
    }

    fn get(&self, key: &[u8]) -> EngineResult<Option<Cow<'_, [u8]>>> {
        self.union().get(key)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> EngineResult<Box<dyn Cursor + '_>> {
        self.union().scan(range, direction)
    }
}

impl Sources for Operational {
    fn sources(&self, key: &[u8]) -> Result<Vec<Source>> {
        let union = self.union();
        let mut sources = Vec::new();
        let below = union.in_tree(key, union.below.tree);
        if let Some(value) = self.snapshot.get(&below)? {
            sources.push(Source::of(value.into_owned(), Origin::Intended));
        }
        let Some(above) = union.above_key(key)? else {
            return Ok(sources);
        };
        if let Some(value) = self.snapshot.get(&above)? {
            let state = TreeState::new(&*self.snapshot, &self.compiled, union.above.tree);
            let (origin, leaves) = origins::find(&state, &above)?.into_parts();
            sources.push(Source {
                value: value.into_owned(),
                origin,
                leaves,
            });
        }
        Ok(sources)
    }

    fn as_snapshot(&self) -> &dyn Snapshot {
        self
    }
}

/// The data of one provider, over the layers below.
pub(super) struct ProvidedSnapshot<'a> {
    pub compiled: &'a Compiled,
    pub below: &'a dyn Sources,
    pub data: &'a Overlay,
    pub tree: TreeId,
    /// Its layer number; pushed data is the first layer.
    pub number: usize,
    pub origin: Origin,
}

impl<'a> ProvidedSnapshot<'a> {
    fn union(&self) -> Union<'a> {
        Union {
            compiled: self.compiled,
            below: Layer {
                snapshot: self.below.as_snapshot(),
                tree: self.tree,
            },
            above: Layer {
                snapshot: self.data,
                tree: self.tree,
            },
            tree: self.tree,
            shift: shift_of(self.number),
        }
    }
}

impl Snapshot for ProvidedSnapshot<'_> {
    fn version(&self) -> Version {
        self.below.as_snapshot().version()
    }

    fn get(&self, key: &[u8]) -> EngineResult<Option<Cow<'_, [u8]>>> {
        self.union().get(key)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> EngineResult<Box<dyn Cursor + '_>> {
        self.union().scan(range, direction)
    }
}

impl Sources for ProvidedSnapshot<'_> {
    fn sources(&self, key: &[u8]) -> Result<Vec<Source>> {
        let mut sources = self.below.sources(key)?;
        if let Some(above) = self.union().above_key(key)?
            && let Some(value) = self.data.get(&above)?
        {
            sources.push(Source::of(value.into_owned(), self.origin));
        }
        Ok(sources)
    }

    fn as_snapshot(&self) -> &dyn Snapshot {
        self
    }
}

/// An empty snapshot.
pub(super) struct EmptySnapshot;

impl Snapshot for EmptySnapshot {
    fn version(&self) -> Version {
        Version::default()
    }

    fn get(&self, _: &[u8]) -> EngineResult<Option<Cow<'_, [u8]>>> {
        Ok(None)
    }

    fn scan(&self, _: &KeyRange, _: Direction) -> EngineResult<Box<dyn Cursor + '_>> {
        Ok(Box::new(EmptyCursor))
    }
}

struct EmptyCursor;

impl Cursor for EmptyCursor {
    fn next(&mut self) -> EngineResult<Option<(&[u8], &[u8])>> {
        Ok(None)
    }

    fn seek(&mut self, _: &[u8]) -> EngineResult<()> {
        Ok(())
    }
}
