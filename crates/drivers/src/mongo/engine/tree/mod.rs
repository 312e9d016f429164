//! A B+ tree whose nodes are documents that never change.
//!
//! An edit makes new [`page`]s for what it changes and for the way to it, and leaves the old ones,
//! which whoever reads an older state goes on to read. So a tree is the name of its root: nothing of it
//! has to be looked at twice, and what was read can be kept as long as there is room.

mod edit;
mod edits;
mod overlay;
mod page;
mod walk;

pub(in crate::mongo) use edit::Make;
pub(in crate::mongo) use edits::Edits;
pub(in crate::mongo) use overlay::Overlay;
pub(in crate::mongo) use page::Page;

use std::sync::Arc;

use espalier_keyspace::Result;

/// A tree of pages; empty where it has no root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mongo) struct Tree {
    /// The name of the page that everything is below.
    pub(in crate::mongo) root: Option<Arc<str>>,
    /// How many pages there are on the way from the root to a row, without that of the row.
    pub(in crate::mongo) height: usize,
}

/// Where pages are read.
pub(in crate::mongo) trait Pages {
    /// The pages of some names, in their order.
    fn pages(&self, names: &[&str]) -> Result<Vec<Arc<Page>>>;

    /// The page of a name.
    fn page(&self, name: &str) -> Result<Arc<Page>> {
        let found = self.pages(&[name])?.pop();
        found.ok_or_else(|| super::error::corrupt("a page"))
    }

    /// Has pages that are going to be read one by one brought at once, as far as there is room for
    /// them.
    fn expect(&self, _names: &[&str]) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet, HashMap};

    use espalier_keyspace::{Direction, KeyRange};
    use espalier_testkit::seed;
    use rand::Rng;
    use rand::rngs::StdRng;

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
