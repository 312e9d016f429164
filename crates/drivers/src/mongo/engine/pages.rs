//! The pages of trees: where they are stored, and those that are kept in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use espalier_keyspace::{Error, ErrorKind, Result};
use mongodb::bson::{Document, doc};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::asking::Inserting;
use super::connection::{Query, Sure};
use super::error::corrupt;
use super::fields::{bytes_field, bytes_in, version_in};
use super::names::PageNames;
use super::open::Engine;
use super::tree::{Make, Page, Pages};

/// Bytes of pages that are kept in memory: 32 MiB.
pub const CACHE_BYTES: usize = 32 << 20;

/// Bytes of pages that the first request of a commit writes, about, before they are compressed: 128 KiB.
/// While the server takes them, the next are put together, twice as much each time.
const FIRST_BYTES: usize = 128 << 10;

/// Bytes of pages that one request writes at most, about: 1 MiB. A document of MongoDB has up to 16 MiB, a
/// message up to 48.
const REQUEST_BYTES: usize = 1 << 20;

/// Documents that one request writes.
const DOCUMENTS_AT_ONCE: usize = 1000;

/// Requests that are under way at most.
const REQUESTS_AT_ONCE: usize = 2;

/// Names of pages in one document: 4.5 MB.
const NAMES_AT_ONCE: usize = 250_000;

/// Pages that one request asks for.
const PAGES_AT_ONCE: usize = 64;

/// What a page takes in memory beside its bytes, about.
const PAGE_OVERHEAD: usize = 100;

/// The pages that were read or made last.
pub(super) type Kept = Cache<Arc<str>, Arc<Page>, Bytes>;

#[derive(Clone)]
pub(super) struct Bytes;

impl Weighter<Arc<str>, Arc<Page>> for Bytes {
    fn weight(&self, _name: &Arc<str>, page: &Arc<Page>) -> u64 {
        (page.size() + PAGE_OVERHEAD) as u64
    }
}

/// No pages yet.
pub(super) fn kept(page_bytes: usize) -> Kept {
    Cache::with_weighter(CACHE_BYTES / page_bytes, CACHE_BYTES as u64, Bytes)
}

/// The pages as the state of a version has them.
#[derive(Clone, Copy)]
pub(in crate::mongo) struct PagesOf<'a> {
    pub(in crate::mongo) engine: &'a Engine,
    pub(in crate::mongo) version: u64,
}

impl PagesOf<'_> {
    /// What is not in memory, from the server.
    fn fetch(&self, names: &[&str]) -> Result<Vec<Arc<Page>>> {
        let server = &self.engine.server;
        let queries = names
            .iter()
            .map(|name| ("pages", Query::of_id(name).perhaps_late()));
        let mut found = server.find_all(queries.collect())?;
        if server.has_majority() {
            for (found, name) in found.iter_mut().zip(names) {
                if found.is_empty() {
                    *found = server.find("pages", Query::of_id(name))?;
                }
            }
        }
        let pages = found.into_iter().zip(names).map(|(found, name)| {
            let document = found.first().ok_or_else(|| self.missing(name))?;
            let page = bytes_in(document, "b").and_then(|bytes| Page::decode(&bytes));
            let page = Arc::new(page.ok_or_else(|| corrupt(&format!("page {name}")))?);
            self.engine.kept.insert((*name).into(), Arc::clone(&page));
            Ok(page)
        });
        pages.collect()
    }

    /// Why a page is not there.
    fn missing(&self, name: &str) -> Error {
        let place = &self.engine.server.place;
        match self.engine.floor() {
            Err(error) => error,
            Ok(floor) if self.version < floor => {
                let message = format!(
                    "MongoDB at {place} does not keep what this snapshot shows any more; take a \
                     new one"
                );
                Error::new(ErrorKind::SnapshotTooOld, message)
            }
            Ok(_) => {
                let message = format!(
                    "page {name} is missing in MongoDB at {place}; restore the key space from a \
                     backup"
                );
                Error::new(ErrorKind::Corrupt, message)
            }
        }
    }
}

impl Pages for PagesOf<'_> {
    fn pages(&self, names: &[&str]) -> Result<Vec<Arc<Page>>> {
        let mut pages: Vec<_> = names
            .iter()
            .map(|name| self.engine.kept.get(*name))
            .collect();
        let missing: Vec<_> = (0..pages.len()).filter(|at| pages[*at].is_none()).collect();
        for part in missing.chunks(PAGES_AT_ONCE) {
            let wanted: Vec<_> = part.iter().map(|at| names[*at]).collect();
            for (at, page) in part.iter().zip(self.fetch(&wanted)?) {
                pages[*at] = Some(page);
            }
        }
        Ok(pages.into_iter().flatten().collect())
    }

    fn expect(&self, names: &[&str]) -> Result<()> {
        let engine = self.engine;
        let room = CACHE_BYTES / 2 / engine.page_bytes;
        let is_missing = |name: &&&str| engine.kept.get(**name).is_none();
        let missing: Vec<_> = names
            .iter()
            .filter(is_missing)
            .copied()
            .take(room)
            .collect();
        // One is as well brought when it is read.
        if missing.len() > 1 {
            for part in missing.chunks(PAGES_AT_ONCE) {
                self.fetch(part)?;
            }
        }
        Ok(())
    }
}

/// New pages on their way to the server.
pub(in crate::mongo) struct NewPages<'a> {
    engine: &'a Engine,
    names: PageNames<'a>,
    documents: Vec<Document>,
    bytes: usize,
    /// Bytes that the next request writes, about.
    wanted: usize,
    /// The draft, until it is there; then pages.
    sent: VecDeque<Inserting<'a>>,
    is_draft_there: bool,
}

impl<'a> NewPages<'a> {
    /// The first of a transaction, whose draft was sent.
    pub(in crate::mongo) fn of(
        engine: &'a Engine,
        transaction: &'a str,
        draft: Inserting<'a>,
    ) -> Self {
        Self {
            engine,
            names: PageNames::of(transaction),
            documents: Vec::new(),
            bytes: 0,
            wanted: FIRST_BYTES,
            sent: VecDeque::from([draft]),
            is_draft_there: false,
        }
    }

    fn push(&mut self, document: Document, bytes: usize) -> Result<()> {
        self.documents.push(document);
        self.bytes += bytes;
        if self.bytes < self.wanted && self.documents.len() < DOCUMENTS_AT_ONCE {
            return Ok(());
        }
        self.wanted = (self.wanted * 2).min(REQUEST_BYTES);
        self.send()
    }

    /// Sends what is put together.
    fn send(&mut self) -> Result<()> {
        // Nobody would find pages without the draft.
        let most = match self.is_draft_there {
            true => REQUESTS_AT_ONCE - 1,
            false => 0,
        };
        self.wait_for_all_but(most)?;
        self.is_draft_there = true;
        self.bytes = 0;
        let documents = std::mem::take(&mut self.documents);
        if !documents.is_empty() {
            let server = &self.engine.server;
            let sent = server.begin_insert("pages", documents, Sure::Always);
            self.sent.push_back(sent);
        }
        Ok(())
    }

    fn wait_for_all_but(&mut self, most: usize) -> Result<()> {
        while self.sent.len() > most
            && let Some(sent) = self.sent.pop_front()
        {
            sent.done().map_err(|trouble| trouble.error)?;
        }
        Ok(())
    }

    /// Names pages that are not needed any more, in documents of their own. Returns the names of these.
    pub(in crate::mongo) fn free(&mut self, freed: &[Arc<str>]) -> Result<Vec<Arc<str>>> {
        let mut lists = Vec::new();
        for part in freed.chunks(NAMES_AT_ONCE) {
            let (name, names) = (self.names.next()?, part.concat());
            let bytes = names.len();
            self.push(doc! { "_id": &name, "names": names }, bytes)?;
            lists.push(name.into());
        }
        Ok(lists)
    }
}

impl Make for NewPages<'_> {
    fn make(&mut self, page: Arc<Page>) -> Result<Arc<str>> {
        let name = self.names.next()?;
        let encoded = page.encode();
        let document = doc! { "_id": &name, "b": bytes_field(&encoded) };
        self.push(document, encoded.len())?;
        let name: Arc<str> = name.into();
        self.engine.kept.insert(Arc::clone(&name), page);
        Ok(name)
    }

    fn store(&mut self) -> Result<()> {
        self.send()?;
        self.wait_for_all_but(0)
    }
}

impl Engine {
    /// The oldest version that can be read.
    pub(in crate::mongo) fn floor(&self) -> Result<u64> {
        let floor = self.server.get("state", "floor")?;
        let floor = floor.and_then(|floor| version_in(&floor, "version"));
        Ok(floor.unwrap_or_default())
    }
}
