//! Applies edits to a tree: writes new pages for the changed leaves and their ancestors.

use std::sync::Arc;

use espalier_keyspace::{KeyRange, Result};

use super::super::error::corrupt;
use super::{Edits, PageSource, Tree};
use crate::page::Page;

/// A page of less than one such part of the usual size is merged with the one that follows.
const MERGE_PART: usize = 4;

/// Stores new pages.
pub(in crate::mongo) trait PageSink {
    /// Stores a page under a new name, which it returns.
    fn add(&mut self, page: Arc<Page>) -> Result<Arc<str>>;

    /// Returns when all pages can be read.
    fn flush(&mut self) -> Result<()>;
}

/// The result of an edit.
pub(in crate::mongo) struct EditResult {
    pub(in crate::mongo) tree: Tree,
    /// Pages that are not in the new tree: pages of the old tree, and perhaps new ones that turned out to be unused.
    pub(in crate::mongo) freed: Vec<Arc<str>>,
}

impl Tree {
    /// The tree after the edits. Pages have about `page_bytes`.
    pub(in crate::mongo) fn edit(
        &self,
        pages: &impl PageSource,
        edits: Edits<'_>,
        sink: &mut impl PageSink,
        page_bytes: usize,
    ) -> Result<EditResult> {
        let mut editor = Editor {
            pages,
            edits,
            sink,
            page_bytes,
            last: None,
            freed: Vec::new(),
        };
        let mut height = self.height;
        let mut level = Level::of(height);
        match &self.root {
            Some(root) => editor.node(root, height, &KeyRange::all(), &mut level)?,
            None => editor.rows(&Page::default(), &KeyRange::all(), &mut level)?,
        }
        editor.close(&mut level)?;
        // Several pages need a parent level.
        while level.done.len() > 1 {
            height += 1;
            let below = std::mem::replace(&mut level, Level::of(height));
            for (key, name) in below.done {
                editor.push(&mut level, &key, name.as_bytes())?;
            }
            editor.close(&mut level)?;
        }
        let mut root = level.done.pop().map(|(_, name)| name);
        // A root with a single child is removed.
        while height > 0
            && let Some(name) = &root
        {
            let page = editor.page_of_root(name)?;
            if page.len() > 1 {
                break;
            }
            let child: Arc<str> = page.child(0).ok_or_else(|| corrupt("invalid page"))?.into();
            editor.freed.push(Arc::clone(name));
            root = Some(child);
            height -= 1;
        }
        let height = root.as_ref().map_or(0, |_| height);
        let tree = Tree { root, height };
        let freed = editor.freed;
        Ok(EditResult { tree, freed })
    }
}

/// Builds consecutive pages of one height.
struct Level {
    /// The fewest entries of a page that is not the only one: levels of pages with one entry each would never
    /// end in a root.
    least: usize,
    /// The pages that are done, with the first key of each.
    done: Vec<(Vec<u8>, Arc<str>)>,
    /// A full page, which waits until the one after it is large enough, or is merged into this one.
    full: Option<Page>,
    /// The entries of the next page.
    open: Page,
    /// The start of the next page if it is before the page's first key: that of the page that it replaces.
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

    /// Whether all entries are in pages that are done.
    fn is_closed(&self) -> bool {
        self.full.is_none() && self.open.is_empty()
    }

    /// Whether the remaining entries are too few for a page of their own.
    fn is_short(&self, page_bytes: usize) -> bool {
        let is_small = self.open.size() < page_bytes / MERGE_PART;
        self.full.is_none() && !self.open.is_empty() && is_small
    }
}

struct Editor<'a, P, M> {
    pages: &'a P,
    edits: Edits<'a>,
    sink: &'a mut M,
    page_bytes: usize,
    /// The page that was written last.
    last: Option<(Arc<str>, Arc<Page>)>,
    freed: Vec<Arc<str>>,
}

impl<P: PageSource, M: PageSink> Editor<'_, P, M> {
    /// Adds the edited content of a page to a level of its height.
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
        let mut children = Level::of(height);
        self.prefetch_changed(&page, span)?;
        for at in 0..page.len() {
            let child = page.child(at).ok_or_else(|| corrupt("invalid page"))?;
            let part = child_span(&page, at, span);
            if self.edits.clears(&part) {
                self.free(child, height)?;
            } else if children.is_short(self.page_bytes) || self.edits.has_changes(&part) {
                if children.is_closed() {
                    children.start = Some(page.key(at).to_vec());
                }
                self.node(child, height, &part, &mut children)?;
            } else {
                self.close(&mut children)?;
                children.done.push((page.key(at).to_vec(), child.into()));
            }
        }
        self.close(&mut children)?;
        for (key, name) in children.done {
            self.push(level, &key, name.as_bytes())?;
        }
        Ok(())
    }

    /// Prefetches the child pages that the edits change.
    fn prefetch_changed(&self, page: &Page, span: &KeyRange) -> Result<()> {
        let changed = (0..page.len()).filter(|at| {
            let part = child_span(page, *at, span);
            self.edits.has_changes(&part) && !self.edits.clears(&part)
        });
        let names: Vec<_> = changed.filter_map(|at| page.child(at)).collect();
        self.pages.prefetch(&names)
    }

    /// Adds the edited rows of a leaf to a level.
    fn rows(&mut self, page: &Page, span: &KeyRange, level: &mut Level) -> Result<()> {
        let mut at = 0;
        for (key, value) in self.edits.scan(span) {
            while at < page.len() && page.key(at) < key {
                self.push_unless_cleared(page, at, level)?;
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
            self.push_unless_cleared(page, at, level)?;
        }
        Ok(())
    }

    fn push_unless_cleared(&mut self, page: &Page, at: usize, level: &mut Level) -> Result<()> {
        let key = page.key(at);
        match self.edits.is_cleared(key) {
            true => Ok(()),
            false => self.push(level, key, page.value(at)),
        }
    }

    /// Frees a page and all of its descendants.
    fn free(&mut self, name: &str, height: usize) -> Result<()> {
        if let Some(height) = height.checked_sub(1) {
            let page = self.pages.page(name)?;
            for at in 0..page.len() {
                let child = page.child(at).ok_or_else(|| corrupt("invalid page"))?;
                self.free(child, height)?;
            }
        }
        self.freed.push(name.into());
        Ok(())
    }

    fn push(&mut self, level: &mut Level, key: &[u8], value: &[u8]) -> Result<()> {
        // A large row gets a page of its own, so that it is not rewritten with its neighbours.
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

    /// Ends the open page.
    fn close(&mut self, level: &mut Level) -> Result<()> {
        let open = std::mem::take(&mut level.open);
        let is_small = open.size() < self.page_bytes / 2 || open.len() < level.least;
        match level.full.take() {
            Some(mut full) if is_small => {
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

    /// Writes a page.
    fn emit(&mut self, level: &mut Level, page: Page) -> Result<()> {
        let page = Arc::new(page);
        let first = page.key(0);
        let key = match level.start.take() {
            Some(start) if start.as_slice() < first => start,
            _ => first.to_vec(),
        };
        let name = self.sink.add(Arc::clone(&page))?;
        level.done.push((key, Arc::clone(&name)));
        self.last = Some((name, page));
        Ok(())
    }

    /// A page on the way down from a new root.
    fn page_of_root(&mut self, name: &str) -> Result<Arc<Page>> {
        // The root is written last.
        if let Some((last, page)) = &self.last
            && **last == *name
        {
            return Ok(Arc::clone(page));
        }
        self.sink.flush()?;
        self.pages.page(name)
    }
}

/// The range of keys that the child page of an entry may contain.
pub(super) fn child_span(page: &Page, at: usize, span: &KeyRange) -> KeyRange {
    let start = match at {
        // A key before the first entry belongs here too.
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

    /// Encoded pages in memory.
    #[derive(Default)]
    struct Stored {
        pages: RefCell<HashMap<String, Vec<u8>>>,
        names: usize,
    }

    impl PageSource for Stored {
        fn pages(&self, names: &[&str]) -> Result<Vec<Arc<Page>>> {
            let pages = self.pages.borrow();
            let found = names.iter().map(|name| Page::decode(&pages[*name]));
            Ok(found.map(|page| Arc::new(page.expect("a page"))).collect())
        }
    }

    /// Stores the pages of one edit.
    struct Written<'a> {
        stored: &'a Stored,
        numbers: &'a mut usize,
        names: Vec<String>,
    }

    impl<'a> Written<'a> {
        fn into(stored: &'a Stored, numbers: &'a mut usize) -> Self {
            let names = Vec::new();
            Self {
                stored,
                numbers,
                names,
            }
        }
    }

    impl PageSink for Written<'_> {
        fn add(&mut self, page: Arc<Page>) -> Result<Arc<str>> {
            *self.numbers += 1;
            let name = format!("{:06}", self.numbers);
            let mut pages = self.stored.pages.borrow_mut();
            assert!(pages.insert(name.clone(), page.encode()).is_none());
            self.names.push(name.clone());
            Ok(name.into())
        }

        fn flush(&mut self) -> Result<()> {
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

    /// Random changes, applied to the model too.
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

    /// Random edits, compared with a map. Every old tree stays unchanged, and exactly the pages that can no
    /// longer be reached are freed.
    #[test]
    fn random_edits_match_a_map() {
        seed::run("edits of a tree of pages", |random| {
            let page_bytes = random.random_range(20..200);
            let mut stored = Stored::default();
            let mut numbers = 0;
            let mut tree = Tree::default();
            let mut model = BTreeMap::new();
            let (mut older, mut existing) = (Vec::new(), BTreeSet::new());
            for _ in 0..40 {
                let overlay = changes(random, &mut model);
                let mut rows = BTreeMap::new();
                for _ in 0..random.random_range(0..4) * 10 {
                    rows.insert(key(random), vec![b'r'; random.random_range(0..40)]);
                }
                model.extend(rows.clone());
                let mut written = Written::into(&stored, &mut numbers);
                let rows: Vec<_> = rows.iter().map(|(key, value)| (&**key, &**value)).collect();
                let edits = Edits {
                    overlay: &overlay,
                    rows: &rows,
                };
                let edited = tree.edit(&stored, edits, &mut written, page_bytes);
                let edited = edited.expect("an edit");
                existing.extend(written.names);
                older.push((std::mem::replace(&mut tree, edited.tree), stored.names));
                stored.names = model.len();
                for name in edited.freed {
                    assert!(existing.remove(&*name), "{name} did not exist");
                }
                let reached = tree.names(&stored).expect("names");
                let reached: BTreeSet<_> = reached.iter().map(|name| name.to_string()).collect();
                assert_eq!(reached, existing);
                let expected: Vec<_> = model.clone().into_iter().collect();
                assert_eq!(all_rows(&tree, &stored, Direction::Forward), expected);
                let backward: Vec<_> = model.clone().into_iter().rev().collect();
                assert_eq!(all_rows(&tree, &stored, Direction::Backward), backward);
                let mut findings = Vec::new();
                tree.check(&stored, &mut findings).expect("checked");
                assert_eq!(findings, []);
                for _ in 0..5 {
                    let key = key(random);
                    tree.prefetch(&stored, &[&key]).expect("leaves");
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

    /// A change of one row writes one page for each level of the tree; rows that are written in order fill their
    /// pages.
    #[test]
    fn an_edit_writes_only_the_path_to_its_row() {
        let stored = Stored::default();
        let mut numbers = 0;
        let mut overlay = Overlay::default();
        for number in 0..20_000_u32 {
            overlay.put(&number.to_be_bytes(), b"a value");
        }
        let mut written = Written::into(&stored, &mut numbers);
        let edited = Tree::default().edit(&stored, only(&overlay), &mut written, 1000);
        let edited = edited.expect("an edit");
        let rows: usize = (20_000_usize * 15).div_ceil(1000);
        assert!(
            written.names.len() < rows * 11 / 10,
            "{}",
            written.names.len()
        );
        let tree = edited.tree;
        assert_eq!(tree.height, 2);
        let mut overlay = Overlay::default();
        overlay.put(&700_u32.to_be_bytes(), b"another");
        let mut written = Written::into(&stored, &mut numbers);
        let edited = tree.edit(&stored, only(&overlay), &mut written, 1000);
        let edited = edited.expect("an edit");
        assert_eq!((written.names.len(), edited.freed.len()), (3, 3));
        let mut overlay = Overlay::default();
        overlay.delete_range(&KeyRange::all());
        let mut written = Written::into(&stored, &mut numbers);
        let edited = tree.edit(&stored, only(&overlay), &mut written, 1000);
        let edited = edited.expect("an edit");
        assert_eq!((edited.tree, written.names.len()), (Tree::default(), 0));
    }
}
