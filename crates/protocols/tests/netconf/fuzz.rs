//! Mutated messages: none makes the server panic or hang, or breaks the frames and the XML of its replies.
//!
//! Each target begins with the files of its folder in `corpus/`. It runs for `ESPALIER_FUZZ_SECONDS`, or one second, from
//! the seed in `ESPALIER_FUZZ_SEED`, or a random one, which it prints.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use espalier_protocols::netconf::{
    BASE_NAMESPACE, Decoder, Element, Framing, FramingError, Part, SessionEnd,
};
use espalier_service::RequestFilter;
use espalier_store::Selection;
use espalier_yang::data::subtree_filter::SubtreeFilter;
use espalier_yang::data::{ParseOptions, PrintOptions, Root, TreeBuilder, xml};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::support::{Client, Fixture, framed};

/// The longest input.
const INPUT_BYTES_MAX: usize = 4096;

/// Parts that messages are made of.
const WORDS: [&str; 24] = [
    "\n#",
    "\n##\n",
    "]]>]]>",
    "]]>",
    "#1\n",
    "<",
    "/>",
    "</",
    "<!--",
    "-->",
    "<![CDATA[",
    "<?x?>",
    "<!DOCTYPE a>",
    "&amp;",
    "&#0;",
    "&#x10FFFF;",
    "&x;",
    " xmlns=\"\"",
    " xmlns:a=\"urn:m\"",
    "a:",
    " nc:operation=\"delete\"",
    "é",
    "\u{10ffff}",
    "\0",
];

/// A number from an environment variable.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs a target on mutations of its corpus.
fn run(name: &str, mut target: impl FnMut(&[u8], &mut StdRng)) {
    let seed = setting("ESPALIER_FUZZ_SEED").unwrap_or_else(rand::random);
    let time = Duration::from_secs(setting("ESPALIER_FUZZ_SECONDS").unwrap_or(1));
    let mut random = StdRng::seed_from_u64(seed);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/netconf/corpus");
    let files = std::fs::read_dir(folder.join(name)).expect("a folder");
    let mut corpus: Vec<_> = files
        .map(|file| std::fs::read(file.expect("a file").path()).expect("a file"))
        .collect();
    corpus.sort();
    let (started, mut count) = (Instant::now(), 0);
    while started.elapsed() < time {
        let input = match corpus.get(count) {
            Some(input) => input.clone(),
            None => mutated(&corpus, &mut random),
        };
        let ran = catch_unwind(AssertUnwindSafe(|| target(&input, &mut random)));
        if let Err(panic) = ran {
            eprintln!(
                "{name}, seed {seed}, input {count}: “{}”",
                input.escape_ascii()
            );
            resume_unwind(panic);
        }
        count += 1;
    }
    println!("{name}, seed {seed}: {count} inputs");
}

/// An input with a few changes.
fn mutated(corpus: &[Vec<u8>], random: &mut StdRng) -> Vec<u8> {
    let mut input = corpus[random.random_range(0..corpus.len())].clone();
    for _ in 0..random.random_range(1..8) {
        let at = random.random_range(0..=input.len());
        let end = (at + random.random_range(0..32)).min(input.len());
        let word = WORDS[random.random_range(0..WORDS.len())].as_bytes();
        match random.random_range(0..7) {
            0 if at < input.len() => input[at] = random.random(),
            1 => drop(input.drain(at..end)),
            2 => {
                let part = input[at..end].to_vec();
                let times = random.random_range(1..8);
                drop(input.splice(at..at, part.repeat(times)));
            }
            3 => {
                let other = &corpus[random.random_range(0..corpus.len())];
                let from = random.random_range(0..=other.len());
                let to = (from + random.random_range(0..64)).min(other.len());
                drop(input.splice(at..end, other[from..to].iter().copied()));
            }
            4 => drop(input.splice(at..end, word.iter().copied())),
            _ => drop(input.splice(at..at, word.iter().copied())),
        }
        input.truncate(INPUT_BYTES_MAX);
    }
    input
}

/// The messages in bytes that arrive in pieces, the begin of the next one, and the error.
fn decoded(
    framing: Option<Framing>,
    pieces: &[&[u8]],
) -> (Vec<Vec<u8>>, Vec<u8>, Option<FramingError>) {
    let mut decoder = Decoder::new();
    if let Some(framing) = framing {
        decoder.set_framing(framing);
    }
    let (mut messages, mut open) = (Vec::new(), Vec::new());
    for piece in pieces {
        let mut input = *piece;
        loop {
            match decoder.next(&mut input) {
                Ok(Some(Part::Data(data))) => open.extend_from_slice(data),
                Ok(Some(Part::End)) => messages.push(std::mem::take(&mut open)),
                Ok(None) => break,
                Err(error) => return (messages, open, Some(error)),
            }
        }
    }
    (messages, open, None)
}

/// The decoder finds the same wherever the bytes are split; what is encoded is decoded again.
#[test]
fn framing() {
    run("framing", |input, random| {
        let first = random.random_range(0..=input.len());
        let second = random.random_range(first..=input.len());
        let pieces = [&input[..first], &input[first..second], &input[second..]];
        for framing in [None, Some(Framing::EndOfMessage), Some(Framing::Chunked)] {
            let whole = decoded(framing, &[input]);
            assert_eq!(decoded(framing, &pieces), whole, "{framing:?} {pieces:?}");
        }
        let text = String::from_utf8_lossy(input);
        let frames = framed(Framing::Chunked, &text);
        let again = decoded(Some(Framing::Chunked), &[&frames]);
        // A message is never empty.
        if !text.is_empty() {
            assert_eq!(again, (vec![text.as_bytes().to_vec()], Vec::new(), None));
        }
    });
}

/// Checks that text is well-formed.
fn check_xml(text: &str) {
    let mut reader = quick_xml::Reader::from_str(text);
    loop {
        match reader.read_event() {
            Ok(quick_xml::events::Event::Eof) => return,
            Ok(_) => {}
            Err(error) => panic!("{error}: {text}"),
        }
    }
}

/// Sends a message; returns false if the session has ended.
fn exchange(client: &mut Client<'_>, input: &[u8]) -> bool {
    let mut message = format!("\n#{}\n", input.len()).into_bytes();
    message.extend_from_slice(input);
    message.extend_from_slice(b"\n##\n");
    if client.send_bytes(&message).is_err() {
        return false;
    }
    while let Some(reply) = client.receive() {
        check_xml(&reply);
        let parsed = Element::parse(&reply).expect("XML");
        if parsed.is(BASE_NAMESPACE, "rpc-reply") {
            return true;
        }
        assert_eq!(parsed.name, "notification", "{reply}");
    }
    false
}

/// Every message has a reply, or ends its session.
#[test]
fn envelope() {
    let fixture = Fixture::new();
    let mut session = None;
    run("envelope", |input, _| {
        if input.is_empty() {
            return;
        }
        let mut client = session.take().unwrap_or_else(|| fixture.session());
        match exchange(&mut client, input) {
            true => session = Some(client),
            false => {
                let end = client.end();
                assert_ne!(end, SessionEnd::Malformed("internal error".to_owned()));
            }
        }
    });
}

/// What a filter selects is a part of the datastore, as a document of its model.
#[test]
fn subtree() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    client.ok(
        "<edit-config><target><running/></target><config><c xmlns=\"urn:m\"><title>t</title><e><k>a</k><v>1</v></e><e><k>b</k>\
         <v>2</v></e><tag>x</tag><tag>y</tag></c></config></edit-config>",
    );
    let running = fixture.running();
    run("subtree", |input, _| {
        let text = String::from_utf8_lossy(input);
        let document = format!("<filter>{text}</filter>");
        let Ok(filter) = SubtreeFilter::parse_element(&document) else {
            return;
        };
        let filter = RequestFilter::Subtree(filter);
        let parts = running.filtered(&filter, &Selection::default());
        for part in parts.expect("a read") {
            let mut bytes = format!("<data xmlns=\"{BASE_NAMESPACE}\">").into_bytes();
            let mut printer = xml::Printer::new(part.schema(), &mut bytes, PrintOptions::default());
            part.send(&mut printer).expect("a read");
            printer.finish().expect("memory");
            bytes.extend_from_slice(b"</data>");
            let mut builder = TreeBuilder::new();
            let options = ParseOptions::default();
            let parsed = xml::parse(
                part.schema(),
                Root::Datastore,
                &bytes[..],
                &mut builder,
                &options,
            );
            parsed.unwrap_or_else(|error| panic!("{error}: {}", bytes.escape_ascii()));
        }
    });
}
