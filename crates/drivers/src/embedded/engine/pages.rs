//! Checks LMDB's pages by reading the file without LMDB.
//!
//! LMDB trusts its file: a damaged page aborts the process with an assertion, and a page beyond the end of
//! the file with a bus error. So a file that may be damaged is checked here first, with plain reads. The
//! layout is that of LMDB 0.9 on a 64-bit little-endian machine, as in `mdb.c`. The check covers one
//! committed state, whose pages are not reused while a transaction holds it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use espalier_keyspace::Finding;

/// Maximum number of findings; a damaged engine may have any number.
pub(in crate::embedded) const FINDINGS_MAX: usize = 100;

const HEADER_BYTES: usize = 16;
const NODE_BYTES: usize = 8;
const META_BYTES: usize = 152;
const MAGIC: u32 = 0xbeef_c0de;
const NO_PAGE: u64 = u64::MAX;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
/// The page flags that determine the type.
const KIND: u16 = 0x6f;

/// The flag of a node whose value is on overflow pages.
const BIG: u16 = 0x01;

/// Which committed state to check.
#[derive(Clone, Copy, Debug)]
pub(in crate::embedded) enum CheckedState {
    /// The newest state.
    Newest,
    /// The state of this transaction.
    Transaction(u64),
}

/// Checks every page that a state uses; `None` if the state is no longer in the file, because two commits
/// came after it.
pub(in crate::embedded) fn check_pages(
    path: &Path,
    which: CheckedState,
) -> io::Result<Option<Vec<Finding>>> {
    let file = File::open(path)?;
    let Some(meta) = Meta::find(&file, which)? else {
        return Ok(None);
    };
    let file_pages = file.metadata()?.len() / meta.page_bytes;
    let mut walk = PageWalk {
        path,
        file: &file,
        page_bytes: meta.page_bytes as usize,
        pages: file_pages.min(meta.last_page + 1),
        used: vec![0; (file_pages.min(meta.last_page + 1)) as usize / 64 + 1],
        findings: Vec::new(),
    };
    for tree in &meta.trees {
        walk.tree(tree)?;
    }
    Ok(Some(walk.findings))
}

struct Meta {
    page_bytes: u64,
    last_page: u64,
    transaction: u64,
    /// The trees of free pages and of keys.
    trees: [Tree; 2],
}

struct Tree {
    name: &'static str,
    depth: u16,
    root: u64,
    /// Numbers of branch, leaf and overflow pages, as recorded by LMDB.
    counts: [u64; 3],
}

impl Meta {
    fn find(file: &File, which: CheckedState) -> io::Result<Option<Self>> {
        let Some(first) = Self::read(file, 0)? else {
            return Ok(None);
        };
        let second = Self::read(file, first.page_bytes)?;
        let mut both = [Some(first), second].into_iter().flatten();
        Ok(match which {
            CheckedState::Newest => both.max_by_key(|meta| meta.transaction),
            CheckedState::Transaction(id) => both.find(|meta| meta.transaction == id),
        })
    }

    /// The meta page at an offset; `None` if there is none, or it is being written.
    fn read(file: &File, offset: u64) -> io::Result<Option<Self>> {
        let (mut bytes, mut again) = ([0; META_BYTES], [0; META_BYTES]);
        for bytes in [&mut bytes, &mut again] {
            match file.read_exact_at(bytes, offset) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                read => read?,
            }
        }
        let page_bytes = u64::from(u32_at(&bytes, 40));
        let sound = bytes == again && u32_at(&bytes, 16) == MAGIC && page_bytes.is_power_of_two();
        Ok((sound && page_bytes >= 512).then(|| Self {
            page_bytes,
            last_page: u64_at(&bytes, 136),
            transaction: u64_at(&bytes, 144),
            trees: [
                Tree::read(&bytes[40..], "the free pages"),
                Tree::read(&bytes[88..], "the keys"),
            ],
        }))
    }
}

impl Tree {
    fn read(bytes: &[u8], name: &'static str) -> Self {
        Self {
            name,
            depth: u16_at(bytes, 6),
            root: u64_at(bytes, 40),
            counts: [8, 16, 24].map(|at| u64_at(bytes, at)),
        }
    }
}

struct PageWalk<'a> {
    path: &'a Path,
    file: &'a File,
    page_bytes: usize,
    /// Pages that can be read.
    pages: u64,
    /// One bit for each visited page.
    used: Vec<u64>,
    findings: Vec<Finding>,
}

impl PageWalk<'_> {
    fn tree(&mut self, tree: &Tree) -> io::Result<()> {
        let mut counts = [0; 3];
        // Pages to visit, each with its height: leaves have 1.
        let mut rest = Vec::new();
        if tree.root != NO_PAGE {
            rest.push((tree.root, tree.depth));
        }
        let mut page = vec![0; self.page_bytes];
        while let Some((number, height)) = rest.pop() {
            if self.findings.len() >= FINDINGS_MAX {
                return Ok(());
            }
            if !self.mark_used(number, 1) {
                continue;
            }
            self.read(number, &mut page)?;
            let kind = if height > 1 { BRANCH } else { LEAF };
            if let Err(problem) = check_header(&page, number, kind) {
                self.add_finding(number, problem);
                continue;
            }
            counts[usize::from(height <= 1)] += 1;
            for node in nodes(&page) {
                match node {
                    Err(problem) => self.add_finding(number, problem),
                    Ok(node) if height > 1 => rest.push((node.child(), height - 1)),
                    Ok(node) => counts[2] += self.value(number, &node)?,
                }
            }
        }
        if self.findings.is_empty() && counts != tree.counts {
            let found = format!(
                "{} have {counts:?} branch, leaf and overflow pages; the engine has recorded {:?}",
                tree.name, tree.counts
            );
            self.add_finding(0, found);
        }
        Ok(())
    }

    /// Checks the overflow pages of a value, if it has any, and returns their number.
    fn value(&mut self, page: u64, node: &Node<'_>) -> io::Result<u64> {
        let inline = node.flags & BIG == 0;
        let room = if inline { node.length() } else { 8 };
        if node.flags & !BIG != 0 || node.data.len() < room {
            self.add_finding(page, "a node is damaged".into());
            return Ok(0);
        }
        if inline {
            return Ok(0);
        }
        let number = u64_at(node.data, 0);
        if !self.is_within(number, 1) {
            return Ok(0);
        }
        let mut header = [0; HEADER_BYTES];
        self.read(number, &mut header)?;
        // May be more than needed, if a longer value was there before.
        let pages = u64::from(u32_at(&header, 12));
        let needed = (HEADER_BYTES + node.length()).div_ceil(self.page_bytes) as u64;
        let sound = u64_at(&header, 0) == number
            && u16_at(&header, 10) & KIND == OVERFLOW
            && pages >= needed;
        if !sound {
            self.add_finding(number, "is not a valid overflow page".into());
        } else if self.mark_used(number, pages) {
            return Ok(pages);
        }
        Ok(0)
    }

    /// Whether pages are within the file; adds a finding if not.
    fn is_within(&mut self, number: u64, pages: u64) -> bool {
        let end = number.checked_add(pages);
        let within = number >= 2 && end.is_some_and(|end| end <= self.pages);
        if !within {
            let problem = format!("is beyond the end of the file of {} pages", self.pages);
            self.add_finding(number, problem);
        }
        within
    }

    /// Marks pages as used; adds a finding if they cannot be.
    fn mark_used(&mut self, number: u64, pages: u64) -> bool {
        if !self.is_within(number, pages) {
            return false;
        }
        for number in number..number + pages {
            let (word, bit) = (&mut self.used[(number / 64) as usize], 1 << (number % 64));
            if *word & bit != 0 {
                self.add_finding(number, "is used twice".into());
                return false;
            }
            *word |= bit;
        }
        true
    }

    fn read(&self, number: u64, page: &mut [u8]) -> io::Result<()> {
        self.file
            .read_exact_at(page, number * self.page_bytes as u64)
    }

    fn add_finding(&mut self, page: u64, problem: String) {
        let place = format!("{}, page {page}", self.path.display());
        self.findings.push(Finding { place, problem });
    }
}

fn check_header(page: &[u8], number: u64, kind: u16) -> Result<(), String> {
    let (lower, upper) = (u16_at(page, 12), u16_at(page, 14));
    let sound = u64_at(page, 0) == number
        && u16_at(page, 10) & KIND == kind
        && usize::from(lower) > HEADER_BYTES
        && lower % 2 == 0
        && lower <= upper
        && usize::from(upper) <= page.len();
    let name = if kind == BRANCH { "branch" } else { "leaf" };
    sound
        .then_some(())
        .ok_or_else(|| format!("is not a valid {name} page"))
}

struct Node<'a> {
    low: u32,
    flags: u16,
    data: &'a [u8],
}

impl Node<'_> {
    /// The child page of a branch node.
    fn child(&self) -> u64 {
        u64::from(self.low) | u64::from(self.flags) << 32
    }

    /// Bytes of the value of a leaf node.
    fn length(&self) -> usize {
        self.low as usize
    }
}

/// The nodes of a page with a valid header.
fn nodes(page: &[u8]) -> impl Iterator<Item = Result<Node<'_>, String>> {
    let (lower, upper) = (usize::from(u16_at(page, 12)), usize::from(u16_at(page, 14)));
    (HEADER_BYTES..lower).step_by(2).map(move |pointer| {
        let at = usize::from(u16_at(page, pointer));
        let header = page.get(at..at + NODE_BYTES).filter(|_| at >= upper);
        let node = header.and_then(|header| {
            let key_bytes = usize::from(u16_at(header, 6));
            Some(Node {
                low: u32_at(header, 0),
                flags: u16_at(header, 4),
                data: page.get(at + NODE_BYTES + key_bytes..)?,
            })
        });
        node.ok_or_else(|| "a node is outside of its page".to_owned())
    })
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

/// Bytes within a page; every caller has checked the bounds.
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}
