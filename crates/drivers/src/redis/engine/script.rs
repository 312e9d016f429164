//! The Lua scripts that run in the server.

/// A script and its hash, which identifies it in the server.
pub(crate) struct Script {
    pub(crate) code: &'static str,
    pub(crate) hash: String,
}

impl Script {
    fn new(code: &'static str) -> Self {
        let hash = redis::Script::new(code).get_hash().to_owned();
        Self { code, hash }
    }
}

/// All scripts.
pub(crate) struct Scripts {
    pub(crate) open: Script,
    pub(crate) snapshot: Script,
    pub(crate) get: Script,
    pub(crate) page: Script,
    pub(crate) commit: Script,
    pub(crate) resolve: Script,
    pub(crate) check: Script,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        Self {
            open: Script::new(include_str!("open.lua")),
            snapshot: Script::new(concat!(
                include_str!("run.lua"),
                include_str!("snapshot.lua")
            )),
            get: Script::new(concat!(
                include_str!("run.lua"),
                include_str!("undo.lua"),
                include_str!("get.lua")
            )),
            page: Script::new(concat!(
                include_str!("run.lua"),
                include_str!("undo.lua"),
                include_str!("page.lua")
            )),
            commit: Script::new(concat!(
                include_str!("run.lua"),
                include_str!("undo.lua"),
                include_str!("commit.lua")
            )),
            resolve: Script::new(include_str!("resolve.lua")),
            check: Script::new(concat!(include_str!("run.lua"), include_str!("check.lua"))),
        }
    }
}
