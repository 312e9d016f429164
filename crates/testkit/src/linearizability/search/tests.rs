use rand::Rng;
use rand::rngs::StdRng;

use super::*;
use crate::seed;

/// A register with a number, initially 0.
struct Register;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Read(u8),
    Write(u8),
    Swap { from: u8, to: u8 },
    Refused { not: u8 },
}

use Act::{Read, Refused, Swap, Write};

impl Object for Register {
    type State = u8;
    type Act = Act;

    fn start(&self) -> u8 {
        0
    }

    fn step(&self, state: &u8, act: &Act) -> Option<u8> {
        match *act {
            Read(value) => (*state == value).then_some(value),
            Write(value) => Some(value),
            Swap { from, to } => (*state == from).then_some(to),
            Refused { not } => (*state != not).then_some(*state),
        }
    }
}

/// Parses calls and returns, written as two numbers each; without the second one if the operation never
/// returned.
fn history(acts: &[(&str, Act)]) -> Vec<Operation<Act>> {
    let operation = |(times, act): &(&str, Act)| {
        let (called, returned) = times.split_once('-').expect("two times");
        Operation {
            called: called.parse().expect("a time"),
            returned: (!returned.is_empty()).then(|| returned.parse().expect("a time")),
            act: *act,
        }
    };
    acts.iter().map(operation).collect()
}

#[track_caller]
fn check(acts: &[(&str, Act)], is_linearizable: bool) {
    let history = history(acts);
    let verdict = search(&Register, &history, 1_000_000);
    let found = matches!(verdict, Verdict::Linearizable(_));
    assert_eq!(found, is_linearizable, "{verdict:?}");
    assert_eq!(brute_force(&history), is_linearizable);
}

#[test]
fn one_after_the_other() {
    check(&[], true);
    check(
        &[("1-2", Read(0)), ("3-4", Write(1)), ("5-6", Read(1))],
        true,
    );
    check(&[("1-2", Write(1)), ("3-4", Read(0))], false);
    check(&[("1-2", Read(1)), ("3-4", Write(1))], false);
}

#[test]
fn at_the_same_time() {
    check(&[("1-4", Write(1)), ("2-3", Read(0))], true);
    check(&[("1-4", Write(1)), ("2-3", Read(1))], true);
    // A value that one reader has seen is seen by all later ones.
    let seen = [("1-9", Write(1)), ("2-3", Read(1)), ("4-5", Read(0))];
    check(&seen, false);
    let two = [
        ("1-9", Write(1)),
        ("1-9", Write(2)),
        ("2-3", Read(1)),
        ("4-5", Read(2)),
    ];
    check(&two, true);
    let back = [&two[..], &[("6-7", Read(1))]].concat();
    check(&back, false);
}

#[test]
fn operations_that_meet_at_one_time_overlap() {
    check(&[("1-2", Write(1)), ("2-3", Read(0))], true);
}

#[test]
fn swaps() {
    let swap = Swap { from: 0, to: 1 };
    check(&[("1-4", swap), ("2-3", Refused { not: 0 })], true);
    check(&[("1-4", swap), ("1-4", swap)], false);
    check(&[("1-2", Refused { not: 0 }), ("3-4", swap)], false);
}

#[test]
fn an_operation_that_never_returned_may_apply_at_any_time_or_never() {
    check(&[("1-", Write(1)), ("2-3", Read(0))], true);
    check(&[("1-", Write(1)), ("2-3", Read(1))], true);
    let late = [("1-", Write(1)), ("2-3", Read(0)), ("4-5", Read(1))];
    check(&late, true);
    check(&[&late[..], &[("6-7", Read(0))]].concat(), false);
    check(&[("2-3", Read(1)), ("4-", Write(1))], false);
}

#[test]
fn the_operation_that_does_not_fit_is_reported() {
    let history = history(&[("1-2", Write(1)), ("3-4", Read(2)), ("5-6", Write(3))]);
    let verdict = search(&Register, &history, 1000);
    let order = vec![0];
    assert_eq!(verdict, Verdict::Impossible { order, stuck: 1 });
}

#[test]
fn a_search_stops_at_its_limit() {
    let history = history(&[("1-2", Write(1)), ("3-4", Read(2))]);
    assert_eq!(search(&Register, &history, 1), Verdict::GivenUp);
}

/// Thousands of operations, some of which never return, are searched in time.
#[test]
fn a_long_history() {
    seed::run("a long history", |random| {
        let history = linearizable_history(random, 20_000, 8, 500);
        let verdict = search(&Register, &history, 10_000_000);
        assert!(matches!(verdict, Verdict::Linearizable(_)));
    });
}

/// Likewise with one impossible result, at any position.
#[test]
fn a_long_history_with_one_impossible_result() {
    seed::run("an impossible result", |random| {
        let mut history = linearizable_history(random, 20_000, 8, u32::MAX);
        let wrong = random.random_range(0..history.len());
        history[wrong].act = Read(200);
        let verdict = search(&Register, &history, 10_000_000);
        assert!(matches!(verdict, Verdict::Impossible { .. }), "{verdict:?}");
    });
}

/// A linearizable history of `threads` threads on one register, in which one operation in `lost` never
/// returns.
fn linearizable_history(
    random: &mut StdRng,
    count: usize,
    threads: usize,
    lost: u32,
) -> Vec<Operation<Act>> {
    let (mut state, mut free) = (0, vec![0; threads]);
    let mut history = Vec::new();
    for now in (1..).step_by(10).take(count) {
        let thread = random.random_range(0..threads);
        let called = random.random_range(now.min(free[thread])..=now);
        free[thread] = now + random.random_range(0..30);
        let act = match random.random_range(0..4) {
            0 => Write(random.random_range(0..100)),
            1 => {
                let to = random.random_range(0..100);
                Swap { from: state, to }
            }
            2 => Refused { not: 100 },
            _ => Read(state),
        };
        state = Register
            .step(&state, &act)
            .expect("the operation is possible");
        let returned = (!random.random_ratio(1, lost)).then_some(free[thread]);
        history.push(Operation {
            called,
            returned,
            act,
        });
    }
    history.sort_by_key(|operation| operation.called);
    history
}

/// Small random histories: the result equals that of trying all orders, and a returned order is valid.
#[test]
fn random_histories_have_the_same_result_as_brute_force() {
    seed::run("random histories", |random| {
        let mut linearizable = 0;
        for _ in 0..5000 {
            let count = random.random_range(0..=6);
            let history: Vec<_> = (0..count).map(|_| any(random)).collect();
            let expected = brute_force(&history);
            linearizable += u32::from(expected);
            match search(&Register, &history, 1_000_000) {
                Verdict::Linearizable(order) => {
                    assert!(expected, "{history:?}");
                    assert!(is_order(&history, &order), "{order:?} of {history:?}");
                }
                Verdict::Impossible { .. } => assert!(!expected, "{history:?}"),
                Verdict::GivenUp => panic!("too many steps for {history:?}"),
            }
        }
        assert!((500..4500).contains(&linearizable), "{linearizable}");
    });
}

fn any(random: &mut StdRng) -> Operation<Act> {
    let mut value = || random.random_range(0..3);
    let (one, two) = (value(), value());
    let act = match random.random_range(0..6) {
        0..3 => Read(one),
        3 => Write(one),
        4 => Swap { from: one, to: two },
        _ => Refused { not: one },
    };
    let called = random.random_range(0..12);
    let returned = called + random.random_range(0..6);
    Operation {
        called,
        returned: (!random.random_ratio(1, 4)).then_some(returned),
        act,
    }
}

/// Whether any order of the operations, including all that returned, is valid.
fn brute_force(history: &[Operation<Act>]) -> bool {
    fn extend(history: &[Operation<Act>], order: &mut Vec<usize>) -> bool {
        if is_order(history, order) {
            return true;
        }
        (0..history.len()).any(|next| {
            if order.contains(&next) {
                return false;
            }
            order.push(next);
            let found = extend(history, order);
            order.pop();
            found
        })
    }
    extend(history, &mut Vec::new())
}

fn is_order(history: &[Operation<Act>], order: &[usize]) -> bool {
    let is_complete = (0..history.len())
        .all(|number| history[number].returned.is_none() || order.contains(&number));
    let is_in_time = order.iter().enumerate().all(|(place, first)| {
        let earlier = |later: &usize| match history[*later].returned {
            Some(returned) => returned >= history[*first].called,
            None => true,
        };
        order[place..].iter().all(earlier)
    });
    let end = order.iter().try_fold(0, |state, number| {
        Register.step(&state, &history[*number].act)
    });
    is_complete && is_in_time && end.is_some()
}
