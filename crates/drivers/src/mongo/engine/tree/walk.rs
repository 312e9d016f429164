//! From the root to rows.

use std::sync::Arc;

use espalier_keyspace::{Direction, ErrorKind, Finding, KeyRange, Result};

use super::super::error::corrupt;
use super::edit::child_span;
use super::{Page, Pages, Tree};

/// Leaves that are brought at once by whoever reads a range.
const AHEAD_MAX: usize = 32;

/// A leaf, and the keys that it has where any page has them.
pub(in crate::mongo) struct Leaf {
    pub(in crate::mongo) page: Arc<Page>,
    pub(in crate::mongo) span: KeyRange,
}

impl Tree {
    /// The leaf that a range begins in, read in a direction; `None` where the tree is empty. `ahead` is
    /// how many of those that follow are going to be read, too.
    pub(in crate::mongo) fn leaf(
        &self,
        pages: &impl Pages,
        range: &KeyRange,
        direction: Direction,
        ahead: usize,
    ) -> Result<Option<Leaf>> {
        let Some(root) = &self.root else {
            return Ok(None);
        };
        let mut page = pages.page(root)?;
        let mut span = KeyRange::all();
        for height in (0..self.height).rev() {
            let at = match (direction, &range.end) {
                (Direction::Forward, _) => page.child_of(&range.start),
                (Direction::Backward, None) => page.len() - 1,
                // The last that begins before the end.
                (Direction::Backward, Some(end)) => page.position(end).saturating_sub(1),
            };
            if height == 0 && ahead > 0 {
                pages.expect(&children_ahead(&page, at, direction, ahead))?;
            }
            let name = page.child(at).ok_or_else(|| corrupt("a page"))?;
            let below = pages.page(name)?;
            span = child_span(&page, at, &span);
            page = below;
        }
        Ok(Some(Leaf { page, span }))
    }

    /// Has the leaves of some keys brought at once.
    pub(in crate::mongo) fn expect(&self, pages: &impl Pages, keys: &[&[u8]]) -> Result<()> {
        let Some(root) = &self.root else {
            return Ok(());
        };
        let mut level = vec![pages.page(root)?];
        for height in (0..self.height).rev() {
            let mut names = Vec::new();
            for key in keys {
                // The pages of a level are in the order of their keys.
                let at = level.partition_point(|page| page.key(0) <= *key);
                let page = &level[at.saturating_sub(1)];
                let child = page.child(page.child_of(key));
                names.push(child.ok_or_else(|| corrupt("a page"))?.to_owned());
            }
            names.sort_unstable();
            names.dedup();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            if height == 0 {
                return pages.expect(&names);
            }
            level = pages.pages(&names)?;
            level.sort_by(|one, two| one.key(0).cmp(two.key(0)));
        }
        Ok(())
    }

    /// Visits every page from the root on; what cannot be read or is out of place is a finding.
    pub(in crate::mongo) fn check(
        &self,
        pages: &impl Pages,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        match &self.root {
            Some(root) => check(pages, root, self.height, &KeyRange::all(), findings),
            None => Ok(()),
        }
    }

    /// The names of all pages.
    pub(in crate::mongo) fn names(&self, pages: &impl Pages) -> Result<Vec<Arc<str>>> {
        let mut names: Vec<Arc<str>> = self.root.iter().cloned().collect();
        let mut level = names.clone();
        for _ in 0..self.height {
            let mut below = Vec::new();
            for part in level.chunks(AHEAD_MAX) {
                let part: Vec<_> = part.iter().map(|name| &**name).collect();
                for page in pages.pages(&part)? {
                    let children = (0..page.len()).filter_map(|at| page.child(at));
                    below.extend(children.map(Arc::from));
                }
            }
            names.extend(below.iter().cloned());
            level = below;
        }
        Ok(names)
    }
}

fn children_ahead(page: &Page, at: usize, direction: Direction, ahead: usize) -> Vec<&str> {
    let ahead = ahead.min(AHEAD_MAX);
    let places = match direction {
        Direction::Forward => at..page.len().min(at + 1 + ahead),
        Direction::Backward => at.saturating_sub(ahead)..at + 1,
    };
    places.filter_map(|at| page.child(at)).collect()
}

fn check(
    pages: &impl Pages,
    name: &str,
    height: usize,
    span: &KeyRange,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let mut found = |problem: &str| {
        findings.push(Finding {
            place: format!("page {name}"),
            problem: problem.to_owned(),
        });
    };
    let page = match pages.page(name) {
        Ok(page) => page,
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            found(&error.to_string());
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let (first, last) = (page.key(0), page.key(page.len() - 1));
    // What is above may begin a part before its first row, never after it.
    if !span.contains(first) || !span.contains(last) {
        found("it has keys that belong into another page");
    }
    let Some(height) = height.checked_sub(1) else {
        return Ok(());
    };
    for at in 0..page.len() {
        match page.child(at) {
            Some(child) => {
                let span = child_span(&page, at, span);
                check(pages, child, height, &span, findings)?;
            }
            None => findings.push(Finding {
                place: format!("page {name}"),
                problem: "what should name a page does not".to_owned(),
            }),
        }
    }
    Ok(())
}
