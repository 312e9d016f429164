//! The messages of etcd's API that this driver uses, with the tags of `rpc.proto` and `kv.proto`.

use prost::{Message, Oneof};

// Written by hand, because `etcd-client` needs a protobuf compiler: docs/decisions/0062.
/// `mvccpb.KeyValue`
#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
    #[prost(int64, tag = "2")]
    pub(crate) create_revision: i64,
    #[prost(int64, tag = "3")]
    pub(crate) mod_revision: i64,
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ResponseHeader {
    #[prost(int64, tag = "3")]
    pub(crate) revision: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
    /// Empty for one key; one zero byte for all keys from `key` on.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(crate) limit: i64,
    /// 0 for the newest.
    #[prost(int64, tag = "4")]
    pub(crate) revision: i64,
    /// 0 for none (ascending), 2 for descending; the target, tag 6, is the key by default.
    #[prost(int32, tag = "5")]
    pub(crate) sort_order: i32,
    /// Whether the server reads its local state, without consensus with the other members.
    #[prost(bool, tag = "7")]
    pub(crate) serializable: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RangeResponse {
    #[prost(message, repeated, tag = "2")]
    pub(crate) kvs: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PutRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DeleteRangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) range_end: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RequestOp {
    #[prost(oneof = "op::Request", tags = "1, 2, 3")]
    pub(crate) request: Option<op::Request>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ResponseOp {
    #[prost(oneof = "op::Response", tags = "1")]
    pub(crate) response: Option<op::Response>,
}

/// The requests and responses of a transaction's operations.
pub(crate) mod op {
    use super::{DeleteRangeRequest, Oneof, PutRequest, RangeRequest, RangeResponse};

    #[derive(Clone, PartialEq, Oneof)]
    pub(crate) enum Request {
        #[prost(message, tag = "1")]
        Range(RangeRequest),
        #[prost(message, tag = "2")]
        Put(PutRequest),
        #[prost(message, tag = "3")]
        DeleteRange(DeleteRangeRequest),
    }

    #[derive(Clone, PartialEq, Oneof)]
    pub(crate) enum Response {
        #[prost(message, tag = "1")]
        Range(RangeResponse),
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Compare {
    /// One of [`result`].
    #[prost(int32, tag = "1")]
    pub(crate) result: i32,
    /// One of [`compare_target`].
    #[prost(int32, tag = "2")]
    pub(crate) target: i32,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) key: Vec<u8>,
    #[prost(oneof = "compare::Target", tags = "5, 6, 7")]
    pub(crate) union: Option<compare::Target>,
    #[prost(bytes = "vec", tag = "64")]
    pub(crate) range_end: Vec<u8>,
}

/// The values that a key is compared with.
pub(crate) mod compare {
    use super::Oneof;

    #[derive(Clone, PartialEq, Oneof)]
    pub(crate) enum Target {
        #[prost(int64, tag = "5")]
        Created(i64),
        #[prost(int64, tag = "6")]
        Modified(i64),
        #[prost(bytes, tag = "7")]
        Value(Vec<u8>),
    }
}

/// `Compare.CompareResult`
pub(crate) mod result {
    pub(crate) const EQUAL: i32 = 0;
    pub(crate) const GREATER: i32 = 1;
}

/// `Compare.CompareTarget`
pub(crate) mod compare_target {
    pub(crate) const CREATE: i32 = 1;
    pub(crate) const MOD: i32 = 2;
    pub(crate) const VALUE: i32 = 3;
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub(crate) compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) success: Vec<RequestOp>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<ResponseHeader>,
    #[prost(bool, tag = "2")]
    pub(crate) succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    pub(crate) responses: Vec<ResponseOp>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct WatchRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) create: Option<WatchCreateRequest>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct WatchCreateRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(crate) start_revision: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct WatchResponse {
    #[prost(bool, tag = "4")]
    pub(crate) canceled: bool,
    #[prost(int64, tag = "5")]
    pub(crate) compact_revision: i64,
    #[prost(string, tag = "6")]
    pub(crate) cancel_reason: String,
    #[prost(message, repeated, tag = "11")]
    pub(crate) events: Vec<Event>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Event {
    /// 0 for a put, 1 for a delete.
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) kv: Option<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AuthenticateRequest {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) password: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AuthenticateResponse {
    #[prost(string, tag = "2")]
    pub(crate) token: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StatusRequest {}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StatusResponse {
    #[prost(string, tag = "2")]
    pub(crate) version: String,
}
