//! Case b: subscribers' devices (ONUs) in a passive optical network, added one commit at a time.

use std::time::{Duration, Instant};

use espalier_store::Edit;
use espalier_yang::InstancePath;

use super::report::{Report, validation_note};
use crate::dataset::expect;
use crate::generated_document::{GeneratedDocument, List};
use crate::harness::{Timing, cpu_time};
use crate::model_store::{Model, ModelStore};
use crate::recorder::Trace;
use espalier_terminal::Result;

const MODEL: Model = Model {
    name: "espalier-bench-access",
    text: include_str!("../models/espalier-bench-access.yang"),
};

/// The number of devices at a channel termination.
const PER_TERMINATION: u64 = 64;

/// The number of ports of a device; each has a tagged interface, a transmission container and a stream.
const PORTS: u64 = 2;

/// The number of first and of last commits that have a row of their own.
const EDGE_COMMITS: usize = 16;

/// The content of the store before the first device.
fn terminations(size: u64) -> GeneratedDocument<'static> {
    let terminations = (0..=size / PER_TERMINATION)
        .map(|n| format!(r#"{{"name":"termination-{n}","type":"termination"}}"#));
    let profiles = (0..8).map(|n| format!(r#"{{"name":"profile-{n}","rate":{}}}"#, 1_000 * n));
    let lists: Vec<(String, List<'static>)> = vec![
        (
            r#"{"espalier-bench-access:interfaces":{"interface":["#.to_owned(),
            Box::new(terminations),
        ),
        (
            r#"]},"espalier-bench-access:transmission":{"profile":["#.to_owned(),
            Box::new(profiles),
        ),
    ];
    GeneratedDocument::lists(lists, "]}}")
}

/// The nodes of one device: 53.
fn device(n: u64) -> GeneratedDocument<'static> {
    let (termination, id) = (n / PER_TERMINATION, n % PER_TERMINATION);
    let onu = format!(
        r#"{{"name":"onu-{n}","type":"onu","onu":{{"id":{id},"serial-number":"ESPA{n:08}","termination":"termination-{termination}"}}}}"#
    );
    let ports = (0..PORTS).flat_map(move |port| {
        let name = format!("port-{n}-{port}");
        let tag = 100 + port;
        [
            format!(r#"{{"name":"{name}","type":"onu-port","onu-port":{{"onu":"onu-{n}"}}}}"#),
            format!(
                r#"{{"name":"vlan-{n}-{port}","type":"vlan","enabled":true,"vlan":{{"port":"{name}","tag":{tag}}}}}"#
            ),
        ]
    });
    let containers = (0..PORTS).map(move |port| {
        format!(
            r#"{{"name":"container-{n}-{port}","allocation":{},"interface":"onu-{n}","profile":"profile-{port}"}}"#,
            1024 + port
        )
    });
    let streams = (0..PORTS).map(move |port| {
        format!(
            r#"{{"name":"stream-{n}-{port}","id":{},"interface":"port-{n}-{port}","class":{port},"container":"container-{n}-{port}"}}"#,
            n * PORTS + port
        )
    });
    let lists: Vec<(String, List<'static>)> = vec![
        (
            r#"{"espalier-bench-access:interfaces":{"interface":["#.to_owned(),
            Box::new(std::iter::once(onu).chain(ports)),
        ),
        (
            r#"]},"espalier-bench-access:transmission":{"container":["#.to_owned(),
            Box::new(containers),
        ),
        (r#"],"stream":["#.to_owned(), Box::new(streams)),
    ];
    GeneratedDocument::lists(lists, "]}}")
}

/// The measurements of adding the devices.
#[derive(Default)]
struct Added {
    seconds: Vec<f64>,
    cpu: Vec<Duration>,
    /// The traces of the last commits.
    traces: Vec<Trace>,
}

impl Added {
    fn timing(&self, from: usize, to: usize) -> Result<Timing> {
        let cpu = self.cpu[from..to].iter().sum();
        Timing::from_samples(self.seconds[from..to].to_vec(), cpu)
    }
}

fn add(store: &ModelStore, edits: &[Edit]) -> Result<Added> {
    let mut added = Added::default();
    for edit in edits {
        let (cpu, started) = (cpu_time(), Instant::now());
        let commit = store.commit(std::slice::from_ref(edit))?;
        added.seconds.push(started.elapsed().as_secs_f64());
        added.cpu.push(cpu_time().saturating_sub(cpu));
        expect(commit.is_changed, || "a device was not added".to_owned())?;
    }
    Ok(added)
}

/// Measures the case with `size` devices.
pub fn run(report: &mut Report<'_>, size: u64) -> Result<()> {
    let store = report.store(MODEL)?;
    store.load(terminations(size))?;
    let edits = (0..size)
        .map(|n| {
            Ok(Edit::merge(
                InstancePath::root(),
                store.document(device(n))?,
            ))
        })
        .collect::<Result<Vec<_>>>()?;
    let before = store.validation_cost();
    let mut added = add(&store, &edits)?;
    let note = validation_note(before, store.validation_cost(), size);
    check(&store, size)?;
    let raw = store.raw_copy()?;
    let more = store.document(device(size))?;
    let more = Edit::merge(InstancePath::root(), more);
    added
        .traces
        .push(store.record(|| store.commit(&[more]).map(drop))?);
    let raw = raw.map(|raw| raw.replay(&added.traces)).transpose()?;

    let all = added.seconds.len();
    let end = EDGE_COMMITS.min(all);
    let first = report.row(&store, "b: add a device, the first ones", size);
    let first = first.timed(&added.timing(0, end)?);
    let first = first.note(format!(
        "the very first took {:.0} us",
        added.seconds[0] * 1e6
    ));
    report.emit_one(first)?;
    let each = report.row(&store, "b: add a device, all of them", size);
    report.emit_one(each.timed(&added.timing(0, all)?).note(note))?;
    let last = report.row(&store, "b: add a device, the last ones", size);
    let last = last.timed(&added.timing(all - end, all)?);
    let ratio = median(&added.seconds[all - end..]) / median(&added.seconds[..end]);
    report.emit_one(last.raw(raw.as_ref()).note(format!(
        "the very last took {:.0} us; x{ratio:.2} from the first {end} to the last {end}",
        added.seconds[all - 1] * 1e6
    )))
}

fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Checks that all devices are stored and that the constraints are enforced.
fn check(store: &ModelStore, size: u64) -> Result<()> {
    let interfaces = store.count("/espalier-bench-access:interfaces/interface")?;
    let expected = size * (1 + 2 * PORTS) + size / PER_TERMINATION + 1;
    expect(interfaces == expected, || {
        format!("{interfaces} interfaces instead of {expected}")
    })?;
    let streams = store.count("/espalier-bench-access:transmission/stream")?;
    expect(streams == size * PORTS, || format!("{streams} streams"))?;
    let port = "/espalier-bench-access:interfaces/interface[name='port-0-0']/onu-port/onu";
    let wrong = [
        store.set(port, "termination-0")?,
        store.set(port, "nothing")?,
        Edit::delete(store.path("/espalier-bench-access:interfaces/interface[name='onu-0']")?),
    ];
    for edit in wrong {
        let is_refused = store.commit(&[edit]).is_err();
        expect(is_refused, || "a constraint was not enforced".to_owned())?;
    }
    Ok(())
}
