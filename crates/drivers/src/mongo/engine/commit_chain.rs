//! The chain of commits: each commit is one document, whose `_id` is its version.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use espalier_keyspace::{Error, ErrorKind, Result, Version};
use mongodb::bson::{Bson, DateTime, Document, doc};
use parking_lot::Mutex;
use rand::RngCore;

use super::connection::Query;
use super::error::corrupt;
use super::fields::{changes_field, changes_in, signed, version_in};
use super::names::{PAGE_NAME_BYTES, VERSION_MAX, transaction_name, version_of, version_text};
use super::open::Engine;
use super::tree::{Overlay, Tree};
use crate::recent_commits::{Changes, RecentCommits};

/// Maximum number of commits that are read one by one, by `_id`.
const SINGLE_READS_MAX: u64 = 4;

/// Maximum number of commits of one read.
const COMMITS_PER_REQUEST: usize = 64;

/// The longest time for which a commit can make other processes wait.
pub(in crate::mongo) const TURN_MAX: Duration = Duration::from_secs(60);

/// No tree is higher: each inner page has at least two children.
const HEIGHT_MAX: u64 = 64;

/// How often to read again whether commits are lost, which a new primary may only show late.
const STALE_POLL: Duration = Duration::from_millis(100);

/// How often the newest state is read again if commits or pages of it are deleted during the read.
const ATTEMPTS_MAX: usize = 10;

/// A committed state: a tree, and an overlay of the changes since it was written.
#[derive(Clone)]
pub(in crate::mongo) struct CommittedState {
    pub(in crate::mongo) version: u64,
    /// The transaction of its commit; empty before the first commit.
    pub(in crate::mongo) transaction: Arc<str>,
    pub(in crate::mongo) tree: Tree,
    /// The version of the tree.
    pub(in crate::mongo) tree_version: u64,
    pub(in crate::mongo) overlay: Overlay,
    /// If the newest commit reserves the next version for its process: how long other processes wait.
    pub(in crate::mongo) turn: Option<Duration>,
}

impl CommittedState {
    /// The state before the first commit.
    fn first() -> Self {
        Self {
            version: 0,
            transaction: "".into(),
            tree: Tree::default(),
            tree_version: 0,
            overlay: Overlay::default(),
            turn: None,
        }
    }

    /// The state after a commit that follows this state.
    fn after(&self, commit: &Commit) -> Result<Self> {
        let mut overlay = Overlay::default();
        if commit.follows != *self.transaction {
            return Err(corrupt("a commit that does not follow the one before it"));
        }
        if commit.tree_version != commit.version {
            if commit.tree_version != self.tree_version {
                return Err(corrupt("invalid commit"));
            }
            let changes = commit
                .changes
                .as_ref()
                .ok_or_else(|| corrupt("invalid commit"))?;
            overlay = self.overlay.with(Some(changes));
        }
        Ok(Self::of_commit(commit, overlay))
    }

    /// The state of a commit, with the overlay of its tree.
    pub(in crate::mongo) fn of_commit(commit: &Commit, overlay: Overlay) -> Self {
        Self {
            version: commit.version,
            transaction: commit.transaction.as_str().into(),
            tree: commit.tree.clone(),
            tree_version: commit.tree_version,
            overlay,
            turn: commit.turn,
        }
    }
}

// The insert decides who won a number, on every server: docs/decisions/0035.
/// A commit: the document of a version.
pub(in crate::mongo) struct Commit {
    pub(in crate::mongo) version: u64,
    pub(in crate::mongo) transaction: String,
    /// The transaction of the previous commit.
    pub(in crate::mongo) follows: String,
    /// The changes; `None` if they are too large. Always set if the tree is of an older version.
    pub(in crate::mongo) changes: Option<Changes>,
    pub(in crate::mongo) tree: Tree,
    pub(in crate::mongo) tree_version: u64,
    /// Pages of the previous tree that the new one does not contain, unless they are many.
    pub(in crate::mongo) freed: Vec<Arc<str>>,
    /// Documents in `pages` that list the freed pages, if they are many.
    pub(in crate::mongo) freed_lists: Vec<Arc<str>>,
    /// If it reserves the next version for its process: how long other processes wait.
    pub(in crate::mongo) turn: Option<Duration>,
}

impl Commit {
    /// A commit that follows a state and keeps its tree.
    pub(in crate::mongo) fn after(state: &CommittedState, changes: Option<Changes>) -> Self {
        let version = state.version + 1;
        Self {
            version,
            transaction: transaction_name(version, rand::rng().next_u64()),
            follows: state.transaction.to_string(),
            changes,
            tree: state.tree.clone(),
            tree_version: state.tree_version,
            freed: Vec::new(),
            freed_lists: Vec::new(),
            turn: None,
        }
    }

    pub(in crate::mongo) fn document(&self) -> Document {
        let mut document = doc! {
            "_id": version_text(self.version),
            "transaction": &self.transaction,
            "follows": &self.follows,
            "at": DateTime::from_system_time(SystemTime::now()),
            "root": self.tree.root.as_deref(),
            "height": self.tree.height as i64,
            "of": signed(self.tree_version),
        };
        if let Some(changes) = &self.changes {
            document.insert("changes", changes_field(changes));
        }
        if !self.freed_lists.is_empty() {
            document.insert("freed_in", self.freed_lists.concat());
        }
        if !self.freed.is_empty() || !self.freed_lists.is_empty() {
            document.insert("freed", self.freed.concat());
        }
        if let Some(turn) = self.turn {
            document.insert("turn_ms", turn.as_millis() as i64);
        }
        document
    }

    pub(in crate::mongo) fn read(document: &Document) -> Result<Self> {
        Self::fields(document).ok_or_else(|| corrupt("invalid commit"))
    }

    fn fields(document: &Document) -> Option<Self> {
        let root = match document.get("root")? {
            Bson::String(root) => Some(root.as_str().into()),
            Bson::Null => None,
            _ => return None,
        };
        let changes = match document.contains_key("changes") {
            true => Some(changes_in(document, "changes")?),
            false => None,
        };
        let most = root.as_ref().map_or(0, |_| HEIGHT_MAX);
        let height = version_in(document, "height").filter(|height| *height <= most)?;
        let height = usize::try_from(height).ok()?;
        let version = version_of(document.get_str("_id").ok()?)?;
        let tree_version = version_in(document, "of").filter(|of| *of <= version)?;
        let turn = version_in(document, "turn_ms").map(Duration::from_millis);
        Some(Self {
            version,
            transaction: document.get_str("transaction").ok()?.to_owned(),
            follows: document.get_str("follows").ok()?.to_owned(),
            changes,
            tree: Tree { root, height },
            tree_version,
            freed: names_in(document, "freed")?,
            freed_lists: names_in(document, "freed_in")?,
            turn: turn.map(|turn| turn.min(TURN_MAX)),
        })
    }
}

/// The names of pages in a field, which holds them without separators.
pub(super) fn names_in(document: &Document, field: &str) -> Option<Vec<Arc<str>>> {
    let Ok(names) = document.get_str(field) else {
        return Some(Vec::new());
    };
    let parts = names.as_bytes().chunks(PAGE_NAME_BYTES);
    let names = parts.map(|name| std::str::from_utf8(name).ok().map(Arc::from));
    names.collect()
}

// A commit detects a newer state anyway, so it does not read it first: docs/decisions/0037.
/// How long a state is presumed to be the newest after it was observed to be: a second.
const PRESUMED_FOR: Duration = Duration::from_secs(1);

/// How many observations of the newest version are remembered, within the time that old versions are kept.
const KEEP_PARTS: u32 = 16;

/// The time of a read from the server.
#[derive(Clone, Copy, Debug)]
pub(in crate::mongo) struct Observation {
    pub(in crate::mongo) at: Instant,
    /// How often connections had been lost by then: if it changes, another server may have taken over.
    interruptions: u64,
}

/// The cached end of the chain.
pub(in crate::mongo) struct Chain {
    /// How long data of old versions is kept.
    keep: Duration,
    newest: Mutex<CachedNewest>,
    /// The commits that this process has made or read last.
    pub(in crate::mongo) recent: RecentCommits,
}

/// The newest state that this process has made or read.
struct CachedNewest {
    state: Arc<CommittedState>,
    /// When it was the newest of all.
    confirmed: Option<Observation>,
    /// Some versions, each with a time by which it was the newest: snapshots of older versions were taken
    /// before that, or at most a moment after.
    newest_at: BTreeMap<u64, Instant>,
    /// The last consecutive versions that this process committed; 0, which has no commit, if none.
    own: RangeInclusive<u64>,
    /// The newest version that was returned without reading whether there is a newer one.
    presumed: u64,
}

impl Chain {
    pub(in crate::mongo) fn new(keep: Duration) -> Self {
        Self {
            keep,
            newest: Mutex::new(CachedNewest {
                state: Arc::new(CommittedState::first()),
                confirmed: None,
                newest_at: BTreeMap::new(),
                own: 0..=0,
                presumed: 0,
            }),
            recent: RecentCommits::after(Version(0)),
        }
    }

    /// Records a state that this process committed, at a time between `from` and now.
    pub(in crate::mongo) fn record_own(
        &self,
        state: &Arc<CommittedState>,
        changes: Option<Changes>,
        from: Observation,
    ) {
        self.record_newest(state, changes, from);
        let own = &mut self.newest.lock().own;
        let first = match *own.end() + 1 == state.version {
            true => *own.start(),
            false => state.version,
        };
        *own = first..=state.version;
    }

    /// The cached newest state, if it is probably still the newest of all: this process committed it and the one
    /// before a moment ago.
    fn presume(&self) -> Option<Arc<CommittedState>> {
        let mut newest = self.newest.lock();
        let (version, own) = (newest.state.version, &newest.own);
        let is_own = version == *own.end() && version > *own.start();
        let moment = PRESUMED_FOR.min(self.keep / KEEP_PARTS);
        let is_new = newest.confirmed?.at.elapsed() < moment;
        if !is_own || !is_new {
            return None;
        }
        newest.presumed = newest.presumed.max(version);
        Some(Arc::clone(&newest.state))
    }

    /// Whether a snapshot of this version may have been presumed to be the newest.
    pub(in crate::mongo) fn may_be_presumed(&self, version: u64) -> bool {
        version <= self.newest.lock().presumed
    }

    /// The cached newest state, and when it was the newest.
    fn cached(&self) -> (Arc<CommittedState>, Option<Observation>) {
        let newest = self.newest.lock();
        (Arc::clone(&newest.state), newest.confirmed)
    }

    /// Records a state, and the changes of its commit if they are available. No commit after it was deleted since
    /// `confirmed`.
    fn record(
        &self,
        state: &Arc<CommittedState>,
        changes: Option<Changes>,
        confirmed: Observation,
    ) {
        let mut newest = self.newest.lock();
        if state.version > newest.state.version {
            self.recent.push_or_reset(Version(state.version), changes);
            newest.state = Arc::clone(state);
            newest.confirmed = Some(confirmed);
        } else if state.version == newest.state.version
            && newest
                .confirmed
                .is_none_or(|earlier| earlier.at < confirmed.at)
        {
            newest.confirmed = Some(confirmed);
        }
    }

    /// Records a state that was the newest at a time between `from` and now.
    pub(in crate::mongo) fn record_newest(
        &self,
        state: &Arc<CommittedState>,
        changes: Option<Changes>,
        from: Observation,
    ) {
        let to = Instant::now();
        self.record(state, changes, from);
        let mut newest = self.newest.lock();
        let last = newest.newest_at.last_key_value();
        if last.is_none_or(|(_, at)| *at + self.keep / KEEP_PARTS <= to) {
            newest.newest_at.insert(state.version, to);
        }
        while newest.newest_at.len() > 1 {
            let second = newest.newest_at.values().nth(1);
            if second.is_none_or(|at| at.elapsed() < self.keep) {
                break;
            }
            newest.newest_at.pop_first();
        }
    }

    /// The oldest version that must still be readable: the newest one that was observed longer ago than old data
    /// is kept, but no version after the tree of the newest state. `None` if all versions must be.
    pub(in crate::mongo) fn oldest_kept(&self) -> Option<u64> {
        let newest = self.newest.lock();
        let mut observations = newest.newest_at.iter().rev();
        let (version, _) = observations.find(|(_, at)| at.elapsed() >= self.keep)?;
        Some((*version).min(newest.state.tree_version))
    }
}

impl Engine {
    /// The newest state, and a time at which it was the newest.
    ///
    /// A commit is deleted only after the commit that follows it is older than [`Self::keep`]. So if the
    /// cached state was the newest within half that time, and the next version does not exist, it still is
    /// the newest. After a longer time, the newest commit has to be searched for.
    pub(in crate::mongo) fn newest(&self) -> Result<(Arc<CommittedState>, Observation)> {
        let (mut state, confirmed) = self.chain.cached();
        let Some(observed) = confirmed.filter(|observed| self.is_fresh(*observed)) else {
            return self.find_newest();
        };
        let now = self.observation();
        let mut commits = Vec::from_iter(self.commit_at(state.version + 1)?);
        if commits.is_empty() && self.is_fresh(observed) {
            self.chain.record_newest(&state, None, now);
            return Ok((state, now));
        }
        // After one commit there may be more.
        loop {
            let now = self.observation();
            let last = commits
                .last()
                .map_or(state.version, |commit| commit.version);
            let more = self.commits(between(last, VERSION_MAX))?;
            let is_all = more.len() < COMMITS_PER_REQUEST;
            commits.extend(more);
            for commit in commits.drain(..) {
                if commit.version != state.version + 1 || !self.is_fresh(observed) {
                    return self.find_newest();
                }
                // It follows the state that was the newest at that time.
                state = Arc::new(state.after(&commit)?);
                self.chain.record(&state, commit.changes, observed);
            }
            if !self.is_fresh(observed) {
                return self.find_newest();
            }
            if is_all {
                self.chain.record_newest(&state, None, now);
                return Ok((state, now));
            }
        }
    }

    /// The newest state, or one that is presumed to be: for a change, whose commit verifies it.
    pub(in crate::mongo) fn presumed_newest(&self) -> Result<Arc<CommittedState>> {
        match self.chain.presume() {
            Some(state) => Ok(state),
            None => Ok(self.newest()?.0),
        }
    }

    /// Polls for commits of other processes, for watchers: a commit may be found with a short delay.
    pub(in crate::mongo) fn poll(&self) -> Result<()> {
        let (state, confirmed) = self.chain.cached();
        let next = Query::of_id(&version_text(state.version + 1)).allow_stale();
        if self.server.has_majority()
            && confirmed.is_some_and(|observed| self.is_fresh(observed))
            && self.commits(next)?.is_empty()
        {
            return Ok(());
        }
        self.newest().map(drop)
    }

    /// The cached newest state, if no commit after it can have been deleted yet: then an insert of the next
    /// version fails if another process has committed it. Otherwise reads the newest state.
    pub(in crate::mongo) fn cached_newest(&self) -> Result<(Arc<CommittedState>, Observation)> {
        let (state, confirmed) = self.chain.cached();
        match confirmed.filter(|observed| self.is_fresh(*observed)) {
            Some(observed) => Ok((state, observed)),
            None => self.newest(),
        }
    }

    /// Whether a state, which was the newest at `observed`, still is.
    pub(in crate::mongo) fn is_newest(
        &self,
        state: &Arc<CommittedState>,
        observed: Observation,
    ) -> Result<bool> {
        let now = self.observation();
        let mut query = Query::of_id(&version_text(state.version + 1));
        query.fields = doc! { "_id": 1 };
        let next = self.server.find("commits", query)?;
        let is_newest = next.is_empty() && self.is_fresh(observed);
        if is_newest {
            self.chain.record_newest(state, None, now);
        }
        Ok(is_newest)
    }

    /// Whether commits after that time cannot have been deleted yet, and none can have been lost.
    pub(in crate::mongo) fn is_fresh(&self, observed: Observation) -> bool {
        observed.at.elapsed() < self.keep / 2
            && observed.interruptions == self.server.interruptions()
    }

    /// An observation of now.
    pub(in crate::mongo) fn observation(&self) -> Observation {
        let interruptions = self.server.interruptions();
        let at = Instant::now();
        Observation { at, interruptions }
    }

    /// Reads the newest state, independently of the cached one.
    pub(in crate::mongo) fn find_newest(&self) -> Result<(Arc<CommittedState>, Observation)> {
        let deadline = Instant::now() + self.server.timeout;
        let mut attempts = 0;
        while attempts < ATTEMPTS_MAX {
            let (cached, _) = self.chain.cached();
            let now = self.observation();
            let query = Query::new(doc! { "_id": { "$gte": "" } }, -1, 1);
            let newest = self.commits(query)?.pop();
            if !self.has(&cached, newest.as_ref())? {
                if self.server.is_replicated && now.at < deadline {
                    thread::sleep(STALE_POLL);
                    continue;
                }
                return Err(self.lost_commits(&cached));
            }
            let state = match newest {
                None => Some(CommittedState::first()),
                Some(newest) => self.state_of(&newest)?,
            };
            if let Some(state) = state {
                let state = Arc::new(state);
                self.chain.record_newest(&state, None, now);
                return Ok((state, now));
            }
            attempts += 1;
        }
        // The commits and pages of the newest state are never deleted.
        Err(corrupt("commits are missing"))
    }

    /// Whether the server still has the cached state, given its newest commit.
    fn has(&self, cached: &CommittedState, newest: Option<&Commit>) -> Result<bool> {
        Ok(match newest {
            None => cached.version == 0,
            Some(newest) if newest.version < cached.version => false,
            Some(newest) if newest.version == cached.version => {
                newest.transaction == *cached.transaction
            }
            // Its commit may have been deleted since.
            Some(_) => match self.commit_at(cached.version)? {
                Some(commit) => {
                    commit.transaction == *cached.transaction || self.floor()? > cached.version
                }
                None => true,
            },
        })
    }

    /// Whether the commit of a state, which was the newest a moment ago, still exists.
    pub(in crate::mongo) fn still_has(&self, state: &CommittedState) -> Result<bool> {
        if state.version == 0 {
            return Ok(true);
        }
        let commit = self.commit_at(state.version)?;
        Ok(commit.is_some_and(|commit| commit.transaction == *state.transaction))
    }

    /// The error of a server that has lost the commit of a cached state.
    pub(in crate::mongo) fn lost_commits(&self, cached: &CommittedState) -> Error {
        let message = format!(
            "MongoDB at {} has lost acknowledged commits: version {} no longer exists; reopen the \
             key space",
            self.server.address, cached.version
        );
        Error::new(ErrorKind::Corrupt, message)
    }

    /// The state of a commit; `None` if an earlier commit that it needs no longer exists.
    fn state_of(&self, newest: &Commit) -> Result<Option<CommittedState>> {
        let mut state = CommittedState {
            tree: newest.tree.clone(),
            version: newest.tree_version,
            tree_version: newest.tree_version,
            ..CommittedState::first()
        };
        if newest.version == newest.tree_version {
            state.transaction = newest.transaction.as_str().into();
        }
        let mut is_first = true;
        while state.version < newest.version {
            let commits = self.commits(between(state.version, newest.version))?;
            if commits.is_empty() {
                return Ok(None);
            }
            for commit in commits {
                if commit.version != state.version + 1 || commit.tree_version != state.tree_version
                {
                    return Ok(None);
                }
                if std::mem::take(&mut is_first) {
                    state.transaction = commit.follows.as_str().into();
                }
                state = state.after(&commit)?;
            }
        }
        Ok(Some(state))
    }

    fn commits(&self, query: Query) -> Result<Vec<Commit>> {
        let found = self.server.find("commits", query)?;
        found.iter().map(Commit::read).collect()
    }

    /// The first commits after a version, at least one, up to `newest`; empty if they have been deleted.
    pub(in crate::mongo) fn commits_after(&self, after: u64, newest: u64) -> Result<Vec<Commit>> {
        let mut commits = match newest - after <= SINGLE_READS_MAX {
            true => {
                let commits = (after + 1..=newest).map(|at| self.commit_at(at));
                let commits = commits.filter_map(Result::transpose);
                commits.collect::<Result<Vec<_>>>()?
            }
            false => self.commits(between(after, newest))?,
        };
        let follows = (after + 1..).zip(&commits);
        let follow = follows.take_while(|(version, commit)| commit.version == *version);
        commits.truncate(follow.count());
        // If some were deleted, a process that was suspended may have inserted its commit under one of these
        // versions, and not withdrawn it yet.
        if after + 1 < self.floor()? {
            commits.clear();
        }
        Ok(commits)
    }

    /// The commit of a version, if it exists.
    pub(in crate::mongo) fn commit_at(&self, version: u64) -> Result<Option<Commit>> {
        Ok(self.commits(Query::of_id(&version_text(version)))?.pop())
    }
}

/// A query of the first commits after a version, up to another one.
fn between(after: u64, last: u64) -> Query {
    let (from, to) = (version_text(after), version_text(last));
    let filter = doc! { "_id": { "$gt": from, "$lte": to } };
    Query::new(filter, 1, COMMITS_PER_REQUEST)
}
