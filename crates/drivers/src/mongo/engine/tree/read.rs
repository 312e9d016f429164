//! Reading a tree: finding leaves, prefetching, and checking all pages.

use std::sync::Arc;

use espalier_keyspace::{Direction, ErrorKind, Finding, KeyRange, Result};

use super::super::error::corrupt;
use super::editor::child_span;
use super::{PageSource, Tree};
use crate::page::Page;

/// Maximum number of leaves that a scan prefetches at once.
const AHEAD_MAX: usize = 32;

/// A leaf, and the range of keys that it covers.
pub(in crate::mongo) struct Leaf {
    pub(in crate::mongo) page: Arc<Page>,
    pub(in crate::mongo) span: KeyRange,
}

impl Tree {
    /// The first leaf of a range, in a direction; `None` if the tree is empty. Prefetches `ahead` leaves after
    /// it.
    pub(in crate::mongo) fn leaf(
        &self,
        pages: &impl PageSource,
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
                // The last entry that starts before the end.
                (Direction::Backward, Some(end)) => {
                    page.position(end, Direction::Forward).saturating_sub(1)
                }
            };
            if height == 0 && ahead > 0 {
                pages.prefetch(&children_ahead(&page, at, direction, ahead))?;
            }
            let name = page.child(at).ok_or_else(|| corrupt("invalid page"))?;
            let child = pages.page(name)?;
            span = child_span(&page, at, &span);
            page = child;
        }
        Ok(Some(Leaf { page, span }))
    }

    /// Prefetches the leaves of the given keys.
    pub(in crate::mongo) fn prefetch(&self, pages: &impl PageSource, keys: &[&[u8]]) -> Result<()> {
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
                names.push(child.ok_or_else(|| corrupt("invalid page"))?.to_owned());
            }
            names.sort_unstable();
            names.dedup();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            if height == 0 {
                return pages.prefetch(&names);
            }
            level = pages.pages(&names)?;
            level.sort_by(|one, two| one.key(0).cmp(two.key(0)));
        }
        Ok(())
    }

    /// Checks every page. A page that cannot be read, or that contains keys outside of its range, is a finding.
    pub(in crate::mongo) fn check(
        &self,
        pages: &impl PageSource,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        match &self.root {
            Some(root) => check(pages, root, self.height, &KeyRange::all(), findings),
            None => Ok(()),
        }
    }

    /// The names of all pages.
    pub(in crate::mongo) fn names(&self, pages: &impl PageSource) -> Result<Vec<Arc<str>>> {
        let mut names: Vec<Arc<str>> = self.root.iter().cloned().collect();
        let mut level = names.clone();
        for _ in 0..self.height {
            let mut children = Vec::new();
            for part in level.chunks(AHEAD_MAX) {
                let part: Vec<_> = part.iter().map(|name| &**name).collect();
                for page in pages.pages(&part)? {
                    let names = (0..page.len()).filter_map(|at| page.child(at));
                    children.extend(names.map(Arc::from));
                }
            }
            names.extend(children.iter().cloned());
            level = children;
        }
        Ok(names)
    }
}

fn children_ahead(page: &Page, at: usize, direction: Direction, ahead: usize) -> Vec<&str> {
    let ahead = ahead.min(AHEAD_MAX);
    let positions = match direction {
        Direction::Forward => at..page.len().min(at + 1 + ahead),
        Direction::Backward => at.saturating_sub(ahead)..at + 1,
    };
    positions.filter_map(|at| page.child(at)).collect()
}

fn check(
    pages: &impl PageSource,
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
    // The parent's range may start before the first key, never after it.
    if !span.contains(first) || !span.contains(last) {
        found("it has keys that belong to another page");
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
                problem: "an entry does not name a child page".to_owned(),
            }),
        }
    }
    Ok(())
}
