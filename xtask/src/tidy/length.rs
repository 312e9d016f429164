//! The maximum length of files and functions.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::report::Report;
use super::source::Source;

/// The most lines of a file. Typical is 250.
const FILE_LINES_MAX: usize = 800;

/// The most lines of a function, from its signature to its closing brace. Typical is 8.
const FUNCTION_LINES_MAX: usize = 70;

/// Checks one file.
pub fn check(source: &Source, report: &mut Report) {
    if source.lines > FILE_LINES_MAX {
        let message = format!(
            "{} lines, at most {FILE_LINES_MAX}: split the file",
            source.lines
        );
        report.add(&source.path, FILE_LINES_MAX + 1, message);
    }
    let mut functions = Functions { source, report };
    functions.visit_file(&source.syntax);
}

struct Functions<'a> {
    source: &'a Source,
    report: &'a mut Report,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let first = signature.span().start().line;
        let lines = body.span().end().line + 1 - first;
        self.report.function_lines.push(lines);
        if lines > FUNCTION_LINES_MAX {
            let name = &signature.ident;
            let message =
                format!("fn {name} has {lines} lines, at most {FUNCTION_LINES_MAX}: split it");
            self.report.add(&self.source.path, first, message);
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.measure(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}
