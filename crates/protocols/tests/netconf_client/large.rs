//! Replies that do not fit in memory.

use std::io::{self, Write};

use espalier_protocols::netconf::{BASE_1_0, BASE_1_1, Framing};
use espalier_protocols::netconf_client::{ClientError, ClientLimits};

use crate::peer::{Peer, run};

/// The size of the data, in bytes.
const DATA_BYTES: usize = 512 << 20;

/// How much the memory of the process may grow meanwhile, in bytes: the blocks of both sides.
const MEMORY_MAX: u64 = 32 << 20;

/// Sends a reply with much data.
async fn send_large(peer: &mut Peer, id: &str) {
    let block = "<e>0123456789</e>".repeat(4096);
    let begin = crate::peer::reply(id, "<data xmlns:x=\"urn:x\">");
    let begin = begin.strip_suffix("</rpc-reply>").expect("an end");
    let chunk = |text: &str| match peer.framing {
        Framing::Chunked => format!("\n#{}\n{text}", text.len()),
        Framing::EndOfMessage => text.to_owned(),
    };
    let (begin, middle, end) = (chunk(begin), chunk(&block), chunk("</data>\n</rpc-reply>"));
    let last = match peer.framing {
        Framing::Chunked => "\n##\n",
        Framing::EndOfMessage => "]]>]]>",
    };
    peer.send_bytes(begin.as_bytes()).await;
    for _ in 0..DATA_BYTES / block.len() {
        peer.send_bytes(middle.as_bytes()).await;
    }
    peer.send_bytes(end.as_bytes()).await;
    peer.send_bytes(last.as_bytes()).await;
}

/// Counts what is written, and keeps both ends.
#[derive(Default)]
struct Ends {
    count: u64,
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Write for Ends {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.count += bytes.len() as u64;
        if self.first.len() < 100 {
            self.first.extend_from_slice(bytes);
        }
        self.last.extend_from_slice(bytes);
        let excess = self.last.len().saturating_sub(100);
        self.last.drain(..excess);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The largest memory of this process so far, in bytes.
fn memory_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse::<u64>().ok())
        .expect("a number")
        << 10
}

#[test]
fn a_large_reply_is_received_in_bounded_memory() {
    for version in [BASE_1_0, BASE_1_1] {
        let before = memory_peak();
        let serve = move |mut peer: Peer| async move {
            peer.greet(&[version]).await;
            let id = peer.request().await.expect("a request");
            send_large(&mut peer, &id).await;
            while peer.request().await.is_some() {}
        };
        let ends = run(ClientLimits::default(), serve, |session| async move {
            let session = session.expect("a session");
            let mut ends = Ends::default();
            let stream = session.begin("<get/>").await.expect("sent");
            let written = stream.copy_element(&mut ends).await.expect("a reply");
            assert_eq!(written, ends.count);
            ends
        });
        let (first, last) = (
            String::from_utf8_lossy(&ends.first),
            String::from_utf8_lossy(&ends.last),
        );
        assert!(ends.count > DATA_BYTES as u64 - (1 << 20), "{}", ends.count);
        assert!(
            first.starts_with("<data xmlns:x=\"urn:x\" xmlns="),
            "{first}"
        );
        assert!(last.ends_with("</e></data>\n"), "{last}");
        let grown = memory_peak() - before;
        assert!(grown < MEMORY_MAX, "{version}: {} KiB", grown >> 10);
    }
}

/// A reply that is held has a limit.
#[test]
fn a_reply_that_is_too_large_to_hold_is_rejected_by_name() {
    let serve = |mut peer: Peer| async move {
        peer.greet(&[BASE_1_1]).await;
        let id = peer.request().await.expect("a request");
        peer.reply(&id, &format!("<data>{}</data>", "x".repeat(3 << 20)))
            .await;
        let id = peer.request().await.expect("a request");
        peer.reply(&id, "<ok/>").await;
        while peer.request().await.is_some() {}
    };
    let limits = ClientLimits {
        held_bytes_max: 1 << 20,
        ..ClientLimits::default()
    };
    run(limits, serve, |session| async move {
        let session = session.expect("a session");
        let error = session.request("<get/>").await.expect_err("too large");
        assert!(matches!(error, ClientError::TooBig { .. }), "{error}");
        assert!(error.to_string().contains("held_bytes_max"), "{error}");
        session
            .request("<get/>")
            .await
            .expect("the session goes on");
    });
}
