//! A reply as it arrives.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::input::{Piece, text};
use super::pending::Pending;
use crate::netconf::Element;
use crate::netconf_client::error::ClientError;
use crate::netconf_client::reply::Reply;

/// The bytes at the end of a reply in which the end tag of `rpc-reply` must be.
const TAIL_BYTES: usize = 4096;

/// The bytes at the begin of a reply in which the start tag of its element must be, or the whole reply is held in memory.
const BEGIN_BYTES_MAX: usize = 64 << 10;

/// A reply as it arrives, in parts of any size.
pub struct ReplyStream {
    pub(super) parts: mpsc::Receiver<Piece>,
    pub(super) pending: Arc<Pending>,
    /// Until the first part has arrived.
    pub(super) time_max: Option<Duration>,
    pub(super) held_bytes_max: usize,
}

/// The begin of a reply.
enum Begin {
    /// It has one element with content, which begins here; its start tag as a document of its own.
    Element { start: String, content: usize },
    /// It has errors, or only elements without content.
    Other,
    /// Its first element has not begun.
    Incomplete,
}

impl ReplyStream {
    /// The next part of the message; `None` at its end.
    ///
    /// # Errors
    /// The reply did not begin in time, or the session has ended.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        let received = match self.time_max.take() {
            Some(max) => timeout(max, self.parts.recv()).await.map_err(|_| {
                ClientError::Timeout("the server did not reply in time (reply_time_max)")
            })?,
            None => self.parts.recv().await,
        };
        match received {
            Some(Piece::Data(data)) => Ok(Some(data)),
            Some(Piece::End) => Ok(None),
            None => Err(self.pending.reason()),
        }
    }

    /// The whole reply.
    ///
    /// # Errors
    /// As [`Self::next`]; it has errors; it is larger than `held_bytes_max`.
    pub async fn reply(self) -> Result<Reply, ClientError> {
        self.reply_after(Vec::new()).await
    }

    async fn reply_after(mut self, mut message: Vec<u8>) -> Result<Reply, ClientError> {
        while let Some(part) = self.next().await? {
            if message.len() + part.len() > self.held_bytes_max {
                return Err(ClientError::TooBig {
                    message: "the reply",
                    max: self.held_bytes_max,
                    limit: "held_bytes_max",
                });
            }
            message.extend_from_slice(&part);
        }
        Reply::of(text(message)?)
    }

    /// Writes the only element of the reply, as `data`, as a document of its own, while it arrives. Returns the number of
    /// bytes. Its content is not parsed.
    ///
    /// # Errors
    /// As [`Self::reply`], without the limit; those of writing.
    pub async fn copy_element(mut self, out: &mut (dyn Write + Send)) -> Result<u64, ClientError> {
        let mut begin = Vec::new();
        let (start, content) = loop {
            let part = self.next().await?;
            let is_end = part.is_none();
            begin.extend_from_slice(&part.unwrap_or_default());
            match of_begin(&begin)? {
                Begin::Element { start, content } if !is_end => break (start, content),
                Begin::Incomplete if !is_end && begin.len() <= BEGIN_BYTES_MAX => {}
                _ if is_end => return copy_whole(&Reply::of(text(begin)?)?, out),
                _ => {
                    let reply = self.reply_after(begin).await?;
                    return copy_whole(&reply, out);
                }
            }
        };
        let mut copy = Copy { out, written: 0 };
        copy.write(start.as_bytes())?;
        let mut tail = begin.split_off(content);
        while let Some(part) = self.next().await? {
            tail.extend_from_slice(&part);
            if tail.len() > TAIL_BYTES {
                let rest = tail.split_off(tail.len() - TAIL_BYTES);
                copy.write(&tail)?;
                tail = rest;
            }
        }
        let end = tail.windows(2).rposition(|pair| pair == b"</");
        let end =
            end.ok_or_else(|| ClientError::Malformed("the rpc-reply does not end".to_owned()))?;
        copy.write(tail[..end].trim_ascii_end())?;
        copy.write(b"\n")?;
        Ok(copy.written)
    }
}

struct Copy<'o> {
    out: &'o mut (dyn Write + Send),
    written: u64,
}

impl Copy<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        let written = self.out.write_all(bytes);
        written.map_err(|error| ClientError::Write(error.to_string()))?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

/// Writes the elements of a reply.
fn copy_whole(reply: &Reply, out: &mut (dyn Write + Send)) -> Result<u64, ClientError> {
    let mut copy = Copy { out, written: 0 };
    for element in reply.elements()? {
        copy.write(element.standalone().as_bytes())?;
        copy.write(b"\n")?;
    }
    Ok(copy.written)
}

fn of_begin(begin: &[u8]) -> Result<Begin, ClientError> {
    let valid = match std::str::from_utf8(begin) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&begin[..error.valid_up_to()]).unwrap_or_default(),
    };
    let is_element = |element: &Element<'_>| element.name != "rpc-reply";
    let trimmed = valid.trim_start();
    match Element::parse_open(trimmed, is_element) {
        Ok(Some(open)) if open.open.len() == 1 && open.last.name == "data" => Ok(Begin::Element {
            start: open.last.standalone_start(),
            content: valid.len() - trimmed.len() + open.begin,
        }),
        Ok(None) => Ok(Begin::Incomplete),
        // An element without content, or what `Reply::of` reports.
        Ok(Some(_)) | Err(_) => Ok(Begin::Other),
    }
}
