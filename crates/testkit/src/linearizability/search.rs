//! The search for an order: Wing and Gong 1993, with the memory of Lowe 2017.
//!
//! Operations are taken as soon as possible, in the order of their calls. Where the first return
//! that is left belongs to an operation that could not be taken, the last choice is taken back.
//! What was reached, which operations are taken and the state, is remembered: reached again, it leads
//! nowhere again.

use std::collections::HashSet;
use std::hash::Hash;

/// Something whose operations happen one by one.
pub trait Object {
    /// What it is before and after an operation.
    type State: Clone + Eq + Hash;
    /// An operation with its answer.
    type Act;

    /// The state before everything.
    fn start(&self) -> Self::State;

    /// The state after an operation; `None` where it cannot have its answer in this state.
    fn step(&self, state: &Self::State, act: &Self::Act) -> Option<Self::State>;
}

/// An operation, when it was called and when it returned, by one clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<A> {
    /// When it was called: it happened later.
    pub called: u64,
    /// When it returned: it happened before; [`u64::MAX`] where it is known to have happened, and
    /// not when. `None` where nobody knows whether it happened: at any time after the call, or never.
    pub returned: Option<u64>,
    /// What was done, and the answer.
    pub act: A,
}

/// What a search came to. Operations are given by their place in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They can have happened in this order.
    Linearizable(Vec<usize>),
    /// They cannot have happened in any order.
    Impossible {
        /// The longest order that was found.
        order: Vec<usize>,
        /// The operation that had returned then and did not fit in.
        stuck: usize,
    },
    /// The search was given up after so many steps.
    GivenUp,
}

/// Looks for an order, in so many steps at most.
pub fn search<O: Object>(object: &O, history: &[Operation<O::Act>], steps_max: u64) -> Verdict {
    Search::new(object, history).run(steps_max)
}

/// The place of the entry before all others in the list.
const HEAD: usize = 0;

/// A call or a return in the list of those that are left.
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
    /// The first is the head, and its `before` the last.
    entries: Vec<Entry>,
    /// The entry of each operation's return.
    returns: Vec<Option<usize>>,
    taken: Taken,
    /// Calls that were taken, each with the state before it.
    order: Vec<(usize, O::State)>,
    reached: HashSet<(usize, Box<[u64]>, O::State)>,
    /// Operations left that have to be taken.
    left: usize,
    longest: Vec<usize>,
    stuck: usize,
}

impl<'a, O: Object> Search<'a, O> {
    fn new(object: &'a O, history: &'a [Operation<O::Act>]) -> Self {
        // Of what happened at the same time, calls come first: they overlap.
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
            left: returns.iter().flatten().count(),
            returns,
            taken: Taken::none(history.len()),
            order: Vec::new(),
            reached: HashSet::new(),
            longest: Vec::new(),
            stuck: 0,
        }
    }

    fn run(mut self, steps_max: u64) -> Verdict {
        let mut state = self.object.start();
        let mut at = self.entries[HEAD].after;
        for _ in 0..steps_max {
            if self.left == 0 {
                return Verdict::Linearizable(self.operations());
            }
            let entry = self.entries[at];
            if entry.is_call {
                at = match self.take(at, &mut state) {
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
            self.put_back(call);
            at = self.entries[call].after;
        }
        Verdict::GivenUp
    }

    fn operations(&self) -> Vec<usize> {
        let taken = self.order.iter();
        taken
            .map(|(call, _)| self.entries[*call].operation)
            .collect()
    }

    /// Takes the operation of a call, where it has its answer and leads to what is new.
    fn take(&mut self, call: usize, state: &mut O::State) -> bool {
        let operation = self.entries[call].operation;
        let act = &self.history[operation].act;
        let Some(next) = self.object.step(state, act) else {
            return false;
        };
        self.taken.flip(operation);
        let (from, words) = self.taken.key();
        if !self.reached.insert((from, words, next.clone())) {
            self.taken.flip(operation);
            return false;
        }
        self.order.push((call, std::mem::replace(state, next)));
        self.lift(call);
        if let Some(returned) = self.returns[operation] {
            self.lift(returned);
            self.left -= 1;
        }
        true
    }

    fn put_back(&mut self, call: usize) {
        let operation = self.entries[call].operation;
        self.taken.flip(operation);
        // In the opposite order, so that each finds its neighbours.
        if let Some(returned) = self.returns[operation] {
            self.unlift(returned);
            self.left += 1;
        }
        self.unlift(call);
    }

    fn lift(&mut self, at: usize) {
        let Entry { before, after, .. } = self.entries[at];
        self.entries[before].after = after;
        self.entries[after].before = before;
    }

    fn unlift(&mut self, at: usize) {
        let Entry { before, after, .. } = self.entries[at];
        self.entries[before].after = at;
        self.entries[after].before = at;
    }
}

/// A set of operations. Nearly all before some place are in it, and none after another.
struct Taken {
    words: Vec<u64>,
}

impl Taken {
    fn none(count: usize) -> Self {
        Self {
            words: vec![0; count.div_ceil(64)],
        }
    }

    fn flip(&mut self, operation: usize) {
        self.words[operation / 64] ^= 1 << (operation % 64);
    }

    /// The set, short: how many words are full, and those after them up to the last that is not empty.
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
