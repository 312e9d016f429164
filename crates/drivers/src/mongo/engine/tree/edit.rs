//! A tree with changes: new pages for what they touch, and for the way to it.

use std::sync::Arc;

use espalier_keyspace::{KeyRange, Result};

use super::super::error::corrupt;
use super::{Edits, Page, Pages, Tree};

/// A page with less than this part of the usual size is put together with the one that follows.
const LEAST_PART: usize = 4;

/// Where new pages go.
pub(in crate::mongo) trait Make {
    /// Takes a page, and gives it a name that no other one has.
    fn make(&mut self, page: Arc<Page>) -> Result<Arc<str>>;

    /// Has all pages where they can be read.
    fn store(&mut self) -> Result<()>;
}

/// What became of a tree.
pub(in crate::mongo) struct Edited {
    pub(in crate::mongo) tree: Tree,
    /// Pages that the new tree does not have: of the old one, and perhaps some that were made for nothing.
    pub(in crate::mongo) freed: Vec<Arc<str>>,
}

impl Tree {
    /// The tree with changes. Pages have `page_bytes` or so.
    pub(in crate::mongo) fn edit(
        &self,
        pages: &impl Pages,
        edits: Edits<'_>,
        make: &mut impl Make,
        page_bytes: usize,
    ) -> Result<Edited> {
        let mut edit = Edit {
            pages,
            edits,
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
    /// The fewest entries of a page that is not the only one: what only has one above another would never
    /// come to a root.
    least: usize,
    /// Those that are done, with the key that each begins at.
    done: Vec<(Vec<u8>, Arc<str>)>,
    /// One that is full, and waits for whether enough comes after it.
    full: Option<Page>,
    /// What is to come into the next one.
    open: Page,
    /// Where the next one begins, unless it is at its first key: where the page was that it replaces.
    start: Option<Vec<u8>>,
}

impl Level {
    fn of(height: usize) -> Self {
        Self {
            least: if height == 0 { 1 } else { 2 },
            done: Vec::new(),
            full: None,
            open: Page::default(),
            start: None,
        }
    }

    /// Whether everything that came into it is done.
    fn is_closed(&self) -> bool {
        self.full.is_none() && self.open.is_empty()
    }

    /// Whether what is not done yet is too little for a page of its own.
    fn is_short(&self, page_bytes: usize) -> bool {
        let is_little = self.open.size() < page_bytes / LEAST_PART;
        self.full.is_none() && !self.open.is_empty() && is_little
    }
}

struct Edit<'a, P, M> {
    pages: &'a P,
    edits: Edits<'a>,
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
            if self.edits.clears(&part) {
                self.forget(child, height)?;
            } else if below.is_short(self.page_bytes) || self.edits.touches(&part) {
                if below.is_closed() {
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
            self.edits.touches(&part) && !self.edits.clears(&part)
        });
        let names: Vec<_> = touched.filter_map(|at| page.child(at)).collect();
        self.pages.expect(&names)
    }

    /// Puts the rows of a leaf, as they are to be, into a level.
    fn rows(&mut self, page: &Page, span: &KeyRange, level: &mut Level) -> Result<()> {
        let mut at = 0;
        for (key, value) in self.edits.scan(span) {
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
        match self.edits.is_gone(key) {
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
        if level.open.is_empty() {
            level.open = Page::with_room(self.page_bytes);
        }
        level.open.push(key, value);
        if is_large {
            return self.close(level);
        }
        if level.open.size() >= self.page_bytes && level.open.len() >= level.least {
            let full = level.full.replace(std::mem::take(&mut level.open));
            full.map_or(Ok(()), |full| self.emit(level, full))?;
        }
        Ok(())
    }

    /// Ends the page that is open.
    fn close(&mut self, level: &mut Level) -> Result<()> {
        let open = std::mem::take(&mut level.open);
        let is_little = open.size() < self.page_bytes / 2 || open.len() < level.least;
        match level.full.take() {
            Some(mut full) if is_little => {
                full.append(&open);
                self.emit(level, full)?;
            }
            Some(full) => {
                self.emit(level, full)?;
                self.emit(level, open)?;
            }
            None if open.is_empty() => {}
            None => self.emit(level, open)?,
        }
        level.start = None;
        Ok(())
    }

    /// Makes a page.
    fn emit(&mut self, level: &mut Level, page: Page) -> Result<()> {
        let page = Arc::new(page);
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

    fn made_or_there(&mut self, name: &str) -> Result<Arc<Page>> {
        // The root is made last.
        if let Some((last, page)) = &self.last
            && **last == *name
        {
            return Ok(Arc::clone(page));
        }
        self.make.store()?;
        self.pages.page(name)
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet, HashMap};

    use espalier_keyspace::{Direction, KeyRange};
    use espalier_testkit::seed;
    use rand::Rng;
    use rand::rngs::StdRng;

    use super::super::Overlay;
    use super::*;

    /// Pages in memory, as they would be stored.
    #[derive(Default)]
    struct Stored {
        pages: RefCell<HashMap<String, Vec<u8>>>,
        names: usize,
    }

    impl Pages for Stored {
        fn pages(&self, names: &[&str]) -> Result<Vec<Arc<Page>>> {
            let pages = self.pages.borrow();
            let found = names.iter().map(|name| Page::decode(&pages[*name]));
            Ok(found.map(|page| Arc::new(page.expect("a page"))).collect())
        }
    }

    /// Pages that an edit makes.
    struct Made<'a> {
        stored: &'a Stored,
        numbers: &'a mut usize,
        made: Vec<String>,
    }

    impl<'a> Made<'a> {
        fn into(stored: &'a Stored, numbers: &'a mut usize) -> Self {
            let made = Vec::new();
            Self {
                stored,
                numbers,
                made,
            }
        }
    }

    impl Make for Made<'_> {
        fn make(&mut self, page: Arc<Page>) -> Result<Arc<str>> {
            *self.numbers += 1;
            let name = format!("{:06}", self.numbers);
            let mut pages = self.stored.pages.borrow_mut();
            assert!(pages.insert(name.clone(), page.encode()).is_none());
            self.made.push(name.clone());
            Ok(name.into())
        }

        fn store(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn key(random: &mut StdRng) -> Vec<u8> {
        let length = random.random_range(1..6);
        (0..length)
            .map(|_| random.random_range(b'a'..b'f'))
            .collect()
    }

    fn range(random: &mut StdRng) -> KeyRange {
        let (one, two) = (key(random), key(random));
        let end = random
            .random_ratio(9, 10)
            .then(|| one.clone().max(two.clone()));
        KeyRange {
            start: one.min(two),
            end,
        }
    }

    fn only(overlay: &Overlay) -> Edits<'_> {
        Edits { overlay, rows: &[] }
    }

    /// All rows, read leaf by leaf.
    fn all_rows(tree: &Tree, stored: &Stored, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
        let (mut rows, mut rest) = (Vec::new(), KeyRange::all());
        while let Some(leaf) = tree.leaf(stored, &rest, direction, 2).expect("a leaf") {
            let row = |at| (leaf.page.key(at).to_vec(), leaf.page.value(at).to_vec());
            let page = (0..leaf.page.len()).map(row);
            match direction {
                Direction::Forward => {
                    rows.extend(page);
                    let Some(end) = leaf.span.end else { break };
                    rest.start = end;
                }
                Direction::Backward => {
                    rows.extend(page.rev());
                    if leaf.span.start.is_empty() {
                        break;
                    }
                    rest.end = Some(leaf.span.start);
                }
            }
        }
        rows
    }

    /// Random changes, which the model has too.
    fn changes(random: &mut StdRng, model: &mut BTreeMap<Vec<u8>, Vec<u8>>) -> Overlay {
        let mut overlay = Overlay::default();
        for _ in 0..random.random_range(1..60) {
            let key = key(random);
            match random.random_range(0..20) {
                0 => {
                    let range = range(random);
                    overlay.delete_range(&range);
                    model.retain(|key: &Vec<u8>, _| !range.contains(key));
                }
                1..6 => {
                    overlay.delete(&key);
                    model.remove(&key);
                }
                _ => {
                    let value = vec![b'v'; random.random_range(0..40)];
                    overlay.put(&key, &value);
                    model.insert(key, value);
                }
            }
        }
        overlay
    }

    /// Random edits against a map; every old tree stays as it was, and what is freed is what is not
    /// reached any more.
    #[test]
    fn a_tree_is_what_was_done_to_it() {
        seed::run("edits of a tree of pages", |random| {
            let page_bytes = random.random_range(20..200);
            let mut stored = Stored::default();
            let mut numbers = 0;
            let mut tree = Tree::default();
            let mut model = BTreeMap::new();
            let (mut older, mut there) = (Vec::new(), BTreeSet::new());
            for _ in 0..40 {
                let overlay = changes(random, &mut model);
                let mut rows = BTreeMap::new();
                for _ in 0..random.random_range(0..4) * 10 {
                    rows.insert(key(random), vec![b'r'; random.random_range(0..40)]);
                }
                model.extend(rows.clone());
                let mut made = Made::into(&stored, &mut numbers);
                let rows: Vec<_> = rows.iter().map(|(key, value)| (&**key, &**value)).collect();
                let edits = Edits {
                    overlay: &overlay,
                    rows: &rows,
                };
                let edited = tree.edit(&stored, edits, &mut made, page_bytes);
                let edited = edited.expect("an edit");
                there.extend(made.made);
                older.push((std::mem::replace(&mut tree, edited.tree), stored.names));
                stored.names = model.len();
                for name in edited.freed {
                    assert!(there.remove(&*name), "{name} was not there");
                }
                let reached = tree.names(&stored).expect("names");
                let reached: BTreeSet<_> = reached.iter().map(|name| name.to_string()).collect();
                assert_eq!(reached, there);
                let expected: Vec<_> = model.clone().into_iter().collect();
                assert_eq!(all_rows(&tree, &stored, Direction::Forward), expected);
                let backward: Vec<_> = model.clone().into_iter().rev().collect();
                assert_eq!(all_rows(&tree, &stored, Direction::Backward), backward);
                let mut findings = Vec::new();
                tree.check(&stored, &mut findings).expect("checked");
                assert_eq!(findings, []);
                for _ in 0..5 {
                    let key = key(random);
                    tree.expect(&stored, &[&key]).expect("leaves");
                    let range = KeyRange {
                        start: key.clone(),
                        end: None,
                    };
                    let leaf = tree
                        .leaf(&stored, &range, Direction::Forward, 0)
                        .expect("a leaf");
                    let found = leaf
                        .as_ref()
                        .and_then(|leaf| Some(leaf.page.value(leaf.page.find(&key)?).to_vec()));
                    assert_eq!(found.as_ref(), model.get(&key));
                }
            }
            for (tree, keys) in older {
                assert_eq!(all_rows(&tree, &stored, Direction::Forward).len(), keys);
            }
        });
    }

    /// One row among many makes as many pages as the tree is high; rows that are written in order fill
    /// their pages.
    #[test]
    fn an_edit_makes_the_way_to_it() {
        let stored = Stored::default();
        let mut numbers = 0;
        let mut overlay = Overlay::default();
        for number in 0..20_000_u32 {
            overlay.put(&number.to_be_bytes(), b"a value");
        }
        let mut made = Made::into(&stored, &mut numbers);
        let edited = Tree::default().edit(&stored, only(&overlay), &mut made, 1000);
        let edited = edited.expect("an edit");
        let rows: usize = (20_000_usize * 15).div_ceil(1000);
        assert!(made.made.len() < rows * 11 / 10, "{}", made.made.len());
        let tree = edited.tree;
        assert_eq!(tree.height, 2);
        let mut overlay = Overlay::default();
        overlay.put(&700_u32.to_be_bytes(), b"another");
        let mut made = Made::into(&stored, &mut numbers);
        let edited = tree.edit(&stored, only(&overlay), &mut made, 1000);
        let edited = edited.expect("an edit");
        assert_eq!((made.made.len(), edited.freed.len()), (3, 3));
        let mut overlay = Overlay::default();
        overlay.delete_range(&KeyRange::all());
        let mut made = Made::into(&stored, &mut numbers);
        let edited = tree.edit(&stored, only(&overlay), &mut made, 1000);
        let edited = edited.expect("an edit");
        assert_eq!((edited.tree, made.made.len()), (Tree::default(), 0));
    }
}
