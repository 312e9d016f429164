//! A flat list of values by path.

use crate::{Number, Path, Result};

/// Values by path, sorted by the text form of the paths; each path once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathValues(Vec<(Path, Number)>);

impl PathValues {
    /// No values.
    pub fn new() -> Self {
        Self::default()
    }

    /// One value.
    pub fn one(path: Path, number: Number) -> Self {
        Self(vec![(path, number)])
    }

    /// The value at a path.
    pub fn get(&self, path: &Path) -> Option<Number> {
        let at = self
            .0
            .binary_search_by(|(other_path, _)| other_path.cmp(path))
            .ok()?;
        Some(self.0[at].1)
    }

    /// Sets the value at a path.
    pub fn set(&mut self, path: Path, number: Number) {
        match self
            .0
            .binary_search_by(|(other_path, _)| other_path.cmp(&path))
        {
            Ok(at) => self.0[at].1 = number,
            Err(at) => self.0.insert(at, (path, number)),
        }
    }

    /// Removes the value at a path.
    pub fn remove(&mut self, path: &Path) {
        if let Ok(at) = self
            .0
            .binary_search_by(|(other_path, _)| other_path.cmp(path))
        {
            self.0.remove(at);
        }
    }

    /// Adds the values of another list; nothing is changed if a sum is out of range.
    pub fn add(&mut self, other: &Self) -> Result<()> {
        if self.has_paths_of(other) {
            // Twice, because nothing may be changed if the last sum is out of range.
            for ((_, number), (_, more)) in self.0.iter().zip(&other.0) {
                number.plus(*more)?;
            }
            for ((_, number), (_, more)) in self.0.iter_mut().zip(&other.0) {
                *number = number.plus(*more)?;
            }
            return Ok(());
        }
        let mut sum = Vec::with_capacity(self.0.len().max(other.0.len()));
        let mut theirs = other.0.iter().peekable();
        for (path, number) in &self.0 {
            while let Some(new) = theirs.next_if(|(other_path, _)| other_path < path) {
                sum.push(new.clone());
            }
            let number = match theirs.next_if(|(other_path, _)| other_path == path) {
                Some((_, other)) => number.plus(*other)?,
                None => *number,
            };
            sum.push((path.clone(), number));
        }
        sum.extend(theirs.cloned());
        self.0 = sum;
        Ok(())
    }

    fn has_paths_of(&self, other: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        self.len() == other.len() && pairs.all(|((path, _), (other, _))| path == other)
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Paths and values, sorted.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Path, &Number)> {
        self.0.iter().map(|(path, number)| (path, number))
    }

    /// Paths and values, as a slice.
    pub(crate) fn as_slice(&self) -> &[(Path, Number)] {
        &self.0
    }

    /// Values that are already sorted, each path once.
    pub(crate) fn from_sorted(values: Vec<(Path, Number)>) -> Self {
        debug_assert!(values.is_sorted_by(|left, right| left.0 < right.0));
        Self(values)
    }
}

impl FromIterator<(Path, Number)> for PathValues {
    /// If a path occurs more than once, the last value is used.
    fn from_iter<I: IntoIterator<Item = (Path, Number)>>(values: I) -> Self {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by(|left, right| left.0.cmp(&right.0));
        values.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1;
            }
            same
        });
        Self(values)
    }
}

impl<'a> IntoIterator for &'a PathValues {
    type Item = (&'a Path, &'a Number);
    type IntoIter =
        std::iter::Map<std::slice::Iter<'a, (Path, Number)>, fn(&'a (Path, Number)) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(path, number)| (path, number))
    }
}

impl IntoIterator for PathValues {
    type Item = (Path, Number);
    type IntoIter = std::vec::IntoIter<(Path, Number)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
