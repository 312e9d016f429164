//! The metadata of a page (draft-ietf-netconf-list-pagination §3.1, §4).

use espalier_yang::data::{Annotation, Annotations};

/// The module that defines the annotations.
const MODULE: &str = "ietf-list-pagination";

/// The number of entries that a limit cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// The number, if it is known without counting.
    Known(u64),
    /// At least one.
    Unknown,
}

/// The metadata of a page. It is also sent, as annotations of the first entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageInfo {
    /// The entries after the page; `None` if there are none.
    pub remaining: Option<Remaining>,
    /// The cursor of the next page, if there is one and the page has a limit.
    pub next: Option<String>,
    /// The cursor of the previous page, if there is one and the page has a limit.
    pub previous: Option<String>,
    /// The locale in whose order the entries are sorted, if the request names an order.
    pub locale: Option<&'static str>,
}

impl PageInfo {
    /// The annotations of the first entry.
    pub(super) fn annotations(&self) -> Annotations {
        let remaining = self.remaining.map(|remaining| match remaining {
            Remaining::Known(count) => remaining_annotation(Some(count)),
            Remaining::Unknown => remaining_annotation(None),
        });
        let text =
            |name: &str, value: &str| Annotation::Other(MODULE.into(), name.into(), value.into());
        let next = self.next.as_deref().map(|cursor| text("next", cursor));
        let previous = self
            .previous
            .as_deref()
            .map(|cursor| text("previous", cursor));
        let locale = self.locale.map(|locale| text("locale", locale));
        [remaining, next, previous, locale]
            .into_iter()
            .flatten()
            .collect()
    }
}

/// The annotation with a number of entries that are cut off; `None` if it is not known. The greatest number of the type
/// stands for all above.
pub(in crate::tree) fn remaining_annotation(count: Option<u64>) -> Annotation {
    let text = match count {
        Some(count) => u32::try_from(count).unwrap_or(u32::MAX).to_string(),
        None => "unknown".to_owned(),
    };
    Annotation::Other(MODULE.into(), "remaining".into(), text.into())
}
