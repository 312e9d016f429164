//! Deleting commits and pages that no process can read any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use espalier_keyspace::Result;
use mongodb::bson::{DateTime, Document, doc};

use super::commit_chain::{Commit, CommittedState, names_in};
use super::connection::{Query, WriteConcern};
use super::error::corrupt;
use super::fields::signed;
use super::names::{VERSION_MAX, page_names_of, version_of, version_text};
use super::open::Engine;
use super::pages::PageReader;
use super::request::PendingInsert;

/// The shortest time between two rounds of pruning in one process.
const PRUNE_INTERVAL: Duration = Duration::from_secs(30);

/// The age at which commits that no committing process has pruned are pruned by a process that opens the key
/// space: a day.
const LEFTOVER_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Estimated documents of one deletion, which its timeout depends on.
const DELETED_ESTIMATE: usize = 10_000;

/// Maximum number of documents of one request.
const DOCUMENTS_PER_REQUEST: usize = 500;

/// Maximum number of commits of one read.
const COMMITS_PER_REQUEST: usize = 64;

/// Maximum number of reads in the search for old commits when a process opens the key space.
const READS_MAX: usize = 200;

impl Engine {
    /// Deletes data that was replaced longer ago than it is kept. Called after commits; a failure is only logged.
    pub(in crate::mongo) fn prune(&self) {
        {
            let mut pruned = self.pruned_at.lock();
            if pruned.elapsed() < PRUNE_INTERVAL.min(self.keep) {
                return;
            }
            *pruned = Instant::now();
        }
        let Some(floor) = self.chain.oldest_kept() else {
            return;
        };
        if let Err(error) = self.prune_before(floor) {
            tracing::warn!(%error, "cannot delete old versions");
        }
    }

    /// Deletes data that was replaced more than a day ago, which short-lived processes leave. Called when the key
    /// space is opened; a failure is only logged.
    pub(super) fn prune_leftovers(&self, newest: &CommittedState) {
        if let Err(error) = self.prune_older_than(LEFTOVER_AGE, newest) {
            tracing::warn!(%error, "cannot delete old versions that other processes left");
        }
    }

    fn prune_older_than(&self, age: Duration, newest: &CommittedState) -> Result<()> {
        let long_ago = DateTime::from_system_time(SystemTime::now() - age);
        let mut floor = None;
        let mut from = String::new();
        for _ in 0..READS_MAX {
            let mut query = Query::new(doc! { "_id": { "$gt": &from } }, 1, DOCUMENTS_PER_REQUEST);
            query.fields = doc! { "at": 1 };
            let found = self.server.find("commits", query)?;
            let is_old =
                |commit: &&Document| commit.get_datetime("at").is_ok_and(|at| *at < long_ago);
            let old = found.iter().take_while(is_old);
            let Some(id) = old.last().and_then(|commit| commit.get_str("_id").ok()) else {
                break;
            };
            floor = version_of(id);
            id.clone_into(&mut from);
            if found.len() < DOCUMENTS_PER_REQUEST {
                break;
            }
        }
        // The commits and pages of the newest state are never deleted.
        match floor {
            Some(floor) => self.prune_before(floor.min(newest.tree_version)),
            None => Ok(()),
        }
    }

    /// Raises the oldest version that can be read to `floor`, and deletes the data before it.
    fn prune_before(&self, floor: u64) -> Result<()> {
        let first = version_text(floor);
        let update = doc! {
            "q": { "_id": "floor" },
            "u": { "$max": { "version": signed(floor) } },
        };
        self.server
            .update("state", vec![update], 1, WriteConcern::Configured)?;
        self.delete_freed(&first)?;
        self.sweep_drafts(&first)?;
        let older = doc! { "_id": { "$lt": first } };
        self.server
            .delete("commits", vec![older], DELETED_ESTIMATE, WriteConcern::One)
    }

    /// Deletes the pages that commits freed before a version.
    fn delete_freed(&self, first: &str) -> Result<()> {
        self.each_freeing(first, |commits| {
            let versions = commits.iter().map(|commit| commit.version);
            let transactions = self.transactions(&versions.collect::<Vec<_>>())?;
            for commit in commits {
                // A process that was suspended may have inserted its commit under a version whose commit was
                // deleted.
                if transactions.get(&commit.version) == Some(&commit.transaction) {
                    for list in &commit.freed_lists {
                        let list = self.server.get("pages", list)?;
                        self.delete_pages(&names(list.as_ref(), "names")?)?;
                    }
                    self.delete_pages(&commit.freed)?;
                    self.delete_pages(&commit.freed_lists)?;
                }
            }
            Ok(())
        })
    }

    /// Visits the commits before a version that freed pages.
    fn each_freeing(
        &self,
        first: &str,
        mut visit: impl FnMut(&[FreeingCommit]) -> Result<()>,
    ) -> Result<()> {
        let mut from = String::new();
        loop {
            let ids = doc! { "$gt": &from, "$lt": first };
            let filter = doc! { "_id": ids, "freed": { "$exists": true } };
            let mut query = Query::new(filter, 1, COMMITS_PER_REQUEST);
            query.fields = doc! { "transaction": 1, "freed": 1, "freed_in": 1 };
            let found = self.server.find("commits", query)?;
            let commits = found
                .iter()
                .map(FreeingCommit::read)
                .collect::<Result<Vec<_>>>()?;
            visit(&commits)?;
            match commits.last() {
                Some(last) if commits.len() == COMMITS_PER_REQUEST => {
                    from = version_text(last.version)
                }
                _ => return Ok(()),
            }
        }
    }

    /// The transactions that committed the given versions, as far as they are certain: the ones that the next
    /// commits follow.
    fn transactions(&self, versions: &[u64]) -> Result<BTreeMap<u64, String>> {
        let mut transactions = BTreeMap::new();
        for part in versions.chunks(COMMITS_PER_REQUEST) {
            let queries = part.iter().map(|version| {
                let mut query = Query::of_id(&version_text(version + 1));
                query.fields = doc! { "follows": 1 };
                ("commits", query)
            });
            let found = self.server.find_all(queries.collect())?;
            for (version, found) in part.iter().zip(found) {
                let follows = found.first().and_then(|next| next.get_str("follows").ok());
                transactions.extend(follows.map(|follows| (*version, follows.to_owned())));
            }
        }
        Ok(transactions)
    }

    fn delete_pages(&self, names: &[Arc<str>]) -> Result<()> {
        for part in names.chunks(DOCUMENTS_PER_REQUEST) {
            let names: Vec<_> = part.iter().map(|name| &**name).collect();
            let filter = doc! { "_id": { "$in": names } };
            self.server
                .delete("pages", vec![filter], part.len(), WriteConcern::One)?;
        }
        Ok(())
    }

    /// Deletes the pages of a transaction that was not committed. A failure is only logged: the pages are found
    /// later by the draft.
    pub(in crate::mongo) fn drop_pages(&self, transaction: &str) {
        if let Err(error) = self.delete_pages_of(transaction) {
            tracing::warn!(%error, "cannot delete the pages of a failed commit yet");
        }
    }

    fn delete_pages_of(&self, transaction: &str) -> Result<()> {
        let (from, to) = page_names_of(transaction);
        let filter = doc! { "_id": { "$gte": from, "$lt": to } };
        self.server
            .delete("pages", vec![filter], DELETED_ESTIMATE, WriteConcern::One)
    }

    /// Deletes the drafts before a version, and the pages of those transactions that were not committed.
    fn sweep_drafts(&self, first: &str) -> Result<()> {
        let mut from = String::new();
        loop {
            let older = doc! { "_id": { "$gt": &from, "$lt": first } };
            let drafts = self
                .server
                .find("drafts", Query::new(older, 1, DOCUMENTS_PER_REQUEST))?;
            let ids = drafts.iter().filter_map(|draft| draft.get_str("_id").ok());
            let ids: Vec<_> = ids.collect();
            let Some(last) = ids.last() else {
                return Ok(());
            };
            (*last).clone_into(&mut from);
            let version = |id: &&str| version_of(id).ok_or_else(|| corrupt("invalid draft"));
            let versions = ids.iter().map(version).collect::<Result<Vec<_>>>()?;
            let transactions = self.transactions(&versions)?;
            let mut uncertain = Vec::new();
            for (transaction, version) in ids.iter().zip(&versions) {
                match transactions.get(version) {
                    Some(committed) if committed == transaction => {}
                    Some(_) => self.delete_pages_of(transaction)?,
                    // The process was suspended, or no process has pruned for long.
                    None => uncertain.push(*transaction),
                }
            }
            if !uncertain.is_empty() {
                self.delete_unreferenced_pages(&uncertain)?;
            }
            let filter = doc! { "_id": { "$in": ids.clone() } };
            self.server
                .delete("drafts", vec![filter], ids.len(), WriteConcern::One)?;
            if ids.len() < DOCUMENTS_PER_REQUEST {
                return Ok(());
            }
        }
    }

    /// Deletes those pages of transactions that are neither in the newest tree nor in a list of freed pages.
    fn delete_unreferenced_pages(&self, transactions: &[&str]) -> Result<()> {
        let mut referenced = BTreeSet::new();
        // Pages that are freed after this read are in this tree.
        let (state, _) = self.newest()?;
        let pages = PageReader {
            engine: self,
            version: state.version,
        };
        referenced.extend(state.tree.names(&pages)?);
        self.each_freeing(&version_text(VERSION_MAX), |commits| {
            for commit in commits {
                for list in &commit.freed_lists {
                    let list = self.server.get("pages", list)?;
                    referenced.extend(names(list.as_ref(), "names")?);
                }
                referenced.extend(commit.freed.iter().chain(&commit.freed_lists).cloned());
            }
            Ok(())
        })?;
        for transaction in transactions {
            let (mut from, to) = page_names_of(transaction);
            loop {
                let filter = doc! { "_id": { "$gte": &from, "$lt": &to } };
                let mut query = Query::new(filter, 1, DOCUMENTS_PER_REQUEST);
                query.fields = doc! { "_id": 1 };
                let found = self.server.find("pages", query)?;
                let names = found.iter().filter_map(|page| page.get_str("_id").ok());
                let names: Vec<_> = names.map(Arc::<str>::from).collect();
                let is_unreferenced = |name: &&Arc<str>| !referenced.contains(*name);
                let unreferenced: Vec<_> = names.iter().filter(is_unreferenced).cloned().collect();
                self.delete_pages(&unreferenced)?;
                match names.last() {
                    // The first name after it.
                    Some(last) if names.len() == DOCUMENTS_PER_REQUEST => from = format!("{last}-"),
                    _ => break,
                }
            }
        }
        Ok(())
    }

    /// Inserts the draft of a transaction that is about to write pages.
    pub(in crate::mongo) fn insert_draft(&self, commit: &Commit) -> PendingInsert<'_> {
        let draft = doc! { "_id": &commit.transaction };
        self.server
            .begin_insert("drafts", vec![draft], WriteConcern::Majority)
    }
}

fn names(document: Option<&Document>, field: &str) -> Result<Vec<Arc<str>>> {
    // A list that no longer exists was processed before.
    let names = document.map_or(Some(Vec::new()), |document| names_in(document, field));
    names.ok_or_else(|| corrupt("invalid list of pages"))
}

/// A commit that freed pages.
struct FreeingCommit {
    version: u64,
    transaction: String,
    freed: Vec<Arc<str>>,
    freed_lists: Vec<Arc<str>>,
}

impl FreeingCommit {
    fn read(document: &Document) -> Result<Self> {
        let fields = || {
            let id = document.get_str("_id").ok()?;
            Some((version_of(id)?, document.get_str("transaction").ok()?))
        };
        let (version, transaction) = fields().ok_or_else(|| corrupt("invalid commit"))?;
        Ok(Self {
            version,
            transaction: transaction.to_owned(),
            freed: names(Some(document), "freed")?,
            freed_lists: names(Some(document), "freed_in")?,
        })
    }
}
