//! Rows that replace and change devices. Documents are parsed each time, and each update is one commit.

use std::ops::Range;

use espalier_store::Edit;
use espalier_yang::InstancePath;

use super::devices::{DEVICE, DEVICES, FAIL, SUCCESS, document, path_of};
use super::fixture::{Fixture, RowSpec};
use crate::dataset::expect;
use crate::row::Row;
use espalier_terminal::Result;

/// Devices in the store, or to be put into it.
#[derive(Clone)]
pub struct Devices {
    /// Their numbers.
    pub numbers: Range<u64>,
    /// The status of all of them.
    pub status: &'static str,
}

/// Devices with the initial status.
pub fn devices(numbers: Range<u64>) -> Devices {
    let status = SUCCESS;
    Devices { numbers, status }
}

/// Devices with a different status.
pub fn changed(numbers: Range<u64>) -> Devices {
    let status = FAIL;
    Devices { numbers, status }
}

/// The node that is replaced.
#[derive(Clone, Copy)]
pub enum Replaced {
    /// The container.
    Node,
    /// The entries of the list.
    List,
}

/// The edits that replace the devices in the store.
fn replace(fixture: &Fixture, devices: &Devices, replaced: Replaced) -> Result<Vec<Edit>> {
    let tree = fixture
        .store
        .document(document(devices.numbers.clone(), devices.status))?;
    let root = InstancePath::root();
    Ok(match replaced {
        Replaced::Node => vec![Edit::replace(root, tree)],
        Replaced::List => vec![
            Edit::remove(fixture.store.path(DEVICE)?),
            Edit::merge(root, tree),
        ],
    })
}

fn expect_devices(fixture: &Fixture, devices: &Devices) -> Result<()> {
    let expected = devices.numbers.end - devices.numbers.start;
    let found = fixture.store.count(DEVICE)?;
    expect(found == expected, || format!("{found} devices"))?;
    match expected {
        0 => Ok(()),
        _ => expect_status(fixture, devices.numbers.start, devices.status),
    }
}

fn expect_status(fixture: &Fixture, number: u64, status: &str) -> Result<()> {
    let leaf = format!("{}/status", path_of(number));
    let found = fixture.store.leaf(&fixture.store.path(&leaf)?)?;
    let found = found.map(|value| value.to_string());
    expect(found.as_deref() == Some(status), || {
        format!("device {number} has the status {found:?}")
    })
}

/// Replaces devices by others; the first ones are restored outside the measured time.
pub fn replacing(
    fixture: &Fixture,
    spec: RowSpec,
    replaced: Replaced,
    before: &Devices,
    after: &Devices,
) -> Result<Row> {
    let prepare = || {
        fixture
            .store
            .commit(&replace(fixture, before, Replaced::Node)?)
    };
    prepare()?;
    fixture.measure_write(
        spec,
        |_| fixture.store.commit(&replace(fixture, after, replaced)?),
        |_, _| {
            expect_devices(fixture, after)?;
            prepare().map(drop)
        },
    )
}

/// The number of devices of which two leaves are set.
const UPDATED: u64 = 100;

/// The number of devices in the store meanwhile.
pub const AMONG: u64 = 2 * UPDATED;

/// Sets two leaves of several devices in one commit.
pub fn leaves(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    fixture
        .store
        .commit(&replace(fixture, &devices(0..AMONG), Replaced::Node)?)?;
    let text = |call: u64| format!("update {call}");
    fixture.measure_write(
        spec,
        |call| {
            let mut edits = Vec::new();
            for number in 0..UPDATED {
                let path = path_of(number);
                for leaf in ["status", "commission-date-time"] {
                    edits.push(fixture.store.set(&format!("{path}/{leaf}"), &text(call))?);
                }
            }
            fixture.store.commit(&edits)
        },
        |call, _| {
            expect_status(fixture, UPDATED - 1, &text(call))?;
            expect_status(fixture, UPDATED, SUCCESS)
        },
    )
}

/// Empties the store.
pub fn empty(fixture: &Fixture) -> Result<()> {
    let remove = Edit::remove(fixture.store.path(DEVICES)?);
    fixture.store.commit(&[remove]).map(drop)
}
