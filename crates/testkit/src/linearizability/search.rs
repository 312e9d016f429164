//! The search for a linearization: Wing and Gong 1993, with the cache of Lowe 2017.
//!
//! Operations are applied as early as possible, in the order of their calls. If the first remaining return
//! belongs to an operation that could not be applied, the search backtracks. Visited configurations (the
//! set of applied operations and the state) are cached and not visited again.
//! nowhere again.

use std::collections::HashSet;
use std::hash::Hash;

/// An object whose operations are executed one by one.
pub trait Object {
    /// The state between operations.
    type State: Clone + Eq + Hash;
    /// An operation with its result.
    type Act;

    /// The initial state.
    fn start(&self) -> Self::State;

    /// The state after an operation; `None` if the operation cannot have its result in this state.
    fn step(&self, state: &Self::State, act: &Self::Act) -> Option<Self::State>;
}

/// An operation with the times of its call and return, by one clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<A> {
    /// The time of the call; the operation is executed after it.
    pub called: u64,
    /// The time of the return; the operation is executed before it. [`u64::MAX`] if it was executed at an
    /// unknown time after the call; `None` if it is unknown whether it was executed.
    pub returned: Option<u64>,
    /// The operation with its result.
    pub act: A,
}

/// The result of a search. Operations are given by their index in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The history is linearizable, in this order.
    Linearizable(Vec<usize>),
    /// The history is not linearizable.
    Impossible {
        /// The longest partial order found.
        order: Vec<usize>,
        /// The operation that had returned by then and could not be applied.
        stuck: usize,
    },
    /// The search was aborted at its step limit.
    GivenUp,
}

// Histories contain processes that were killed, which `todc-utils` does not accept: docs/decisions/0063.
/// Searches for a linearization, in at most this many steps.
pub fn search<O: Object>(object: &O, history: &[Operation<O::Act>], steps_max: u64) -> Verdict {
    Search::new(object, history).run(steps_max)
}

/// The index of the list head.
const HEAD: usize = 0;

/// A call or a return in the list of remaining entries.
#[derive(Clone, Copy)]
struct Entry {
    operation: usize,
    is_call: bool,
    before: usize,
    after: usize,
}

struct Search<'a, O: Object> {
    object: &'a O,
    history: &'a [Operation<O::Act>],
    /// The first is the head; its `before` is the last entry.
    entries: Vec<Entry>,
    /// The entry of the return of each operation.
    returns: Vec<Option<usize>>,
    applied: AppliedSet,
    /// The applied calls, each with the state before it.
    order: Vec<(usize, O::State)>,
    visited: HashSet<(usize, Box<[u64]>, O::State)>,
    /// Number of remaining operations that have returned.
    remaining: usize,
    longest: Vec<usize>,
    stuck: usize,
}

impl<'a, O: Object> Search<'a, O> {
    fn new(object: &'a O, history: &'a [Operation<O::Act>]) -> Self {
        // At equal times, calls precede returns: such operations overlap.
        let mut moments = Vec::new();
        for (number, operation) in history.iter().enumerate() {
            moments.push((operation.called, false, number));
            moments.extend(operation.returned.map(|returned| (returned, true, number)));
        }
        moments.sort_unstable();
        let count = moments.len();
        let mut returns = vec![None; history.len()];
        let head = Entry {
            operation: usize::MAX,
            is_call: false,
            before: count,
            after: 1 % (count + 1),
        };
        let mut entries = vec![head];
        for (at, (_, is_return, operation)) in (1..).zip(moments) {
            if is_return {
                returns[operation] = Some(at);
            }
            entries.push(Entry {
                operation,
                is_call: !is_return,
                before: at - 1,
                after: (at + 1) % (count + 1),
            });
        }
        Self {
            object,
            history,
            entries,
            remaining: returns.iter().flatten().count(),
            returns,
            applied: AppliedSet::none(history.len()),
            order: Vec::new(),
            visited: HashSet::new(),
            longest: Vec::new(),
            stuck: 0,
        }
    }

    fn run(mut self, steps_max: u64) -> Verdict {
        let mut state = self.object.start();
        let mut at = self.entries[HEAD].after;
        for _ in 0..steps_max {
            if self.remaining == 0 {
                return Verdict::Linearizable(self.operations());
            }
            let entry = self.entries[at];
            if entry.is_call {
                at = match self.apply(at, &mut state) {
                    true => self.entries[HEAD].after,
                    false => entry.after,
                };
                continue;
            }
            if self.order.len() >= self.longest.len() {
                self.longest = self.operations();
                self.stuck = entry.operation;
            }
            let Some((call, before)) = self.order.pop() else {
                let (order, stuck) = (self.longest, self.stuck);
                return Verdict::Impossible { order, stuck };
            };
            state = before;
            self.undo(call);
            at = self.entries[call].after;
        }
        Verdict::GivenUp
    }

    fn operations(&self) -> Vec<usize> {
        let applied = self.order.iter();
        applied
            .map(|(call, _)| self.entries[*call].operation)
            .collect()
    }

    /// Applies the operation of a call, if its result is possible and the configuration is new.
    fn apply(&mut self, call: usize, state: &mut O::State) -> bool {
        let operation = self.entries[call].operation;
        let act = &self.history[operation].act;
        let Some(next) = self.object.step(state, act) else {
            return false;
        };
        self.applied.flip(operation);
        let (from, words) = self.applied.key();
        if !self.visited.insert((from, words, next.clone())) {
            self.applied.flip(operation);
            return false;
        }
        self.order.push((call, std::mem::replace(state, next)));
        self.unlink(call);
        if let Some(returned) = self.returns[operation] {
            self.unlink(returned);
            self.remaining -= 1;
        }
        true
    }

    fn undo(&mut self, call: usize) {
        let operation = self.entries[call].operation;
        self.applied.flip(operation);
        // In reverse order, so that each entry finds its neighbours.
        if let Some(returned) = self.returns[operation] {
            self.relink(returned);
            self.remaining += 1;
        }
        self.relink(call);
    }

    fn unlink(&mut self, at: usize) {
        let Entry { before, after, .. } = self.entries[at];
        self.entries[before].after = after;
        self.entries[after].before = before;
    }

    fn relink(&mut self, at: usize) {
        let Entry { before, after, .. } = self.entries[at];
        self.entries[before].after = at;
        self.entries[after].before = at;
    }
}

/// A set of operations. Nearly all with small indexes are in it, and none with large ones.
struct AppliedSet {
    words: Vec<u64>,
}

impl AppliedSet {
    fn none(count: usize) -> Self {
        Self {
            words: vec![0; count.div_ceil(64)],
        }
    }

    fn flip(&mut self, operation: usize) {
        self.words[operation / 64] ^= 1 << (operation % 64);
    }

    /// A compact form: the number of full words, and the following words up to the last non-zero one.
    fn key(&self) -> (usize, Box<[u64]>) {
        let full = self.words.iter().take_while(|word| **word == u64::MAX);
        let from = full.count();
        let end = self.words.iter().rposition(|word| *word != 0);
        let end = end.map_or(from, |end| (end + 1).max(from));
        (from, self.words[from..end].into())
    }
}

#[cfg(test)]
mod tests;
