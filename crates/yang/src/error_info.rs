//! `error-info`: what an error is about, for programs.

use serde_json::{Map, Value as Json, json};

/// Namespace of the elements of RFC 6241 appendix A.
const NETCONF_NAMESPACE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// Namespace of the elements of RFC 7950 §15.
const YANG_NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:1";

/// The name of the member that can be there several times.
const NON_UNIQUE: &str = "non-unique";

/// A structure in `error-info` that a module defines as `yang-data` (RFC 8040 §8): a container with leafs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorStructure {
    /// The module.
    pub module: String,
    /// The namespace of the module; empty if it is not known.
    pub namespace: String,
    /// The name of the container.
    pub name: String,
    /// The names and values of the leafs. Values have the form of JSON: identities have their modules.
    pub leaves: Vec<(String, String)>,
}

impl ErrorStructure {
    /// The member of `error-info` in JSON.
    fn to_json(&self) -> (String, Json) {
        let leaves = self.leaves.iter();
        let leaves = leaves.map(|(name, value)| (name.clone(), json!(value)));
        let name = format!("{}:{}", self.module, self.name);
        (name, Json::Object(leaves.collect()))
    }

    /// Reads the first member that is an object.
    fn from_json(info: &Json) -> Option<Self> {
        let mut members = info.as_object()?.iter();
        members.find_map(|(name, value)| {
            let (module, name) = name.split_once(':')?;
            let leaves = value.as_object()?.iter();
            let leaves = leaves.filter_map(|(name, value)| {
                let value = value.as_str()?;
                Some((name.clone(), value.to_owned()))
            });
            Some(Self {
                module: module.to_owned(),
                namespace: String::new(),
                name: name.to_owned(),
                leaves: leaves.collect(),
            })
        })
    }
}

/// The content of `error-info` (RFC 6241 appendix A, RFC 7950 §15). Which members there are depends on the tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The name of the element that is wrong, missing or unknown, or has the attribute.
    pub bad_element: Option<String>,
    /// The name of the attribute that is wrong, missing or unknown.
    pub bad_attribute: Option<String>,
    /// The unknown namespace, or in JSON the unknown module.
    pub bad_namespace: Option<String>,
    /// The session that holds the lock. Sessions have names, which a protocol with numbers maps.
    pub session_id: Option<String>,
    /// The choice of which no case exists.
    pub missing_choice: Option<String>,
    /// The leafs whose values together are not unique, as instance identifiers.
    pub non_unique: Vec<String>,
    /// A structure that a module defines.
    pub structure: Option<Box<ErrorStructure>>,
}

/// A member of `error-info`, as an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorInfoMember<'a> {
    /// The namespace.
    pub namespace: &'static str,
    /// The name.
    pub name: &'static str,
    /// The value.
    pub value: &'a str,
}

impl ErrorInfo {
    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The members.
    pub fn members(&self) -> impl Iterator<Item = ErrorInfoMember<'_>> {
        let single = [
            (NETCONF_NAMESPACE, "bad-attribute", &self.bad_attribute),
            (NETCONF_NAMESPACE, "bad-element", &self.bad_element),
            (NETCONF_NAMESPACE, "bad-namespace", &self.bad_namespace),
            (NETCONF_NAMESPACE, "session-id", &self.session_id),
            (YANG_NAMESPACE, "missing-choice", &self.missing_choice),
        ];
        let single = single.into_iter().filter_map(|(namespace, name, value)| {
            let value = value.as_deref()?;
            Some(ErrorInfoMember {
                namespace,
                name,
                value,
            })
        });
        let non_unique = self.non_unique.iter().map(|value| ErrorInfoMember {
            namespace: YANG_NAMESPACE,
            name: NON_UNIQUE,
            value,
        });
        single.chain(non_unique)
    }

    /// The members as a JSON object.
    pub fn to_json(&self) -> Json {
        let mut object = Map::new();
        for member in self.members().filter(|member| member.name != NON_UNIQUE) {
            object.insert(member.name.to_owned(), json!(member.value));
        }
        if !self.non_unique.is_empty() {
            object.insert(NON_UNIQUE.to_owned(), json!(self.non_unique));
        }
        if let Some(structure) = &self.structure {
            let (name, value) = structure.to_json();
            object.insert(name, value);
        }
        Json::Object(object)
    }

    /// Reads what [`Self::to_json`] wrote. Other members are ignored.
    pub fn from_json(object: &Json) -> Self {
        let text = |name: &str| object[name].as_str().map(str::to_owned);
        let non_unique = object[NON_UNIQUE].as_array().into_iter().flatten();
        Self {
            bad_element: text("bad-element"),
            bad_attribute: text("bad-attribute"),
            bad_namespace: text("bad-namespace"),
            session_id: text("session-id"),
            missing_choice: text("missing-choice"),
            non_unique: non_unique
                .filter_map(|path| path.as_str().map(str::to_owned))
                .collect(),
            structure: ErrorStructure::from_json(object).map(Box::new),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_every_member() {
        let text = |text: &str| Some(text.to_owned());
        let info = ErrorInfo {
            bad_element: text("a"),
            bad_attribute: text("b"),
            bad_namespace: text("c"),
            session_id: text("d"),
            missing_choice: text("e"),
            non_unique: vec!["/m:a".to_owned(), "/m:b".to_owned()],
            structure: Some(Box::new(ErrorStructure {
                module: "m".to_owned(),
                namespace: String::new(),
                name: "details".to_owned(),
                leaves: vec![("reason".to_owned(), "m:r".to_owned())],
            })),
        };
        assert_eq!(ErrorInfo::from_json(&info.to_json()), info);
        assert_eq!(info.members().count(), 7);
        let none = ErrorInfo::default();
        assert!(none.is_empty() && ErrorInfo::from_json(&none.to_json()).is_empty());
    }
}
