//! Runs the table on a front end.

use super::case::Case;
use super::front_end::{Base, FrontEnd, StoreAccess};
use super::moments::Moments;
use super::outcome::{Outcome, State};

/// What an operation did.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The outcome.
    pub outcome: Outcome,
    /// The state after it.
    pub state: State,
}

/// Runs every step of the cases. What the front end cannot express is applied by the library, so that later steps find
/// the same state. Without a front end, the library runs all.
pub fn run(
    mut front_end: Option<&mut dyn FrontEnd>,
    store: &mut dyn StoreAccess,
    cases: &[Case],
) -> Vec<Observation> {
    let mut observations = Vec::new();
    for case in cases {
        let version = store.reset();
        let mut moments = Moments::of(case);
        let time_ms = moments.begin_step();
        let base = Base { version, time_ms };
        store.start_case(base);
        if let Some(front_end) = front_end.as_deref_mut() {
            front_end.start_case(base);
        }
        for step in &case.steps {
            let request = moments.resolve(&step.request);
            let outcome = match front_end.as_deref_mut() {
                Some(front_end) => front_end.run(&request),
                None => store.run(&request),
            };
            if let (Some(front_end), Outcome::Inexpressible(limit)) =
                (front_end.as_deref(), &outcome)
            {
                let session = front_end.session_name(request.session, limit);
                // Its outcome is that of the reference.
                let _ = store.run(&request.session(session));
            }
            moments.begin_step();
            let mut state = store.state();
            if let Some(front_end) = front_end.as_deref_mut() {
                front_end.rename_sessions(&mut state);
            }
            observations.push(Observation { outcome, state });
        }
    }
    observations
}
