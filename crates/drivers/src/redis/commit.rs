//! How batches and writes are applied: by one script, whose answer is found out when it is lost.

use std::time::{Duration, Instant};

use espalier_keyspace::{Batch, Error, ErrorKind, Fill, Precondition, Result, Version};
use redis::RedisResult;

use super::engine::{
    Answer, Blocks, DIRECT_BYTES_MAX, Engine, Kind, LOG_BYTES_MAX, LOG_COMMITS_MAX, Lane,
    UNDO_OPERATIONS_MAX, backoff, broken, wrong_answer,
};
use super::snapshot::RedisSnapshot;
use crate::buffered;
use crate::recent_commits::RECORD_BYTES_MAX;

/// Blocks of a staged batch that are sent at once: about 4 MiB.
const STAGE_BLOCKS: usize = 16;

/// Seconds that a staged batch is kept whose process is gone.
const STAGE_SECONDS: u64 = 3600;

/// How much longer an answer may take for each operation of the batch.
const OPERATION_PATIENCE: Duration = Duration::from_micros(50);

/// Applies a batch.
pub(super) fn commit(engine: &Engine, batch: &Batch) -> Result<Version> {
    batch.check_limits()?;
    let _commit = engine.writing.read();
    apply(engine, batch, None)
}

/// Applies what `fill` writes.
pub(super) fn write(
    engine: &std::sync::Arc<Engine>,
    preconditions: &[Precondition],
    fill: Fill<'_>,
) -> Result<Version> {
    let _write = engine.writing.write();
    let steps = buffered::Engine {
        snapshot: &|| Ok(Box::new(RedisSnapshot::new(engine)?)),
        commit: &|batch, unchanged_since| apply(engine, batch, unchanged_since),
    };
    buffered::write(&steps, preconditions, fill)
}

fn apply(engine: &Engine, batch: &Batch, unchanged_since: Option<Version>) -> Result<Version> {
    let request = Request::of(engine, batch, unchanged_since);
    let deadline = engine.pool.deadline() + request.patience;
    let mut wait = Duration::from_millis(5);
    loop {
        let mut lane = engine.pool.take_until(deadline)?;
        lane.sequence += 1;
        let error = match request.send(engine, &mut lane) {
            Ok(answer) => {
                engine.pool.give_back(lane);
                return settle(engine, answer)?.ok_or_else(wrong_answer);
            }
            Err(error) if !broken(&error) => {
                engine.pool.give_back(lane);
                return Err(engine.pool.error(error));
            }
            Err(error) => error,
        };
        engine.pool.forget();
        if let Some(version) = resolve(engine, &lane, request.patience)? {
            return Ok(version);
        }
        if Instant::now() + wait >= deadline {
            return Err(engine.pool.error(error));
        }
        backoff(&mut wait);
    }
}

/// Finds out, on another connection, what became of the last commit of a connection that broke.
/// `None` when it did not happen, which is then for good.
fn resolve(engine: &Engine, lane: &Lane, patience: Duration) -> Result<Option<Version>> {
    let name = engine.names.lane(&lane.name);
    let sequence = lane.sequence.to_string();
    let deadline = engine.pool.deadline() + patience;
    let asked = engine.ask_until(deadline, |link| {
        let script = &engine.scripts.resolve;
        link.script(script, &[&name], &[sequence.as_bytes()])
    });
    match asked {
        Ok(answer) => settle(engine, answer),
        Err(error) => Err(Error::new(
            ErrorKind::OutcomeUnknown,
            "the connection broke while a commit was under way, and the server cannot be asked \
             whether it happened; read before trying again",
        )
        .with_source(error)),
    }
}

fn settle(engine: &Engine, mut answer: Answer) -> Result<Option<Version>> {
    match answer.word.as_str() {
        "ok" => Ok(Some(Version(answer.number()?))),
        "void" => Ok(None),
        "conflict" => Err(Error::conflict(&answer.bytes()?.unwrap_or_default())),
        "changed" => Err(Error::new(
            ErrorKind::Conflict,
            "another process committed while this write was under way",
        )),
        "overflow" => Err(Error::new(
            ErrorKind::Overflow,
            "a counter would leave the range of i64, or its value is none",
        )
        .with_key(&answer.bytes()?.unwrap_or_default())),
        _ => engine.checked(answer).map(|_| None),
    }
}

/// A commit as the script takes it.
struct Request {
    blocks: Blocks,
    /// The version that must be the newest, or nothing.
    expected: String,
    undo: &'static [u8],
    undo_bytes: String,
    patience: Duration,
}

impl Request {
    fn of(engine: &Engine, batch: &Batch, unchanged_since: Option<Version>) -> Self {
        let count = batch.operations().len() + batch.preconditions().len();
        let too_large = batch.operations().len() > UNDO_OPERATIONS_MAX
            || batch.bytes() as u64 > engine.undo_bytes;
        Self {
            blocks: Blocks::of(batch),
            expected: unchanged_since.map_or(String::new(), |version| version.0.to_string()),
            undo: if too_large { b"none" } else { b"undo" },
            undo_bytes: engine.undo_bytes.to_string(),
            patience: OPERATION_PATIENCE * u32::try_from(count).unwrap_or(u32::MAX),
        }
    }

    fn send(&self, engine: &Engine, lane: &mut Lane) -> RedisResult<Answer> {
        let names = &engine.names;
        let (own, stage) = (names.lane(&lane.name), names.stage(&lane.name));
        lane.link
            .wait_at_most(engine.pool.timeout + self.patience)?;
        let staged = self.blocks.bytes() > DIRECT_BYTES_MAX;
        if staged {
            self.stage(lane, &stage)?;
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
            lane.sequence,
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
            match self.blocks.is_told {
                true => b"told",
                false => b"untold",
            },
            self.blocks.kind.name(),
        ];
        if !staged {
            // Without a block the script would look for staged ones.
            const NOTHING: &[u8] = &[0xdd, 0, 0, 0, 0];
            arguments.extend(self.blocks.blocks.iter().map(Vec::as_slice));
            if self.blocks.kind != Kind::Runs {
                arguments.push(NOTHING);
            }
        }
        lane.link.script(&engine.scripts.commit, &keys, &arguments)
    }

    fn stage(&self, lane: &mut Lane, stage: &str) -> RedisResult<()> {
        lane.link.run(redis::cmd("DEL").arg(stage))?;
        for blocks in self.blocks.blocks.chunks(STAGE_BLOCKS) {
            lane.link.run(redis::cmd("RPUSH").arg(stage).arg(blocks))?;
            let mut expire = redis::cmd("EXPIRE");
            lane.link.run(expire.arg(stage).arg(STAGE_SECONDS))?;
        }
        Ok(())
    }
}
