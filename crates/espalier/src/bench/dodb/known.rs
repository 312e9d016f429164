//! What DODB and plain files take, as measured by us.

use espalier_documents::Policy;

use crate::bench::row::Peer;

/// Where the figures of DODB are from.
const DODB: &str = "measured by us: DODB 0.2.2 (Crystal 1.6.0, release), 2 cores, files in shared memory, \
                    medians";

/// Where the figures of files are from.
const FILES: &str = "measured by us: a C++ program with a file and a link for each document, 2 cores, files \
                     in shared memory, best of 4 runs";

/// Numbers of cars that there are figures for, and for each microseconds: adding a car, getting one
/// by index uncached, with a cached index, all cached.
const INDEX: [(u64, [f64; 4]); 5] = [
    (50_000, [331.0, 6.7, 7.7, 0.035]),
    (100_000, [554.0, 11.1, 10.1, 0.034]),
    (150_000, [572.0, 6.5, 5.4, 0.033]),
    (200_000, [593.0, 7.0, 6.0, 0.031]),
    (250_000, [513.0, 7.0, 6.9, 0.041]),
];

/// Numbers of cars that are found, and for each milliseconds: partition uncached, with a cached
/// index, all cached; a tag uncached, two tags.
const MATCHING: [(u64, [f64; 5]); 5] = [
    (1_000, [19.7, 19.9, 0.010, 20.9, 22.4]),
    (2_000, [45.1, 77.9, 0.021, 52.9, 52.6]),
    (3_000, [125.0, 112.0, 0.037, 140.0, 139.0]),
    (4_000, [153.0, 126.0, 0.091, 186.0, 144.0]),
    (5_000, [109.0, 99.6, 0.060, 112.0, 108.0]),
];

fn dodb(seconds: f64) -> Peer {
    Peer {
        name: "DODB".to_owned(),
        seconds,
        source: DODB.to_owned(),
    }
}

fn files(seconds: f64) -> Peer {
    Peer {
        name: "files".to_owned(),
        seconds,
        source: FILES.to_owned(),
    }
}

/// The column of a policy among uncached, index cached, all cached.
fn column(policy: Policy) -> usize {
    match policy {
        Policy::Uncached | Policy::Recent { .. } => 0,
        Policy::Indexed => 1,
        Policy::Cached | Policy::Ram => 2,
    }
}

/// Adding a car among so many.
pub fn insert(policy: Policy, size: u64) -> Vec<Peer> {
    if policy == Policy::Ram {
        return Vec::new();
    }
    let known = INDEX.iter().find(|(known, _)| *known == size);
    let known = known.map(|(_, figures)| dodb(figures[0] * 1e-6));
    known.into_iter().chain([files(40e-6)]).collect()
}

/// Getting any car by index among so many.
pub fn get_any(policy: Policy, size: u64) -> Vec<Peer> {
    let file = [3.4e-6, 3.6e-6, 0.55e-6][column(policy)];
    match column(policy) {
        // DODB's figures of what is in memory are of few cars that are asked for again and again.
        2 => vec![files(file)],
        _ => get_again(policy, size)
            .into_iter()
            .chain([files(file)])
            .collect(),
    }
}

/// Getting one of 100 cars by index among so many, again and again.
pub fn get_again(policy: Policy, size: u64) -> Vec<Peer> {
    let known = INDEX.iter().find(|(known, _)| *known == size);
    let known = known.map(|(_, figures)| dodb(figures[1 + column(policy)] * 1e-6));
    known.into_iter().collect()
}

/// Finding so many cars of a partition.
pub fn partition(policy: Policy, matching: u64) -> Vec<Peer> {
    let known = MATCHING.iter().find(|(known, _)| *known == matching);
    let known = known.map(|(_, figures)| dodb(figures[column(policy)] * 1e-3));
    let file = (matching == 5_000).then(|| files([52e-3, 40e-3, 0.021e-3][column(policy)]));
    known.into_iter().chain(file).collect()
}

/// Finding so many cars of a tag.
pub fn tag(policy: Policy, matching: u64) -> Vec<Peer> {
    of_tags(policy, matching, 3)
}

/// Finding so many cars that have two tags.
pub fn two_tags(policy: Policy, matching: u64) -> Vec<Peer> {
    of_tags(policy, matching, 4)
}

/// The figures of tags are of the uncached policy.
fn of_tags(policy: Policy, matching: u64, at: usize) -> Vec<Peer> {
    if policy != Policy::Uncached {
        return Vec::new();
    }
    let known = MATCHING.iter().find(|(known, _)| *known == matching);
    known
        .map(|(_, figures)| dodb(figures[at] * 1e-3))
        .into_iter()
        .collect()
}
