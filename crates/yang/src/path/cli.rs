//! Paths on the command line.

use super::InstancePath;
use super::dialect::Dialect;
use super::resolve_steps::Descent;
use super::restconf_uri::set_encoded_keys;
use super::scan::Scanner;
use crate::error::DataError;
use crate::schema::Schema;

impl InstancePath {
    /// Parses a path from a command line: each step as in an instance identifier (`interface[name='eth0']`, with or
    /// without quotes) or as in a URI (`interface=eth0`, percent-encoded). A name needs its module (by name or by
    /// prefix) only if the parent's module has no such node and several others have. The leading slash is optional;
    /// `/` is the root; the last step may be a whole list or leaf-list. Operations and notifications have no data.
    pub fn parse_cli_path(schema: &Schema, text: &str) -> Result<Self, DataError> {
        let mut descent = Descent::new(schema);
        let mut scanner = Scanner::new(text);
        scanner.eat('/');
        if scanner.peek().is_none() {
            return Ok(descent.finish());
        }
        loop {
            let name = scanner
                .name()
                .map_err(|error| descent.explain_slash(error))?;
            let child = Dialect::CommandLine.child(&descent, name)?;
            descent.require_data(child)?;
            descent.enter(child)?;
            if scanner.eat('=') {
                set_encoded_keys(&mut descent, scanner.until(&['/']))?;
            } else {
                Dialect::CommandLine.predicates(&mut descent, &mut scanner)?;
            }
            if scanner.peek().is_none() {
                return Ok(descent.finish());
            }
            scanner.expect('/')?;
        }
    }
}
