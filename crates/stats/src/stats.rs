//! An open store of statistics.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use espalier_keyspace::{Batch, Driver, GroupQueue, Transact};
use parking_lot::RwLock;

use crate::calendar::seconds;
use crate::layout::Layout;
use crate::limits::GROUP_WRITES_MAX;
use crate::retention_clock::{RetentionClock, TrustedTime};
use crate::{
    Calendar, Clock, Error, ErrorKind, Granularity, Metric, Outcome, PathValues, Request, Result,
    Settings, Timestamp, Write,
};

/// The statistics below a key prefix. May be shared between threads.
///
/// Concurrent writes of several processes to one key space are added up exactly.
pub struct Stats {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) layout: Layout,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) retention_clock: RetentionClock,
    pub(crate) active: RwLock<Arc<ActiveSettings>>,
    pub(crate) queue: GroupQueue<Request, Result<Outcome>>,
    /// The row of the settings has the current format.
    pub(crate) has_format: AtomicBool,
}

/// The settings and their calendar.
pub(crate) struct ActiveSettings {
    pub(crate) settings: Settings,
    pub(crate) calendar: Calendar,
}

impl ActiveSettings {
    fn new(settings: Settings) -> Result<Self> {
        settings.check()?;
        let calendar = settings.calendar()?;
        Ok(Self { settings, calendar })
    }

    /// The start before which buckets of a granularity have expired, if it has a retention. A bucket is kept
    /// until its end is older than the retention.
    pub(crate) fn kept_from(
        &self,
        granularity: Granularity,
        now: Timestamp,
    ) -> Result<Option<i64>> {
        let Some(&kept) = self.settings.retention.get(&granularity) else {
            return Ok(None);
        };
        let kept = i64::try_from(kept).unwrap_or(i64::MAX);
        let since = seconds(now).saturating_sub(kept);
        if since < crate::limits::TIME_MIN {
            return Ok(None);
        }
        let since = Timestamp::from_second(since).unwrap_or(Timestamp::MIN);
        Ok(Some(self.calendar.bucket(granularity, since)?.start))
    }
}

impl Stats {
    /// Opens the statistics below `prefix`, with the stored settings, or the default ones if none are stored.
    /// Writes nothing.
    pub fn open(driver: Arc<dyn Driver>, prefix: &[u8], clock: Arc<dyn Clock>) -> Result<Self> {
        let layout = Layout::new(prefix);
        let settings = stored_settings(&*driver, &layout)?.unwrap_or_default();
        let trusted = driver
            .snapshot()?
            .get(&layout.clock())?
            .map(|trusted| TrustedTime::decode(&trusted));
        Ok(Self {
            retention_clock: RetentionClock::new(&*clock, trusted.transpose()?),
            active: RwLock::new(Arc::new(ActiveSettings::new(settings)?)),
            queue: GroupQueue::new(GROUP_WRITES_MAX, |request: &Request| {
                request.writes.len().max(1)
            }),
            has_format: AtomicBool::new(false),
            driver,
            layout,
            clock,
        })
    }

    /// Stores settings. A change of the time zone or the first day of weeks is rejected if settings are
    /// stored already.
    pub fn configure(&self, settings: Settings) -> Result<()> {
        let active = ActiveSettings::new(settings)?;
        let encoded = active.settings.encode()?;
        self.driver.catch_up()?;
        let key = self.layout.settings();
        let newest = || Ok(self.driver.snapshot()?);
        Transact::<Error>::new(&*self.driver).run(&newest, &mut |snapshot| {
            let stored = snapshot.get(&key)?.map(Cow::into_owned);
            if let Some(stored) = &stored
                && let Some(stored) = Settings::decode(stored)?
            {
                active.settings.check_against(&stored)?;
            }
            let mut batch = Batch::new();
            batch.require(key.clone(), stored);
            batch.put(key.clone(), encoded.clone());
            Ok((batch, ()))
        })?;
        *self.active.write() = Arc::new(active);
        Ok(())
    }

    /// Brings the driver's caches and the settings up to date: every later read shows all earlier commits of
    /// any process. Costs one request to the engine.
    pub fn refresh(&self) -> Result<()> {
        let settings = stored_settings(&*self.driver, &self.layout)?.unwrap_or_default();
        if self.active().settings != settings {
            *self.active.write() = Arc::new(ActiveSettings::new(settings)?);
        }
        Ok(())
    }

    /// The settings.
    pub fn settings(&self) -> Settings {
        self.active().settings.clone()
    }

    /// The calendar of the settings.
    pub fn calendar(&self) -> Calendar {
        self.active().calendar.clone()
    }

    /// Adds values to the buckets that contain `at`, one of each granularity.
    pub fn track(
        &self,
        metric: impl Into<Metric>,
        at: Timestamp,
        values: PathValues,
    ) -> Result<()> {
        self.submit(Write::track(metric, at, values)).map(drop)
    }

    /// Sets values in the buckets that contain `at`. Other values are unchanged.
    pub fn assert(
        &self,
        metric: impl Into<Metric>,
        at: Timestamp,
        values: PathValues,
    ) -> Result<()> {
        self.submit(Write::assert(metric, at, values)).map(drop)
    }

    /// Executes a request: all of it in one commit, or nothing.
    pub fn submit(&self, request: impl Into<Request>) -> Result<Outcome> {
        let request = request.into();
        request.check()?;
        let outcome = self
            .queue
            .submit(request, &|requests| self.commit(&requests));
        outcome.unwrap_or_else(|| {
            let message = "the thread that committed this request panicked";
            Err(Error::new(ErrorKind::Keyspace, message))
        })
    }

    /// Whether any granularity retains the bucket of a time.
    pub fn keeps(&self, at: Timestamp) -> bool {
        let active = self.active();
        let now = self.retention_now();
        active.settings.granularities.iter().any(|&granularity| {
            // A time without buckets is reported when it is written.
            let kept_from = active.kept_from(granularity, now).ok().flatten();
            kept_from.is_none_or(|kept_from| {
                let bucket = active.calendar.bucket(granularity, at);
                bucket.is_ok_and(|bucket| bucket.start >= kept_from)
            })
        })
    }

    /// The time that decides about expiry.
    pub(crate) fn retention_now(&self) -> Timestamp {
        self.retention_clock.now(&*self.clock)
    }

    /// The trusted time, if it is to be stored with the next commit: only if anything can expire, and about
    /// once an hour.
    pub(crate) fn trusted_time_to_store(&self, active: &ActiveSettings) -> Option<TrustedTime> {
        match active.settings.retention.is_empty() {
            true => None,
            false => self.retention_clock.to_store(),
        }
    }

    pub(crate) fn active(&self) -> Arc<ActiveSettings> {
        Arc::clone(&self.active.read())
    }
}

fn stored_settings(driver: &dyn Driver, layout: &Layout) -> Result<Option<Settings>> {
    driver.catch_up()?;
    let snapshot = driver.snapshot()?;
    match snapshot.get(&layout.settings())? {
        Some(stored) => Settings::decode(&stored),
        None => Ok(None),
    }
}
