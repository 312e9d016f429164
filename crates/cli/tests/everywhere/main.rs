//! One table of operations, run through the library, the command line on a store, the command line on a server,
//! RESTCONF and NETCONF. Outcomes, errors and the resulting data must be equal, field by field.
//!
//! | file | content |
//! |---|---|
//! | `library.rs` | the reference, and the access to the stores of the others |
//! | `command_line.rs`, `arguments.rs` | the commands |
//! | `query_words.rs` | wrong words in queries that no command sends |
//! | `events.rs` | received events in comparable form |
//! | `restconf.rs` | the requests of RFC 8040 |
//! | `resource_edit.rs` | edits of a resource, as documents |
//! | `netconf.rs`, `netconf_rules.rs`, `netconf_documents.rs`, `netconf_client.rs` | the messages of RFC 6241 and RFC 8526 |
//! | `reported.rs` | errors and results in comparable form |
//!
//! A further front end is one more entry in `front_ends`. `ESPALIER_CASES` (a part of a name) selects cases.

mod arguments;
mod command_line;
mod events;
mod library;
mod netconf;
mod netconf_client;
mod netconf_documents;
mod netconf_rules;
#[allow(dead_code, reason = "shared with the test `cli`, which uses all of it")]
#[path = "../cli/process.rs"]
mod process;
mod query_words;
mod reported;
mod resource_edit;
mod restconf;

use std::collections::BTreeSet;
use std::thread;

use espalier_testkit::everywhere::{
    Case, DENIED_USER, EVENT_USER, Expected, FrontEnd, cases, compare, denied_cases,
    denied_event_cases, run, unexpected,
};

use espalier_yang::ErrorTag;

use crate::command_line::CommandLine;
use crate::library::{Library, new_store, new_store_with_users};
use crate::netconf::Netconf;
use crate::process::Sandbox;
use crate::restconf::Restconf;

/// Makes a front end on the store in a folder.
type Make = for<'s> fn(&'s Sandbox, Option<&str>) -> Box<dyn FrontEnd + 's>;

/// The command line on a store is without access control.
const ON_STORE: &str = "command line on a store";

fn front_ends() -> [(&'static str, Make); 6] {
    [
        (ON_STORE, |sandbox, _| {
            Box::new(CommandLine::on_store(sandbox))
        }),
        ("command line on a server", |sandbox, user| {
            Box::new(CommandLine::on_server(sandbox, user))
        }),
        ("RESTCONF", |sandbox, user| {
            Box::new(Restconf::start(sandbox, user))
        }),
        ("command line on an anchor of a server", |sandbox, user| {
            Box::new(CommandLine::on_anchor(sandbox, user))
        }),
        ("RESTCONF of an anchor", |sandbox, user| {
            Box::new(Restconf::start_on_anchor(sandbox, user))
        }),
        ("NETCONF", |sandbox, user| {
            Box::new(Netconf::start(sandbox, user))
        }),
    ]
}

fn selected(cases: impl IntoIterator<Item = Case>) -> Vec<Case> {
    let selected = std::env::var("ESPALIER_CASES").unwrap_or_default();
    let all = cases.into_iter();
    all.filter(|case| case.name.contains(&selected)).collect()
}

#[test]
fn the_table_has_enough_operations_of_each_kind() {
    let mut total = 0;
    for (subject, cases) in cases() {
        let count: usize = cases.iter().map(|case| case.steps.len()).sum();
        println!("{subject}: {count} operations in {} cases", cases.len());
        total += count;
    }
    println!("{total} operations");
    assert!(total >= 200);
}

/// The tags of RFC 6241 appendix A that no operation of the table has, with the reason.
const TAGS_NOT_REACHED: [(&str, &str); 3] = [
    (
        "too-big",
        "a body of 16 MiB for each front end; see tests/restconf of espalier-protocols",
    ),
    (
        "resource-denied",
        "1,024 partial locks; see tests of espalier-store",
    ),
    (
        "rollback-failed",
        "a commit is atomic, so no rollback can fail",
    ),
];

#[test]
fn every_error_tag_is_reached() {
    let steps = cases().into_iter().flat_map(|(_, cases)| cases);
    let steps = steps.chain(denied_cases()).flat_map(|case| case.steps);
    let reached: BTreeSet<&str> = steps
        .filter_map(|step| match step.expected {
            Expected::Error(tag) => Some(tag),
            _ => None,
        })
        .collect();
    for tag in ErrorTag::ALL {
        let is_excepted = TAGS_NOT_REACHED
            .iter()
            .any(|(name, _)| *name == tag.as_str());
        assert_ne!(reached.contains(tag.as_str()), is_excepted, "{tag:?}");
    }
}

#[test]
fn every_front_end_does_what_the_library_does() {
    let all = cases().into_iter().flat_map(|(_, cases)| cases);
    check(&selected(all), None, new_store);
}

#[test]
fn every_front_end_denies_what_the_library_denies() {
    let [user, _] = DENIED_USER;
    check(&selected(denied_cases()), Some(user), new_store_with_users);
}

#[test]
fn every_front_end_denies_the_events_that_the_library_denies() {
    let [user, _] = EVENT_USER;
    check(
        &selected(denied_event_cases()),
        Some(user),
        new_store_with_users,
    );
}

fn check(cases: &[Case], user: Option<&'static str>, new_store: fn() -> Sandbox) {
    let compared = thread::scope(|scope| {
        let reference = scope.spawn(|| {
            let sandbox = new_store();
            run(None, &mut Library::open(&sandbox, user), cases)
        });
        let others = front_ends().into_iter();
        let others = others.filter(|(name, _)| user.is_none() || *name != ON_STORE);
        let others: Vec<_> = others
            .map(|(name, make)| {
                scope.spawn(move || {
                    let sandbox = new_store();
                    let mut front_end = make(&sandbox, user);
                    let mut store = Library::open(&sandbox, user);
                    let found = run(Some(&mut *front_end), &mut store, cases);
                    (name, found)
                })
            })
            .collect();
        let reference = reference.join().expect("the library");
        let others = others
            .into_iter()
            .map(|other| other.join().expect("a front end"));
        let mut wrong = unexpected(cases, &reference);
        for (name, found) in others {
            let rules = rules_of(name);
            let comparison = compare(rules, cases, &reference, &found);
            println!(
                "{name}: {} operations equal those of the library, {} have the tag of the table; not expressible: {:?}",
                comparison.compared, comparison.compared_with_table, comparison.limited
            );
            let unmet = match user {
                // The cases of a user are few.
                Some(_) => Vec::new(),
                None => comparison.unmet_limits(rules),
            };
            let named = comparison.disagreements.into_iter().chain(unmet);
            wrong.extend(named.map(|text| format!("{name}: {text}")));
        }
        wrong
    });
    assert!(
        compared.is_empty(),
        "{} disagreements\n{}",
        compared.len(),
        compared.join("\n")
    );
}

fn rules_of(name: &str) -> &'static dyn FrontEnd {
    match name {
        name if name.starts_with("RESTCONF") => &restconf::Rules,
        "NETCONF" => &netconf_rules::Rules,
        _ => &command_line::Rules,
    }
}
