//! What a program does when documents change.

/// One changed document.
#[derive(Debug)]
pub struct Changed<'a, T> {
    /// Its key.
    pub key: u64,
    /// What it was; none where it is new.
    pub old: Option<&'a T>,
    /// What it is; none where it is deleted.
    pub new: Option<&'a T>,
}

/// Code of the program that is called for each inserted, updated or deleted document. A closure
/// that takes a [`Changed`] and returns a `Result` is one that only checks.
pub trait Trigger<T>: Send + Sync + 'static {
    /// Called before anything is written, and again where the transaction is tried again. An error
    /// refuses the change, and is told to the caller.
    fn check(&self, change: &Changed<'_, T>) -> Result<(), String> {
        let _ = change;
        Ok(())
    }

    /// Called once after the commit, in the order of commits of one thread.
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
