//! A streamed write reads its own changes.

use std::collections::BTreeMap;

use espalier_keyspace::{Direction, KeyRange, Writer, counter};

use super::Open;
use super::operations::{Pairs, all, get, get_in, numbered, put, put_keys, scan};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Compares all reads of a write with the model, in both directions, and from keys that exist, existed and
/// never existed.
fn compare(writer: &mut dyn Writer, model: &Model, places: &[&[u8]]) {
    let snapshot = writer.snapshot().expect("a snapshot of the write");
    for key in places {
        assert_eq!(get_in(&*snapshot, key), model.get(*key).cloned());
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let mut expected: Pairs = model.clone().into_iter().collect();
        if direction == Direction::Backward {
            expected.reverse();
        }
        let found = scan(&*snapshot, &KeyRange::all(), direction);
        assert_eq!(found, expected, "{direction:?}");
        for place in places {
            let mut cursor = snapshot
                .scan(&KeyRange::all(), direction)
                .expect("a scan of the write");
            cursor.next().expect("a step before the seek");
            cursor.seek(place).expect("a seek");
            let is_ahead = |key: &[u8]| match direction {
                Direction::Forward => key >= *place,
                Direction::Backward => key <= *place,
            };
            let ahead = expected.iter().filter(|(key, _)| is_ahead(key));
            for (key, value) in ahead {
                let step = cursor.next().expect("a step");
                assert_eq!(step, Some((key.as_slice(), value.as_slice())));
            }
            assert_eq!(cursor.next().expect("the end"), None);
        }
    }
}

/// Puts, deletions, range deletions and sums are visible to the write at once.
pub fn a_write_reads_itself(open: Open<'_>) {
    let driver = open();
    put_keys(&*driver, &[b"a", b"b1", b"b2", b"c", b"d"]);
    let mut model: Model = all(&*driver).into_iter().collect();
    let places: [&[u8]; 9] = [b"", b"a", b"b", b"b1", b"b3", b"c", b"d", b"e", b"\xff"];
    driver
        .write(&[], &mut |writer| {
            compare(writer, &model, &places);
            writer.put(b"b3", b"new")?;
            model.insert(b"b3".to_vec(), b"new".to_vec());
            compare(writer, &model, &places);
            writer.put(b"a", b"changed")?;
            model.insert(b"a".to_vec(), b"changed".to_vec());
            writer.delete(b"d")?;
            model.remove(&b"d"[..]);
            compare(writer, &model, &places);
            writer.delete_range(&KeyRange::prefix(b"b"))?;
            model.retain(|key, _| !key.starts_with(b"b"));
            compare(writer, &model, &places);
            writer.put(b"b1", b"")?;
            model.insert(b"b1".to_vec(), Vec::new());
            writer.add(b"e", 5)?;
            writer.add(b"e", -7)?;
            model.insert(b"e".to_vec(), counter::encode(-2).to_vec());
            compare(writer, &model, &places);
            writer.delete_range(&KeyRange::all())?;
            model.clear();
            compare(writer, &model, &places);
            writer.put(b"c", b"last")?;
            model.insert(b"c".to_vec(), b"last".to_vec());
            compare(writer, &model, &places);
            Ok(())
        })
        .expect("a write");
    assert_eq!(all(&*driver), model.into_iter().collect::<Pairs>());
}

/// A scan of a range stays within its bounds, also next to changes of the write.
pub fn ranges_of_a_write(open: Open<'_>) {
    let driver = open();
    put_keys(&*driver, &[b"a", b"b", b"c"]);
    driver
        .write(&[], &mut |writer| {
            writer.put(b"b\0", b"between")?;
            writer.delete(b"b")?;
            let snapshot = writer.snapshot()?;
            let range = KeyRange::new("b", "c");
            for direction in [Direction::Forward, Direction::Backward] {
                let found = scan(&*snapshot, &range, direction);
                assert_eq!(found, [(b"b\0".to_vec(), b"between".to_vec())]);
                assert_eq!(scan(&*snapshot, &KeyRange::new("c", "b"), direction), []);
            }
            Ok(())
        })
        .expect("a write");
}

/// A backward scan skips a deleted range whose first key existed, and ends.
pub fn a_deleted_range_is_passed_backward(open: Open<'_>) {
    let driver = open();
    put_keys(&*driver, &[b"a", b"b", b"c", b"d"]);
    driver
        .write(&[], &mut |writer| {
            writer.delete_range(&KeyRange::new("b", "d"))?;
            let snapshot = writer.snapshot()?;
            let found = scan(&*snapshot, &KeyRange::all(), Direction::Backward);
            let keys: Vec<_> = found.iter().map(|(key, _)| key.as_slice()).collect();
            assert_eq!(keys, [b"d", b"a"]);
            Ok(())
        })
        .expect("a write");
}

/// The view has the version before the write, and its changes are invisible to other readers.
pub fn a_write_is_its_own_until_it_ends(open: Open<'_>) {
    let driver = open();
    let before = put(&*driver, b"key", b"before");
    driver
        .write(&[], &mut |writer| {
            writer.put(b"key", b"after")?;
            let own = writer.snapshot()?;
            assert_eq!(own.version(), before);
            assert_eq!(get_in(&*own, b"key").as_deref(), Some(&b"after"[..]));
            assert_eq!(get_in(&*own, b""), None);
            assert_eq!(get(&*driver, b"key").as_deref(), Some(&b"before"[..]));
            Ok(())
        })
        .expect("a write");
}

/// Reads between the puts of a write that is too large for memory.
pub fn a_long_write_reads_itself(open: Open<'_>) {
    a_write_reads_itself_every(open, 20_000, 2_500);
}

/// The same for a slow server.
pub fn a_write_of_two_hundred_reads_itself(open: Open<'_>) {
    a_write_reads_itself_every(open, 200, 25);
}

fn a_write_reads_itself_every(open: Open<'_>, keys: u64, every: u64) {
    let driver = open();
    driver
        .write(&[], &mut |writer| {
            for number in 0..keys {
                writer.put(&numbered(number), &[7; 100])?;
                if number % every == every - 1 {
                    let snapshot = writer.snapshot()?;
                    let found = scan(&*snapshot, &KeyRange::all(), Direction::Forward);
                    assert_eq!(found.len() as u64, number + 1);
                }
            }
            let upper = KeyRange::new(numbered(keys / 2), numbered(keys));
            writer.delete_range(&upper)?;
            let snapshot = writer.snapshot()?;
            let mut cursor = snapshot.scan(&KeyRange::all(), Direction::Backward)?;
            let last = cursor.next()?.map(|(key, _)| key.to_vec());
            assert_eq!(last, Some(numbered(keys / 2 - 1)));
            Ok(())
        })
        .expect("a write");
}
