//! Reads past events, in the order of their times.

use std::collections::VecDeque;
use std::sync::Arc;

use espalier_store::{Error, Result, Timestamp, Tree};
use espalier_yang::ErrorTag;

use super::context::EventContext;
use super::event::Event;
use super::logged_event::event_of;
use super::stream::Source;
use super::{commit_event, position::Position};

/// The number of commits that are read together.
const COMMITS_PAGE: u64 = 100;

/// Which past events are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// The first time.
    pub start: Option<Timestamp>,
    /// The last time.
    pub stop: Option<Timestamp>,
}

impl Times {
    pub fn include(&self, time: Timestamp) -> bool {
        self.start.is_none_or(|start| start <= time) && self.stop.is_none_or(|stop| time <= stop)
    }

    /// Rejects times that RFC 5277 §2.1.1 does not allow.
    pub fn check(self, now: Timestamp) -> Result<()> {
        let wrong = match self {
            Self {
                start: Some(start), ..
            } if start > now => "the start time is in the future",
            Self {
                start: Some(start),
                stop: Some(stop),
            } if stop < start => "the stop time is before the start time",
            Self {
                start: None,
                stop: Some(stop),
            } if stop < now => {
                "the stop time is in the past: without a start time, no events are replayed"
            }
            _ => return Ok(()),
        };
        Err(Error::data(ErrorTag::InvalidValue, wrong))
    }
}

/// A read of past events from a position to the newest ones.
pub(super) struct Replay {
    /// What is read next.
    pub position: Position,
    times: Times,
    log: Buffer,
    commits: Buffer,
}

/// The events of a source that were read.
#[derive(Default)]
struct Buffer {
    events: VecDeque<Arc<Event>>,
    /// Whether there are no more.
    is_read: bool,
    /// Whether events that were deleted before the next page is read were never part of the replay.
    begins: bool,
}

impl Buffer {
    fn needs_page(&self) -> bool {
        self.events.is_empty() && !self.is_read
    }

    fn is_finished(&self) -> bool {
        self.events.is_empty() && self.is_read
    }

    fn time(&self) -> Option<Timestamp> {
        self.events.front().map(|event| event.time())
    }
}

/// Some events of a replay.
#[derive(Default)]
pub(super) struct ReplayPage {
    pub events: Vec<Arc<Event>>,
    /// The number of events that were deleted from the log before they were read.
    pub deleted: u64,
}

impl Replay {
    /// A read of the events of some sources from a position on.
    pub fn new(sources: &[Source], position: Position, times: Times) -> Self {
        let mut replay = Self {
            position,
            times,
            log: Buffer::default(),
            commits: Buffer::default(),
        };
        replay.read_on(sources);
        replay
    }

    /// A read from a time on.
    pub fn from_time(tree: &Tree, sources: &[Source], times: Times) -> Result<Self> {
        let start = times.start.unwrap_or_default();
        let position = Position {
            sequence: tree.event_sequence_at(start)?,
            version: version_at(tree, start)?,
            part: 0,
        };
        let mut replay = Self::new(sources, position, times);
        replay.log.begins = true;
        replay.commits.begins = true;
        Ok(replay)
    }

    /// Replaces the last time.
    pub fn set_stop(&mut self, stop: Option<Timestamp>) {
        self.times.stop = stop;
    }

    /// Continues with events that were appended since.
    pub fn read_on(&mut self, sources: &[Source]) {
        self.log.is_read = !sources.contains(&Source::Log);
        self.commits.is_read = !sources.contains(&Source::Commits);
    }

    pub fn is_finished(&self) -> bool {
        self.log.is_finished() && self.commits.is_finished()
    }

    /// Reads some events. Blocks.
    pub fn read(&mut self, context: &dyn EventContext, tree: &Tree) -> Result<ReplayPage> {
        let mut page = ReplayPage::default();
        if self.log.needs_page() {
            self.read_log(context, tree, &mut page)?;
        }
        if self.commits.needs_page() {
            self.read_commits(context, tree, &mut page)?;
        }
        while !self.log.needs_page() && !self.commits.needs_page() {
            let next = match (self.log.time(), self.commits.time()) {
                (None, None) => break,
                (Some(logged), Some(committed)) if committed < logged => &mut self.commits,
                (Some(_), _) => &mut self.log,
                (None, Some(_)) => &mut self.commits,
            };
            page.events.extend(next.events.pop_front());
        }
        Ok(page)
    }

    fn read_log(
        &mut self,
        context: &dyn EventContext,
        tree: &Tree,
        page: &mut ReplayPage,
    ) -> Result<()> {
        let read = tree.events_from(self.position.sequence)?;
        let times = self.times;
        let wanted = read
            .records
            .iter()
            .filter(|record| times.include(record.time));
        for record in wanted {
            match event_of(tree, &|| context.server_schema(), record) {
                Ok(event) => self.log.events.push_back(Arc::new(event)),
                Err(error) => {
                    if !tree.is_current()? {
                        self.log.events.clear();
                        let message = "the models were replaced while events were read";
                        return Err(Error::data(ErrorTag::InUse, message));
                    }
                    let sequence = record.sequence;
                    tracing::debug!(%error, sequence, "a recorded event does not fit the models");
                }
            }
        }
        if !std::mem::take(&mut self.log.begins) {
            page.deleted += read.deleted;
        }
        self.position.sequence = self.position.sequence.max(read.next);
        self.log.is_read = read.is_last;
        if let Some(stop) = self.times.stop
            && let Some(last) = read.records.last()
            && tree.are_events_logged(&tree.event_log()?, stop, last.logged)
        {
            self.log.is_read = true;
        }
        Ok(())
    }

    fn read_commits(
        &mut self,
        context: &dyn EventContext,
        tree: &Tree,
        page: &mut ReplayPage,
    ) -> Result<()> {
        let newest = tree.view()?.version()?;
        let first = self.position.version;
        let last = newest.min(first + COMMITS_PAGE - 1);
        if last < first {
            self.commits.is_read = true;
            return Ok(());
        }
        let commits = tree.history(Some(last), COMMITS_PAGE as usize)?;
        let wanted = commits
            .iter()
            .rev()
            .filter(|commit| commit.version >= first);
        let oldest = wanted
            .clone()
            .next()
            .map_or(last + 1, |commit| commit.version);
        if !std::mem::take(&mut self.commits.begins) {
            page.deleted += oldest - first;
        }
        (self.position.version, self.position.part) = (last + 1, 0);
        self.commits.is_read = last == newest;
        let server_schema = context.server_schema()?;
        for commit in wanted {
            if self.times.stop.is_some_and(|stop| commit.time > stop) {
                self.commits.is_read = true;
            }
            if self.times.include(commit.time) {
                let events = commit_event::events_of(tree, &server_schema, commit)?;
                self.commits.events.extend(events);
            }
        }
        Ok(())
    }
}

/// The time of the last event of some sources before a time.
pub(super) fn previous_event_time(
    tree: &Tree,
    sources: &[Source],
    time: Timestamp,
) -> Result<Option<Timestamp>> {
    let mut last = None;
    if sources.contains(&Source::Log) {
        let before = tree.event_sequence_at(time)?.saturating_sub(1);
        let records = tree.events_from(before)?.records.into_iter();
        last = records
            .map(|record| record.time)
            .find(|&found| found < time);
    }
    if sources.contains(&Source::Commits) {
        let before = version_at(tree, time)? - 1;
        let commits = tree.history(Some(before), 1)?;
        last = last.max(commits.first().map(|commit| commit.time));
    }
    Ok(last)
}

/// A version at or before the first commit from a time on.
fn version_at(tree: &Tree, time: Timestamp) -> Result<u64> {
    let (mut low, mut high) = (1, tree.view()?.version()? + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let commit = tree.history(Some(middle), 1)?;
        // A version without a commit is not kept any more.
        match commit.first().is_none_or(|commit| commit.time < time) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}
