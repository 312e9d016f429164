//! Nested values: names within names, with numbers as leaves.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::limits::{PATH_NAMES_MAX, VALUES_MAX};
use crate::{Error, Number, Path, PathValues, Result};

/// A number, or names with nested values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NestedValues {
    /// A number.
    Number(Number),
    /// Names, each with a number or with more names.
    Names(BTreeMap<String, NestedValues>),
}

impl NestedValues {
    /// Parses JSON: an object whose values are numbers or such objects. Numbers keep all their digits.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::syntax(error.to_string()))
    }

    /// The numbers by their paths. The number under an empty name is that of the path itself, as in
    /// [`Self::unpack`]. A number without any name is rejected.
    pub fn pack(&self) -> Result<PathValues> {
        let mut packed = Vec::new();
        self.pack_below(&mut Vec::new(), &mut packed)?;
        Ok(packed.into_iter().collect())
    }

    /// The numbers by their paths, if the names are paths in text form ([`Path::parse`]): `{"a.b":1}`.
    pub fn pack_paths(&self) -> Result<PathValues> {
        let Self::Names(paths) = self else {
            return self.pack();
        };
        if paths.len() > VALUES_MAX {
            let message = format!("the values of one write exceed the limit of {VALUES_MAX}");
            return Err(Error::limit(message));
        }
        let values = paths.iter().map(|(path, nested)| match nested {
            Self::Number(number) => Ok((Path::parse(path)?, *number)),
            Self::Names(_) => Err(Error::syntax("it is not a number").at(format_args!("{path:?}"))),
        });
        values.collect()
    }

    fn pack_below<'a>(
        &'a self,
        names: &mut Vec<&'a str>,
        packed: &mut Vec<(Path, Number)>,
    ) -> Result<()> {
        match self {
            Self::Number(number) => {
                if packed.len() == VALUES_MAX {
                    let message =
                        format!("the values of one write exceed the limit of {VALUES_MAX}");
                    return Err(Error::limit(message));
                }
                packed.push((Path::of(names.iter().copied())?, *number));
            }
            Self::Names(below) => {
                if names.len() == PATH_NAMES_MAX {
                    let message = format!("values are nested deeper than {PATH_NAMES_MAX}");
                    return Err(Error::limit(message));
                }
                for (name, nested) in below {
                    if name.is_empty() {
                        let number = nested.own_number(names)?;
                        number.pack_below(names, packed)?;
                        continue;
                    }
                    names.push(name);
                    nested.pack_below(names, packed)?;
                    names.pop();
                }
            }
        }
        Ok(())
    }

    /// The number under an empty name; it must be a number and have a parent name.
    fn own_number(&self, names: &[&str]) -> Result<&Self> {
        match self {
            Self::Number(_) if !names.is_empty() => Ok(self),
            _ => Err(Error::syntax(format!(
                "{:?} has an empty name, which is allowed only for the number of its parent",
                names.join(".")
            ))),
        }
    }

    /// The nested form of `packed`. If a path has both a number and values below it, the number gets the
    /// empty name; [`Self::pack`] reverses this.
    pub fn unpack<'a>(packed: impl IntoIterator<Item = (&'a Path, &'a Number)>) -> Self {
        let mut root = Self::Names(BTreeMap::new());
        for (path, number) in packed {
            root.put(path.names(), *number);
        }
        root
    }

    fn put(&mut self, names: Vec<String>, number: Number) {
        let mut place = self;
        for name in names {
            place = place
                .below()
                .entry(name)
                .or_insert_with(|| Self::Names(BTreeMap::new()));
        }
        match place {
            Self::Names(below) if !below.is_empty() => {
                below.insert(String::new(), Self::Number(number));
            }
            place => *place = Self::Number(number),
        }
    }

    /// The names at this level; a number at this level moves under the empty name.
    fn below(&mut self) -> &mut BTreeMap<String, Self> {
        if let Self::Number(number) = self {
            let number = Self::Number(*number);
            *self = Self::Names(BTreeMap::from([(String::new(), number)]));
        }
        match self {
            Self::Names(below) => below,
            Self::Number(_) => unreachable!("numbers became names above"),
        }
    }
}

impl Serialize for NestedValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => number.serialize(serializer),
            Self::Names(below) => serializer.collect_map(below),
        }
    }
}

impl<'de> Deserialize<'de> for NestedValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        read(text.get(), 0).map_err(D::Error::custom)
    }
}

/// The members of an object in order, including duplicates.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

fn read(text: &str, depth: usize) -> Result<NestedValues> {
    if depth > PATH_NAMES_MAX {
        let message = format!("values are nested deeper than {PATH_NAMES_MAX}");
        return Err(Error::limit(message));
    }
    match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) =
                serde_json::from_str(text).map_err(|error| Error::syntax(error.to_string()))?;
            let mut below = BTreeMap::new();
            for (name, raw) in members {
                let nested = read(raw.get(), depth + 1).map_err(|error| error.at(&name))?;
                if below.contains_key(&name) {
                    return Err(Error::syntax(format!("{name:?} is given twice")));
                }
                below.insert(name, nested);
            }
            Ok(NestedValues::Names(below))
        }
        Some(b'-' | b'0'..=b'9') => text.parse().map(NestedValues::Number),
        _ => {
            let shown: String = text.chars().take(40).collect();
            Err(Error::syntax(format!(
                "{shown} is neither a number nor an object"
            )))
        }
    }
}
