//! Forwarding, for drivers that wrap a driver.

/// Implements the named methods of [`Driver`](crate::Driver) or
/// [`DriverExtension`](crate::DriverExtension) by a call of the driver in a field:
///
/// ```ignore
/// impl Driver for Metered {
///     forward_driver!(name, capability, watch, usage, check => self.inner);
/// ```
///
/// A wrapper has an extension in any case, because the wrapped driver may have one.
#[macro_export]
macro_rules! forward_driver {
    ($($method:ident),+ => self.$inner:ident) => {
        $($crate::forward_driver!(@$method $inner);)+
    };
    (@name $inner:ident) => {
        fn name(&self) -> &'static str {
            self.$inner.name()
        }
    };
    (@capability $inner:ident) => {
        fn capability(&self) -> $crate::Capability {
            self.$inner.capability()
        }
    };
    (@snapshot $inner:ident) => {
        fn snapshot(&self) -> $crate::Result<Box<dyn $crate::Snapshot + Send>> {
            self.$inner.snapshot()
        }
    };
    (@commit $inner:ident) => {
        fn commit(&self, batch: $crate::Batch) -> $crate::Result<$crate::Committed> {
            self.$inner.commit(batch)
        }
    };
    (@write $inner:ident) => {
        fn write(
            &self,
            preconditions: &[$crate::Precondition],
            fill: $crate::WriteBody<'_>,
        ) -> $crate::Result<$crate::Version> {
            self.$inner.write(preconditions, fill)
        }
    };
    (@watch $inner:ident) => {
        fn watch(
            &self,
            range: $crate::KeyRange,
            after: $crate::Version,
        ) -> $crate::Result<Box<dyn $crate::Watch>> {
            self.$inner.watch(range, after)
        }
    };
    (@usage $inner:ident) => {
        fn usage(&self) -> $crate::Result<$crate::Usage> {
            self.$inner.usage()
        }
    };
    (@check $inner:ident) => {
        fn check(&self) -> $crate::Result<Vec<$crate::Finding>> {
            self.$inner.check()
        }
    };
    (@flush $inner:ident) => {
        fn flush(&self) -> $crate::Result<()> {
            self.$inner.flush()
        }
    };
    (@snapshot_for $inner:ident) => {
        fn snapshot_for(
            &self,
            purpose: $crate::Purpose,
            expect: $crate::Prefetch<'_>,
        ) -> $crate::Result<Box<dyn $crate::Snapshot + Send>> {
            self.$inner.snapshot_for(purpose, expect)
        }
    };
    (@is_current $inner:ident) => {
        fn is_current(&self, seen: $crate::Version) -> $crate::Result<bool> {
            self.$inner.is_current(seen)
        }
    };
    (@catch_up $inner:ident) => {
        fn catch_up(&self) -> $crate::Result<()> {
            self.$inner.catch_up()
        }
    };
    (@cache_status $inner:ident) => {
        fn cache_status(&self) -> $crate::CacheStatus {
            self.$inner.cache_status()
        }
    };
    (@tombstones_passed $inner:ident) => {
        fn tombstones_passed(&self) -> u64 {
            self.$inner.tombstones_passed()
        }
    };
    (@flush_all $inner:ident) => {
        fn flush_all(&self) -> $crate::Result<()> {
            self.$inner.flush_all()
        }
    };
    (@set_lens $inner:ident) => {
        fn set_lens(
            &self,
            lens: std::sync::Arc<dyn $crate::Lens>,
            take: $crate::ImportDocument<'_>,
        ) -> $crate::Result<()> {
            self.$inner.set_lens(lens, take)
        }
    };
}
