//! The clients of a row: all on one thread, so that the server has the rest of the machine.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use espalier_terminal::{Failure, Result};
use futures_util::future::try_join_all;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::connection::Connection;
use super::measured::{Kind, Measured};
use super::server_process::ServerProcess;
use super::workload::{Request, Workload};

/// The pause of a client after the response 503.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The longest time without a response.
const RESPONSE_MAX: Duration = Duration::from_secs(60);

/// The time for which clients send requests.
#[derive(Clone, Copy, Debug)]
pub struct Period {
    /// The time before the measurement begins.
    pub warm_up: Duration,
    /// The time of the measurement.
    pub measured: Duration,
}

/// What all clients share.
struct Shared {
    workload: Workload,
    address: SocketAddr,
    /// The end of the warm-up.
    begin: Instant,
    end: Instant,
    measured: RefCell<Measured>,
    /// The next new value of a leaf.
    value: Cell<u64>,
    /// The writes that were acknowledged.
    written: Cell<u64>,
}

/// What the clients did, and what the server needed.
pub struct Outcome {
    /// The measurement.
    pub measured: Measured,
    /// The writes that were acknowledged, in the warm-up too.
    pub written: u64,
    /// The first value that no request had.
    pub next_value: u64,
    /// The processor time of the server.
    pub cpu: Duration,
    /// The private memory of the server in bytes, each second.
    pub memory: Vec<u64>,
}

/// Runs the clients of a workload. They write values from `first_value` on. Fails at the first wrong response.
pub fn run(
    workload: Workload,
    server: &ServerProcess,
    period: Period,
    first_value: u64,
) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let begin = Instant::now() + period.warm_up;
    let shared = Shared {
        workload,
        address: server.address,
        begin,
        end: begin + period.measured,
        measured: RefCell::new(Measured::new()?),
        value: Cell::new(first_value),
        written: Cell::new(0),
    };
    let (clients, resources) = runtime.block_on(async {
        let clients = (0..workload.clients).map(|number| client(&shared, number));
        tokio::join!(try_join_all(clients), observe(&shared, server))
    });
    clients?;
    let (cpu, memory) = resources;
    Ok(Outcome {
        written: shared.written.get(),
        next_value: shared.value.get(),
        measured: shared.measured.into_inner(),
        cpu,
        memory,
    })
}

/// The processor time of the server during the measurement, and its memory each second.
async fn observe(shared: &Shared, server: &ServerProcess) -> (Duration, Vec<u64>) {
    tokio::time::sleep_until(shared.begin.into()).await;
    let before = server.cpu_time();
    let mut memory = Vec::new();
    while Instant::now() < shared.end {
        let next = Instant::now() + Duration::from_secs(1);
        tokio::time::sleep_until(next.min(shared.end).into()).await;
        memory.push(server.memory());
    }
    (server.cpu_time().saturating_sub(before), memory)
}

async fn client(shared: &Shared, number: u64) -> Result<()> {
    let mut random = StdRng::seed_from_u64(number);
    let mut connection = Connection::open(shared.address).await?;
    loop {
        let began = Instant::now();
        if began >= shared.end {
            return Ok(());
        }
        let value = shared.value.replace(shared.value.get() + 1);
        let request = shared.workload.request(&mut random, value);
        let sent = tokio::time::timeout(RESPONSE_MAX, send(&mut connection, &request)).await;
        let is_accepted = sent.map_err(|_| {
            Failure::data(format!(
                "no response within {RESPONSE_MAX:?} to {request:?}"
            ))
        })??;
        let ended = Instant::now();
        let is_measured = began >= shared.begin && ended <= shared.end;
        if !is_accepted {
            shared.measured.borrow_mut().rejected += u64::from(is_measured);
            tokio::time::sleep(RETRY_PAUSE).await;
            continue;
        }
        let kind = match request {
            Request::Read { .. } => Kind::Read,
            Request::Write { .. } => Kind::Write,
        };
        shared
            .written
            .update(|written| written + u64::from(kind == Kind::Write));
        if is_measured {
            let mut measured = shared.measured.borrow_mut();
            measured.record(kind, ended - began, ended - shared.begin);
        }
    }
}

/// Sends a request. `false` if the server rejected it because it is busy.
async fn send(connection: &mut Connection, request: &Request) -> Result<bool> {
    let (response, is_correct) = match request {
        Request::Read { path, expected } => {
            let response = connection.send("GET", path, "").await?;
            let is_correct = response.status == 200 && response.body.contains(expected);
            (response, is_correct)
        }
        Request::Write { path, body } => {
            let response = connection.send("PATCH", path, body).await?;
            let is_changed = response.field("espalier-changed") == Some("true");
            let is_correct = response.status == 204 && is_changed;
            (response, is_correct)
        }
    };
    if response.status == 503 && response.field("retry-after").is_some() {
        return Ok(false);
    }
    if is_correct {
        return Ok(true);
    }
    let (status, body) = (response.status, response.body);
    Err(Failure::data(format!(
        "the server responded {status} to {request:?}: {body}"
    )))
}
