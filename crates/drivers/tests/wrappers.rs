//! Drivers that wrap a driver: the conformance suite on each, and the behaviour that each adds.
#![cfg(feature = "memory")]

use std::sync::Arc;

use espalier_keyspace::metered::{Call, Metered, Reading};
use espalier_keyspace::{Batch, Direction, Driver, Error, ErrorKind, KeyRange, ReadOnly};
use espalier_testkit::fault::{Fault, Faulty, Lasting, Site};

fn memory() -> Arc<dyn Driver> {
    espalier_drivers::open("memory:").expect("memory opens")
}

mod metered {
    use super::{Arc, Metered, memory};
    espalier_testkit::conformance!(|| Arc::new(Metered::new(memory())) as Arc<_>);
}

mod faultless {
    use super::{Arc, Faulty, memory};
    espalier_testkit::conformance!(|| Arc::new(Faulty::new(memory())) as Arc<_>);
}

fn put(driver: &dyn Driver, key: &str) -> Result<(), Error> {
    let mut batch = Batch::new();
    batch.put(key, "value");
    driver.commit(batch).map(drop)
}

fn holds(driver: &dyn Driver, key: &str) -> bool {
    let snapshot = driver.snapshot().expect("a snapshot");
    snapshot.get(key.as_bytes()).expect("a get").is_some()
}

#[test]
fn a_read_only_driver_rejects_writes() {
    let inner = memory();
    put(&*inner, "key").expect("a put");
    let driver = ReadOnly::new(Arc::clone(&inner));
    assert!(holds(&driver, "key"));
    let refused = [
        put(&driver, "other"),
        driver.commit(Batch::new()).map(drop),
        driver
            .write(&[], &mut |writer| writer.put(b"other", b""))
            .map(drop),
    ];
    for refused in refused {
        assert_eq!(refused.expect_err("read-only").kind(), ErrorKind::ReadOnly);
    }
    assert_eq!(driver.usage().expect("usage").keys, 1);
    let after = driver.snapshot().expect("a snapshot").version();
    let mut watch = driver.watch(KeyRange::all(), after).expect("a watch");
    put(&*inner, "other").expect("a put");
    let event = watch.next(std::time::Duration::from_secs(10));
    assert!(event.expect("a watch").is_some());
}

#[test]
fn a_metered_driver_counts() {
    let driver = Metered::new(memory());
    let meter = driver.meter();
    (0..5).for_each(|number| put(&driver, &format!("{number}")).expect("a put"));
    let mut conflicting = Batch::new();
    conflicting.require("0", None);
    driver.commit(conflicting).expect_err("a conflict");
    let snapshot = driver.snapshot().expect("a snapshot");
    (0..3).for_each(|_| assert!(snapshot.get(b"1").expect("a get").is_some()));
    let mut cursor = snapshot
        .scan(&KeyRange::all(), Direction::Forward)
        .expect("a scan");
    while cursor.next().expect("a step").is_some() {}
    drop(cursor);
    drop(snapshot);
    let readings = meter.readings();
    let reading = |call| -> Reading { readings[call as usize] };
    assert_eq!(reading(Call::Commit).count, 6);
    assert_eq!(reading(Call::Commit).errors, 1);
    assert!(reading(Call::Commit).total >= reading(Call::Commit).slowest);
    assert_eq!(reading(Call::Snapshot).count, 1);
    assert_eq!(reading(Call::Get).count, 3);
    assert_eq!(reading(Call::Scan).count, 1);
    assert_eq!(reading(Call::Step).count, 5);
    assert_eq!(reading(Call::Write).count, 0);
    for (call, reading) in Call::ALL.iter().zip(&readings) {
        assert_eq!(*call, reading.call, "{}", call.name());
    }
}

fn fault(sites: &[Site], after: u64, lasting: Lasting) -> Fault {
    Fault {
        sites: sites.to_vec(),
        after,
        lasting,
        kind: ErrorKind::Unavailable,
    }
}

#[test]
fn a_fault_occurs_as_planned_once_or_for_ever() {
    let driver = Faulty::new(memory());
    for (lasting, expected) in [
        (Lasting::Once, [true, true, false, true, true]),
        (Lasting::ForEver, [true, true, false, false, false]),
    ] {
        driver.arm(fault(&[Site::Commit], 2, lasting));
        let found = [(); 5].map(|()| put(&driver, "key").is_ok());
        assert_eq!(found, expected, "{lasting:?}");
        assert!(driver.snapshot().is_ok());
        assert_eq!(driver.disarm(), 5);
        put(&driver, "key").expect("no fault is planned");
    }
}

#[test]
fn a_fault_at_any_call_of_a_write_undoes_it() {
    let driver = Faulty::new(memory());
    for after in 0..6 {
        driver.arm(fault(&[Site::Write], after, Lasting::Once));
        let written = driver.write(&[], &mut |writer| {
            writer.put(b"a", b"1")?;
            writer.put_new(b"b", b"2")?;
            writer.get(b"a")?;
            writer.add(b"c", 3)?;
            writer.delete(b"a")?;
            writer.delete_range(&KeyRange::prefix(b"b"))
        });
        assert_eq!(written.expect_err("a fault").kind(), ErrorKind::Unavailable);
        assert_eq!(driver.usage().expect("usage").keys, 0);
    }
}

#[test]
fn faults_of_reads() {
    let driver = Faulty::new(memory());
    put(&driver, "key").expect("a put");
    let sites = [Site::Snapshot, Site::Get, Site::Scan, Site::Step];
    for failing in sites {
        driver.arm(fault(&[failing], 0, Lasting::ForEver));
        let read = || -> Result<(), Error> {
            let snapshot = driver.snapshot()?;
            snapshot.get(b"key")?;
            let mut cursor = snapshot.scan(&KeyRange::all(), Direction::Forward)?;
            cursor.next().map(drop)
        };
        assert!(read().is_err(), "{failing:?}");
        driver.disarm();
        read().expect("no fault is planned");
    }
}

#[test]
fn a_lost_response_is_an_error_of_an_applied_commit() {
    let driver = Faulty::new(memory());
    driver.arm(fault(&[Site::AfterCommit], 0, Lasting::Once));
    put(&driver, "key").expect_err("the response is lost");
    assert!(holds(&driver, "key"));
}
