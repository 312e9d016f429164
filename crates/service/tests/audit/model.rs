//! Random records and queries, compared with a list in memory.

use espalier_service::audit::{
    AuditCriteria, AuditEntry, AuditLog, AuditMode, AuditOperation, AuditOrder, AuditQuery,
    AuditRecord, AuditResult, AuditSettings, ResultCriterion, query,
};
use espalier_store::Timestamp;
use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::fixture::{Fixture, NOON, append, on_every_engine};

const USERS: &[&str] = &["ada", "bob", "ada2"];
const TAGS: &[&str] = &["access-denied", "lock-denied", "invalid-value"];
const PATHS: &[&str] = &["/m:a", "/m:a/b", "/m:a/b[k='1']", "/m:a/bc", "/n:x"];
const OPERATIONS: &[AuditOperation] = &[
    AuditOperation::Edit,
    AuditOperation::Login,
    AuditOperation::Invoke,
];

fn maybe<T: Copy>(random: &mut StdRng, choices: &[T]) -> Option<T> {
    let is_some = random.random_bool(0.5);
    is_some.then(|| *choices.choose(random).expect("choices"))
}

fn entry(random: &mut StdRng) -> AuditEntry {
    let operation = *OPERATIONS.choose(random).expect("operations");
    let paths = (0..random.random_range(0..3)).filter_map(|_| PATHS.choose(random));
    AuditEntry {
        paths: paths.map(|path| (*path).to_owned()).collect(),
        user: maybe(random, USERS).map(str::to_owned),
        result: match maybe(random, TAGS) {
            Some(tag) => AuditResult::Error(tag.to_owned()),
            None => AuditResult::Ok,
        },
        ..AuditEntry::new(operation)
    }
}

fn random_query(random: &mut StdRng) -> AuditQuery {
    let time = |random: &mut StdRng| Timestamp(NOON.0 + random.random_range(0..400));
    let mut results = vec![ResultCriterion::Ok, ResultCriterion::AnyError];
    results.extend(
        TAGS.iter()
            .map(|tag| ResultCriterion::ErrorTag((*tag).to_owned())),
    );
    let has_result = random.random_bool(0.5);
    AuditQuery {
        from: random.random_bool(0.5).then(|| time(random)),
        until: random.random_bool(0.5).then(|| time(random)),
        criteria: AuditCriteria {
            user: maybe(random, USERS).map(str::to_owned),
            session: None,
            operation: maybe(random, OPERATIONS),
            result: has_result.then(|| results.choose(random).expect("results").clone()),
            path_prefix: maybe(random, PATHS).map(str::to_owned),
        },
        order: match random.random_bool(0.5) {
            true => AuditOrder::NewestFirst,
            false => AuditOrder::OldestFirst,
        },
        limit: random.random_range(0..6),
        after: None,
    }
}

/// The reference: a path prefix is compared step by step.
fn is_selected(record: &AuditRecord, selected: &AuditQuery) -> bool {
    let entry = &record.entry;
    let criteria = &selected.criteria;
    let steps = |path: &str| {
        path.replace('[', "/[")
            .split('/')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let is_result = match &criteria.result {
        None => true,
        Some(ResultCriterion::Ok) => entry.result == AuditResult::Ok,
        Some(ResultCriterion::AnyError) => entry.result != AuditResult::Ok,
        Some(ResultCriterion::ErrorTag(tag)) => entry.result.name() == tag,
    };
    let is_below = |prefix: &String| {
        entry
            .paths
            .iter()
            .any(|path| steps(path).starts_with(&steps(prefix)))
    };
    selected.from.is_none_or(|from| record.time >= from)
        && selected.until.is_none_or(|until| record.time < until)
        && criteria
            .user
            .as_ref()
            .is_none_or(|user| entry.user.as_ref() == Some(user))
        && criteria
            .operation
            .is_none_or(|operation| entry.operation == operation)
        && criteria.path_prefix.as_ref().is_none_or(is_below)
        && is_result
}

fn check_query(fixture: &Fixture, model: &[AuditRecord], selected: &AuditQuery) {
    let mut expected: Vec<_> = model
        .iter()
        .filter(|record| is_selected(record, selected))
        .collect();
    expected.sort_by_key(|record| record.sequence);
    if selected.order == AuditOrder::NewestFirst {
        expected.reverse();
    }
    let snapshot = fixture.driver.snapshot().expect("a snapshot");
    let mut page_query = selected.clone();
    let mut found = Vec::new();
    loop {
        let page = query(&*snapshot, &page_query).expect("a page");
        assert!(selected.limit == 0 || page.records.len() <= selected.limit);
        found.extend(page.records);
        page_query.after = page.next;
        if page.next.is_none() {
            break;
        }
    }
    assert!(
        found.iter().eq(expected.iter().copied()),
        "{selected:?}: {found:#?}"
    );
}

#[test]
fn random_queries_return_what_a_list_would() {
    seed::run("random_queries_return_what_a_list_would", |random| {
        let first = random.random::<u64>();
        on_every_engine(|fixture| {
            let mut random = <StdRng as rand::SeedableRng>::seed_from_u64(first);
            let logs = [fixture.log(), fixture.log()];
            let mut model = Vec::new();
            for _ in 0..random.random_range(1..300) {
                run_step(&fixture, &logs, &mut model, &mut random);
            }
            logs.iter().for_each(AuditLog::close);
            for _ in 0..60 {
                check_query(&fixture, &model, &random_query(&mut random));
            }
        });
    });
}

fn run_step(
    fixture: &Fixture,
    logs: &[AuditLog; 2],
    model: &mut Vec<AuditRecord>,
    random: &mut StdRng,
) {
    fixture.clock.advance_ms(random.random_range(0..3));
    let log = logs.choose(random).expect("logs");
    if random.random_bool(0.02) {
        let mode = match random.random_bool(0.5) {
            true => AuditMode::Relaxed,
            false => AuditMode::Strict,
        };
        let settings = AuditSettings {
            mode,
            ..AuditSettings::default()
        };
        log.set_settings(settings).expect("stored");
    }
    let entry = entry(random);
    let sequence = append(log, entry.clone());
    let time = sequence.time();
    model.push(AuditRecord {
        sequence,
        time,
        entry,
    });
}
