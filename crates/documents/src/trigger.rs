//! Triggers: program code that runs when documents change.

/// One changed document.
#[derive(Debug)]
pub struct Changed<'a, T> {
    /// Its key.
    pub key: u64,
    /// The old document; `None` if it is new.
    pub old: Option<&'a T>,
    /// The new document; `None` if it is deleted.
    pub new: Option<&'a T>,
}

/// Program code that is called for each inserted, updated or deleted document. A closure that takes a
/// [`Changed`] and returns a `Result` is a trigger with a check only.
pub trait Trigger<T>: Send + Sync + 'static {
    /// Called before anything is written, and again if the transaction is retried. An error rejects the
    /// change, and is returned to the caller.
    fn check(&self, change: &Changed<'_, T>) -> Result<(), String> {
        let _ = change;
        Ok(())
    }

    /// Called once after the commit, in commit order within one thread.
    fn changed(&self, change: &Changed<'_, T>) {
        let _ = change;
    }
}

impl<T, F> Trigger<T> for F
where
    F: Fn(&Changed<'_, T>) -> Result<(), String> + Send + Sync + 'static,
{
    fn check(&self, change: &Changed<'_, T>) -> Result<(), String> {
        self(change)
    }
}
