//! One of many anchors, over RESTCONF.

use espalier_protocols::anchors::{AnchorLimits, AnchorName, DefaultAnchor, ServedAnchors, router};
use espalier_service::Service;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::report::Report;
use crate::dataset::expect;
use crate::harness::{Repetitions, measure};
use crate::http::{self, Server};
use crate::model_store::{Model, ModelStore, NAME};
use espalier_terminal::Result;

const MODEL: Model = Model {
    name: "espalier-bench-hosts",
    text: include_str!("../models/espalier-bench-hosts.yang"),
};

/// The number of anchors that the requests to open anchors are for.
const USED_ANCHORS: u64 = 10;

/// The seed: every run chooses the same anchors.
const SEED: u64 = 0x616e_6368_6f72_7365;

/// Measures the case with `size` anchors of one schema set.
pub fn run(report: &mut Report<'_>, size: u64) -> Result<()> {
    let store = report.store(MODEL)?;
    for number in 0..size {
        let (anchors, name) = (store.tree.store(), anchor_name(number));
        anchors.create_anchor(NAME, &name.anchor, NAME)?;
    }
    let row = "anchors: restconf get, 10 of them";
    let step = (size / USED_ANCHORS).max(1);
    let used = |random: &mut StdRng| random.random_range(0..size.min(USED_ANCHORS)) * step;
    get(report, &store, (row, size), &used)?;
    let row = "anchors: restconf get, any of them";
    get(report, &store, (row, size), &|random| {
        random.random_range(0..size)
    })
}

fn anchor_name(number: u64) -> AnchorName {
    AnchorName::new(NAME, format!("anchor-{number:08}"))
}

/// Measures a read of anchors that `choose` chooses.
fn get(
    report: &mut Report<'_>,
    store: &ModelStore,
    (name, size): (&str, u64),
    choose: &dyn Fn(&mut StdRng) -> u64,
) -> Result<()> {
    let plan = Repetitions::many(10_000);
    let mut random = StdRng::seed_from_u64(SEED);
    let paths: Vec<String> = (0..plan.calls_max())
        .map(|_| anchor_name(choose(&mut random)).path() + "/restconf/data")
        .collect();
    let server = serve(store)?;
    let mut connection = server.connect()?;
    let timing = measure(
        plan,
        |call| Ok(connection.get(&paths[call as usize])?.to_vec()),
        |_, body| expect(!body.is_empty(), || "an empty response".to_owned()),
    )?;
    drop(connection);
    server.stop()?;
    let row = report.row(store, name, size).timed(&timing);
    report.emit_one(row.note("one keep-alive connection, client and server on one core"))
}

/// Serves all anchors of a store.
fn serve(store: &ModelStore) -> Result<Server> {
    let running = store.tree.clone();
    Server::start_with(move || {
        let service = Service::without_access_control(running)?;
        let default = DefaultAnchor {
            name: AnchorName::new(NAME, NAME),
            missing_hint: String::new(),
        };
        let limits = AnchorLimits::default();
        let anchors = ServedAnchors::new(service, default, http::config(), limits)?;
        anchors.watch();
        Ok(router(anchors, axum::Router::new()))
    })
}
