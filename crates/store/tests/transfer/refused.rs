//! Rejected targets.

use espalier_keyspace::ErrorKind;
use espalier_store::{Error, ExistingRows, copy};
use espalier_testkit::fault::{Fault, Faulty, Lasting, Site};

use crate::rows::{Row, all, copied, fill, memory};

fn rows(count: u32) -> Vec<Row> {
    let row = |number: u32| (vec![0x10, number as u8, (number >> 8) as u8], vec![1; 30]);
    (0..count).map(row).collect()
}

#[test]
fn a_target_that_is_not_empty() {
    let (from, to) = (memory(), memory());
    fill(&*from, &rows(10));
    let old = vec![(b"\x02old".to_vec(), b"row".to_vec())];
    fill(&*to, &old);
    let error = copied(&*from, &*to).expect_err("it is not empty");
    assert!(matches!(error, Error::NotEmpty), "{error}");
    assert_eq!(all(&*to), old);
    let copied = copy(
        &*from,
        "the source",
        &*to,
        ExistingRows::Delete,
        &mut |_, _| {},
    );
    assert_eq!(copied.expect("a copy").changed, 10);
    assert!(all(&*from) == all(&*to));
}

#[test]
fn a_source_that_equals_the_target() {
    let engine = memory();
    fill(&*engine, &rows(10));
    let before = all(&*engine);
    for existing in [ExistingRows::Reject, ExistingRows::Delete] {
        let copied = copy(&*engine, "itself", &*engine, existing, &mut |_, _| {});
        let error = copied.expect_err("the same");
        assert!(
            matches!(error, Error::NotEmpty | Error::SameEngine),
            "{error}"
        );
        assert!(all(&*engine) == before);
    }
}

#[test]
fn a_target_or_a_source_that_is_not_complete() {
    let (from, other) = (memory(), memory());
    fill(&*from, &rows(20_000));
    fill(&*other, &rows(5));
    let to = Faulty::new(memory());
    to.arm(Fault {
        sites: vec![Site::Commit],
        after: 2,
        lasting: Lasting::ForEver,
        kind: ErrorKind::Full,
    });
    copied(&*from, &to).expect_err("no room");
    to.disarm();
    let again = copy(
        &*other,
        "another",
        &to,
        ExistingRows::Reject,
        &mut |_, _| {},
    );
    assert!(matches!(again, Err(Error::Unfinished { from }) if from == "the source"));
    let onward = copied(&to, &*memory());
    assert!(matches!(onward, Err(Error::Unfinished { .. })));
    copy(
        &*other,
        "another",
        &to,
        ExistingRows::Delete,
        &mut |_, _| {},
    )
    .expect("a copy");
    assert!(all(&*other) == all(&to));
}

#[test]
fn an_empty_copy() {
    let (from, to) = (memory(), memory());
    let copied = copied(&*from, &*to).expect("a copy");
    assert_eq!((copied.digest.rows, copied.changed), (0, 0));
    assert!(all(&*to).is_empty());
}
