//! Mutated messages: none makes the server panic or hang, or breaks the frames and the XML of its replies.
//!
//! Each target begins with the files of its folder in `corpus/`. It runs for `ESPALIER_FUZZ_SECONDS`, or one second, from
//! the seed in `ESPALIER_FUZZ_SEED`, or a random one, which it prints.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::fuzz_targets;
use crate::support::Fixture;

/// The longest input.
const INPUT_BYTES_MAX: usize = 4096;

/// Parts that messages are made of.
const WORDS: [&str; 24] = [
    "\n#",
    "\n##\n",
    "]]>]]>",
    "]]>",
    "#1\n",
    "<",
    "/>",
    "</",
    "<!--",
    "-->",
    "<![CDATA[",
    "<?x?>",
    "<!DOCTYPE a>",
    "&amp;",
    "&#0;",
    "&#x10FFFF;",
    "&x;",
    " xmlns=\"\"",
    " xmlns:a=\"urn:m\"",
    "a:",
    " nc:operation=\"delete\"",
    "é",
    "\u{10ffff}",
    "\0",
];

/// A number from an environment variable.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs a target on mutations of its corpus.
fn run(name: &str, mut target: impl FnMut(&[u8], &mut StdRng)) {
    let seed = setting("ESPALIER_FUZZ_SEED").unwrap_or_else(rand::random);
    let time = Duration::from_secs(setting("ESPALIER_FUZZ_SECONDS").unwrap_or(1));
    let mut random = StdRng::seed_from_u64(seed);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/netconf/corpus");
    let files = std::fs::read_dir(folder.join(name)).expect("a folder");
    let mut corpus: Vec<_> = files
        .map(|file| std::fs::read(file.expect("a file").path()).expect("a file"))
        .collect();
    corpus.sort();
    let (started, mut count) = (Instant::now(), 0);
    while started.elapsed() < time {
        let input = match corpus.get(count) {
            Some(input) => input.clone(),
            None => mutated(&corpus, &mut random),
        };
        let ran = catch_unwind(AssertUnwindSafe(|| target(&input, &mut random)));
        if let Err(panic) = ran {
            eprintln!(
                "{name}, seed {seed}, input {count}: “{}”",
                input.escape_ascii()
            );
            resume_unwind(panic);
        }
        count += 1;
    }
    println!("{name}, seed {seed}: {count} inputs");
}

/// An input with a few changes.
fn mutated(corpus: &[Vec<u8>], random: &mut StdRng) -> Vec<u8> {
    let mut input = corpus[random.random_range(0..corpus.len())].clone();
    for _ in 0..random.random_range(1..8) {
        let at = random.random_range(0..=input.len());
        let end = (at + random.random_range(0..32)).min(input.len());
        let word = WORDS[random.random_range(0..WORDS.len())].as_bytes();
        match random.random_range(0..7) {
            0 if at < input.len() => input[at] = random.random(),
            1 => drop(input.drain(at..end)),
            2 => {
                let part = input[at..end].to_vec();
                let times = random.random_range(1..8);
                drop(input.splice(at..at, part.repeat(times)));
            }
            3 => {
                let other = &corpus[random.random_range(0..corpus.len())];
                let from = random.random_range(0..=other.len());
                let to = (from + random.random_range(0..64)).min(other.len());
                drop(input.splice(at..end, other[from..to].iter().copied()));
            }
            4 => drop(input.splice(at..end, word.iter().copied())),
            _ => drop(input.splice(at..at, word.iter().copied())),
        }
        input.truncate(INPUT_BYTES_MAX);
    }
    input
}

/// The input, split at two places.
fn pieces<'i>(input: &'i [u8], random: &mut StdRng) -> [&'i [u8]; 3] {
    let first = random.random_range(0..=input.len());
    let second = random.random_range(first..=input.len());
    [&input[..first], &input[first..second], &input[second..]]
}

#[test]
fn framing() {
    run("framing", |input, random| {
        fuzz_targets::framing(&pieces(input, random));
    });
}

#[test]
fn envelope() {
    let fixture = Fixture::new();
    let mut session = None;
    run("envelope", |input, _| {
        fuzz_targets::envelope(&fixture, &mut session, input);
    });
}

#[test]
fn hello() {
    let fixture = Fixture::new();
    run("hello", |input, _| fuzz_targets::hello(&fixture, input));
}

#[test]
fn subtree() {
    let fixture = Fixture::new();
    fuzz_targets::add_data(&fixture);
    run("subtree", |input, _| fuzz_targets::subtree(&fixture, input));
}
