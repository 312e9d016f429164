//! Banned calls, and `unsafe` outside the files that call C.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::report::Report;
use super::source::Source;

/// Banned everywhere, also in tests.
const NEVER: &[&str] = &["todo", "unimplemented", "dbg"];

/// Allowed only in programs (the binary, examples, xtask), tests and build scripts, whose output Cargo reads.
const PRINTING: &[&str] = &["println", "print", "eprintln", "eprint"];

/// Crates that may print.
const PRINTING_CRATES: &[&str] = &["cli", "examples", "xtask", "testkit"];

/// Files and folders that may use `unsafe`, because they call C.
const UNSAFE_ALLOWED: &[&str] = &[
    "crates/yang/src/schema/compile/",
    "crates/drivers/src/embedded/",
    "crates/bench/src/raw/lmdb.rs",
];

/// Checks one file.
pub fn check(source: &Source, report: &mut Report) {
    let mut calls = Calls {
        source,
        report,
        in_test: source.is_test(),
    };
    calls.visit_file(&source.syntax);
}

struct Calls<'a> {
    source: &'a Source,
    report: &'a mut Report,
    in_test: bool,
}

impl Calls<'_> {
    fn add(&mut self, span: Span, message: impl Into<String>) {
        self.report
            .add(&self.source.path, span.start().line, message);
    }

    fn visit_with_attributes(
        &mut self,
        attributes: &[syn::Attribute],
        descend: impl FnOnce(&mut Self),
    ) {
        let outside = self.in_test;
        self.in_test |= attributes.iter().any(is_test_attribute);
        descend(self);
        self.in_test = outside;
    }

    fn check_macro(&mut self, name: &str, span: Span) {
        if NEVER.contains(&name) {
            self.add(span, format!("{name}! is a placeholder: implement it"));
        } else if PRINTING.contains(&name)
            && !self.in_test
            && !PRINTING_CRATES.contains(&self.source.krate())
            && !self.source.path.ends_with("build.rs")
        {
            self.add(
                span,
                format!("{name}! outside the binary: use tracing or return it"),
            );
        }
    }

    fn check_unwrap(&mut self, span: Span) {
        if !self.in_test {
            self.add(
                span,
                ".unwrap() outside tests: return the error, or .expect(\"why\")",
            );
        }
    }

    /// Macro arguments are tokens, not expressions: search them for `.unwrap()`.
    fn check_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.check_tokens(group.stream()),
                TokenTree::Ident(name) if name == "unwrap" && is_call(&tokens, index) => {
                    self.check_unwrap(name.span());
                }
                _ => {}
            }
        }
    }

    fn check_unsafe(&mut self, span: Span) {
        let path = self.source.path.to_string_lossy();
        if !self.in_test
            && !UNSAFE_ALLOWED
                .iter()
                .any(|allowed| path.starts_with(allowed))
        {
            self.add(
                span,
                "unsafe outside the modules that call C (xtask/src/tidy/banned.rs)",
            );
        }
    }
}

fn is_call(tokens: &[TokenTree], name: usize) -> bool {
    let before = name.checked_sub(1).map(|index| &tokens[index]);
    let after = tokens.get(name + 1);
    matches!(before, Some(TokenTree::Punct(dot)) if dot.as_char() == '.')
        && matches!(after, Some(TokenTree::Group(group)) if group.stream().is_empty())
}

/// Returns whether an attribute is `#[test]`, `#[cfg(test)]`, or one of another test framework that ends in `test`.
fn is_test_attribute(attribute: &syn::Attribute) -> bool {
    if attribute.path().is_ident("cfg") {
        return attribute
            .parse_args::<syn::Ident>()
            .is_ok_and(|name| name == "test");
    }
    let last = attribute.path().segments.last();
    last.is_some_and(|segment| segment.ident == "test")
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.visit_with_attributes(&item.attrs, |calls| visit::visit_item_mod(calls, item));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.visit_with_attributes(&item.attrs, |calls| visit::visit_item_fn(calls, item));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.visit_with_attributes(&item.attrs, |calls| visit::visit_item_impl(calls, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.visit_with_attributes(&item.attrs, |calls| visit::visit_impl_item_fn(calls, item));
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        if let Some(segment) = item.path.segments.last() {
            self.check_macro(&segment.ident.to_string(), item.path.span());
        }
        self.check_tokens(item.tokens.clone());
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "unwrap" && call.args.is_empty() {
            self.check_unwrap(call.method.span());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_unsafe(&mut self, item: &'ast syn::ExprUnsafe) {
        self.check_unsafe(item.unsafe_token.span());
        visit::visit_expr_unsafe(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<usize> {
        let source = Source {
            path: "crates/yang/src/value.rs".into(),
            lines: text.lines().count(),
            syntax: syn::parse_file(text).expect("Rust"),
        };
        let mut report = Report::default();
        check(&source, &mut report);
        report.problems.iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn unwrap_is_found_in_code_and_in_macro_arguments_but_not_in_tests() {
        let text = "fn a() { b().unwrap(); }\n\
                    fn c() { format!(\"{}\", d().unwrap()); }\n\
                    #[test] fn e() { f().unwrap(); }\n\
                    #[cfg(test)] mod g { fn h() { i().unwrap(); } }\n\
                    fn j() { k.unwrap_or(0); }\n";
        assert_eq!(problems(text), [1, 2]);
    }

    #[test]
    fn printing_and_placeholders_and_unsafe_are_found() {
        let text = "fn a() { println!(); }\n\
                    #[test] fn b() { println!(); todo!(); }\n\
                    fn c() { unsafe { d() } }\n";
        assert_eq!(problems(text), [1, 2, 3]);
    }
}
