//! Export and import of documents as JSON lines.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, Read, Write};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;

use espalier_keyspace::{ConflictRetry, KeyspaceCause};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use crate::document::Document;
use crate::limits::{IMPORT_DOCUMENTS, IMPORT_PATIENCE, LINE_BYTES_MAX};
use crate::strict_json::check_strict_json;
use crate::{Collection, Error, ErrorKind, Result, Selection};

/// One line: a key and a document. In an import the key may be absent; the document then gets a new one.
#[derive(Debug, Serialize)]
pub struct Line<D> {
    /// The key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<u64>,
    /// The document.
    pub document: D,
}

/// The format of a line, for error messages.
const LINE_FORMAT: &str = r#"a line is {"document":...} or {"key":0,"document":...}"#;

/// Reads a line: each member once, and no other members.
impl<'de, D: Deserialize<'de>> Deserialize<'de> for Line<D> {
    fn deserialize<S: Deserializer<'de>>(deserializer: S) -> std::result::Result<Self, S::Error> {
        deserializer.deserialize_map(Members(PhantomData))
    }
}

struct Members<D>(PhantomData<D>);

impl<'de, D: Deserialize<'de>> Visitor<'de> for Members<D> {
    type Value = Line<D>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LINE_FORMAT)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> std::result::Result<Line<D>, M::Error> {
        let (mut key, mut document) = (None, None);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "key" if key.is_none() => key = Some(map.next_value::<u64>()?),
                "document" if document.is_none() => document = Some(map.next_value()?),
                "key" | "document" => {
                    return Err(M::Error::custom(format_args!("{name:?} is present twice")));
                }
                _ => {
                    let message = format_args!("unknown member {name:?}; {LINE_FORMAT}");
                    return Err(M::Error::custom(message));
                }
            }
        }
        match document {
            Some(document) => Ok(Line { key, document }),
            None => Err(M::Error::custom(format_args!("no document; {LINE_FORMAT}"))),
        }
    }
}

/// The result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Lines whose documents are stored.
    pub documents: u64,
}

impl<T: Document> Collection<T> {
    /// Writes each document as a line `{"key":0,"document":{...}}`, all from one snapshot, and returns their
    /// number.
    pub fn export(&self, out: &mut dyn Write) -> Result<u64> {
        let mut written = Ok(0);
        self.for_each(Selection::all(), |key, document| {
            let line = Line {
                key: Some(key),
                document: &*document,
            };
            match (write_line(out, &line), &mut written) {
                (Ok(()), Ok(count)) => *count += 1,
                (Err(error), _) => written = Err(error),
                _ => {}
            }
            if written.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        written
    }

    /// Stores the documents of JSON lines in the format of [`Self::export`]: a document with a key replaces
    /// the document with that key, one without gets a new key. A thousand lines are one commit, or several
    /// commits if other writers conflict too often. An error names the line; the lines before its commit are
    /// stored then, and their number is in the message.
    pub fn import(&self, input: &mut dyn BufRead) -> Result<ImportReport> {
        let mut imported = ImportReport::default();
        let mut number = 0;
        loop {
            let (lines, failure) = self.read_lines(input, &mut number);
            let is_last = lines.len() < IMPORT_DOCUMENTS;
            let stored = match failure {
                Some(error) => Err(error),
                None => self.store_all(&lines, &mut imported),
            };
            stored.map_err(|error| match imported.documents {
                0 => error.at("no documents were imported"),
                count => error.at(format_args!("{count} documents were imported, then")),
            })?;
            if is_last {
                return Ok(imported);
            }
        }
    }

    #[allow(clippy::type_complexity)]
    fn read_lines(
        &self,
        input: &mut dyn BufRead,
        number: &mut u64,
    ) -> (Vec<(u64, Line<Arc<T>>)>, Option<Error>) {
        let mut lines = Vec::new();
        while lines.len() < IMPORT_DOCUMENTS {
            match next_line(input, number) {
                Ok(None) => break,
                Ok(Some(text)) => match read_line(&text) {
                    Ok(line) => lines.push((*number, line)),
                    Err((place, error)) => {
                        let error = error.at(format_args!("line {number}{place}"));
                        return (lines, Some(error));
                    }
                },
                Err(error) => return (lines, Some(error)),
            }
        }
        (lines, None)
    }

    /// Stores lines in one commit, or in several if it conflicts for too long.
    fn store_all(&self, lines: &[(u64, Line<Arc<T>>)], imported: &mut ImportReport) -> Result<()> {
        let retry = match lines.len() {
            0 | 1 => ConflictRetry::new(),
            _ => ConflictRetry::with_timeout(IMPORT_PATIENCE),
        };
        match self.store(lines, retry) {
            Err(error) if error.is_conflict() && lines.len() > 1 => {
                let (first, second) = lines.split_at(lines.len() / 2);
                self.store_all(first, imported)?;
                self.store_all(second, imported)
            }
            Ok(()) => {
                imported.documents += lines.len() as u64;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn store(&self, lines: &[(u64, Line<Arc<T>>)], retry: ConflictRetry) -> Result<()> {
        let mut stored = HashMap::new();
        let done = self.core().run_for(retry, &mut |transaction| {
            stored.clear();
            for (number, line) in lines {
                let document = Arc::clone(&line.document);
                let key = match line.key {
                    Some(key) => transaction.put(self, key, document).map(|_| key),
                    None => transaction.insert(self, document),
                };
                let key = key.map_err(|error| {
                    if error.is_conflict() {
                        error
                    } else {
                        error.at(format_args!("line {number}"))
                    }
                })?;
                stored.insert(key, *number);
            }
            Ok(())
        });
        // Two documents with the same value are detected after all lines are stored.
        done.map_err(|error| {
            let clash = error.clash().map(|clash| [clash.other, clash.key]);
            let number = clash
                .into_iter()
                .flatten()
                .find_map(|key| stored.get(&key).copied());
            match number {
                Some(number) => error.at(format_args!("line {number}")),
                None => error,
            }
        })
    }
}

/// Parses a line; on error, also returns the place in the line.
fn read_line<T: Document>(text: &[u8]) -> std::result::Result<Line<Arc<T>>, (String, Error)> {
    let line: Line<T> = serde_json::from_slice(text).map_err(|error| {
        let place = format!(", column {}", error.column());
        let message = without_place(&error);
        (place, Error::new(ErrorKind::Syntax, message))
    })?;
    // Types report the accepted members in their own errors.
    if TypeId::of::<T>() == TypeId::of::<Json>() {
        check_strict_json(text).map_err(|error| (String::new(), error))?;
    }
    Ok(Line {
        key: line.key,
        document: Arc::new(line.document),
    })
}

fn write_line<D: Serialize>(out: &mut dyn Write, line: &Line<D>) -> Result<()> {
    let mut text = serde_json::to_vec(line)
        .map_err(|error| Error::new(ErrorKind::Document, error.to_string()))?;
    text.push(b'\n');
    out.write_all(&text).map_err(|error| {
        let message = format!("the documents cannot be written: {error}");
        Error::new(ErrorKind::Argument, message)
    })
}

/// Some programs write this at the start of UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads the next non-empty line.
fn next_line(input: &mut dyn BufRead, number: &mut u64) -> Result<Option<Vec<u8>>> {
    loop {
        let mut line = Vec::new();
        let limit = LINE_BYTES_MAX as u64 + 1;
        let read = input.take(limit).read_until(b'\n', &mut line);
        *number += 1;
        let read = read.map_err(|error| {
            let message = format!("line {number} cannot be read: {error}");
            Error::new(ErrorKind::Syntax, message)
        })?;
        if read == 0 {
            return Ok(None);
        }
        if line.len() > LINE_BYTES_MAX {
            return Err(Error::limit(format!(
                "line {number} is longer than the limit of {LINE_BYTES_MAX} bytes"
            )));
        }
        if *number == 1 && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if !line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Some(line));
        }
    }
}

/// The message of an error without its place, which is reported separately.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&place) {
        Some(problem) => problem.to_owned(),
        None => message,
    }
}
