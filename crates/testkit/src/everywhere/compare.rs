//! Compares the run of a front end with that of the library.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::case::{Case, Expected, Step};
use super::front_end::FrontEnd;
use super::outcome::{Outcome, ReportedError};
use super::run::Observation;

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The operations whose outcomes were compared with those of the library.
    pub compared: usize,
    /// The operations that the library has types for: their outcomes were compared with the table.
    pub compared_with_table: usize,
    /// The number of operations for each limit of the front end.
    pub limited: BTreeMap<&'static str, usize>,
    /// Every disagreement, as text.
    pub disagreements: Vec<String>,
}

/// Compares each observation of a front end with that of the library, and with the expected kind of outcome.
pub fn compare(
    front_end: &dyn FrontEnd,
    cases: &[Case],
    reference: &[Observation],
    found: &[Observation],
) -> Comparison {
    let mut comparison = Comparison::default();
    let steps = cases.iter().flat_map(|case| {
        case.steps
            .iter()
            .enumerate()
            .map(move |(at, step)| (case, at, step))
    });
    for (((case, at, step), reference), found) in steps.zip(reference).zip(found) {
        let place = format!("{}, step {}: {:?}", case.name, at + 1, step.request);
        comparison.step(front_end, step, (reference, found), &place);
    }
    comparison.check_limits(front_end);
    comparison
}

impl Comparison {
    fn step(
        &mut self,
        front_end: &dyn FrontEnd,
        step: &Step,
        (reference, found): (&Observation, &Observation),
        place: &str,
    ) {
        if found.state != reference.state {
            self.disagree(place, "the state", &reference.state, &found.state);
        }
        if let Outcome::Inexpressible(limit) = found.outcome {
            *self.limited.entry(limit).or_default() += 1;
            return;
        }
        match reference.outcome {
            Outcome::Inexpressible(_) => self.compared_with_table += 1,
            _ => self.compared += 1,
        }
        let expected = front_end.expected(&step.request, &reference.outcome);
        match (&expected, &found.outcome) {
            // The library has a type in place of the text: only the kind of outcome is known.
            (Outcome::Inexpressible(_), outcome) if is_of_kind(outcome, step.expected) => {}
            (Outcome::Inexpressible(_), outcome) => {
                self.disagree(place, "the kind of outcome", &step.expected, outcome);
            }
            (expected, outcome) if !is_same(expected, outcome) => {
                self.disagree(place, "the outcome", expected, outcome);
            }
            _ => {}
        }
    }

    fn disagree(
        &mut self,
        place: &str,
        what: &str,
        expected: &dyn std::fmt::Debug,
        found: &dyn std::fmt::Debug,
    ) {
        let text = format!("{place}\n  {what}\n    expected {expected:?}\n    found    {found:?}");
        self.disagreements.push(text);
    }

    /// Every limit that was met is in the list.
    fn check_limits(&mut self, front_end: &dyn FrontEnd) {
        let limits = front_end.limits();
        for name in self.limited.keys() {
            if !limits.iter().any(|limit| limit.name == *name) {
                let text = format!("the limit “{name}” is not in the list of the front end");
                self.disagreements.push(text);
            }
        }
    }

    /// The limits of the front end that no operation met, as text.
    pub fn unmet_limits(&self, front_end: &dyn FrontEnd) -> Vec<String> {
        let limits = front_end.limits().iter();
        let unmet = limits.filter(|limit| !self.limited.contains_key(limit.name));
        unmet
            .map(|limit| format!("no operation meets the limit “{}”", limit.name))
            .collect()
    }
}

/// Every step whose outcome is not of the expected kind, as text. What the library expresses by types is left out.
pub fn unexpected(cases: &[Case], found: &[Observation]) -> Vec<String> {
    let steps = cases
        .iter()
        .flat_map(|case| case.steps.iter().map(move |step| (case, step)));
    let steps = steps.zip(found).filter(|((_, step), found)| {
        let is_typed = matches!(found.outcome, Outcome::Inexpressible(_));
        !is_typed && !is_of_kind(&found.outcome, step.expected)
    });
    let text = |((case, step), found): ((&Case, &Step), &Observation)| {
        let Step { request, expected } = step;
        format!(
            "{}: {request:?}\n    expected {expected:?}\n    found    {:?}",
            case.name, found.outcome
        )
    };
    steps.map(text).collect()
}

/// Whether the reference has the outcome that the table expects.
fn is_of_kind(outcome: &Outcome, expected: Expected) -> bool {
    match (outcome, expected) {
        (Outcome::Success(_), Expected::Success) | (Outcome::Missing, Expected::Missing) => true,
        (Outcome::Success(Json::Array(events)), Expected::Events(count)) => events.len() == count,
        (Outcome::Failure(_), Expected::Error(tag)) => outcome.tag() == Some(tag),
        _ => false,
    }
}

fn is_same(expected: &Outcome, found: &Outcome) -> bool {
    match (expected, found) {
        (Outcome::Failure(expected), Outcome::Failure(found)) => {
            let is_same = |(expected, found)| is_same_error(expected, found);
            expected.len() == found.len() && expected.iter().zip(found).all(is_same)
        }
        (expected, found) => expected == found,
    }
}

/// Lines are compared if both front ends sent the same document.
fn is_same_error(expected: &ReportedError, found: &ReportedError) -> bool {
    let is_same_line = match (expected.line, found.line) {
        (Some(expected), Some(found)) => expected == found,
        _ => true,
    };
    let without_line = |error: &ReportedError| ReportedError {
        line: None,
        ..error.clone()
    };
    is_same_line && without_line(expected) == without_line(found)
}
