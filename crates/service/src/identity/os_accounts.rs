//! The names of the operating system's user ids.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// The maximum length of the account file that is read, in bytes.
pub const ACCOUNT_FILE_BYTES_MAX: u64 = 4 << 20;

/// Where the names of user ids come from.
pub trait OsAccounts: Send + Sync + 'static {
    /// The name of a user id, if it has one.
    fn name(&self, uid: u32) -> Option<String>;
}

/// The accounts in `/etc/passwd`. Those of directory services are not found.
#[derive(Clone, Copy, Debug, Default)]
pub struct PasswdFile;

impl OsAccounts for PasswdFile {
    fn name(&self, uid: u32) -> Option<String> {
        let file = File::open("/etc/passwd").ok()?;
        name_in(BufReader::new(file.take(ACCOUNT_FILE_BYTES_MAX)), uid)
    }
}

/// The first name with a user id in a file in the form of `passwd(5)`: `name:password:uid:…`.
fn name_in(file: impl BufRead, uid: u32) -> Option<String> {
    let lines = file.lines().map_while(Result::ok);
    let name = |line: String| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    };
    lines.filter_map(name).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_user_id() {
        let file =
            "root:x:0:0:root:/root:/bin/sh\n\nbroken\n:x:7:\nann:x:1000:1000::/:/bin/sh\nb:x:+1:";
        for (uid, expected) in [(0, Some("root")), (1000, Some("ann")), (7, None), (2, None)] {
            assert_eq!(name_in(file.as_bytes(), uid).as_deref(), expected, "{uid}");
        }
    }
}
