//! Rows that replace and change devices: documents are parsed each time, and committed at once.

use std::ops::Range;

use espalier_store::Edit;
use espalier_yang::InstancePath;

use super::bed::{About, Bed};
use super::devices::{DEVICE, DEVICES, FAIL, SUCCESS, document, path_of};
use crate::dataset::expect;
use crate::row::Row;
use espalier_terminal::Result;

/// Devices that are there, or that are put there.
#[derive(Clone)]
pub struct Devices {
    /// Their numbers.
    pub numbers: Range<u64>,
    /// The status of all of them.
    pub status: &'static str,
}

/// Some devices.
pub fn devices(numbers: Range<u64>) -> Devices {
    let status = SUCCESS;
    Devices { numbers, status }
}

/// The same devices with another status.
pub fn changed(numbers: Range<u64>) -> Devices {
    let status = FAIL;
    Devices { numbers, status }
}

/// How devices are replaced.
#[derive(Clone, Copy)]
pub enum Replaced {
    /// The container.
    Node,
    /// The entries of the list.
    List,
}

/// The edits that put devices in the place of those that are there.
fn replace(bed: &Bed, devices: &Devices, replaced: Replaced) -> Result<Vec<Edit>> {
    let tree = bed
        .stand
        .document(document(devices.numbers.clone(), devices.status))?;
    let root = InstancePath::root();
    Ok(match replaced {
        Replaced::Node => vec![Edit::replace(root, tree)],
        Replaced::List => vec![
            Edit::remove(bed.stand.path(DEVICE)?),
            Edit::merge(root, tree),
        ],
    })
}

fn expect_devices(bed: &Bed, devices: &Devices) -> Result<()> {
    let wanted = devices.numbers.end - devices.numbers.start;
    let found = bed.stand.count(DEVICE)?;
    expect(found == wanted, || format!("{found} devices"))?;
    match wanted {
        0 => Ok(()),
        _ => expect_status(bed, devices.numbers.start, devices.status),
    }
}

fn expect_status(bed: &Bed, number: u64, status: &str) -> Result<()> {
    let leaf = format!("{}/status", path_of(number));
    let found = bed.stand.leaf(&bed.stand.path(&leaf)?)?;
    let found = found.map(|value| value.to_string());
    expect(found.as_deref() == Some(status), || {
        format!("device {number} has the status {found:?}")
    })
}

/// Devices are put in the place of others; the others are put back outside the measured time.
pub fn replacing(
    bed: &Bed,
    about: About,
    replaced: Replaced,
    before: &Devices,
    after: &Devices,
) -> Result<Row> {
    let prepare = || bed.stand.commit(&replace(bed, before, Replaced::Node)?);
    prepare()?;
    bed.measure_write(
        about,
        |_| bed.stand.commit(&replace(bed, after, replaced)?),
        |_, _| {
            expect_devices(bed, after)?;
            prepare().map(drop)
        },
    )
}

/// Devices of which two leaves are set.
const UPDATED: u64 = 100;

/// Devices among which they are.
pub const AMONG: u64 = 2 * UPDATED;

/// Two leaves of some devices are set in one commit.
pub fn leaves(bed: &Bed, about: About) -> Result<Row> {
    bed.stand
        .commit(&replace(bed, &devices(0..AMONG), Replaced::Node)?)?;
    let text = |call: u64| format!("update {call}");
    bed.measure_write(
        about,
        |call| {
            let mut edits = Vec::new();
            for number in 0..UPDATED {
                let path = path_of(number);
                for leaf in ["status", "commission-date-time"] {
                    edits.push(bed.stand.set(&format!("{path}/{leaf}"), &text(call))?);
                }
            }
            bed.stand.commit(&edits)
        },
        |call, _| {
            expect_status(bed, UPDATED - 1, &text(call))?;
            expect_status(bed, UPDATED, SUCCESS)
        },
    )
}

/// Empties the store.
pub fn empty(bed: &Bed) -> Result<()> {
    let remove = Edit::remove(bed.stand.path(DEVICES)?);
    bed.stand.commit(&[remove]).map(drop)
}
