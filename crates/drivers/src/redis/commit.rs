//! Applies batches and streamed writes, each with one script. If its reply is lost, the outcome is resolved.

use std::time::{Duration, Instant};

use espalier_keyspace::{Batch, Error, ErrorKind, Precondition, Result, Version, WriteBody};
use redis::RedisResult;

use super::engine::{
    BatchKind, DIRECT_BYTES_MAX, EncodedBatch, Engine, LOG_BYTES_MAX, LOG_COMMITS_MAX, Reply,
    Session, UNDO_OPERATIONS_MAX, backoff, is_transient, unexpected_reply,
};
use super::snapshot::RedisSnapshot;
use crate::buffered;
use crate::recent_commits::RECORD_BYTES_MAX;

/// Blocks of a staged batch that one command sends: about 4 MiB.
const STAGE_BLOCKS: usize = 16;

/// The expiry of a staged batch, in seconds, should its process die.
const STAGE_SECONDS: u64 = 3600;

/// The additional timeout for each operation of a batch.
const OPERATION_TIMEOUT: Duration = Duration::from_micros(50);

/// Applies a batch.
pub(super) fn commit(engine: &Engine, batch: &Batch) -> Result<Version> {
    batch.check_limits()?;
    let _commit = engine.writing.read();
    apply(engine, batch, None)
}

/// Applies the operations that `fill` writes.
pub(super) fn write(
    engine: &std::sync::Arc<Engine>,
    preconditions: &[Precondition],
    fill: WriteBody<'_>,
) -> Result<Version> {
    let _write = engine.writing.write();
    let steps = buffered::Engine {
        snapshot: &|| Ok(Box::new(RedisSnapshot::new(engine)?)),
        commit: &|batch, unchanged_since| apply(engine, batch, unchanged_since),
    };
    buffered::write(&steps, preconditions, fill)
}

fn apply(engine: &Engine, batch: &Batch, unchanged_since: Option<Version>) -> Result<Version> {
    let request = CommitRequest::of(engine, batch, unchanged_since);
    let deadline = engine.pool.deadline() + request.timeout;
    let mut wait = Duration::from_millis(5);
    loop {
        let mut session = engine.pool.take_until(deadline)?;
        session.sequence += 1;
        let error = match request.send(engine, &mut session) {
            Ok(reply) => {
                engine.pool.put_back(session);
                return commit_result(engine, reply)?.ok_or_else(unexpected_reply);
            }
            Err(error) if !is_transient(&error) => {
                engine.pool.put_back(session);
                return Err(engine.pool.error(error));
            }
            Err(error) => error,
        };
        engine.pool.drop_idle();
        if let Some(version) = resolve(engine, &session, request.timeout)? {
            return Ok(version);
        }
        if Instant::now() + wait >= deadline {
            return Err(engine.pool.error(error));
        }
        backoff(&mut wait);
    }
}

/// Finds the outcome of the last commit of a session whose connection broke, on another connection. Returns
/// `None` if it was not applied. It will not be applied afterwards.
fn resolve(engine: &Engine, session: &Session, timeout: Duration) -> Result<Option<Version>> {
    let name = engine.names.session(&session.name);
    let sequence = session.sequence.to_string();
    let deadline = engine.pool.deadline() + timeout;
    let reply = engine.request_until(deadline, |connection| {
        let script = &engine.scripts.resolve;
        connection.script(script, &[&name], &[sequence.as_bytes()])
    });
    match reply {
        Ok(reply) => commit_result(engine, reply),
        Err(error) => Err(Error::new(
            ErrorKind::OutcomeUnknown,
            "the connection broke during a commit, and the server cannot be reached to find \
             its outcome; read before retrying",
        )
        .with_source(error)),
    }
}

fn commit_result(engine: &Engine, mut reply: Reply) -> Result<Option<Version>> {
    match reply.status.as_str() {
        "ok" => Ok(Some(Version(reply.number()?))),
        "void" => Ok(None),
        "conflict" => Err(Error::conflict(&reply.bytes()?.unwrap_or_default())),
        "changed" => Err(Error::new(
            ErrorKind::Conflict,
            "another process committed during this write",
        )),
        "overflow" => Err(Error::new(
            ErrorKind::Overflow,
            "a counter would exceed the range of i64, or the stored value is not a counter",
        )
        .with_key(&reply.bytes()?.unwrap_or_default())),
        _ => engine.checked(reply).map(|_| None),
    }
}

/// A call of the commit script.
struct CommitRequest {
    blocks: EncodedBatch,
    /// The version that must be the newest, or an empty string.
    expected: String,
    undo: &'static [u8],
    undo_bytes: String,
    timeout: Duration,
}

impl CommitRequest {
    fn of(engine: &Engine, batch: &Batch, unchanged_since: Option<Version>) -> Self {
        let count = batch.operations().len() + batch.preconditions().len();
        let too_large = batch.operations().len() > UNDO_OPERATIONS_MAX
            || batch.bytes() as u64 > engine.undo_bytes;
        Self {
            blocks: EncodedBatch::of(batch),
            expected: unchanged_since.map_or(String::new(), |version| version.0.to_string()),
            undo: if too_large { b"none" } else { b"undo" },
            undo_bytes: engine.undo_bytes.to_string(),
            timeout: OPERATION_TIMEOUT * u32::try_from(count).unwrap_or(u32::MAX),
        }
    }

    fn send(&self, engine: &Engine, session: &mut Session) -> RedisResult<Reply> {
        let names = &engine.names;
        let (own, stage) = (names.session(&session.name), names.stage(&session.name));
        session
            .connection
            .wait_at_most(engine.pool.timeout + self.timeout)?;
        let staged = self.blocks.bytes() > DIRECT_BYTES_MAX;
        if staged {
            self.stage(session, &stage)?;
        }
        let keys: [&str; 13] = [
            &names.meta,
            &names.keys,
            &names.runs,
            &names.values,
            &names.rows,
            &names.undo,
            &names.before,
            &names.packed,
            &names.pending,
            &names.queue,
            &names.log,
            &own,
            &stage,
        ];
        let numbers = [
            session.sequence,
            self.blocks.checks as u64,
            LOG_COMMITS_MAX as u64,
            LOG_BYTES_MAX as u64,
            RECORD_BYTES_MAX as u64,
        ]
        .map(|number| number.to_string().into_bytes());
        let mut arguments: Vec<&[u8]> = vec![
            &numbers[0],
            &numbers[1],
            self.expected.as_bytes(),
            self.undo,
            self.undo_bytes.as_bytes(),
            &numbers[2],
            &numbers[3],
            &numbers[4],
            match self.blocks.is_logged {
                true => b"logged",
                false => b"unlogged",
            },
            self.blocks.kind.name(),
        ];
        if !staged {
            // Without any block the script would read the staged ones.
            const NOTHING: &[u8] = &[0xdd, 0, 0, 0, 0];
            arguments.extend(self.blocks.blocks.iter().map(Vec::as_slice));
            if self.blocks.kind != BatchKind::Runs {
                arguments.push(NOTHING);
            }
        }
        session
            .connection
            .script(&engine.scripts.commit, &keys, &arguments)
    }

    fn stage(&self, session: &mut Session, stage: &str) -> RedisResult<()> {
        session.connection.run(redis::cmd("DEL").arg(stage))?;
        for blocks in self.blocks.blocks.chunks(STAGE_BLOCKS) {
            session
                .connection
                .run(redis::cmd("RPUSH").arg(stage).arg(blocks))?;
            let mut expire = redis::cmd("EXPIRE");
            session
                .connection
                .run(expire.arg(stage).arg(STAGE_SECONDS))?;
        }
        Ok(())
    }
}
