//! Paths on the command line.

use super::InstancePath;
use super::dialect::Dialect;
use super::resolve_steps::Descent;
use super::restconf_uri::set_encoded_keys;
use super::scan::Scanner;
use crate::error::DataError;
use crate::schema::Schema;

/// What a path on a command line names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// Data.
    Data,
    /// An RPC or action.
    Operation,
    /// Any nodes of the schema, in one or in every entry of the lists on the way.
    Pattern,
}

impl InstancePath {
    /// Parses a path from a command line: each step as in an instance identifier (`interface[name='eth0']`, with or
    /// without quotes) or as in a URI (`interface=eth0`, percent-encoded). A name needs its module (by name or by
    /// prefix) only if the parent's module has no such node and several others have. The leading slash is optional;
    /// `/` is the root; the last step may be a whole list or leaf-list. Operations and notifications have no data.
    pub fn parse_cli_path(schema: &Schema, text: &str) -> Result<Self, DataError> {
        parse(schema, text, Target::Data)
    }

    /// As [`Self::parse_cli_path`], for an RPC, or an action in an entry or container.
    pub fn parse_operation_path(schema: &Schema, text: &str) -> Result<Self, DataError> {
        parse(schema, text, Target::Operation)
    }

    /// As [`Self::parse_cli_path`], for all nodes that a program wants to serve or to hear of: a list without keys stands
    /// for every entry, also on the way. It may end at data, an operation or a notification.
    pub fn parse_pattern(schema: &Schema, text: &str) -> Result<Self, DataError> {
        parse(schema, text, Target::Pattern)
    }
}

fn parse(schema: &Schema, text: &str, target: Target) -> Result<InstancePath, DataError> {
    let mut descent = match target {
        Target::Pattern => Descent::of_pattern(schema),
        Target::Operation => Descent::of_operation(schema),
        Target::Data => Descent::new(schema),
    };
    let mut scanner = Scanner::new(text);
    scanner.eat('/');
    while scanner.peek().is_some() {
        if !descent.is_at_root() {
            scanner.expect('/')?;
        }
        let name = scanner
            .name()
            .map_err(|error| descent.explain_slash(error))?;
        let child = Dialect::CommandLine.child(&descent, name)?;
        if target == Target::Data {
            descent.require_data(child)?;
        }
        descent.enter(child)?;
        if scanner.eat('=') {
            set_encoded_keys(&mut descent, scanner.until(&['/']))?;
        } else {
            Dialect::CommandLine.predicates(&mut descent, &mut scanner)?;
        }
    }
    if target == Target::Operation {
        descent.require_operation()?;
    }
    Ok(descent.finish())
}
