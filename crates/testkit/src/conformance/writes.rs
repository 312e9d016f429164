//! Streamed writes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use espalier_keyspace::{
    Batch, Direction, Driver, Error, ErrorKind, KeyExisted, KeyRange, Precondition, Result,
    Version, Writer, counter,
};

use super::Open;
use super::operations::{all, error_kind, get, get_in, numbered, put, put_keys, scan};

/// How long a write waits for a concurrent commit, which the engine may block.
const CONCURRENT_COMMIT_WAIT: Duration = Duration::from_millis(300);

/// All operations of a writer, in order.
pub fn what_is_written_is_there(open: Open<'_>) {
    let driver = open();
    put_keys(&*driver, &[b"d1", b"d2", b"e"]);
    let version = driver
        .write(&[], &mut |writer| {
            writer.put(b"a", b"one")?;
            writer.put(b"a", b"two")?;
            writer.put(b"b", b"gone")?;
            writer.delete(b"b")?;
            writer.delete(b"absent")?;
            writer.add(b"c", 7)?;
            writer.delete_range(&KeyRange::prefix(b"d"))?;
            writer.put(b"d3", b"")
        })
        .expect("a write");
    let snapshot = driver.snapshot().expect("a snapshot");
    assert_eq!(snapshot.version(), version);
    let expected = [
        (b"a".to_vec(), b"two".to_vec()),
        (b"c".to_vec(), counter::encode(7).to_vec()),
        (b"d3".to_vec(), Vec::new()),
        (b"e".to_vec(), b"e".to_vec()),
    ];
    assert_eq!(all(&*driver), expected);
}

/// An error of the callback is returned unchanged, and nothing is applied.
pub fn an_error_of_the_fill_undoes_all(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"old", b"value");
    let before = (
        all(&*driver),
        driver.snapshot().expect("a snapshot").version(),
    );
    let mut calls = 0;
    let written = driver.write(&[], &mut |writer| {
        calls += 1;
        writer.put(b"new", b"value")?;
        writer.delete_range(&KeyRange::all())?;
        Err(Error::new(ErrorKind::Aborted, "enough").with_key(b"new"))
    });
    let error = written.expect_err("the callback failed");
    assert_eq!(
        (error.kind(), error.key()),
        (ErrorKind::Aborted, Some(&b"new"[..]))
    );
    assert_eq!(calls, 1);
    let after = (
        all(&*driver),
        driver.snapshot().expect("a snapshot").version(),
    );
    assert_eq!(after, before);
    put(&*driver, b"still", b"works");
}

/// A writer reads its own changes; other readers do not.
pub fn a_writer_sees_its_own_writes(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"old", b"value");
    driver
        .write(&[], &mut |writer| {
            assert_eq!(writer.get(b"old")?.as_deref(), Some(&b"value"[..]));
            assert_eq!(writer.get(b"new")?, None);
            assert_eq!(writer.get(b"")?, None);
            writer.put(b"new", b"value")?;
            assert_eq!(writer.get(b"new")?.as_deref(), Some(&b"value"[..]));
            writer.delete(b"old")?;
            assert_eq!(writer.get(b"old")?, None);
            writer.add(b"sum", 3)?;
            assert_eq!(
                writer.get(b"sum")?.as_deref(),
                Some(&counter::encode(3)[..])
            );
            writer.delete_range(&KeyRange::prefix(b"n"))?;
            assert_eq!(writer.get(b"new")?, None);
            assert_eq!(get(&*driver, b"sum"), None);
            Ok(())
        })
        .expect("a write");
}

/// `put_new` stores an absent key, and reports an existing one without changing it.
pub fn put_new_leaves_what_is_there(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"old", b"value");
    put(&*driver, b"empty", b"");
    driver
        .write(&[], &mut |writer| {
            assert_eq!(writer.put_new(b"old", b"other")?, KeyExisted::Yes);
            assert_eq!(writer.put_new(b"empty", b"other")?, KeyExisted::Yes);
            assert_eq!(writer.put_new(b"new", b"first")?, KeyExisted::No);
            assert_eq!(writer.put_new(b"new", b"second")?, KeyExisted::Yes);
            writer.delete(b"old")?;
            assert_eq!(writer.put_new(b"old", b"again")?, KeyExisted::No);
            Ok(())
        })
        .expect("a write");
    let expected = [
        (b"empty".to_vec(), Vec::new()),
        (b"new".to_vec(), b"first".to_vec()),
        (b"old".to_vec(), b"again".to_vec()),
    ];
    assert_eq!(all(&*driver), expected);
}

/// A violated precondition rejects the write without calling the callback.
pub fn preconditions_of_a_write(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"key", b"value");
    let require = |value: Option<&[u8]>| {
        [Precondition {
            key: b"key".to_vec(),
            value: value.map(<[u8]>::to_vec),
        }]
    };
    let mut calls = 0;
    let refused = driver.write(&require(None), &mut |writer| {
        calls += 1;
        writer.put(b"new", b"value")
    });
    let error = refused.expect_err("a conflict");
    assert_eq!(
        (error.kind(), error.key()),
        (ErrorKind::Conflict, Some(&b"key"[..]))
    );
    assert_eq!(calls, 0);
    assert_eq!(get(&*driver, b"new"), None);
    driver
        .write(&require(Some(b"value")), &mut |writer| {
            writer.put(b"key", b"next")
        })
        .expect("the precondition holds");
    assert_eq!(get(&*driver, b"key").as_deref(), Some(&b"next"[..]));
    let long = [Precondition {
        key: Vec::new(),
        value: None,
    }];
    let refused = driver.write(&long, &mut |_| Ok(()));
    assert_eq!(error_kind(refused), ErrorKind::KeyTooLong);
}

/// A panic in the callback reverts the write and leaves the driver usable.
pub fn a_panic_in_the_fill_undoes_all(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"old", b"value");
    let before = all(&*driver);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _ = driver.write(&[], &mut |writer| {
            writer.put(b"new", b"value")?;
            std::panic::resume_unwind(Box::new("the callback panics on purpose"));
        });
    }));
    assert!(caught.is_err());
    assert_eq!(all(&*driver), before);
    put(&*driver, b"still", b"works");
    assert!(get(&*driver, b"still").is_some());
}

/// An overflow within a write is an error of that operation; the writer can continue.
pub fn an_overflow_in_a_write(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"high", &counter::encode(i64::MAX));
    let refused = driver.write(&[], &mut |writer| {
        writer.put(b"new", b"value")?;
        writer.add(b"high", 1)
    });
    assert_eq!(error_kind(refused), ErrorKind::Overflow);
    assert_eq!(get(&*driver, b"new"), None);
    driver
        .write(&[], &mut |writer| {
            assert_eq!(error_kind(writer.add(b"high", 1)), ErrorKind::Overflow);
            writer.add(b"high", -1)
        })
        .expect("the rest of the write");
    let high = counter::encode(i64::MAX - 1).to_vec();
    assert_eq!(get(&*driver, b"high"), Some(high));
}

/// A write that is larger than a batch should be, not in key order.
pub fn many_keys_in_one_write(open: Open<'_>) {
    keys_in_one_write(open, 50_000);
}

/// The same for a slow server.
pub fn three_hundred_keys_in_one_write(open: Open<'_>) {
    keys_in_one_write(open, 300);
}

fn keys_in_one_write(open: Open<'_>, keys: u64) {
    const STEP: u64 = 7_919;
    let driver = open();
    driver
        .write(&[], &mut |writer| {
            (0..keys).try_for_each(|at| {
                let number = at * STEP % keys;
                writer.put(&numbered(number), &number.to_be_bytes())
            })
        })
        .expect("a large write");
    let pairs = all(&*driver);
    assert_eq!(pairs.len() as u64, keys);
    for (number, (key, value)) in (0u64..).zip(&pairs) {
        assert_eq!(
            (key, value.as_slice()),
            (&numbered(number), &number.to_be_bytes()[..])
        );
    }
}

/// Snapshots can be created during a write, and do not contain its changes.
pub fn snapshots_during_a_write(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"key", b"before");
    let earlier = driver.snapshot().expect("a snapshot");
    driver
        .write(&[], &mut |writer| {
            writer.put(b"key", b"after")?;
            let during = driver.snapshot()?;
            assert_eq!(get_in(&*during, b"key").as_deref(), Some(&b"before"[..]));
            assert_eq!(during.version(), earlier.version());
            Ok(())
        })
        .expect("a write");
    assert_eq!(get_in(&*earlier, b"key").as_deref(), Some(&b"before"[..]));
    assert_eq!(get(&*driver, b"key").as_deref(), Some(&b"after"[..]));
}

/// A write callback with a function that lets another commit run.
type FillWithCommit<'a> = &'a mut dyn FnMut(&mut dyn Writer, &mut dyn FnMut()) -> Result<()>;

/// Runs a write during which another commit changes what it reads: through a second handle if the engine
/// can be opened twice, otherwise through the same one.
fn write_during_commit(
    open: Open<'_>,
    other: Batch,
    fill: FillWithCommit<'_>,
) -> (Arc<dyn Driver>, Result<Version>) {
    let driver = open();
    put_keys(&*driver, &[b"a", b"d"]);
    put(&*driver, b"b", &counter::encode(1));
    let other_driver = match driver.capability().shared {
        true => open(),
        false => Arc::clone(&driver),
    };
    let (begin, begin_received) = mpsc::channel();
    let (end, end_received) = mpsc::channel();
    let written = thread::scope(|scope| {
        let committing = scope.spawn(move || {
            begin_received.recv().expect("a write that reads");
            let committed = other_driver.commit(other);
            end.send(()).ok();
            committed
        });
        let written = driver.write(&[], &mut |writer| {
            fill(writer, &mut || {
                begin.send(()).expect("a committing thread");
                end_received.recv_timeout(CONCURRENT_COMMIT_WAIT).ok();
            })
        });
        committing.join().expect("no panic").expect("a commit");
        written
    });
    (driver, written)
}

/// A write is applied only if what it read is unchanged: either it is rejected with a conflict, or the
/// other commit waits for it. No change is lost.
fn no_change_is_lost(open: Open<'_>, read: fn(&mut dyn Writer) -> Result<i64>) {
    let mut other = Batch::new();
    other.add("b", 10);
    let (driver, written) = write_during_commit(open, other, &mut |writer, run_other_commit| {
        let seen = read(writer)?;
        run_other_commit();
        writer.put(b"b", &counter::encode(seen + 100))
    });
    let sum = match written {
        Ok(_) => 111,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
            11
        }
    };
    driver.catch_up().expect("the newest");
    assert_eq!(get(&*driver, b"b"), Some(counter::encode(sum).to_vec()));
}

fn count(value: Option<&[u8]>) -> i64 {
    counter::decode(b"b", value).expect("a counter")
}

/// A read of a key.
pub fn a_write_is_not_applied_over_what_it_did_not_get(open: Open<'_>) {
    no_change_is_lost(open, |writer| Ok(count(writer.get(b"b")?.as_deref())));
}

/// A read of a key in a view of the write.
pub fn a_write_is_not_applied_over_what_its_view_did_not_get(open: Open<'_>) {
    no_change_is_lost(open, |writer| {
        let view = writer.snapshot()?;
        Ok(count(view.get(b"b")?.as_deref()))
    });
}

/// A read of several keys in a view of the write.
pub fn a_write_is_not_applied_over_what_its_view_did_not_get_with_others(open: Open<'_>) {
    no_change_is_lost(open, |writer| {
        let view = writer.snapshot()?;
        let values = view.get_many(&[b"a", b"b", b"c"])?;
        Ok(count(values[1].as_deref()))
    });
}

/// A scan in a view of the write.
pub fn a_write_is_not_applied_over_what_it_did_not_scan(open: Open<'_>) {
    no_change_is_lost(open, |writer| {
        let view = writer.snapshot()?;
        let mut cursor = view.scan(&KeyRange::new("a", "z"), Direction::Forward)?;
        cursor.next()?;
        Ok(count(cursor.next()?.map(|(_, value)| value)))
    });
}

/// A read of a counter after an addition in the same write.
pub fn a_write_is_not_applied_over_a_sum_that_it_did_not_read(open: Open<'_>) {
    no_change_is_lost(open, |writer| {
        writer.add(b"b", 0)?;
        Ok(count(writer.get(b"b")?.as_deref()))
    });
}

/// A key that was created in a range that the write scanned as empty, in either direction.
pub fn a_write_is_not_applied_over_a_key_that_it_did_not_find(open: Open<'_>) {
    for direction in [Direction::Forward, Direction::Backward] {
        let mut other = Batch::new();
        other.delete_range(KeyRange::prefix(b"m"));
        other.put("c", "came");
        let (driver, written) =
            write_during_commit(open, other, &mut |writer, run_other_commit| {
                let found = scan(&*writer.snapshot()?, &KeyRange::new("c", "d"), direction);
                run_other_commit();
                match found.is_empty() {
                    true => writer.put(b"m", b"nothing at c"),
                    false => writer.put(b"m", b"something at c"),
                }
            });
        driver.catch_up().expect("the newest");
        // If both were applied, the write was first, and its put was deleted.
        if let Err(error) = &written {
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        }
        assert_eq!(get(&*driver, b"c").as_deref(), Some(&b"came"[..]));
        assert_eq!(get(&*driver, b"m"), None, "{direction:?}, {written:?}");
        let mut gone = Batch::new();
        gone.delete_range(KeyRange::all());
        driver.commit(gone).expect("emptied");
    }
}

/// Concurrent changes of keys that the write did not read do not affect it.
pub fn a_write_is_applied_beside_what_it_did_not_read(open: Open<'_>) {
    let mut other = Batch::new();
    other.put("d", "changed");
    other.put("e", "new");
    let (driver, written) = write_during_commit(open, other, &mut |writer, run_other_commit| {
        let view = writer.snapshot()?;
        let found = scan(&*view, &KeyRange::new("a", "c"), Direction::Forward);
        let none = scan(&*view, &KeyRange::new("f", "z"), Direction::Backward);
        assert_eq!((found.len(), none.len()), (2, 0));
        let mut cursor = view.scan(&KeyRange::all(), Direction::Forward)?;
        cursor.seek(b"b")?;
        cursor.next()?;
        drop(cursor);
        drop(view);
        run_other_commit();
        writer.put(b"b", b"written")
    });
    written.expect("a write without conflict");
    driver.catch_up().expect("the newest");
    assert_eq!(get(&*driver, b"b").as_deref(), Some(&b"written"[..]));
    assert_eq!(get(&*driver, b"e").as_deref(), Some(&b"new"[..]));
}
