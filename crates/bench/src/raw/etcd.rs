//! etcd without Espalier: one etcd key for each key, a transaction for as many operations as it accepts.

use espalier_keyspace::{Direction, KeyRange, Operation};
use http::uri::PathAndQuery;
use prost::{Message, Oneof};
use tokio::runtime::Runtime;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use super::client::RawEngine;
use super::contents::Contents;
use super::range_end::range_end;
use super::remote::{Remote, replay};
use crate::recorder::{ReadStep, Trace};
use espalier_terminal::{Failure, Result};

/// The largest number of operations that a server accepts in a transaction by default.
const OPERATIONS_MAX: usize = 128;

/// The largest transaction in bytes, below the default limit of a server: 1.5 MiB.
const REQUEST_BYTES_MAX: usize = 1 << 20;

/// The largest response in bytes.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// A channel and a separate key prefix.
pub struct Etcd {
    runtime: Runtime,
    channel: Channel,
    prefix: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Put {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Delete {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    end: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Get {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    end: Vec<u8>,
    #[prost(int64, tag = "3")]
    limit: i64,
    #[prost(int32, tag = "5")]
    order: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Pair {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct RangeResponse {
    #[prost(message, repeated, tag = "2")]
    pairs: Vec<Pair>,
}

impl RangeResponse {
    fn bytes(&self) -> usize {
        let pairs = self.pairs.iter();
        pairs.map(|pair| pair.key.len() + pair.value.len()).sum()
    }
}

#[derive(Clone, PartialEq, Message)]
struct ResponseOp {
    #[prost(message, optional, tag = "1")]
    found: Option<RangeResponse>,
}

#[derive(Clone, PartialEq, Message)]
struct TxnReadResponse {
    #[prost(message, repeated, tag = "3")]
    each: Vec<ResponseOp>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Change {
    #[prost(message, tag = "1")]
    Get(Get),
    #[prost(message, tag = "2")]
    Put(Put),
    #[prost(message, tag = "3")]
    Delete(Delete),
}

#[derive(Clone, PartialEq, Message)]
struct Step {
    #[prost(oneof = "Change", tags = "1, 2, 3")]
    change: Option<Change>,
}

#[derive(Clone, PartialEq, Message)]
struct Transaction {
    #[prost(message, repeated, tag = "2")]
    steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Message)]
struct TxnResponse {
    #[prost(bool, tag = "2")]
    has_succeeded: bool,
}

impl Etcd {
    /// Connects, with an empty prefix of a name.
    pub fn create(url: &str, name: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let hosts = url.split_once("//").map_or(url, |(_, hosts)| hosts);
        let first = hosts.split([',', '/', '?']).next().unwrap_or(hosts);
        let endpoint = Endpoint::from_shared(format!("http://{first}"))
            .map_err(|error| Failure::data(format!("raw etcd: {error}")))?;
        let connected = runtime.block_on(endpoint.connect());
        Ok(Self {
            channel: connected.map_err(|error| Failure::data(format!("raw etcd: {error}")))?,
            runtime,
            prefix: format!("{name}/").into_bytes(),
        })
    }

    fn key(&self, key: &[u8]) -> Vec<u8> {
        [self.prefix.as_slice(), key].concat()
    }

    async fn call<Q, A>(
        &self,
        path: &'static str,
        message: Q,
    ) -> std::result::Result<A, tonic::Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(ANSWER_BYTES_MAX);
        let ready = grpc.ready().await;
        ready.map_err(|error| tonic::Status::unavailable(error.to_string()))?;
        let codec: ProstCodec<Q, A> = ProstCodec::default();
        let answer = grpc.unary(
            Request::new(message),
            PathAndQuery::from_static(path),
            codec,
        );
        Ok(answer.await?.into_inner())
    }

    fn step(&self, operation: &Operation) -> Step {
        let change = match operation {
            Operation::Put { key, value } => Change::Put(Put {
                key: self.key(key),
                value: value.clone(),
            }),
            Operation::Delete { key } => Change::Delete(Delete {
                key: self.key(key),
                end: Vec::new(),
            }),
            Operation::DeleteRange(range) => Change::Delete(Delete {
                key: self.key(&range.start),
                end: self.key(range_end(range)),
            }),
            // etcd has no counters: the driver reads, then puts the sum.
            Operation::Add { key, delta } => Change::Put(Put {
                key: self.key(key),
                value: delta.to_le_bytes().to_vec(),
            }),
        };
        Step {
            change: Some(change),
        }
    }

    async fn send(&self, steps: &[Step]) -> std::result::Result<(), tonic::Status> {
        let mut rest = steps;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take(OPERATIONS_MAX).take_while(|step| {
                bytes += step.encoded_len();
                bytes <= REQUEST_BYTES_MAX
            });
            let (chunk, remaining) = rest.split_at(fits.count().max(1));
            let steps = chunk.to_vec();
            let _: TxnResponse = self
                .call("/etcdserverpb.KV/Txn", Transaction { steps })
                .await?;
            rest = remaining;
        }
        Ok(())
    }
}

impl Remote for Etcd {
    type Error = tonic::Status;

    async fn read(&self, step: &ReadStep) -> std::result::Result<usize, tonic::Status> {
        let one = |key: &[u8]| Get {
            key: self.key(key),
            end: Vec::new(),
            limit: 1,
            order: 0,
        };
        let get = match step {
            ReadStep::Get(key) => one(key),
            ReadStep::GetMany(keys) => {
                let mut bytes = 0;
                for keys in keys.chunks(OPERATIONS_MAX) {
                    let get = |key: &Vec<u8>| Step {
                        change: Some(Change::Get(one(key))),
                    };
                    let steps = keys.iter().map(get).collect();
                    let all: TxnReadResponse = self
                        .call("/etcdserverpb.KV/Txn", Transaction { steps })
                        .await?;
                    let found = all.each.iter().filter_map(|each| each.found.as_ref());
                    bytes += found.map(RangeResponse::bytes).sum::<usize>();
                }
                return Ok(bytes);
            }
            ReadStep::Scan(range, direction, count) => Get {
                key: self.key(&range.start),
                end: self.key(range_end(range)),
                limit: i64::try_from(*count).unwrap_or(i64::MAX),
                order: match direction {
                    Direction::Forward => 0,
                    Direction::Backward => 2,
                },
            },
        };
        let found: RangeResponse = self.call("/etcdserverpb.KV/Range", get).await?;
        Ok(found.bytes())
    }

    async fn commit(&self, operations: &[Operation]) -> std::result::Result<(), tonic::Status> {
        let steps = operations.iter().map(|operation| self.step(operation));
        self.send(&steps.collect::<Vec<_>>()).await
    }
}

impl RawEngine for Etcd {
    fn load(&self, contents: &Contents) -> Result<()> {
        let put = |(key, value): (&[u8], &[u8])| Operation::Put {
            key: key.to_vec(),
            value: value.to_vec(),
        };
        let steps: Vec<_> = contents.iter().map(|pair| self.step(&put(pair))).collect();
        self.runtime.block_on(self.send(&steps)).map_err(failed)
    }

    fn replay(&self, trace: &Trace) -> Result<usize> {
        let done = self.runtime.block_on(replay(self, trace));
        done.map_err(failed)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let all = Operation::DeleteRange(KeyRange::all());
        let steps = [self.step(&all)];
        // Anything left over has a unique name and disturbs nothing.
        drop(self.runtime.block_on(self.send(&steps)));
    }
}

fn failed(error: tonic::Status) -> Failure {
    Failure::data(format!("raw etcd: {error}"))
}
