//! A small tree that prints itself as JSON or XML: the API resource and its children.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::restconf::media::Format;
use crate::xml_text::escape;

/// A module's name and namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModuleNames {
    pub(crate) module: Cow<'static, str>,
    pub(crate) namespace: Cow<'static, str>,
}

impl ModuleNames {
    /// Names from constants.
    pub(crate) const fn constant(module: &'static str, namespace: &'static str) -> Self {
        Self {
            module: Cow::Borrowed(module),
            namespace: Cow::Borrowed(namespace),
        }
    }
}

/// One node.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    /// Its module; if absent, that of the parent.
    pub(crate) names: Option<ModuleNames>,
    pub(crate) name: Cow<'static, str>,
    pub(crate) content: Content,
}

/// The content of a node.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Container(Vec<Element>),
    Leaf(Scalar),
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text(String),
    Empty,
}

/// How many levels of a document to print, counted as in `depth`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrintLevels {
    pub(crate) depth: Option<u32>,
}

impl Element {
    pub(crate) fn container(name: &'static str, children: Vec<Self>) -> Self {
        Self::new(name, Content::Container(children))
    }

    pub(crate) fn leaf(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, Content::Leaf(Scalar::Text(text.into())))
    }

    pub(crate) fn new(name: &'static str, content: Content) -> Self {
        Self {
            names: None,
            name: name.into(),
            content,
        }
    }

    /// Sets the module.
    pub(crate) fn of(mut self, names: ModuleNames) -> Self {
        self.names = Some(names);
        self
    }

    /// Prints the node as a document; its [`Self::names`] must be set.
    pub(crate) fn print(&self, format: Format, show: PrintLevels) -> String {
        let mut text = String::new();
        match format {
            Format::Json => {
                text.push('{');
                self.print_json(&mut text, show.depth);
                text.push('}');
            }
            Format::Xml => self.print_xml(&mut text, show.depth),
        }
        text
    }

    fn print_json(&self, text: &mut String, depth: Option<u32>) {
        match &self.names {
            Some(names) => json_string(text, &format!("{}:{}", names.module, self.name)),
            None => json_string(text, &self.name),
        }
        text.push(':');
        match &self.content {
            Content::Container(children) => json_object(text, children, depth),
            Content::Leaf(scalar) => scalar.print_json(text),
        }
    }

    fn print_xml(&self, text: &mut String, depth: Option<u32>) {
        match &self.content {
            Content::Container(children) => self.xml_inner(text, children, depth),
            Content::Leaf(scalar) => self.xml_leaf(text, scalar),
        }
    }

    fn xml_inner(&self, text: &mut String, children: &[Self], depth: Option<u32>) {
        self.xml_start(text);
        text.push('>');
        for child in children_at_depth(children, depth) {
            child.print_xml(text, next_level(depth));
        }
        let _ = write!(text, "</{}>", self.name);
    }

    fn xml_leaf(&self, text: &mut String, scalar: &Scalar) {
        self.xml_start(text);
        let _ = match scalar {
            Scalar::Text(value) => write!(text, ">{}</{}>", escape(value), self.name),
            Scalar::Empty => write!(text, "/>"),
        };
    }

    fn xml_start(&self, text: &mut String) {
        let _ = write!(text, "<{}", self.name);
        if let Some(names) = &self.names {
            let _ = write!(text, " xmlns=\"{}\"", escape(&names.namespace));
        }
    }
}

impl Scalar {
    fn print_json(&self, text: &mut String) {
        match self {
            Self::Text(value) => json_string(text, value),
            Self::Empty => text.push_str("[null]"),
        }
    }
}

/// RFC 8040 §4.8.2: the target is level 1.
fn children_at_depth(children: &[Element], depth: Option<u32>) -> &[Element] {
    match depth {
        Some(0 | 1) => &[],
        _ => children,
    }
}

fn next_level(depth: Option<u32>) -> Option<u32> {
    depth.map(|depth| depth.saturating_sub(1))
}

fn json_object(text: &mut String, children: &[Element], depth: Option<u32>) {
    text.push('{');
    for (index, child) in children_at_depth(children, depth).iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        child.print_json(text, next_level(depth));
    }
    text.push('}');
}

fn json_string(text: &mut String, value: &str) {
    // Strings cannot fail to serialise.
    text.push_str(&serde_json::Value::from(value).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_print_the_same_data() {
        let names = ModuleNames::constant("m", "urn:m");
        let leaves = vec![
            Element::leaf("k", "a<b"),
            Element::new("e", Content::Leaf(Scalar::Empty)),
        ];
        let inner = Element::container("l", leaves);
        let top = Element::container("top", vec![inner]).of(names);
        let show = PrintLevels { depth: None };
        assert_eq!(
            top.print(Format::Json, show),
            r#"{"m:top":{"l":{"k":"a<b","e":[null]}}}"#
        );
        assert_eq!(
            top.print(Format::Xml, show),
            r#"<top xmlns="urn:m"><l><k>a&lt;b</k><e/></l></top>"#
        );
        let shallow = PrintLevels { depth: Some(1) };
        assert_eq!(top.print(Format::Json, shallow), r#"{"m:top":{}}"#);
    }
}
