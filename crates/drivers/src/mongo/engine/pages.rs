//! The pages of trees: reading them with a cache, and writing new ones.

use std::collections::VecDeque;
use std::sync::Arc;

use espalier_keyspace::{Error, ErrorKind, Result};
use mongodb::bson::{Document, doc};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::connection::{Query, WriteConcern};
use super::error::corrupt;
use super::fields::{bytes_field, bytes_in, version_in};
use super::names::PageNames;
use super::open::Engine;
use super::request::PendingInsert;
use super::tree::{PageSink, PageSource};
use crate::page::Page;

/// Bytes of pages in the cache: 32 MiB.
pub const CACHE_BYTES: usize = 32 << 20;

/// Approximate bytes, before compression, of the pages in the first request of a commit: 128 KiB. While the
/// server processes a request, the next one is prepared, with twice as many bytes each time.
const FIRST_REQUEST_BYTES: usize = 128 << 10;

/// Approximate maximum bytes of pages in one request: 1 MiB. MongoDB limits a document to 16 MiB and a message
/// to 48 MB.
const REQUEST_BYTES: usize = 1 << 20;

/// Maximum number of documents that one request writes.
const DOCUMENTS_PER_REQUEST: usize = 1000;

/// Maximum number of pending requests.
const CONCURRENT_REQUESTS_MAX: usize = 2;

/// Maximum number of names of freed pages in one document: 4.5 MB.
const NAMES_PER_DOCUMENT: usize = 250_000;

/// Maximum number of pages that one request reads.
const PAGES_PER_REQUEST: usize = 64;

/// Approximate memory of a cached page in addition to its bytes.
const PAGE_OVERHEAD: usize = 100;

/// A cache of the pages that were read or written last, by name.
pub(super) type PageCache = Cache<Arc<str>, Arc<Page>, PageWeight>;

/// Weighs a cached page by its memory.
#[derive(Clone)]
pub(super) struct PageWeight;

impl Weighter<Arc<str>, Arc<Page>> for PageWeight {
    fn weight(&self, _name: &Arc<str>, page: &Arc<Page>) -> u64 {
        (page.size() + PAGE_OVERHEAD) as u64
    }
}

/// An empty cache.
pub(super) fn page_cache(page_bytes: usize) -> PageCache {
    Cache::with_weighter(CACHE_BYTES / page_bytes, CACHE_BYTES as u64, PageWeight)
}

/// Reads pages for the state of a version, through the cache.
#[derive(Clone, Copy)]
pub(in crate::mongo) struct PageReader<'a> {
    pub(in crate::mongo) engine: &'a Engine,
    pub(in crate::mongo) version: u64,
}

impl PageReader<'_> {
    /// Reads pages that are not cached from the server.
    fn fetch(&self, names: &[&str]) -> Result<Vec<Arc<Page>>> {
        let server = &self.engine.server;
        let queries = names
            .iter()
            .map(|name| ("pages", Query::of_id(name).allow_stale()));
        let mut found = server.find_all(queries.collect())?;
        if server.has_majority() {
            for (found, name) in found.iter_mut().zip(names) {
                if found.is_empty() {
                    *found = server.find("pages", Query::of_id(name))?;
                }
            }
        }
        let pages = found.into_iter().zip(names).map(|(found, name)| {
            let document = found.first().ok_or_else(|| self.missing_page(name))?;
            let page = bytes_in(document, "b").and_then(|bytes| Page::decode(&bytes));
            let page = Arc::new(page.ok_or_else(|| corrupt(&format!("invalid page {name}")))?);
            self.engine
                .page_cache
                .insert((*name).into(), Arc::clone(&page));
            Ok(page)
        });
        pages.collect()
    }

    /// The error of a page that does not exist.
    fn missing_page(&self, name: &str) -> Error {
        let address = &self.engine.server.address;
        match self.engine.floor() {
            Err(error) => error,
            Ok(floor) if self.version < floor => {
                let message = format!(
                    "MongoDB at {address} no longer has the data of this snapshot; take a new one"
                );
                Error::new(ErrorKind::SnapshotTooOld, message)
            }
            Ok(_) => {
                let message = format!(
                    "page {name} is missing in MongoDB at {address}; restore the key space from a \
                     backup"
                );
                Error::new(ErrorKind::Corrupt, message)
            }
        }
    }
}

impl PageSource for PageReader<'_> {
    fn pages(&self, names: &[&str]) -> Result<Vec<Arc<Page>>> {
        let mut pages: Vec<_> = names
            .iter()
            .map(|name| self.engine.page_cache.get(*name))
            .collect();
        let missing: Vec<_> = (0..pages.len()).filter(|at| pages[*at].is_none()).collect();
        for part in missing.chunks(PAGES_PER_REQUEST) {
            let missing_names: Vec<_> = part.iter().map(|at| names[*at]).collect();
            for (at, page) in part.iter().zip(self.fetch(&missing_names)?) {
                pages[*at] = Some(page);
            }
        }
        Ok(pages.into_iter().flatten().collect())
    }

    fn prefetch(&self, names: &[&str]) -> Result<()> {
        let engine = self.engine;
        let count_max = CACHE_BYTES / 2 / engine.page_bytes;
        let is_missing = |name: &&&str| engine.page_cache.get(**name).is_none();
        let missing: Vec<_> = names
            .iter()
            .filter(is_missing)
            .copied()
            .take(count_max)
            .collect();
        // A single page is not worth a prefetch.
        if missing.len() > 1 {
            for part in missing.chunks(PAGES_PER_REQUEST) {
                self.fetch(part)?;
            }
        }
        Ok(())
    }
}

/// Writes the pages of a transaction, several in one request.
pub(in crate::mongo) struct PageWriter<'a> {
    engine: &'a Engine,
    names: PageNames<'a>,
    documents: Vec<Document>,
    bytes: usize,
    /// Approximate bytes of the next request.
    request_bytes: usize,
    /// The pending insert of the draft, and then those of pages.
    pending: VecDeque<PendingInsert<'a>>,
    is_draft_stored: bool,
}

impl<'a> PageWriter<'a> {
    /// A writer for a transaction whose draft has been sent.
    pub(in crate::mongo) fn of(
        engine: &'a Engine,
        transaction: &'a str,
        draft: PendingInsert<'a>,
    ) -> Self {
        Self {
            engine,
            names: PageNames::of(transaction),
            documents: Vec::new(),
            bytes: 0,
            request_bytes: FIRST_REQUEST_BYTES,
            pending: VecDeque::from([draft]),
            is_draft_stored: false,
        }
    }

    fn push(&mut self, document: Document, bytes: usize) -> Result<()> {
        self.documents.push(document);
        self.bytes += bytes;
        if self.bytes < self.request_bytes && self.documents.len() < DOCUMENTS_PER_REQUEST {
            return Ok(());
        }
        self.request_bytes = (self.request_bytes * 2).min(REQUEST_BYTES);
        self.send()
    }

    /// Sends the collected documents.
    fn send(&mut self) -> Result<()> {
        // Pages without a commit are only found by the draft, so it has to be stored before them.
        let most = match self.is_draft_stored {
            true => CONCURRENT_REQUESTS_MAX - 1,
            false => 0,
        };
        self.wait_until_pending(most)?;
        self.is_draft_stored = true;
        self.bytes = 0;
        let documents = std::mem::take(&mut self.documents);
        if !documents.is_empty() {
            let server = &self.engine.server;
            let insert = server.begin_insert("pages", documents, WriteConcern::Majority);
            self.pending.push_back(insert);
        }
        Ok(())
    }

    /// Waits until at most so many inserts are pending.
    fn wait_until_pending(&mut self, most: usize) -> Result<()> {
        while self.pending.len() > most
            && let Some(insert) = self.pending.pop_front()
        {
            insert.wait().map_err(|failure| failure.error)?;
        }
        Ok(())
    }

    /// Writes the names of freed pages to documents of their own. Returns the names of these.
    pub(in crate::mongo) fn write_freed(&mut self, freed: &[Arc<str>]) -> Result<Vec<Arc<str>>> {
        let mut lists = Vec::new();
        for part in freed.chunks(NAMES_PER_DOCUMENT) {
            let (name, names) = (self.names.next()?, part.concat());
            let bytes = names.len();
            self.push(doc! { "_id": &name, "names": names }, bytes)?;
            lists.push(name.into());
        }
        Ok(lists)
    }
}

impl PageSink for PageWriter<'_> {
    fn add(&mut self, page: Arc<Page>) -> Result<Arc<str>> {
        let name = self.names.next()?;
        let encoded = page.encode();
        let document = doc! { "_id": &name, "b": bytes_field(&encoded) };
        self.push(document, encoded.len())?;
        let name: Arc<str> = name.into();
        self.engine.page_cache.insert(Arc::clone(&name), page);
        Ok(name)
    }

    fn flush(&mut self) -> Result<()> {
        self.send()?;
        self.wait_until_pending(0)
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
