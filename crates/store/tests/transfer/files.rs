//! Backup files: complete, truncated, and modified.

use std::fs::File;
use std::io::Cursor;

use espalier_keyspace::{Driver, ErrorKind};
use espalier_store::{
    BackupReport, Error, ExistingRows, Result, Timestamp, TransferReport, backup, restore,
};
use espalier_testkit::fault::{Fault, Faulty, Lasting, Site};
use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;

use crate::rows::{all, fill, memory, random_rows};

fn backed_up(from: &dyn Driver) -> (BackupReport, Vec<u8>) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut open = File::create(file.path()).expect("a file");
    let written = backup(from, &mut open, Timestamp(5), &mut |_, _| {}).expect("a backup");
    let bytes = std::fs::read(file.path()).expect("the file");
    assert_eq!(written.file_bytes as usize, bytes.len());
    (written, bytes)
}

fn restored(bytes: &[u8], to: &dyn Driver) -> Result<TransferReport> {
    restore(Cursor::new(bytes), to, ExistingRows::Reject, &mut |_, _| {})
}

#[test]
fn a_restore_equals_the_backed_up_store() {
    seed::run("the backup test", |random| {
        for count in [0, 1, 30_000] {
            let from = memory();
            fill(&*from, &random_rows(random, count));
            let (written, bytes) = backed_up(&*from);
            let to = memory();
            let done = restored(&bytes, &*to).expect("a restore");
            assert_eq!(done.digest, written.digest);
            assert!(all(&*from) == all(&*to));
            assert!(matches!(restored(&bytes, &*to), Err(Error::NotEmpty)));
        }
        let (written, bytes) = backed_up(&*memory());
        assert_eq!(written.digest.rows, 0);
        restored(&bytes, &*memory()).expect("nothing, restored");
    });
}

#[test]
fn an_interrupted_restore_resumes() {
    seed::run("the backup test", |random| {
        let from = memory();
        fill(&*from, &random_rows(random, 30_000));
        let (_, bytes) = backed_up(&*from);
        let to = Faulty::new(memory());
        to.arm(Fault {
            sites: vec![Site::Commit],
            after: random.random_range(1..4),
            lasting: Lasting::ForEver,
            kind: ErrorKind::Full,
        });
        restored(&bytes, &to).expect_err("no room");
        to.disarm();
        assert!(restored(&bytes, &to).expect("the rest").is_resumed);
        assert!(all(&*from) == all(&to));
    });
}

/// The place is reported, and nothing is written.
#[track_caller]
fn check_damaged(bytes: &[u8]) -> String {
    let to = memory();
    let error = restored(bytes, &*to).expect_err("it is damaged");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    assert!(all(&*to).is_empty());
    error.to_string()
}

fn file(random: &mut StdRng) -> Vec<u8> {
    let from = memory();
    fill(&*from, &random_rows(random, 2_000));
    backed_up(&*from).1
}

#[test]
fn a_truncated_file() {
    seed::run("the backup test", |random| {
        let bytes = file(random);
        let mut lengths = vec![0, 1, 7, 8, 9, 30, bytes.len() - 1, bytes.len() - 40];
        lengths.extend((0..40).map(|_| random.random_range(0..bytes.len())));
        for length in lengths {
            let error = check_damaged(&bytes[..length]);
            assert!(error.contains("byte") || length < 8, "{error}");
        }
        let error = check_damaged(&[&bytes[..], b"more"].concat());
        assert!(error.contains("after the end block"), "{error}");
    });
}

#[test]
fn a_changed_byte() {
    seed::run("the backup test", |random| {
        let bytes = file(random);
        let mut places: Vec<_> = (0..60).collect();
        places.extend((0..60).map(|back| bytes.len() - 1 - back));
        places.extend((0..60).map(|_| random.random_range(0..bytes.len())));
        for place in places {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << random.random_range(0..8);
            check_damaged(&damaged);
        }
        assert!(check_damaged(b"{\"not\": \"a backup\"}").contains("not an Espalier backup"));
    });
}

/// Each block has its own checksum; in another place it is rejected nevertheless.
#[test]
fn swapped_blocks() {
    seed::run("the backup test", |random| {
        let from = memory();
        let mut rows = random_rows(random, 200);
        rows.extend((0..40u8).map(|number| {
            let value: Vec<u8> = (0..100_000).map(|_| random.random()).collect();
            (vec![0x12, number], value)
        }));
        fill(&*from, &rows);
        let bytes = backed_up(&*from).1;
        let mut blocks = Vec::new();
        let mut at = 8;
        while at < bytes.len() {
            let stored = u32::from_le_bytes(bytes[at + 1..at + 5].try_into().expect("4 bytes"));
            let end = at + 9 + stored as usize + 16;
            blocks.push(bytes[at..end].to_vec());
            at = end;
        }
        assert!(blocks.len() > 5);
        let joined = |blocks: &[Vec<u8>]| [&bytes[..8], &blocks.concat()].concat();
        assert!(joined(&blocks) == bytes);
        let mut swapped = blocks.clone();
        swapped.swap(2, 3);
        check_damaged(&joined(&swapped));
        let mut missing = blocks.clone();
        missing.remove(2);
        check_damaged(&joined(&missing));
        let mut twice = blocks;
        twice.insert(2, twice[2].clone());
        check_damaged(&joined(&twice));
    });
}
