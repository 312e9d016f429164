//! Short forms of the requests of the table.

use crate::everywhere::{Body, Format, LockOwner, Operation, Placement, Prefer, Read, Request};

impl From<Read> for Request {
    fn from(read: Read) -> Self {
        Operation::Read(read).into()
    }
}

/// A JSON document.
pub fn json(text: &'static str) -> Body {
    let format = Format::Json;
    Body { format, text }
}

/// An XML document.
pub fn xml(text: &'static str) -> Body {
    let format = Format::Xml;
    Body { format, text }
}

/// An invocation of an RPC or action.
pub fn invoke(path: &'static str, input: Body) -> Operation {
    Operation::Invoke { path, input }
}

/// A read of running.
pub fn read(path: &'static str) -> Read {
    Read {
        path,
        ..Read::default()
    }
}

/// A read of a datastore.
pub fn read_in(datastore: &'static str, path: &'static str) -> Read {
    Read {
        datastore,
        ..read(path)
    }
}

/// An edit of running.
pub fn edit(text: &'static str) -> Operation {
    edit_in("running", json(text))
}

/// An edit of running, in XML.
pub fn edit_xml(text: &'static str) -> Operation {
    edit_in("running", xml(text))
}

/// An edit of a datastore.
pub fn edit_in(datastore: &'static str, body: Body) -> Operation {
    edit_with(datastore, body, "", "")
}

/// An edit with parameters.
pub fn edit_with(
    datastore: &'static str,
    body: Body,
    default_operation: &'static str,
    test_option: &'static str,
) -> Operation {
    Operation::Edit {
        datastore,
        body,
        default_operation,
        test_option,
    }
}

/// A load into running that merges.
pub fn load(body: Body) -> Operation {
    Operation::Load {
        datastore: "running",
        body,
        replaces: false,
    }
}

/// A load into running that replaces.
pub fn load_over(body: Body) -> Operation {
    Operation::Load {
        datastore: "running",
        body,
        replaces: true,
    }
}

/// Creates a child in running.
pub fn create(parent: &'static str, text: &'static str) -> Operation {
    Operation::Create {
        datastore: "running",
        parent,
        body: json(text),
        placement: None,
    }
}

/// Creates an entry at a position.
pub fn create_at(parent: &'static str, text: &'static str, placement: Placement) -> Operation {
    Operation::Create {
        datastore: "running",
        parent,
        body: json(text),
        placement: Some(placement),
    }
}

/// Replaces a resource of running.
pub fn replace(target: &'static str, text: &'static str) -> Operation {
    Operation::Replace {
        datastore: "running",
        target,
        body: json(text),
        placement: None,
    }
}

/// Replaces an entry at a position.
pub fn replace_at(target: &'static str, text: &'static str, placement: Placement) -> Operation {
    Operation::Replace {
        datastore: "running",
        target,
        body: json(text),
        placement: Some(placement),
    }
}

/// Merges into a resource of running.
pub fn merge(target: &'static str, text: &'static str) -> Operation {
    Operation::Merge {
        datastore: "running",
        target,
        body: json(text),
    }
}

/// Deletes a resource of running.
pub fn delete(target: &'static str) -> Operation {
    delete_in("running", target)
}

/// Deletes a resource of a datastore.
pub fn delete_in(datastore: &'static str, target: &'static str) -> Operation {
    Operation::Delete { datastore, target }
}

/// Sets a leaf of running.
pub fn set(target: &'static str, value: &'static str) -> Operation {
    set_in("running", target, value)
}

/// Sets a leaf of a datastore.
pub fn set_in(datastore: &'static str, target: &'static str, value: &'static str) -> Operation {
    Operation::Set {
        datastore,
        target,
        value,
    }
}

/// A position without a point.
pub fn at(insert: &'static str) -> Placement {
    let point = None;
    Placement { insert, point }
}

/// A position before or after an entry.
pub fn by(insert: &'static str, point: &'static str) -> Placement {
    let point = Some(point);
    Placement { insert, point }
}

/// The lock of a session.
pub fn lock(datastore: &'static str, session: &'static str) -> Request {
    partial_lock(datastore, &[], session)
}

/// A partial lock of a session.
pub fn partial_lock(
    datastore: &'static str,
    paths: &'static [&'static str],
    session: &'static str,
) -> Request {
    Request::from(Operation::Lock { datastore, paths }).session(session)
}

/// Releases a lock of a session.
pub fn unlock(datastore: &'static str, partial: Option<u32>, session: &'static str) -> Request {
    let owner = LockOwner::Session;
    Request::from(Operation::Unlock {
        datastore,
        partial,
        owner,
    })
    .session(session)
}

/// Breaks a lock.
pub fn break_lock(datastore: &'static str, partial: Option<u32>) -> Operation {
    Operation::Unlock {
        datastore,
        partial,
        owner: LockOwner::Anybody,
    }
}

/// Commits the candidate.
pub fn commit() -> Operation {
    commit_of("candidate")
}

/// Commits a candidate.
pub fn commit_of(datastore: &'static str) -> Operation {
    Operation::Commit {
        datastore,
        confirmed: None,
        persist: None,
        persist_id: None,
    }
}

/// A confirmed commit of the candidate.
pub fn confirmed_commit(
    seconds: u32,
    persist: Option<&'static str>,
    persist_id: Option<&'static str>,
) -> Operation {
    Operation::Commit {
        datastore: "candidate",
        confirmed: Some(seconds),
        persist,
        persist_id,
    }
}

/// A commit that confirms another one.
pub fn confirm(persist_id: &'static str) -> Operation {
    Operation::Commit {
        datastore: "candidate",
        confirmed: None,
        persist: None,
        persist_id: Some(persist_id),
    }
}

/// Cancels a confirmed commit.
pub fn cancel(persist_id: Option<&'static str>) -> Operation {
    Operation::CancelCommit { persist_id }
}

/// Validates a datastore.
pub fn validate(datastore: &'static str) -> Operation {
    Operation::Validate { datastore }
}

/// Discards the candidate.
pub fn discard() -> Operation {
    Operation::Discard {
        datastore: "candidate",
    }
}

/// Rebases the candidate.
pub fn update(prefer: Prefer) -> Operation {
    let datastore = "candidate";
    Operation::Update { datastore, prefer }
}

/// Copies a datastore.
pub fn copy(from: &'static str, to: &'static str) -> Operation {
    Operation::Copy { from, to }
}
