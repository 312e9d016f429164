//! Reusable threads that call providers: a new thread per call would cost as much as a small result, and
//! its allocations could not be reused.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

/// How long a thread waits for its next task before it ends.
const WORKER_IDLE: Duration = Duration::from_secs(10);

/// A task; must not panic.
type Task = Box<dyn FnOnce() + Send>;

/// Threads that wait for tasks. Their number is limited only by the callers: a task never waits for
/// another.
#[derive(Default)]
pub(super) struct Workers {
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    waiting: Vec<(u64, Sender<Task>)>,
    /// The number of the next thread.
    next: u64,
}

impl Workers {
    /// Runs a task on an idle thread, or on a new one.
    ///
    /// # Errors
    /// The system's error if no thread can be created.
    pub fn run(self: &Arc<Self>, task: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut task: Task = Box::new(task);
        let number = {
            let mut idle = self.idle.lock();
            while let Some((_, worker)) = idle.waiting.pop() {
                // A popped thread is still waiting: it removes itself under this lock.
                match worker.send(task) {
                    Ok(()) => return Ok(()),
                    Err(back) => task = back.0,
                }
            }
            idle.next += 1;
            idle.next
        };
        let workers = Arc::downgrade(self);
        let thread = thread::Builder::new().name(format!("provider {number}"));
        thread.spawn(move || work(&workers, number, task)).map(drop)
    }

    /// Removes a thread from the idle ones; false if it was given a task meanwhile.
    fn remove_idle(&self, number: u64) -> bool {
        let mut idle = self.idle.lock();
        let at = idle.waiting.iter().position(|(other, _)| *other == number);
        at.map(|at| idle.waiting.remove(at)).is_some()
    }
}

/// The thread's main function: runs tasks until it was idle too long or the registry is gone.
fn work(workers: &Weak<Workers>, number: u64, first: Task) {
    let mut task = first;
    loop {
        task();
        let (sender, receiver) = channel();
        let Some(pool) = workers.upgrade() else {
            return;
        };
        pool.idle.lock().waiting.push((number, sender));
        drop(pool);
        task = match receiver.recv_timeout(WORKER_IDLE) {
            Ok(task) => task,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let Some(pool) = workers.upgrade() else {
                    return;
                };
                if pool.remove_idle(number) {
                    return;
                }
                match receiver.recv() {
                    Ok(task) => task,
                    Err(_) => return,
                }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn threads_are_reused_and_tasks_do_not_wait_for_each_other() {
        let workers = Arc::new(Workers::default());
        let (sender, receiver) = sync_channel(8);
        let (release, held) = channel::<()>();
        // The first task occupies its thread until the others are done.
        workers
            .run(move || assert!(held.recv().is_err()))
            .expect("a thread");
        for _ in 0..50 {
            let sender = sender.clone();
            let send = move || sender.send(()).expect("the receiver exists");
            workers.run(send).expect("a thread");
            receiver.recv_timeout(WORKER_IDLE).expect("an answer");
            while workers.idle.lock().waiting.is_empty() {
                thread::yield_now();
            }
        }
        assert_eq!(workers.idle.lock().next, 2, "two threads ran all tasks");
        drop(release);
    }
}
