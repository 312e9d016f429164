//! Measures the request rate of one connection and the memory for a large document. For a release build:
//! `cargo test --release -p espalier-protocols --test restconf -- --ignored --nocapture`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use espalier_drivers::embedded::{Config, Embedded};
use espalier_protocols::restconf::RestconfConfig;
use espalier_store::{Store, SystemClock};

use crate::support::{Server, garden_in};

const REQUESTS: u32 = 50_000;

/// GET of one entry among `entries`, over one keep-alive connection, on the embedded engine.
#[test]
#[ignore = "a measurement"]
fn gets_of_one_entry() {
    for entries in [1000, 1_000_000] {
        let folder = tempfile::tempdir().unwrap();
        let server = embedded(folder.path());
        load(&server, entries);
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        let (started, cpu) = (Instant::now(), cpu_seconds());
        for index in 0..REQUESTS {
            let key = index.wrapping_mul(7919) % entries;
            let request = format!(
                "GET /restconf/data/garden:keyed={key:08} HTTP/1.1\r\nHost: localhost\r\n\r\n"
            );
            writer.write_all(request.as_bytes()).unwrap();
            assert_eq!(read_answer(&mut reader), 200);
        }
        let elapsed = started.elapsed().as_secs_f64();
        let rate = f64::from(REQUESTS) / elapsed;
        let cpu_us = (cpu_seconds() - cpu) / f64::from(REQUESTS) * 1e6;
        println!("GET among {entries}: {rate:.0}/s, {cpu_us:.1} us of CPU each, client included");
    }
}

/// Loading and exporting a large document: resident memory stays bounded.
#[test]
#[ignore = "a measurement"]
fn memory_of_large_documents() {
    let folder = tempfile::tempdir().unwrap();
    let server = embedded(folder.path());
    let before = anonymous_kb();
    let started = Instant::now();
    load(&server, 1_000_000);
    println!(
        "load: {:.1} s, {} kB more",
        started.elapsed().as_secs_f64(),
        anonymous_kb() - before
    );
    let started = Instant::now();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream
        .write_all(b"GET /restconf/data HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut buffer = vec![0; 1 << 16];
    let (mut bytes, mut most) = (0, 0);
    loop {
        let length = stream.read(&mut buffer).unwrap();
        if length == 0 {
            break;
        }
        bytes += length;
        most = most.max(anonymous_kb() - before);
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("export: {bytes} bytes in {seconds:.1} s, at most {most} kB more");
    assert!(most < 300_000);
}

/// A server on the embedded engine.
fn embedded(folder: &Path) -> Server {
    let driver = Embedded::open(Config::new(folder)).unwrap();
    let store = Store::open(Arc::new(driver), Arc::new(SystemClock)).unwrap();
    Server::of(garden_in(&store), RestconfConfig::default(), None)
}

/// PUT of a datastore with `entries` entries, generated while it is sent.
fn load(server: &Server, entries: u32) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = "PUT /restconf/data HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/yang-data+json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut chunk = String::from(r#"{"garden:keyed":["#);
    for index in 0..entries {
        let comma = if index == 0 { "" } else { "," };
        chunk.push_str(&format!(
            r#"{comma}{{"k":"{index:08}","v":"some value of {index}"}}"#
        ));
        if chunk.len() > 60_000 {
            write!(stream, "{:x}\r\n{chunk}\r\n", chunk.len()).unwrap();
            chunk.clear();
        }
    }
    chunk.push_str("]}");
    write!(stream, "{:x}\r\n{chunk}\r\n0\r\n\r\n", chunk.len()).unwrap();
    assert_eq!(read_answer(&mut BufReader::new(stream)), 201);
}

/// Reads one response and returns its status.
fn read_answer(reader: &mut impl BufRead) -> u16 {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap().parse().unwrap();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    status
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let ticks: f64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| field.parse::<f64>().unwrap())
        .sum();
    ticks / 100.0
}

/// Resident memory without mapped files.
fn anonymous_kb() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("RssAnon:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
