//! Reads the table that `sysrepoctl --list` prints, of sysrepo 1 to 5:
//!
//! ```text
//! Module Name     | Revision   | Flags | Startup Owner | Startup Perms | Running Perms | Features
//! ---------------------------------------------------------------------------------------------
//! ietf-interfaces | 2018-02-20 | I     | root:netops   | 640           | 640           | if-mib
//! ```

use std::collections::BTreeSet;

use espalier_terminal::{Failure, Result};

/// The owner, group and mode of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModulePermissions {
    /// The module.
    pub module: String,
    /// The user that has the permissions of the first digit.
    pub owner: String,
    /// The group that has those of the second digit.
    pub group: String,
    /// The mode of the running datastore; that of startup where the table has no other.
    pub mode: u16,
    /// The mode of startup, if it differs.
    pub startup_mode: Option<u16>,
}

const MODULE: &str = "Module Name";
const FLAGS: &str = "Flags";

/// The names of the column with the owner: of sysrepo since 2.2.100, of earlier versions.
const OWNER: [&str; 2] = ["Startup Owner", "Owner"];

/// The names of the column with the mode, the one that counts first.
const PERMISSIONS: [&str; 3] = ["Running Perms", "Startup Perms", "Permissions"];

/// The columns without permissions.
const OTHERS: [&str; 3] = ["Revision", "Submodules", "Features"];

/// Reads a table.
///
/// # Errors
/// The text is something else; the message names the line.
pub fn parse(text: &str) -> Result<Vec<ModulePermissions>> {
    let mut lines = (1..).zip(text.lines());
    let header = lines
        .by_ref()
        .find(|(_, line)| !line.trim().is_empty() && !line.starts_with("Sysrepo repository:"));
    let Some((number, header)) = header else {
        return Err(wrong(1, "there is no table"));
    };
    let columns = Columns::parse(header).map_err(|problem| wrong(number, &problem))?;
    let mut modules = Vec::new();
    let mut known = BTreeSet::new();
    let mut is_table = true;
    for (number, line) in lines {
        if is_ignored(line) {
            is_table &= !line.trim().is_empty();
            continue;
        }
        if !is_table {
            return Err(wrong(number, "there is something after the table"));
        }
        let module = columns
            .row(line)
            .map_err(|problem| wrong(number, &problem))?;
        let Some(module) = module else { continue };
        if !known.insert(module.module.clone()) {
            return Err(wrong(number, "the module is in the table twice"));
        }
        modules.push(module);
    }
    match modules.is_empty() {
        true => Err(wrong(number, "the table has no installed module")),
        false => Ok(modules),
    }
}

fn wrong(line: usize, problem: &str) -> Failure {
    Failure::data(format!("line {line}: {problem}"))
        .hint("the input is what `sysrepoctl --list` prints")
}

/// Whether a line has no module: the ruler, the legend, or nothing.
fn is_ignored(line: &str) -> bool {
    line.trim_matches(['-', ' ']).is_empty() || line.starts_with("Flags meaning:")
}

/// Where the columns of a table are.
struct Columns {
    count: usize,
    module: usize,
    flags: usize,
    owner: usize,
    mode: usize,
    startup_mode: Option<usize>,
}

impl Columns {
    fn parse(header: &str) -> std::result::Result<Self, String> {
        let names = cells(header);
        let is_known = |name: &&str| {
            [MODULE, FLAGS].contains(name)
                || [&OWNER[..], &PERMISSIONS, &OTHERS].concat().contains(name)
        };
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            return Err(format!("{unknown:?} is no column of this table"));
        }
        let place = |wanted: &str| names.iter().position(|name| *name == wanted);
        let first_of = |wanted: &[&str]| {
            let mut places = wanted.iter().filter_map(|name| place(name));
            let missing = || format!("the table has no column {:?}", wanted[0]);
            places.next().ok_or_else(missing)
        };
        let mode = first_of(&PERMISSIONS)?;
        Ok(Self {
            count: names.len(),
            module: first_of(&[MODULE])?,
            flags: first_of(&[FLAGS])?,
            owner: first_of(&OWNER)?,
            mode,
            startup_mode: place(PERMISSIONS[1]).filter(|startup| *startup != mode),
        })
    }

    /// The module in a row; `None` if it has no data: it is imported only, or a submodule.
    fn row(&self, line: &str) -> std::result::Result<Option<ModulePermissions>, String> {
        let cells = cells(line);
        if cells.len() != self.count {
            return Err(format!(
                "the row has {} columns, and the table {}",
                cells.len(),
                self.count
            ));
        }
        let flags = cells[self.flags];
        match flags.bytes().next() {
            Some(b'I') => {}
            Some(b'i' | b's') => return Ok(None),
            _ => return Err(format!("unknown flags {flags:?}")),
        }
        let owner = cells[self.owner];
        let names = owner
            .split_once(':')
            .filter(|(user, group)| !user.is_empty() && !group.is_empty() && !group.contains(':'));
        let (user, group) = names.ok_or(format!("{owner:?} is not OWNER:GROUP"))?;
        let mode = mode(cells[self.mode])?;
        let startup_mode = self.startup_mode.map(|place| self::mode(cells[place]));
        Ok(Some(ModulePermissions {
            module: module_name(cells[self.module])?,
            owner: user.to_owned(),
            group: group.to_owned(),
            mode,
            startup_mode: startup_mode.transpose()?.filter(|startup| *startup != mode),
        }))
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}

fn module_name(text: &str) -> std::result::Result<String, String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    match text.is_empty() || !text.chars().all(is_part) {
        true => Err(format!("{text:?} is no name of a module")),
        false => Ok(text.to_owned()),
    }
}

fn mode(text: &str) -> std::result::Result<u16, String> {
    let is_octal = text.len() == 3 && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    match u16::from_str_radix(text, 8) {
        Ok(mode) if is_octal => Ok(mode),
        _ => Err(format!("{text:?} is no mode of three octal digits")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &str, mode: u16, startup_mode: Option<u16>) -> ModulePermissions {
        ModulePermissions {
            module: name.to_owned(),
            owner: "root".to_owned(),
            group: "netops".to_owned(),
            mode,
            startup_mode,
        }
    }

    #[test]
    fn the_tables_of_each_version() {
        let tables = [
            // sysrepo 1
            "Sysrepo repository: /etc/sysrepo\n\n\
             Module Name | Revision   | Flags | Owner       | Permissions | Submodules | Features\n\
             ----------------------------------------------------------\n\
             ietf-ip     | 2018-02-22 | I     | root:netops | 640         |            | \n\
             ietf-x      |            | i     |             |             |            | \n\n\
             Flags meaning: I - Installed/i - Imported; R - Replay support\n",
            // sysrepo 2.2.60
            "Module Name | Revision   | Flags | Owner       | Startup Perms | Submodules | Features\n\
             ietf-ip     | 2018-02-22 | IR    | root:netops | 640           | a b        | c d\n",
            // sysrepo 5
            "Module Name | Revision   | Flags | Startup Owner | Startup Perms | Running Perms | Features\n\
             ietf-ip     | 2018-02-22 | I     | root:netops   | 640           | 640           | \n \
             ietf-ip-sub | 2018-02-22 | s     |               |               |               | \n",
        ];
        for table in tables {
            assert_eq!(
                parse(table).unwrap(),
                [module("ietf-ip", 0o640, None)],
                "{table}"
            );
        }
    }

    #[test]
    fn the_mode_of_running_counts() {
        let table = "Module Name|Flags|Startup Owner|Startup Perms|Running Perms\n\
             a|I|root:netops|600|666\n";
        assert_eq!(parse(table).unwrap(), [module("a", 0o666, Some(0o600))]);
    }

    #[test]
    fn everything_else_is_refused_with_its_line() {
        let header = "Module Name | Flags | Owner | Permissions\n";
        for (rows, expected) in [
            (
                "a | I | root:root | 640 | x\n",
                "line 2: the row has 5 columns",
            ),
            (
                "a | I | root | 640\n",
                "line 2: \"root\" is not OWNER:GROUP",
            ),
            ("a | I | :root | 640\n", "line 2: \":root\" is not"),
            ("a | I | root:root | 648\n", "line 2: \"648\" is no mode"),
            (
                "a | I | root:root | rw-r-----\n",
                "line 2: \"rw-r-----\" is no mode",
            ),
            ("a | N | root:root | 640\n", "line 2: unknown flags"),
            ("a b | I | root:root | 640\n", "line 2: \"a b\" is no name"),
            (
                "a | I | r:r | 640\na | I | r:r | 640\n",
                "line 3: the module is in the table twice",
            ),
            (
                "a | I | r:r | 640\n\nmore\n",
                "line 4: there is something after",
            ),
            ("a | i | | \n", "line 1: the table has no installed module"),
        ] {
            let error = parse(&format!("{header}{rows}")).unwrap_err().to_string();
            assert!(error.contains(expected), "{rows}: {error}");
        }
        for (text, expected) in [
            ("", "line 1: there is no table"),
            ("\n{\"a\": 1}", "line 2: \"{\\\"a\\\": 1}\" is no column"),
            (
                "Module Name | Flags | Owner",
                "line 1: the table has no column \"Running Perms\"",
            ),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
