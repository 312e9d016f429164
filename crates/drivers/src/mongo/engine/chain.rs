//! The chain of commits: each is one document, and the next one has the number after it.

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

/// Commits that are asked for one by one.
const STEPS_MAX: u64 = 4;

/// Commits that are read at once.
const COMMITS_AT_ONCE: usize = 64;

/// The longest that a commit can ask others to wait.
pub(in crate::mongo) const TURN_MAX: Duration = Duration::from_secs(60);

/// No tree is as high: each page above others has two at least.
const HEIGHT_MAX: u64 = 64;

/// How often it is looked again whether commits are lost that a new primary may only be late to show.
const LATE_LOOK: Duration = Duration::from_millis(100);

/// How often the newest state is looked for again, where what it is made of is deleted meanwhile.
const LOOKS_MAX: usize = 10;

/// A committed state: a tree, and what commits have changed since that was made.
#[derive(Clone)]
pub(in crate::mongo) struct State {
    pub(in crate::mongo) version: u64,
    /// The one that made it: none did before the first commit.
    pub(in crate::mongo) transaction: Arc<str>,
    pub(in crate::mongo) tree: Tree,
    /// The version that the tree is of.
    pub(in crate::mongo) tree_of: u64,
    pub(in crate::mongo) overlay: Overlay,
    /// Where the newest commit asks that the next one be left to who made it: how long others wait.
    pub(in crate::mongo) turn: Option<Duration>,
}

impl State {
    /// The state before the first commit.
    fn first() -> Self {
        Self {
            version: 0,
            transaction: "".into(),
            tree: Tree::default(),
            tree_of: 0,
            overlay: Overlay::default(),
            turn: None,
        }
    }

    /// The state that a commit makes of this one, which it follows.
    fn after(&self, commit: &Commit) -> Result<Self> {
        let mut overlay = Overlay::default();
        if commit.follows != *self.transaction {
            return Err(corrupt("a commit that follows another one than is there"));
        }
        if commit.tree_of != commit.version {
            if commit.tree_of != self.tree_of {
                return Err(corrupt("a commit"));
            }
            let changes = commit.changes.as_ref().ok_or_else(|| corrupt("a commit"))?;
            overlay = self.overlay.with(Some(changes));
        }
        Ok(Self::made_by(commit, overlay))
    }

    /// The state that a commit makes, with what is beside its tree.
    pub(in crate::mongo) fn made_by(commit: &Commit, overlay: Overlay) -> Self {
        Self {
            version: commit.version,
            transaction: commit.transaction.as_str().into(),
            tree: commit.tree.clone(),
            tree_of: commit.tree_of,
            overlay,
            turn: commit.turn,
        }
    }
}

/// What makes a version.
pub(in crate::mongo) struct Commit {
    pub(in crate::mongo) version: u64,
    pub(in crate::mongo) transaction: String,
    /// That of the commit before.
    pub(in crate::mongo) follows: String,
    /// What it changed, unless that is too much to be told. All of it, where the tree is of an older
    /// version.
    pub(in crate::mongo) changes: Option<Changes>,
    pub(in crate::mongo) tree: Tree,
    pub(in crate::mongo) tree_of: u64,
    /// Pages of the tree before that the new one does not have, unless they are many.
    pub(in crate::mongo) freed: Vec<Arc<str>>,
    /// Where they are many: documents among the pages that name them.
    pub(in crate::mongo) freed_in: Vec<Arc<str>>,
    /// Where it asks that the next one be left to who made it: how long others wait.
    pub(in crate::mongo) turn: Option<Duration>,
}

impl Commit {
    /// One that follows a state and keeps its tree.
    pub(in crate::mongo) fn after(state: &State, changes: Option<Changes>) -> Self {
        let version = state.version + 1;
        Self {
            version,
            transaction: transaction_name(version, rand::rng().next_u64()),
            follows: state.transaction.to_string(),
            changes,
            tree: state.tree.clone(),
            tree_of: state.tree_of,
            freed: Vec::new(),
            freed_in: Vec::new(),
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
            "of": signed(self.tree_of),
        };
        if let Some(changes) = &self.changes {
            document.insert("changes", changes_field(changes));
        }
        if !self.freed_in.is_empty() {
            document.insert("freed_in", self.freed_in.concat());
        }
        if !self.freed.is_empty() || !self.freed_in.is_empty() {
            document.insert("freed", self.freed.concat());
        }
        if let Some(turn) = self.turn {
            document.insert("turn_ms", turn.as_millis() as i64);
        }
        document
    }

    pub(in crate::mongo) fn read(document: &Document) -> Result<Self> {
        Self::fields(document).ok_or_else(|| corrupt("a commit"))
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
        let tree_of = version_in(document, "of").filter(|of| *of <= version)?;
        let turn = version_in(document, "turn_ms").map(Duration::from_millis);
        Some(Self {
            version,
            transaction: document.get_str("transaction").ok()?.to_owned(),
            follows: document.get_str("follows").ok()?.to_owned(),
            changes,
            tree: Tree { root, height },
            tree_of,
            freed: names_in(document, "freed")?,
            freed_in: names_in(document, "freed_in")?,
            turn: turn.map(|turn| turn.min(TURN_MAX)),
        })
    }
}

/// The names of pages in a field: one after the other.
pub(super) fn names_in(document: &Document, field: &str) -> Option<Vec<Arc<str>>> {
    let Ok(names) = document.get_str(field) else {
        return Some(Vec::new());
    };
    let parts = names.as_bytes().chunks(PAGE_NAME_BYTES);
    let names = parts.map(|name| std::str::from_utf8(name).ok().map(Arc::from));
    names.collect()
}

/// How long after it was the newest, at most, a state is presumed to be that still: a second.
const PRESUMED_FOR: Duration = Duration::from_secs(1);

/// How many versions are remembered of the time that old ones are kept.
const SEEN_PARTS: u32 = 16;

/// A moment at which the server was asked.
#[derive(Clone, Copy, Debug)]
pub(in crate::mongo) struct Sight {
    pub(in crate::mongo) at: Instant,
    /// How often connections had been lost by then: afterwards it may not be the same server.
    interruptions: u64,
}

/// What this process knows of the chain.
pub(in crate::mongo) struct Chain {
    /// How long what is not of the newest state is kept.
    keep: Duration,
    known: Mutex<Known>,
    /// The commits that this process has made or seen last.
    pub(in crate::mongo) recent: RecentCommits,
}

struct Known {
    /// The newest that it has seen.
    state: Arc<State>,
    /// When that was the newest of all.
    confirmed: Option<Sight>,
    /// Some versions that were the newest, each with a time by which it was: no snapshot of an older one
    /// was taken after that, or but a moment after.
    seen: BTreeMap<u64, Instant>,
    /// The versions that this process made last, one after the other; 0, which nobody made, where it has
    /// made none.
    own: RangeInclusive<u64>,
    /// The newest version that was shown without asking whether there is a newer one.
    presumed: u64,
}

impl Chain {
    pub(in crate::mongo) fn new(keep: Duration) -> Self {
        Self {
            keep,
            known: Mutex::new(Known {
                state: Arc::new(State::first()),
                confirmed: None,
                seen: BTreeMap::new(),
                own: 0..=0,
                presumed: 0,
            }),
            recent: RecentCommits::after(Version(0)),
        }
    }

    /// Learns of a state that this process made, in the place after what was the newest `from` then on.
    pub(in crate::mongo) fn learn_made(
        &self,
        state: &Arc<State>,
        changes: Option<Changes>,
        from: Sight,
    ) {
        self.learn_newest(state, changes, from);
        let own = &mut self.known.lock().own;
        let first = match *own.end() + 1 == state.version {
            true => *own.start(),
            false => state.version,
        };
        *own = first..=state.version;
    }

    /// The newest state that this process knows, where it is probably still the newest of all: this process
    /// made it, and the one before, a moment ago.
    fn presume(&self) -> Option<Arc<State>> {
        let mut known = self.known.lock();
        let (version, own) = (known.state.version, &known.own);
        let is_own = version == *own.end() && version > *own.start();
        let moment = PRESUMED_FOR.min(self.keep / SEEN_PARTS);
        let is_new = known.confirmed?.at.elapsed() < moment;
        if !is_own || !is_new {
            return None;
        }
        known.presumed = known.presumed.max(version);
        Some(Arc::clone(&known.state))
    }

    /// Whether a snapshot of this version may be of a state that was presumed to be the newest.
    pub(in crate::mongo) fn may_be_presumed(&self, version: u64) -> bool {
        version <= self.known.lock().presumed
    }

    /// The newest state that this process knows, and when it was the newest.
    fn known(&self) -> (Arc<State>, Option<Sight>) {
        let known = self.known.lock();
        (Arc::clone(&known.state), known.confirmed)
    }

    /// Learns of a state, and what the commit changed that made it, where that can be told. `confirmed` is
    /// a time since when nothing after it was deleted.
    fn learn(&self, state: &Arc<State>, changes: Option<Changes>, confirmed: Sight) {
        let mut known = self.known.lock();
        if state.version > known.state.version {
            self.recent.push_or_reset(Version(state.version), changes);
            known.state = Arc::clone(state);
            known.confirmed = Some(confirmed);
        } else if state.version == known.state.version
            && known.confirmed.is_none_or(|known| known.at < confirmed.at)
        {
            known.confirmed = Some(confirmed);
        }
    }

    /// Learns of a state that was the newest at a time between then and now.
    pub(in crate::mongo) fn learn_newest(
        &self,
        state: &Arc<State>,
        changes: Option<Changes>,
        from: Sight,
    ) {
        let to = Instant::now();
        self.learn(state, changes, from);
        let mut known = self.known.lock();
        let last = known.seen.last_key_value();
        if last.is_none_or(|(_, at)| *at + self.keep / SEEN_PARTS <= to) {
            known.seen.insert(state.version, to);
        }
        while known.seen.len() > 1 {
            let second = known.seen.values().nth(1);
            if second.is_none_or(|at| at.elapsed() < self.keep) {
                break;
            }
            known.seen.pop_first();
        }
    }

    /// The newest version of those that were seen longer ago than what was replaced is kept. What
    /// makes up the newest state is not before it.
    pub(in crate::mongo) fn oldest_kept(&self) -> Option<u64> {
        let known = self.known.lock();
        let mut seen = known.seen.iter().rev();
        let (version, _) = seen.find(|(_, at)| at.elapsed() >= self.keep)?;
        Some((*version).min(known.state.tree_of))
    }
}

impl Engine {
    /// The newest state, and a time at which it was the newest.
    ///
    /// A commit is deleted only when the one after it is older than [`Self::keep`]. So when a
    /// process knew half that time ago that there was none after it, then the absence of the next
    /// one says that there still is none; after a longer time it has to look for the newest.
    pub(in crate::mongo) fn newest(&self) -> Result<(Arc<State>, Sight)> {
        let (mut state, confirmed) = self.chain.known();
        let Some(known_at) = confirmed.filter(|known_at| self.is_fresh(*known_at)) else {
            return self.look_for_newest();
        };
        let asked = self.sight();
        let mut commits = Vec::from_iter(self.commit_at(state.version + 1)?);
        if commits.is_empty() && self.is_fresh(known_at) {
            self.chain.learn_newest(&state, None, asked);
            return Ok((state, asked));
        }
        // Where there is one, there may be more.
        loop {
            let asked = self.sight();
            let last = commits
                .last()
                .map_or(state.version, |commit| commit.version);
            let more = self.commits(between(last, VERSION_MAX))?;
            let is_all = more.len() < COMMITS_AT_ONCE;
            commits.extend(more);
            for commit in commits.drain(..) {
                if commit.version != state.version + 1 || !self.is_fresh(known_at) {
                    return self.look_for_newest();
                }
                // It follows what was the newest at that time.
                state = Arc::new(state.after(&commit)?);
                self.chain.learn(&state, commit.changes, known_at);
            }
            if !self.is_fresh(known_at) {
                return self.look_for_newest();
            }
            if is_all {
                self.chain.learn_newest(&state, None, asked);
                return Ok((state, asked));
            }
        }
    }

    /// The newest state, or one that is that probably: a change is worked out on it.
    pub(in crate::mongo) fn presumed_newest(&self) -> Result<Arc<State>> {
        match self.chain.presume() {
            Some(state) => Ok(state),
            None => Ok(self.newest()?.0),
        }
    }

    /// Looks for commits of others, to tell of them: one may be found a moment after it was acknowledged.
    pub(in crate::mongo) fn follow(&self) -> Result<()> {
        let (state, confirmed) = self.chain.known();
        let next = Query::of_id(&version_text(state.version + 1)).perhaps_late();
        if self.server.has_majority()
            && confirmed.is_some_and(|known_at| self.is_fresh(known_at))
            && self.commits(next)?.is_empty()
        {
            return Ok(());
        }
        self.newest().map(drop)
    }

    /// The newest state that this process knows, without asking where none after it can have been
    /// deleted yet: whoever then inserts the commit after it is refused where there is one.
    pub(in crate::mongo) fn presumed(&self) -> Result<(Arc<State>, Sight)> {
        let (state, confirmed) = self.chain.known();
        match confirmed.filter(|known_at| self.is_fresh(*known_at)) {
            Some(known_at) => Ok((state, known_at)),
            None => self.newest(),
        }
    }

    /// Whether a state is still the newest, of which that is known since a time.
    pub(in crate::mongo) fn is_last(&self, state: &Arc<State>, known_at: Sight) -> Result<bool> {
        let asked = self.sight();
        let mut query = Query::of_id(&version_text(state.version + 1));
        query.fields = doc! { "_id": 1 };
        let next = self.server.find("commits", query)?;
        let is_last = next.is_empty() && self.is_fresh(known_at);
        if is_last {
            self.chain.learn_newest(state, None, asked);
        }
        Ok(is_last)
    }

    /// Whether what was the newest then cannot have been deleted, and has not been lost.
    pub(in crate::mongo) fn is_fresh(&self, known_at: Sight) -> bool {
        known_at.at.elapsed() < self.keep / 2
            && known_at.interruptions == self.server.interruptions()
    }

    /// This moment.
    pub(in crate::mongo) fn sight(&self) -> Sight {
        let interruptions = self.server.interruptions();
        let at = Instant::now();
        Sight { at, interruptions }
    }

    /// The newest state, whatever this process knows.
    pub(in crate::mongo) fn look_for_newest(&self) -> Result<(Arc<State>, Sight)> {
        let deadline = Instant::now() + self.server.timeout;
        let mut looks = 0;
        while looks < LOOKS_MAX {
            let (known, _) = self.chain.known();
            let asked = self.sight();
            let query = Query::new(doc! { "_id": { "$gte": "" } }, -1, 1);
            let newest = self.commits(query)?.pop();
            if !self.has(&known, newest.as_ref())? {
                if self.server.is_replicated && asked.at < deadline {
                    thread::sleep(LATE_LOOK);
                    continue;
                }
                return Err(self.lost(&known));
            }
            let state = match newest {
                None => Some(State::first()),
                Some(newest) => self.state_of(&newest)?,
            };
            if let Some(state) = state {
                let state = Arc::new(state);
                self.chain.learn_newest(&state, None, asked);
                return Ok((state, asked));
            }
            looks += 1;
        }
        // Nobody deletes what a newest state is made of, unless there is a newer one.
        Err(corrupt("commits are missing"))
    }

    /// Whether the server has a state that this process knows, by what is the newest there.
    fn has(&self, known: &State, newest: Option<&Commit>) -> Result<bool> {
        Ok(match newest {
            None => known.version == 0,
            Some(newest) if newest.version < known.version => false,
            Some(newest) if newest.version == known.version => {
                newest.transaction == *known.transaction
            }
            // Its commit may have been deleted since.
            Some(_) => match self.commit_at(known.version)? {
                Some(commit) => {
                    commit.transaction == *known.transaction || self.floor()? > known.version
                }
                None => true,
            },
        })
    }

    /// Whether the commit that made a state, which was the newest a moment ago, is still there.
    pub(in crate::mongo) fn has_still(&self, state: &State) -> Result<bool> {
        if state.version == 0 {
            return Ok(true);
        }
        let commit = self.commit_at(state.version)?;
        Ok(commit.is_some_and(|commit| commit.transaction == *state.transaction))
    }

    /// The server is not what it was.
    pub(in crate::mongo) fn lost(&self, known: &State) -> Error {
        let message = format!(
            "MongoDB at {} has lost commits that were acknowledged: this process has seen version \
             {}, and it is not there any more; open it again",
            self.server.place, known.version
        );
        Error::new(ErrorKind::Corrupt, message)
    }

    /// The state that a commit made; `None` where one that it follows is not there any more.
    fn state_of(&self, newest: &Commit) -> Result<Option<State>> {
        let mut state = State {
            tree: newest.tree.clone(),
            version: newest.tree_of,
            tree_of: newest.tree_of,
            ..State::first()
        };
        if newest.version == newest.tree_of {
            state.transaction = newest.transaction.as_str().into();
        }
        let mut is_first = true;
        while state.version < newest.version {
            let commits = self.commits(between(state.version, newest.version))?;
            if commits.is_empty() {
                return Ok(None);
            }
            for commit in commits {
                if commit.version != state.version + 1 || commit.tree_of != state.tree_of {
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

    /// The commits that follow a version, the first of them at least, up to a newest one; none where
    /// they are not kept.
    pub(in crate::mongo) fn commits_after(&self, after: u64, newest: u64) -> Result<Vec<Commit>> {
        let mut commits = match newest - after <= STEPS_MAX {
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
        // Where some were deleted, a process that was halted since before may have put one of its own
        // into the place, for the moment until it sees that.
        if after + 1 < self.floor()? {
            commits.clear();
        }
        Ok(commits)
    }

    /// The commit of a version, where there is one.
    pub(in crate::mongo) fn commit_at(&self, version: u64) -> Result<Option<Commit>> {
        Ok(self.commits(Query::of_id(&version_text(version)))?.pop())
    }
}

/// The first commits after a version, up to another.
fn between(after: u64, last: u64) -> Query {
    let (from, to) = (version_text(after), version_text(last));
    let filter = doc! { "_id": { "$gt": from, "$lte": to } };
    Query::new(filter, 1, COMMITS_AT_ONCE)
}
