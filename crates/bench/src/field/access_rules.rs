//! Access rules: what they cost a read, a commit and an export.

use std::io;
use std::sync::Arc;

use espalier_service::access::{Caller, NACM_MODULE};
use espalier_service::configuration::ConfigurationTrees;
use espalier_service::session::{NewSession, SessionKind, Sessions, Transport};
use espalier_service::{AccessControl, ChangeNote, LoginPolicy, Service, SessionDatastore};
use espalier_store::{Edit, Selection, SystemClock};
use espalier_yang::InstancePath;
use espalier_yang::data::{DataTree, PrintOptions, TreeBuilder, json};
use serde_json::{Value as Json, json};

use super::hosts::Hosts;
use super::report::{CHANGES_MAX, Report};
use crate::dataset::expect;
use crate::harness::{Repetitions, Timing, measure};
use crate::model_store::ModelStore;
use espalier_terminal::{Failure, Result};

/// The number of rules.
const RULES: u64 = 200;

/// The number of rules that name an entry.
const PATH_RULES: u64 = 20;

/// The user that the rules are for.
const USER: &str = "bench";

/// Measures the case at a size.
pub fn run(report: &mut Report<'_>, size: u64) -> Result<()> {
    let mut hosts = Hosts::load(report, size)?;
    let service = service(&hosts.store, hidden(size))?;
    let callers = [
        Caller::exempt(),
        Caller {
            user: USER.to_owned(),
            ..Caller::default()
        },
    ];
    let of = callers.map(|caller| datastore(&service, &hosts.store, caller));
    let [exempt, user] = of;
    let of = [exempt?, user?];
    let timings = [read(&mut hosts, &of[0])?, read(&mut hosts, &of[1])?];
    emit(report, &hosts, "access: read one", timings)?;
    let timings = [commit(&mut hosts, &of[0])?, commit(&mut hosts, &of[1])?];
    emit(report, &hosts, "access: commit one", timings)?;
    let timings = [export(&of[0])?, export(&of[1])?];
    emit(report, &hosts, "access: export", timings)
}

/// Emits a row without rules and a row with them.
fn emit(report: &mut Report<'_>, hosts: &Hosts, name: &str, timings: [Timing; 2]) -> Result<()> {
    let [without, with] = timings;
    let row = report.row(&hosts.store, &format!("{name}, no rules"), hosts.size());
    report.emit_one(row.timed(&without))?;
    let row = report.row(
        &hosts.store,
        &format!("{name}, {RULES} rules"),
        hosts.size(),
    );
    let ratio = with.median_s / without.median_s;
    report.emit_one(
        row.timed(&with)
            .note(format!("x{ratio:.2} of that without rules")),
    )
}

/// A service with rules for a user.
fn service(store: &ModelStore, hidden: u64) -> Result<Service> {
    let trees = ConfigurationTrees::new(store.tree.store().clone(), Some(store.tree.clone()));
    let acm = trees.for_writing(NACM_MODULE)?;
    let mut builder = TreeBuilder::new();
    let text = rules(hidden).to_string();
    json::parse(
        acm.schema(),
        espalier_yang::data::Root::Datastore,
        text.as_bytes(),
        &mut builder,
        &espalier_yang::data::ParseOptions::default(),
    )
    .map_err(|error| Failure::data(error.to_string()))?;
    let rules: DataTree = builder.finish()?;
    let edits = [Edit::merge(InstancePath::root(), rules)];
    acm.commit(&edits, espalier_store::CommitOptions::default())?;
    let sessions = Sessions::new(Arc::new(SystemClock));
    let policy = LoginPolicy::default();
    Ok(Service::new(trees, AccessControl::Rules, sessions, policy)?)
}

/// The number of entries that rules hide: some are left in the smallest store.
fn hidden(size: u64) -> u64 {
    (size / 2).min(PATH_RULES)
}

/// Rules that match nothing, rules for single entries, and one that permits the rest.
fn rules(hidden: u64) -> Json {
    let of_modules = (0..RULES - PATH_RULES - 1).map(|number| {
        json!({
            "name": format!("module-{number}"), "module-name": format!("other-{number}"),
            "action": "deny",
        })
    });
    let of_entries = (0..PATH_RULES).map(|number| {
        let name = match number < hidden {
            true => format!("host-{number:08}"),
            false => format!("none-{number}"),
        };
        let path = format!(
            "/espalier-bench-hosts:hosts/espalier-bench-hosts:host[espalier-bench-hosts:name='{name}']"
        );
        json!({"name": format!("entry-{number}"), "path": path, "action": "deny"})
    });
    let rest = json!({"name": "rest", "module-name": "*", "action": "permit"});
    let rules: Vec<Json> = of_modules.chain(of_entries).chain([rest]).collect();
    json!({"ietf-netconf-acm:nacm": {
        "groups": {"group": [{"name": "benchers", "user-name": [USER]}]},
        "rule-list": [{"name": "benchers", "group": ["benchers"], "rule": rules}],
    }})
}

fn datastore(service: &Service, store: &ModelStore, caller: Caller) -> Result<SessionDatastore> {
    let session = service.sessions().unlisted(NewSession {
        caller,
        transport: Transport::Library,
        peer: String::new(),
        kind: SessionKind::Connection,
        name: String::new(),
    });
    Ok(service.datastore(&session, store.tree.clone()))
}

/// An entry that no rule hides.
fn visible(hosts: &mut Hosts) -> u64 {
    hosts.choose().max(hidden(hosts.size()))
}

fn read(hosts: &mut Hosts, of: &SessionDatastore) -> Result<Timing> {
    let plan = Repetitions::many(10_000);
    let paths = (0..plan.calls_max()).map(|_| {
        let number = visible(hosts);
        hosts.path(number)
    });
    let paths = paths.collect::<Result<Vec<_>>>()?;
    measure(
        plan,
        |call| {
            let path = &paths[call as usize];
            let mut builder = TreeBuilder::new();
            of.view_for_read(path, &Selection::default())?.read(
                path,
                &Selection::default(),
                &mut builder,
            )?;
            Ok(builder.finish()?)
        },
        |_, tree: DataTree| expect(!tree.nodes.is_empty(), || "an empty entry".to_owned()),
    )
}

fn commit(hosts: &mut Hosts, of: &SessionDatastore) -> Result<Timing> {
    let plan = Repetitions::many(CHANGES_MAX.min(hosts.size()));
    let changes = (0..plan.calls_max()).map(|call| {
        let path = Hosts::leaf(visible(hosts), "port");
        // Unlike all earlier values.
        let port = 1_000_000 + call * 7 + u64::from(of.session().caller().user.len() as u32);
        hosts.store.set(&path, &port.to_string())
    });
    let changes = changes.collect::<Result<Vec<Edit>>>()?;
    measure(
        plan,
        |call| {
            let edits = std::slice::from_ref(&changes[call as usize]);
            Ok(of.commit(edits, ChangeNote::default(), None)?)
        },
        |_, commit| expect(commit.is_changed, || "nothing was committed".to_owned()),
    )
}

fn export(of: &SessionDatastore) -> Result<Timing> {
    measure(
        Repetitions::many(5),
        |_| {
            let mut printer = json::Printer::new(of.schema(), io::sink(), PrintOptions::default());
            let root = InstancePath::root();
            let found = of
                .view()?
                .read(&root, &Selection::default(), &mut printer)?;
            printer.finish().map_err(io::Error::other)?;
            Ok(found)
        },
        |_, _| Ok(()),
    )
}
