//! `policy=cached`: the whole key space in memory. A snapshot is the root of a map.

use std::sync::Arc;

use espalier_keyspace::{Change, Driver, Policy, Residence, Result, Snapshot, Step, Version};

use super::follow::{Following, Heart};
use super::keeper::{Keeper, Kept, Took};
use super::options::{Options, Reads};
use super::view::{View, Whole};
use crate::memory::MemorySnapshot;

struct Cached {
    view: View<Whole>,
    reads: Reads,
}

pub(super) fn open(engine: Arc<dyn Driver>, options: &Options) -> Result<Arc<dyn Driver>> {
    let keeper = Cached {
        view: View::load(&*engine, Whole, 0)?,
        reads: options.reads,
    };
    let heart = Heart::Bound(options.staleness);
    let following = Following::new(engine, keeper, heart);
    Ok(Arc::new(Kept::follow(following)?))
}

impl Keeper for Cached {
    const HOLDS_ALL: bool = true;

    fn version(&self) -> Version {
        self.view.version()
    }

    fn apply(&self, version: Version, changes: &[Change]) {
        self.view.apply(version, changes);
    }

    fn reload(&self, engine: &dyn Driver, least: Version) -> Result<()> {
        self.view.reload(engine, least)
    }

    fn take_step(&self, version: Version, step: &Step) -> Took {
        self.view.take_step(version, step)
    }

    fn snapshot(following: &Arc<Following<Self>>) -> Result<Box<dyn Snapshot + Send>> {
        match following.keeper().reads {
            Reads::Local => following.catch_up()?,
            Reads::Linearizable => following.catch_up_with_engine()?,
        }
        let newest = following.keeper().view.newest();
        Ok(Box::new(MemorySnapshot::new(newest)))
    }

    fn is_current(following: &Following<Self>, seen: Version) -> Result<bool> {
        match following.keeper().reads {
            Reads::Local => Ok(following.require_newest()? <= seen),
            Reads::Linearizable => Ok(true),
        }
    }

    fn residence(following: &Following<Self>) -> Residence {
        let map = following.keeper().view.newest().map;
        Residence {
            policy: Policy::Cached,
            keys: map.len() as u64,
            bytes: map.bytes() as u64,
            ..following.residence()
        }
    }
}
