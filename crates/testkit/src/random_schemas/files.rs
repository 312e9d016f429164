//! The file of each item, and the prefixes of names in it.
//!
//! Names are stored with their module in braces, `{m}c3`, and written with the prefix of their file: files
//! use different prefixes for the same module, so resolving a prefix in the wrong module causes a failure.

use super::shape::{ItemId, Kind, MODULES, Shape};

/// A module or submodule, in the order of imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum File {
    /// Types and identities.
    Types,
    /// An identity derived from one of `Types`.
    Identities,
    /// Groupings that the others use.
    Groupings,
    /// The submodule of `m`.
    Submodule,
    /// `m`.
    First,
    /// `n`, which augments `m`.
    Second,
    /// Deviations of `m` and `n`.
    Deviations,
}

impl File {
    /// All files; each follows those that it imports or includes.
    pub(super) const ALL: [Self; 7] = [
        Self::Types,
        Self::Identities,
        Self::Groupings,
        Self::Submodule,
        Self::First,
        Self::Second,
        Self::Deviations,
    ];

    /// The name of the module or submodule.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Types => "t",
            Self::Identities => "i",
            Self::Groupings => "g",
            Self::Submodule => "ms",
            Self::First => "m",
            Self::Second => "n",
            Self::Deviations => "d",
        }
    }

    /// The module that the file is, or belongs to.
    pub(super) fn module_name(self) -> &'static str {
        match self {
            Self::Submodule => "m",
            file => file.name(),
        }
    }

    /// The file of the top nodes of a module.
    pub(super) fn of_module(module: usize) -> Self {
        match module {
            0 => Self::First,
            _ => Self::Second,
        }
    }

    /// The prefix of a module, by its name; `None` if it is not imported.
    pub(super) fn prefix(self, module: &str) -> Option<&'static str> {
        use File::{Deviations, First, Groupings, Identities, Second, Submodule, Types};
        Some(match (self, module) {
            (Types, "t") | (Identities | First | Second | Deviations, "t") => "t",
            (Groupings | Submodule, "t") => "m",
            (Identities | Groupings | Submodule | First | Second | Deviations, "i") => "i",
            (Groupings | Submodule | First | Second, "g") => "g",
            (Submodule, "m") => "s",
            (First | Second, "m") => "m",
            (Second, "n") => "n",
            (Deviations, "m") => "n",
            (Deviations, "n") => "m",
            (Deviations, "d") => "d",
            _ => return None,
        })
    }

    /// The modules among these that it imports.
    pub(super) fn imports(self, modules: &[Self]) -> Vec<Self> {
        let others = modules.iter().copied();
        others
            .filter(|other| {
                *other != Self::Submodule
                    && other.module_name() != self.module_name()
                    && self.prefix(other.name()).is_some()
            })
            .collect()
    }
}

/// How to write names at one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameStyle {
    pub(super) file: File,
    /// The module of the described node, an index into [`MODULES`].
    pub(super) module: usize,
    /// Whether the identity of module `i` is in `t`.
    pub(super) has_dog_in_types: bool,
    /// Whether names of that module have no prefix even where one is possible.
    pub(super) is_unprefixed: bool,
}

impl NameStyle {
    /// Writes a text with prefixes.
    pub(super) fn write(self, text: &str) -> String {
        let mut written = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            written.push_str(before);
            let (module, after) = after.split_once('}').expect("the end of a module");
            rest = after;
            let module = match module {
                "i" if self.has_dog_in_types => "t",
                module => module,
            };
            let is_own = module == MODULES[self.module];
            match self
                .file
                .prefix(module)
                .filter(|_| !(is_own && self.is_unprefixed))
            {
                Some(prefix) => {
                    written.push_str(prefix);
                    written.push(':');
                }
                None => assert!(is_own, "{module} has no prefix in {:?}: {text}", self.file),
            }
        }
        written.push_str(rest);
        written
    }
}

impl Shape {
    /// The file that contains the definition of an item.
    pub(super) fn file(&self, id: ItemId) -> File {
        let item = &self.items[id];
        if matches!(item.kind, Kind::Augment) {
            return File::of_module(item.module);
        }
        match item.parent {
            Some(parent) => match self.items[parent].kind {
                Kind::Uses { file } => file,
                _ => self.file(parent),
            },
            None if item.is_in_submodule => File::Submodule,
            None => File::of_module(item.module),
        }
    }

    /// How names are written in the definition of an item.
    pub(super) fn names(&self, id: ItemId) -> NameStyle {
        NameStyle {
            file: self.file(id),
            module: self.items[id].module,
            has_dog_in_types: self.has_dog_in_types,
            is_unprefixed: self.items[id].is_unprefixed,
        }
    }

    /// Whether the text of an item can name the module of another.
    fn can_name(&self, at: ItemId, other: ItemId) -> bool {
        let module = self.items[other].module;
        module == self.items[at].module || self.file(at).prefix(MODULES[module]).is_some()
    }

    /// Whether the text of an item can contain a relative path to a data node.
    pub(super) fn sees(&self, at: ItemId, to: ItemId) -> bool {
        let mine = self.chain(at);
        let theirs = self.chain(to);
        let below = theirs.iter().filter(|outer| !mine.contains(outer));
        below.chain([&to]).all(|&other| self.can_name(at, other))
    }

    /// Whether it can contain an absolute path to it.
    pub(super) fn sees_from_root(&self, at: ItemId, to: ItemId) -> bool {
        let mut chain = self.chain(to).into_iter();
        chain.all(|other| self.can_name(at, other))
    }
}
