//! Deleting what nobody can read any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use espalier_keyspace::Result;
use mongodb::bson::{DateTime, Document, doc};

use super::asking::Inserting;
use super::chain::{Commit, State, names_in};
use super::connection::{Query, Sure};
use super::error::{corrupt, done};
use super::fields::signed;
use super::names::{VERSION_MAX, page_names_of, version_of, version_text};
use super::open::Engine;
use super::pages::PagesOf;

/// The shortest time between two rounds of deleting in one process.
const PAUSE: Duration = Duration::from_secs(30);

/// What a process left behind that did not live to delete it is deleted by one that opens the key space
/// after this time: a day.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// Documents that one round is allowed the time for.
const GARBAGE: usize = 10_000;

/// Documents that are read or named at once.
const AT_ONCE: usize = 500;

/// Commits that are read at once.
const COMMITS_AT_ONCE: usize = 64;

/// How often whoever opens the key space looks further for commits that are old.
const LOOKS_MAX: usize = 200;

impl Engine {
    /// Deletes what has been replaced for longer than it is kept. Called after commits; that it
    /// fails is no reason for them to.
    pub(in crate::mongo) fn prune(&self) {
        {
            let mut pruned = self.pruned.lock();
            if pruned.elapsed() < PAUSE.min(self.keep) {
                return;
            }
            *pruned = Instant::now();
        }
        let Some(floor) = self.chain.oldest_kept() else {
            return;
        };
        if let Err(error) = self.prune_before(floor) {
            tracing::warn!(%error, "old versions are not deleted");
        }
    }

    /// Deletes what processes that did not live long left behind more than a day ago. That it fails is no
    /// reason not to open the key space.
    pub(super) fn prune_leftovers(&self, newest: &State) {
        if let Err(error) = self.prune_older_than(STALE, newest) {
            tracing::warn!(%error, "what other processes left behind is not deleted");
        }
    }

    fn prune_older_than(&self, age: Duration, newest: &State) -> Result<()> {
        let long_ago = DateTime::from_system_time(SystemTime::now() - age);
        let mut floor = None;
        let mut from = String::new();
        for _ in 0..LOOKS_MAX {
            let mut query = Query::new(doc! { "_id": { "$gt": &from } }, 1, AT_ONCE);
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
            if found.len() < AT_ONCE {
                break;
            }
        }
        // The newest state is never deleted, nor what it is made of.
        match floor {
            Some(floor) => self.prune_before(floor.min(newest.tree_of)),
            None => Ok(()),
        }
    }

    /// Makes `floor` the oldest version that can be read.
    fn prune_before(&self, floor: u64) -> Result<()> {
        let first = version_text(floor);
        let update = doc! {
            "q": { "_id": "floor" },
            "u": { "$max": { "version": signed(floor) } },
        };
        done(self.server.update("state", vec![update], 1, Sure::AsAsked))?;
        self.delete_freed(&first)?;
        self.sweep_drafts(&first)?;
        let older = doc! { "_id": { "$lt": first } };
        done(
            self.server
                .delete("commits", vec![older], GARBAGE, Sure::Soon),
        )
    }

    /// Deletes the pages that commits freed before a version.
    fn delete_freed(&self, first: &str) -> Result<()> {
        self.each_freeing(first, |commits| {
            let versions = commits.iter().map(|commit| commit.version);
            let known = self.transactions(&versions.collect::<Vec<_>>())?;
            for commit in commits {
                // In a place whose commit was deleted, a process that was halted may have put its own.
                if known.get(&commit.version) == Some(&commit.transaction) {
                    for list in &commit.freed_in {
                        let list = self.server.get("pages", list)?;
                        self.delete_pages(&names(list.as_ref(), "names")?)?;
                    }
                    self.delete_pages(&commit.freed)?;
                    self.delete_pages(&commit.freed_in)?;
                }
            }
            Ok(())
        })
    }

    /// Visits the commits before a version that freed pages.
    fn each_freeing(
        &self,
        first: &str,
        mut act: impl FnMut(&[Freeing]) -> Result<()>,
    ) -> Result<()> {
        let mut from = String::new();
        loop {
            let ids = doc! { "$gt": &from, "$lt": first };
            let filter = doc! { "_id": ids, "freed": { "$exists": true } };
            let mut query = Query::new(filter, 1, COMMITS_AT_ONCE);
            query.fields = doc! { "transaction": 1, "freed": 1, "freed_in": 1 };
            let found = self.server.find("commits", query)?;
            let commits = found
                .iter()
                .map(Freeing::read)
                .collect::<Result<Vec<_>>>()?;
            act(&commits)?;
            match commits.last() {
                Some(last) if commits.len() == COMMITS_AT_ONCE => from = version_text(last.version),
                _ => return Ok(()),
            }
        }
    }

    /// The transactions that made versions, where it is sure: those that the commits after them follow.
    fn transactions(&self, versions: &[u64]) -> Result<BTreeMap<u64, String>> {
        let mut known = BTreeMap::new();
        for part in versions.chunks(COMMITS_AT_ONCE) {
            let queries = part.iter().map(|version| {
                let mut query = Query::of_id(&version_text(version + 1));
                query.fields = doc! { "follows": 1 };
                ("commits", query)
            });
            let found = self.server.find_all(queries.collect())?;
            for (version, found) in part.iter().zip(found) {
                let follows = found.first().and_then(|next| next.get_str("follows").ok());
                known.extend(follows.map(|follows| (*version, follows.to_owned())));
            }
        }
        Ok(known)
    }

    fn delete_pages(&self, names: &[Arc<str>]) -> Result<()> {
        for part in names.chunks(AT_ONCE) {
            let names: Vec<_> = part.iter().map(|name| &**name).collect();
            let filter = doc! { "_id": { "$in": names } };
            done(
                self.server
                    .delete("pages", vec![filter], part.len(), Sure::Soon),
            )?;
        }
        Ok(())
    }

    /// Deletes the pages of a transaction that did not become a commit. That it fails is no reason for
    /// anything else to: they are found by its draft.
    pub(in crate::mongo) fn drop_pages(&self, transaction: &str) {
        if let Err(error) = self.delete_pages_of(transaction) {
            tracing::warn!(%error, "pages that nobody needs are not deleted yet");
        }
    }

    fn delete_pages_of(&self, transaction: &str) -> Result<()> {
        let (from, to) = page_names_of(transaction);
        let filter = doc! { "_id": { "$gte": from, "$lt": to } };
        done(
            self.server
                .delete("pages", vec![filter], GARBAGE, Sure::Soon),
        )
    }

    /// Finds out what became of transactions before a version that made pages, and deletes those of them
    /// that are not in the tree.
    fn sweep_drafts(&self, first: &str) -> Result<()> {
        let mut from = String::new();
        loop {
            let older = doc! { "_id": { "$gt": &from, "$lt": first } };
            let drafts = self.server.find("drafts", Query::new(older, 1, AT_ONCE))?;
            let ids = drafts.iter().filter_map(|draft| draft.get_str("_id").ok());
            let ids: Vec<_> = ids.collect();
            let Some(last) = ids.last() else {
                return Ok(());
            };
            (*last).clone_into(&mut from);
            let place = |id: &&str| version_of(id).ok_or_else(|| corrupt("a draft"));
            let places = ids.iter().map(place).collect::<Result<Vec<_>>>()?;
            let known = self.transactions(&places)?;
            let mut unknown = Vec::new();
            for (transaction, version) in ids.iter().zip(&places) {
                match known.get(version) {
                    Some(made) if made == transaction => {}
                    Some(_) => self.delete_pages_of(transaction)?,
                    // Its process was halted, or nobody was there to do this.
                    None => unknown.push(*transaction),
                }
            }
            if !unknown.is_empty() {
                self.delete_lost_pages(&unknown)?;
            }
            let filter = doc! { "_id": { "$in": ids.clone() } };
            done(
                self.server
                    .delete("drafts", vec![filter], ids.len(), Sure::Soon),
            )?;
            if ids.len() < AT_ONCE {
                return Ok(());
            }
        }
    }

    /// Deletes those pages of transactions that neither the tree has, nor what commits freed that can still
    /// be read.
    fn delete_lost_pages(&self, transactions: &[&str]) -> Result<()> {
        let mut kept = BTreeSet::new();
        // What is freed after the tree was read was in it.
        let (state, _) = self.newest()?;
        let pages = PagesOf {
            engine: self,
            version: state.version,
        };
        kept.extend(state.tree.names(&pages)?);
        self.each_freeing(&version_text(VERSION_MAX), |commits| {
            for commit in commits {
                for list in &commit.freed_in {
                    let list = self.server.get("pages", list)?;
                    kept.extend(names(list.as_ref(), "names")?);
                }
                kept.extend(commit.freed.iter().chain(&commit.freed_in).cloned());
            }
            Ok(())
        })?;
        for transaction in transactions {
            let (mut from, to) = page_names_of(transaction);
            loop {
                let filter = doc! { "_id": { "$gte": &from, "$lt": &to } };
                let mut query = Query::new(filter, 1, AT_ONCE);
                query.fields = doc! { "_id": 1 };
                let found = self.server.find("pages", query)?;
                let names = found.iter().filter_map(|page| page.get_str("_id").ok());
                let names: Vec<_> = names.map(Arc::<str>::from).collect();
                let is_lost = |name: &&Arc<str>| !kept.contains(*name);
                let lost: Vec<_> = names.iter().filter(is_lost).cloned().collect();
                self.delete_pages(&lost)?;
                match names.last() {
                    // The first name after it.
                    Some(last) if names.len() == AT_ONCE => from = format!("{last}-"),
                    _ => break,
                }
            }
        }
        Ok(())
    }

    /// Says that a transaction is about to make pages.
    pub(in crate::mongo) fn insert_draft(&self, commit: &Commit) -> Inserting<'_> {
        let draft = doc! { "_id": &commit.transaction };
        self.server
            .begin_insert("drafts", vec![draft], Sure::Always)
    }
}

fn names(document: Option<&Document>, field: &str) -> Result<Vec<Arc<str>>> {
    // One that is gone was done with.
    let names = document.map_or(Some(Vec::new()), |document| names_in(document, field));
    names.ok_or_else(|| corrupt("a list of pages"))
}

/// A commit that freed pages.
struct Freeing {
    version: u64,
    transaction: String,
    freed: Vec<Arc<str>>,
    freed_in: Vec<Arc<str>>,
}

impl Freeing {
    fn read(document: &Document) -> Result<Self> {
        let fields = || {
            let id = document.get_str("_id").ok()?;
            Some((version_of(id)?, document.get_str("transaction").ok()?))
        };
        let (version, transaction) = fields().ok_or_else(|| corrupt("a commit"))?;
        Ok(Self {
            version,
            transaction: transaction.to_owned(),
            freed: names(Some(document), "freed")?,
            freed_in: names(Some(document), "freed_in")?,
        })
    }
}
