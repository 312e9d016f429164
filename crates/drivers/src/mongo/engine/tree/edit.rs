//! A tree with an overlay's changes: new pages for what they touch, and for the way to it.

use std::sync::Arc;

use espalier_keyspace::{Direction, KeyRange, Result};

use super::super::error::corrupt;
use super::{Overlay, Page, Pages, Tree};

/// A page with less than this part of the usual size is put together with the one that follows.
const LEAST_PART: usize = 4;

/// Where new pages go.
pub(in crate::mongo) trait Make {
    /// Takes a page, and gives it a name that no other one has.
    fn make(&mut self, page: Arc<Page>) -> Result<Arc<str>>;
}

/// What became of a tree.
pub(in crate::mongo) struct Edited {
    pub(in crate::mongo) tree: Tree,
    /// Pages that the new tree does not have: of the old one, and perhaps some that were made for nothing.
    pub(in crate::mongo) freed: Vec<Arc<str>>,
}

impl Tree {
    /// The tree with an overlay's changes. Pages have `page_bytes` or so.
    pub(in crate::mongo) fn edit(
        &self,
        pages: &impl Pages,
        overlay: &Overlay,
        make: &mut impl Make,
        page_bytes: usize,
    ) -> Result<Edited> {
        let mut edit = Edit {
            pages,
            overlay,
            make,
            page_bytes,
            last: None,
            freed: Vec::new(),
        };
        let mut height = self.height;
        let mut level = Level::of(height);
        match &self.root {
            Some(root) => edit.node(root, height, &KeyRange::all(), &mut level)?,
            None => edit.rows(&Page::default(), &KeyRange::all(), &mut level)?,
        }
        edit.close(&mut level)?;
        // What is many has something above it.
        while level.done.len() > 1 {
            height += 1;
            let below = std::mem::replace(&mut level, Level::of(height));
            for (key, name) in below.done {
                edit.push(&mut level, &key, name.as_bytes())?;
            }
            edit.close(&mut level)?;
        }
        let mut root = level.done.pop().map(|(_, name)| name);
        // And what has one page below it is nothing.
        while height > 0
            && let Some(name) = &root
        {
            let page = edit.made_or_there(name)?;
            if page.len() > 1 {
                break;
            }
            let child: Arc<str> = page.child(0).ok_or_else(|| corrupt("a page"))?.into();
            edit.freed.push(Arc::clone(name));
            root = Some(child);
            height -= 1;
        }
        let height = root.as_ref().map_or(0, |_| height);
        let tree = Tree { root, height };
        let freed = edit.freed;
        Ok(Edited { tree, freed })
    }
}

/// Pages of one height that follow each other, as they are made.
struct Level {
    /// The fewest entries of a page that is not the last: what only has one above another would never
    /// come to a root.
    least: usize,
    /// Those that are done, with the key that each begins at.
    done: Vec<(Vec<u8>, Arc<str>)>,
    /// What is to come into the next one.
    open: Page,
    /// Where that begins, unless it is at its first key: where the page was that it replaces.
    start: Option<Vec<u8>>,
}

impl Level {
    fn of(height: usize) -> Self {
        Self {
            least: if height == 0 { 1 } else { 2 },
            done: Vec::new(),
            open: Page::default(),
            start: None,
        }
    }
}

struct Edit<'a, P, M> {
    pages: &'a P,
    overlay: &'a Overlay,
    make: &'a mut M,
    page_bytes: usize,
    /// The page that was made last.
    last: Option<(Arc<str>, Arc<Page>)>,
    freed: Vec<Arc<str>>,
}

impl<P: Pages, M: Make> Edit<'_, P, M> {
    /// Puts what a page is to hold into a level of its height.
    fn node(
        &mut self,
        name: &str,
        height: usize,
        span: &KeyRange,
        level: &mut Level,
    ) -> Result<()> {
        let page = self.pages.page(name)?;
        self.freed.push(name.into());
        let Some(height) = height.checked_sub(1) else {
            return self.rows(&page, span, level);
        };
        let mut below = Level::of(height);
        self.expect_touched(&page, span)?;
        for at in 0..page.len() {
            let child = page.child(at).ok_or_else(|| corrupt("a page"))?;
            let part = child_span(&page, at, span);
            let is_short =
                !below.open.is_empty() && below.open.size() < self.page_bytes / LEAST_PART;
            if self.overlay.clears(&part) {
                self.forget(child, height)?;
            } else if is_short || self.overlay.touches(&part) {
                if below.open.is_empty() {
                    below.start = Some(page.key(at).to_vec());
                }
                self.node(child, height, &part, &mut below)?;
            } else {
                self.close(&mut below)?;
                below.done.push((page.key(at).to_vec(), child.into()));
            }
        }
        self.close(&mut below)?;
        for (key, name) in below.done {
            self.push(level, &key, name.as_bytes())?;
        }
        Ok(())
    }

    /// Has the pages below one that are going to be read brought at once.
    fn expect_touched(&self, page: &Page, span: &KeyRange) -> Result<()> {
        let touched = (0..page.len()).filter(|at| {
            let part = child_span(page, *at, span);
            self.overlay.touches(&part) && !self.overlay.clears(&part)
        });
        let names: Vec<_> = touched.filter_map(|at| page.child(at)).collect();
        self.pages.expect(&names)
    }

    /// Puts the rows of a leaf, as they are to be, into a level.
    fn rows(&mut self, page: &Page, span: &KeyRange, level: &mut Level) -> Result<()> {
        let overlay = self.overlay;
        let mut at = 0;
        for (key, value) in overlay.scan(span, Direction::Forward) {
            while at < page.len() && page.key(at) < key {
                self.kept_row(page, at, level)?;
                at += 1;
            }
            if at < page.len() && page.key(at) == key {
                at += 1;
            }
            if let Some(value) = value {
                self.push(level, key, value)?;
            }
        }
        for at in at..page.len() {
            self.kept_row(page, at, level)?;
        }
        Ok(())
    }

    fn kept_row(&mut self, page: &Page, at: usize, level: &mut Level) -> Result<()> {
        let key = page.key(at);
        match self.overlay.is_gone(key) {
            true => Ok(()),
            false => self.push(level, key, page.value(at)),
        }
    }

    /// Nothing of a page, or of what is below it, is left.
    fn forget(&mut self, name: &str, height: usize) -> Result<()> {
        if let Some(height) = height.checked_sub(1) {
            let page = self.pages.page(name)?;
            for at in 0..page.len() {
                let child = page.child(at).ok_or_else(|| corrupt("a page"))?;
                self.forget(child, height)?;
            }
        }
        self.freed.push(name.into());
        Ok(())
    }

    fn push(&mut self, level: &mut Level, key: &[u8], value: &[u8]) -> Result<()> {
        // A large row has a page of its own, so that it is not written again with its neighbours.
        let is_large = level.least == 1 && key.len() + value.len() >= self.page_bytes;
        if is_large {
            self.close(level)?;
        }
        level.open.push(key, value);
        if is_large {
            self.emit(level)
        } else if level.open.size() >= 2 * self.page_bytes {
            self.halve(level)
        } else {
            Ok(())
        }
    }

    /// Ends the page that is open.
    fn close(&mut self, level: &mut Level) -> Result<()> {
        if level.open.size() >= self.page_bytes * 3 / 2 {
            self.halve(level)?;
        }
        if !level.open.is_empty() {
            self.emit(level)?;
        }
        level.start = None;
        Ok(())
    }

    /// Makes a page of the first entries, those that fill about half of what is open.
    fn halve(&mut self, level: &mut Level) -> Result<()> {
        if level.open.len() < 2 * level.least {
            return Ok(());
        }
        let open = std::mem::take(&mut level.open);
        let (half, last) = (open.size() / 2, open.len() - level.least);
        let (mut count, mut size) = (0, 0);
        while count < last && (count < level.least || size < half) {
            size += open.key(count).len() + open.value(count).len();
            count += 1;
        }
        let (first, rest) = open.split(count);
        level.open = first;
        self.emit(level)?;
        level.open = rest;
        Ok(())
    }

    /// Makes a page of what is open.
    fn emit(&mut self, level: &mut Level) -> Result<()> {
        let page = Arc::new(std::mem::take(&mut level.open));
        let first = page.key(0);
        let key = match level.start.take() {
            Some(start) if start.as_slice() < first => start,
            _ => first.to_vec(),
        };
        let name = self.make.make(Arc::clone(&page))?;
        level.done.push((key, Arc::clone(&name)));
        self.last = Some((name, page));
        Ok(())
    }

    fn made_or_there(&self, name: &str) -> Result<Arc<Page>> {
        // The root is made last.
        match &self.last {
            Some((last, page)) if **last == *name => Ok(Arc::clone(page)),
            _ => self.pages.page(name),
        }
    }
}

/// The keys that the page below an entry may have.
pub(super) fn child_span(page: &Page, at: usize, span: &KeyRange) -> KeyRange {
    let start = match at {
        // Whatever is before it would come here.
        0 => span.start.clone(),
        _ => page.key(at).to_vec(),
    };
    let end = match at + 1 < page.len() {
        true => Some(page.key(at + 1).to_vec()),
        false => span.end.clone(),
    };
    KeyRange { start, end }
}
