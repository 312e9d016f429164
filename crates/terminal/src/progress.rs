//! Progress bars: on a terminal only, and only for work that takes longer than a second.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// No bar is shown for work shorter than this.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// Progress of one piece of work.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    is_shown: bool,
}

impl Progress {
    /// A progress bar in bytes, of `total` if it is known.
    pub fn bytes(label: &'static str, total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => "{msg} {wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} eta {eta}",
            None => "{msg} {spinner} {bytes} {binary_bytes_per_sec} {elapsed}",
        };
        Self::new(label, total, template)
    }

    /// A progress bar that counts items.
    pub fn count(label: &'static str) -> Self {
        Self::new(
            label,
            None,
            "{msg} {spinner} {human_pos} {per_sec} {elapsed}",
        )
    }

    /// A progress bar that counts items, of `total` if it is known.
    pub fn count_of(label: &'static str, total: Option<u64>) -> Self {
        match total {
            Some(_) => {
                let template = "{msg} {wide_bar} {human_pos}/{human_len} {per_sec} eta {eta}";
                Self::new(label, total, template)
            }
            None => Self::count(label),
        }
    }

    fn new(label: &'static str, total: Option<u64>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(label);
        Self {
            bar,
            started: Instant::now(),
            is_shown: false,
        }
    }

    /// Sets the total amount done so far.
    pub fn set(&mut self, done: u64) {
        self.bar.set_position(done);
        if !self.is_shown && self.started.elapsed() > SHOWN_AFTER {
            self.is_shown = true;
            // The target hides the bar if standard error is not a terminal.
            self.bar
                .set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
    }

    /// Runs a function that writes to the terminal, with the bar hidden meanwhile.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// Ends the work and removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// A reader that shows its progress.
pub struct ProgressReader<R> {
    inner: R,
    done: u64,
    progress: Progress,
}

impl<R> ProgressReader<R> {
    /// Reads from `inner`, which has `total` bytes if that is known.
    pub fn new(inner: R, label: &'static str, total: Option<u64>) -> Self {
        Self {
            inner,
            done: 0,
            progress: Progress::bytes(label, total),
        }
    }

    /// The number of bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.done
    }

    /// Ends reading and removes the bar.
    pub fn finish(self) {
        self.progress.finish();
    }
}

impl<R: Read> Read for ProgressReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.done += count as u64;
        self.progress.set(self.done);
        Ok(count)
    }
}
