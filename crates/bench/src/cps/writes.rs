//! Rows that store devices and books: documents are parsed each time, and committed at once.

use espalier_store::Edit;

use super::bed::{About, Bed};
use super::devices::{DEVICE, SUCCESS, books, document};
use super::updates::empty;
use crate::dataset::expect;
use crate::row::Row;
use espalier_terminal::Result;

/// Devices are stored in an empty anchor.
pub fn devices(bed: &Bed, about: About) -> Result<Row> {
    bed.measure_write(
        about,
        |_| {
            bed.stand
                .commit(&[bed.parsed(document(0..bed.size, SUCCESS))?])
        },
        |_, _| {
            expect_count(bed, DEVICE, bed.size)?;
            empty(bed)
        },
    )
}

/// Devices are added to the list, which is empty; the container is there.
pub fn list_of_devices(bed: &Bed, about: About) -> Result<Row> {
    let none = bed.parsed(document(0..0, SUCCESS))?;
    bed.stand.commit(&[none])?;
    let row = bed.measure_write(
        about,
        |_| {
            bed.stand
                .commit(&[bed.parsed(document(0..bed.size, SUCCESS))?])
        },
        |_, _| {
            expect_count(bed, DEVICE, bed.size)?;
            let list = bed.stand.path(DEVICE)?;
            bed.stand.commit(&[Edit::delete(list)]).map(drop)
        },
    )?;
    empty(bed)?;
    Ok(row)
}

/// The books of the category.
const BOOK: &str = "/espalier-bench-books:shop/category[code='1']/book";

/// Books are stored under a category that is there.
pub fn all_books(bed: &Bed, about: About) -> Result<Row> {
    bed.stand.commit(&[bed.parsed(books(0..0))?])?;
    bed.measure_write(
        about,
        |_| bed.stand.commit(&[bed.parsed(books(0..bed.size))?]),
        |_, _| {
            expect_count(bed, BOOK, bed.size)?;
            delete_books(bed)
        },
    )
}

fn delete_books(bed: &Bed) -> Result<()> {
    let list = bed.stand.path(BOOK)?;
    bed.stand.commit(&[Edit::delete(list)]).map(drop)
}

/// Books stored at once.
const AT_ONCE: u64 = 100;

/// Books are stored under a category, some at once.
pub fn books_in_parts(bed: &Bed, about: About) -> Result<Row> {
    bed.stand.commit(&[bed.parsed(books(0..0))?])?;
    bed.measure_write(
        about,
        |_| {
            for first in (0..bed.size).step_by(AT_ONCE as usize) {
                let last = bed.size.min(first + AT_ONCE);
                bed.stand.commit(&[bed.parsed(books(first..last))?])?;
            }
            Ok(())
        },
        |_, ()| {
            expect_count(bed, BOOK, bed.size)?;
            delete_books(bed)
        },
    )
}

fn expect_count(bed: &Bed, list: &str, wanted: u64) -> Result<()> {
    let found = bed.stand.count(list)?;
    expect(found == wanted, || format!("{found} entries"))
}
