//! Rows that store devices and books. Documents are parsed each time.

use espalier_store::Edit;

use super::devices::{DEVICE, SUCCESS, books, document};
use super::fixture::{Fixture, RowSpec};
use super::updates::empty;
use crate::dataset::expect;
use crate::row::Row;
use espalier_terminal::Result;

/// Stores devices in an empty anchor.
pub fn devices(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    fixture.measure_write(
        spec,
        |_| {
            fixture
                .store
                .commit(&[fixture.parsed(document(0..fixture.size, SUCCESS))?])
        },
        |_, _| {
            expect_count(fixture, DEVICE, fixture.size)?;
            empty(fixture)
        },
    )
}

/// Adds devices to the list, which is empty; its container exists.
pub fn list_of_devices(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let none = fixture.parsed(document(0..0, SUCCESS))?;
    fixture.store.commit(&[none])?;
    let row = fixture.measure_write(
        spec,
        |_| {
            fixture
                .store
                .commit(&[fixture.parsed(document(0..fixture.size, SUCCESS))?])
        },
        |_, _| {
            expect_count(fixture, DEVICE, fixture.size)?;
            let list = fixture.store.path(DEVICE)?;
            fixture.store.commit(&[Edit::delete(list)]).map(drop)
        },
    )?;
    empty(fixture)?;
    Ok(row)
}

/// The books of the category.
const BOOK: &str = "/espalier-bench-books:shop/category[code='1']/book";

/// Stores books under an existing category.
pub fn all_books(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    fixture.store.commit(&[fixture.parsed(books(0..0))?])?;
    fixture.measure_write(
        spec,
        |_| {
            fixture
                .store
                .commit(&[fixture.parsed(books(0..fixture.size))?])
        },
        |_, _| {
            expect_count(fixture, BOOK, fixture.size)?;
            delete_books(fixture)
        },
    )
}

fn delete_books(fixture: &Fixture) -> Result<()> {
    let list = fixture.store.path(BOOK)?;
    fixture.store.commit(&[Edit::delete(list)]).map(drop)
}

/// The number of books in one commit.
const AT_ONCE: u64 = 100;

/// Stores books under a category in several commits.
pub fn books_in_parts(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    fixture.store.commit(&[fixture.parsed(books(0..0))?])?;
    fixture.measure_write(
        spec,
        |_| {
            for first in (0..fixture.size).step_by(AT_ONCE as usize) {
                let last = fixture.size.min(first + AT_ONCE);
                fixture
                    .store
                    .commit(&[fixture.parsed(books(first..last))?])?;
            }
            Ok(())
        },
        |_, ()| {
            expect_count(fixture, BOOK, fixture.size)?;
            delete_books(fixture)
        },
    )
}

fn expect_count(fixture: &Fixture, list: &str, expected: u64) -> Result<()> {
    let found = fixture.store.count(list)?;
    expect(found == expected, || format!("{found} entries"))
}
