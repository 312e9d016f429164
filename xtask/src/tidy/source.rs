//! The Rust files of the repository, read and parsed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::report::Problem;

/// One Rust file.
pub struct Source {
    /// Relative to the root of the repository.
    pub path: PathBuf,
    /// The number of lines.
    pub lines: usize,
    /// The parsed content.
    pub syntax: syn::File,
}

impl Source {
    /// Reads and parses `path`; the inner error is a problem in a file that does not parse.
    pub fn read(root: &Path, path: &Path) -> io::Result<Result<Self, Problem>> {
        let text = fs::read_to_string(path)?;
        let path = path.strip_prefix(root).unwrap_or(path).to_path_buf();
        Ok(match syn::parse_file(&text) {
            Ok(syntax) => Ok(Self {
                path,
                lines: text.lines().count(),
                syntax,
            }),
            Err(error) => Err(Problem {
                line: error.span().start().line,
                message: format!("does not parse: {error}"),
                file: path,
            }),
        })
    }

    /// The crate of the file: `yang` for `crates/yang/src/lib.rs`, `xtask` for files in xtask.
    pub fn krate(&self) -> &str {
        let mut parts = self.path.iter().filter_map(|part| part.to_str());
        match parts.next() {
            Some("crates") => parts.next().unwrap_or(""),
            first => first.unwrap_or(""),
        }
    }

    /// Returns whether the whole file is for tests or benches only.
    pub fn is_test(&self) -> bool {
        self.krate() == "testkit"
            || self
                .path
                .iter()
                .any(|part| part == "tests" || part == "benches" || part == "tests.rs")
    }

    /// The name of the file.
    pub fn file_name(&self) -> &str {
        self.path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("")
    }
}

/// Every Rust file in `crates`, `xtask`, `bench`, `fuzz` and `examples`, sorted.
pub fn rust_files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask", "bench", "fuzz", "examples"] {
        let folder = root.join(folder);
        if folder.is_dir() {
            collect(&folder, &mut files)?;
        }
    }
    files.sort();
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
