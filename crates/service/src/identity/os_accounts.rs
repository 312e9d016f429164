//! The users and groups of the operating system.

use std::ffi::CString;
use std::io;

use nix::unistd::{Gid, Group, Uid, User, getgrouplist};

/// The accounts of an operating system.
pub trait OsAccounts: Send + Sync + 'static {
    /// The name of a user id, if it has one.
    fn name(&self, uid: u32) -> Option<String>;

    /// The names of the groups of a user; none if there is no such user.
    ///
    /// # Errors
    /// The groups cannot be read now.
    fn groups(&self, user: &str) -> io::Result<Vec<String>>;
}

/// The accounts that the name service of this machine has (`nsswitch.conf(5)`): `/etc/passwd`, directory services.
#[derive(Clone, Copy, Debug, Default)]
pub struct NameService;

impl OsAccounts for NameService {
    fn name(&self, uid: u32) -> Option<String> {
        let user = User::from_uid(Uid::from_raw(uid)).ok().flatten()?;
        Some(user.name)
    }

    fn groups(&self, user: &str) -> io::Result<Vec<String>> {
        let Some(account) = User::from_name(user)? else {
            return Ok(Vec::new());
        };
        let groups = getgrouplist(&CString::new(user)?, account.gid)?;
        let names = groups.into_iter().map(group_name);
        names.filter_map(Result::transpose).collect()
    }
}

/// The name of a group id; `None` if it has none.
fn group_name(gid: Gid) -> io::Result<Option<String>> {
    Ok(Group::from_gid(gid)?.map(|group| group.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_a_name_and_a_group() {
        assert_eq!(NameService.name(0).as_deref(), Some("root"));
        let groups = NameService.groups("root").unwrap();
        assert!(groups.contains(&"root".to_owned()), "{groups:?}");
    }

    #[test]
    fn accounts_that_do_not_exist() {
        assert_eq!(NameService.name(4_000_000_007), None);
        assert!(NameService.groups("no such user").unwrap().is_empty());
    }
}
