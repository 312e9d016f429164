//! Requests that are too large for memory: data without operations, which are loaded from a file.

use std::io::{self, Read};

use espalier_service::SessionDatastore;
use espalier_store::{Datastore, Error, LoadMode, LoadOptions};
use espalier_yang::{DataError, ErrorTag, ErrorType};

use super::configuration::send_document;
use super::output::{Output, Result};
use super::parameters::{Parameters, invalid, named_datastore};
use crate::netconf::message::{BASE_NAMESPACE, PartialRpc};

/// The bytes of a message in which its parameters before the data must be.
pub(super) const BEGIN_BYTES: usize = 64 << 10;

/// The bytes of a message in which the end tags after the data must be.
const TAIL_BYTES: usize = 4 << 10;

/// Bytes of a read.
const READ_BYTES: usize = 64 << 10;

/// Loads the data of an `edit-config` or `copy-config`. `begin` is the begin of the message, and `rest` what follows it.
pub(super) fn load(
    running: &SessionDatastore,
    rpc: &PartialRpc<'_>,
    begin: &str,
    rest: impl Read,
) -> Result<Output> {
    let parameters = Parameters::complete(&rpc.operation, rpc.parameters.clone());
    let target = named_datastore(running, &parameters.place("target")?)?;
    let is_copy = rpc.operation.is(BASE_NAMESPACE, "copy-config");
    if !is_copy && !rpc.operation.is(BASE_NAMESPACE, "edit-config") {
        return Err(too_big().into());
    }
    if !is_copy && target.datastore() == Datastore::Startup {
        return Err(invalid("“startup” cannot be edited", "startup").into());
    }
    let operations = ["merge", "replace", "none"];
    let mode = match parameters.choice("default-operation", &operations)? {
        _ if is_copy => LoadMode::Replace,
        0 => LoadMode::Merge,
        1 => LoadMode::Replace,
        _ => return Err(too_big().into()),
    };
    if parameters.text("test-option")?.as_deref() == Some("test-only") {
        return Err(too_big().into());
    }
    target.require("ietf-netconf", &rpc.operation.name)?;
    let options = LoadOptions {
        mode,
        ..LoadOptions::default()
    };
    let start = rpc.config.renamed_start(BASE_NAMESPACE, "config", "");
    let (_, content) = begin.split_at(rpc.begin);
    let ends = match is_copy {
        true => &["rpc", "copy-config", "source", "config"][..],
        false => &["rpc", "edit-config", "config"],
    };
    let content = WithoutTail::new(content.as_bytes().chain(rest), ends);
    let mut document = Some(start.as_bytes().chain(content));
    target.load(options, &mut |sink| {
        let Some(document) = document.take() else {
            return Err(Error::Stopped);
        };
        send_document(document, target.schema(), sink)
    })?;
    Ok(Output::Ok)
}

/// The error of a message that is too large for what it has.
pub(super) fn too_big() -> DataError {
    let message = "the message is too large: beyond held_bytes_max only an edit-config that merges or replaces, or a \
                   copy-config, is possible, whose data are the last parameter and have no operations";
    DataError::new(ErrorTag::TooBig, message).of_type(ErrorType::Rpc)
}

/// The content of `config`, then its end tag under its other name: without the end tags around it.
struct WithoutTail<'e, R> {
    inner: R,
    /// The local names of the elements that end, outermost first.
    ends: &'e [&'static str],
    buffer: Vec<u8>,
    /// How much of the buffer was read.
    taken: usize,
    is_complete: bool,
}

impl<'e, R: Read> WithoutTail<'e, R> {
    fn new(inner: R, ends: &'e [&'static str]) -> Self {
        Self {
            inner,
            ends,
            buffer: Vec::new(),
            taken: 0,
            is_complete: false,
        }
    }

    /// The bytes that can be given.
    fn available(&self) -> usize {
        let held = match self.is_complete {
            true => 0,
            false => TAIL_BYTES,
        };
        (self.buffer.len() - self.taken).saturating_sub(held)
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let length = self.buffer.len();
        self.buffer.resize(length + READ_BYTES, 0);
        let read = self.inner.read(&mut self.buffer[length..]);
        self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
        if read? == 0 {
            self.is_complete = true;
            let content = without_end_tags(&self.buffer, self.ends);
            let content = content.ok_or_else(|| {
                let message = "the message does not end with the end tags of “config” and of the elements around it";
                io::Error::new(io::ErrorKind::InvalidData, message)
            })?;
            self.buffer.truncate(content);
            self.buffer.extend_from_slice(b"</renamed:config>");
        }
        Ok(())
    }
}

impl<R: Read> Read for WithoutTail<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.available() == 0 && !self.is_complete {
            self.fill()?;
        }
        let length = self.available().min(out.len());
        out[..length].copy_from_slice(&self.buffer[self.taken..self.taken + length]);
        self.taken += length;
        Ok(length)
    }
}

/// The length of a text without the end tags of some elements, outermost first; `None` if it does not end with them.
fn without_end_tags(text: &[u8], names: &[&str]) -> Option<usize> {
    let mut rest = text;
    for name in names {
        let tag = rest.trim_ascii_end().strip_suffix(b">")?;
        let begin = memchr::memmem::rfind(tag, b"</")?;
        let qualified = std::str::from_utf8(&tag[begin + 2..]).ok()?.trim_end();
        let local = qualified.rsplit(':').next()?;
        if local != *name {
            return None;
        }
        rest = &text[..begin];
    }
    Some(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_tags_are_removed_wherever_reads_are_split() {
        let names = ["rpc", "edit-config", "config"];
        let content = format!("<a>{}</a>", "x".repeat(3 * READ_BYTES));
        let text = format!("{content}</nc:config >\n </edit-config>\r\n</nc:rpc>\n");
        for chunk in [1, 7, 4096, 1 << 20] {
            let mut reader = WithoutTail::new(SmallReads(text.as_bytes(), chunk), &names);
            let mut read = String::new();
            reader.read_to_string(&mut read).expect("a text");
            assert_eq!(read, format!("{content}</renamed:config>"), "{chunk}");
        }
        for wrong in [
            "",
            "<a/>",
            "</config></rpc>",
            "</config></edit-config></rpc>x",
        ] {
            let mut reader = WithoutTail::new(wrong.as_bytes(), &names);
            assert!(
                reader.read_to_string(&mut String::new()).is_err(),
                "{wrong}"
            );
        }
    }

    struct SmallReads<'t>(&'t [u8], usize);

    impl Read for SmallReads<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = out.len().min(self.1);
            self.0.read(&mut out[..length])
        }
    }
}
