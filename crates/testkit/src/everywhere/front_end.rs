//! The interface of a front end.

use super::operation::Request;
use super::outcome::{Outcome, State};

/// Something that a front end cannot express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name, in [`Outcome::Inexpressible`].
    pub name: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// The numbers from which those of a case are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// The version of running.
    pub version: u64,
    /// The time, in milliseconds since 1970. Earlier events are those of other cases, or have a time of their own.
    pub time_ms: u64,
}

/// A front end with a store of its own.
pub trait FrontEnd {
    /// Runs an operation.
    fn run(&mut self, request: &Request) -> Outcome;

    /// Everything that the front end cannot express. Each entry must occur in the table.
    fn limits(&self) -> &'static [Limit];

    /// The outcome that the front end must have, given that of the library. Differs only where its protocol
    /// prescribes another form.
    fn expected(&self, request: &Request, reference: &Outcome) -> Outcome {
        let _ = request;
        reference.clone()
    }

    /// The name of the session under which the library runs what the front end cannot express because of a limit, if the
    /// server gives sessions other names.
    fn session_name(&self, name: &'static str, limit: &str) -> &'static str {
        let _ = limit;
        name
    }

    /// Replaces the names of sessions in a state, if the front end gives them others.
    fn rename_sessions(&mut self, state: &mut State) {
        let _ = state;
    }

    /// Is called at the start of each case.
    fn start_case(&mut self, base: Base) {
        let _ = base;
    }
}

/// The store below a front end, opened by the library.
pub trait StoreAccess: FrontEnd {
    /// Resets every datastore and session. Returns the version of running.
    fn reset(&mut self) -> u64;

    /// The state.
    fn state(&mut self) -> State;
}
