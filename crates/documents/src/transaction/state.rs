//! A transaction and what follows its commit.

use std::any::Any;
use std::sync::Arc;

use espalier_keyspace::Version;

use crate::cache::{Fact, Present};
use crate::collection::Opened;
use crate::core::Core;
use crate::document::Document;
use crate::layout::{Home, State, counter, number};
use crate::limits::TRANSACTION_DOCUMENTS_MAX;
use crate::rows::{Parts, Rows};
use crate::{Collection, Error, Result};

/// Changes that happen as a whole or not at all, over a consistent view. What was read must still
/// be so when it is committed; where it is not, all is done again.
pub struct Transaction<'a> {
    pub(super) core: &'a Core,
    pub(crate) rows: Rows<'a>,
    ending: Ending,
    documents: usize,
}

/// What happens after the commit.
#[derive(Default)]
pub(crate) struct Ending {
    news: Vec<Box<dyn News>>,
    after: Vec<Box<dyn FnOnce()>>,
}

/// Which versions a commit made.
#[derive(Clone, Copy)]
pub(crate) struct Committed {
    /// None where nothing was written to the engine.
    pub(crate) engine: Option<Version>,
    pub(crate) ram: Version,
}

/// What came of a transaction.
pub(crate) struct Outcome<R> {
    pub(crate) result: R,
    pub(crate) after: Vec<Box<dyn FnOnce()>>,
}

/// What a cache is told of a commit.
trait News {
    fn as_any(&mut self) -> &mut dyn Any;
    fn tell(self: Box<Self>, committed: Committed);
}

struct NewsOf<T> {
    opened: Arc<Opened<T>>,
    /// How many commits there were.
    before: u64,
    changes: Vec<(u64, Option<Present<T>>)>,
}

impl<T: Document> News for NewsOf<T> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn tell(self: Box<Self>, committed: Committed) {
        let shape = &self.opened.shape;
        let version = match (shape.keys.home, committed.engine) {
            (Home::Ram, _) => committed.ram,
            (Home::Engine, Some(version)) => version,
            (Home::Engine, None) => return,
        };
        let facts = self.changes.into_iter().map(|(key, present)| Fact {
            key,
            version,
            present,
        });
        self.opened
            .cache
            .commit(shape, facts.collect(), self.before);
    }
}

impl Ending {
    pub(crate) fn committed<R>(self, committed: Committed, result: R) -> Outcome<R> {
        for news in self.news {
            news.tell(committed);
        }
        Outcome {
            result,
            after: self.after,
        }
    }
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(core: &'a Core, rows: Rows<'a>) -> Self {
        Self {
            core,
            rows,
            ending: Ending::default(),
            documents: 0,
        }
    }

    pub(crate) fn end(self) -> (Parts, Ending) {
        (self.rows.into_parts(), self.ending)
    }

    /// The collection as it is stored now. Requires that it stays so.
    pub(crate) fn opened<T: Document>(
        &mut self,
        collection: &Collection<T>,
    ) -> Result<Arc<Opened<T>>> {
        self.opened_at(collection, |transaction, opened| {
            let row = opened.shape.keys.generation();
            transaction.rows.read(&row)?.map(number).transpose()
        })
    }

    /// The collection as it is defined now, even where its rows say otherwise. Requires that the
    /// definition stays so.
    pub(crate) fn opened_anyway<T: Document>(
        &mut self,
        collection: &Collection<T>,
    ) -> Result<Arc<Opened<T>>> {
        let opened = collection.opened();
        let shape = &opened.shape;
        let row = self.core.layout.definition(shape.keys.home, &shape.name);
        self.rows.read(&row)?;
        Ok(opened)
    }

    /// The collection as it is stored now, and the first key that was never used.
    pub(super) fn opened_to_insert<T: Document>(
        &mut self,
        collection: &Collection<T>,
    ) -> Result<(Arc<Opened<T>>, State)> {
        let opened = self.opened_at(collection, |transaction, opened| {
            let row = opened.shape.keys.state();
            let state = transaction
                .rows
                .read(&row)?
                .map(State::decode)
                .transpose()?;
            Ok(state.map(|state| state.generation))
        })?;
        let state = self.state(&opened)?;
        Ok((opened, state))
    }

    pub(super) fn state<T: Document>(&mut self, opened: &Opened<T>) -> Result<State> {
        let row = self.rows.read(&opened.shape.keys.state())?;
        State::decode(row.ok_or_else(|| Error::corrupt("a collection has no state"))?)
    }

    fn opened_at<T: Document>(
        &mut self,
        collection: &Collection<T>,
        generation: impl Fn(&mut Self, &Opened<T>) -> Result<Option<u64>>,
    ) -> Result<Arc<Opened<T>>> {
        collection.check_home(self.core)?;
        let opened = collection.opened();
        if generation(self, &opened)? == Some(opened.shape.generation) {
            return Ok(opened);
        }
        let opened = collection.reopen()?;
        if generation(self, &opened)? == Some(opened.shape.generation) {
            return Ok(opened);
        }
        Err(espalier_keyspace::Error::conflict(&opened.shape.keys.generation()).into())
    }

    /// Notes that a document changes.
    pub(super) fn tell<T: Document>(
        &mut self,
        opened: &Arc<Opened<T>>,
        key: u64,
        present: Option<Present<T>>,
    ) -> Result<()> {
        self.documents += 1;
        if self.documents > TRANSACTION_DOCUMENTS_MAX {
            return Err(Error::limit(format!(
                "a transaction changes more than {TRANSACTION_DOCUMENTS_MAX} documents; divide it"
            )));
        }
        if !opened.cache.is_kept() {
            return Ok(());
        }
        for news in &mut self.ending.news {
            if let Some(news) = news.as_any().downcast_mut::<NewsOf<T>>()
                && Arc::ptr_eq(&news.opened.cache, &opened.cache)
            {
                news.changes.push((key, present));
                return Ok(());
            }
        }
        let before = self.rows.peek(&opened.shape.keys.sequence())?;
        self.ending.news.push(Box::new(NewsOf {
            opened: Arc::clone(opened),
            before: counter(before.as_deref())?,
            changes: vec![(key, present)],
        }));
        Ok(())
    }

    /// Has something called after the commit.
    pub(super) fn call_after(&mut self, after: impl FnOnce() + 'static) {
        self.ending.after.push(Box::new(after));
    }
}

impl<'a> Transaction<'a> {
    pub(crate) fn core(&self) -> &'a Core {
        self.core
    }
}
