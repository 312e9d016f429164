//! A session with a server.
//!
//! | file | content |
//! |---|---|
//! | `session.rs` | [`Session`]: sends requests |
//! | `stream.rs` | [`Connection`]: the bytes of a session |
//! | `input.rs` | finds the messages in what arrives |
//! | `greeting.rs` | exchanges the `hello` messages |
//! | `receive.rs` | the task that routes received messages |
//! | `pending.rs` | the requests without a reply, and the end of a session |
//! | `reply_stream.rs` | [`ReplyStream`]: a reply as it arrives |
//! | `notifications.rs` | [`Notifications`] |

mod greeting;
mod input;
mod notifications;
mod pending;
mod receive;
mod reply_stream;
#[expect(clippy::module_inception, reason = "the file has the session itself")]
mod session;
mod stream;

pub use notifications::{Notification, Notifications};
pub use reply_stream::ReplyStream;
pub use session::Session;
pub(super) use stream::Connection;
