//! Documents as JSON lines: out of a collection and into one.

use std::io::{BufRead, Read, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::limits::{IMPORT_DOCUMENTS, LINE_BYTES_MAX};
use crate::{Collection, Error, ErrorKind, Result, Selection};

/// One line: a key and a document. In an import the key may be absent, and the document gets one.
#[derive(Debug, Serialize, Deserialize)]
pub struct Line<D> {
    /// The key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<u64>,
    /// The document.
    pub document: D,
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Lines whose documents are stored.
    pub documents: u64,
}

impl<T: Document> Collection<T> {
    /// Writes each document as a line `{"key":0,"document":{...}}`, as they are at one time, and
    /// returns how many.
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

    /// Stores the documents of JSON lines, as [`Self::export`] writes them: a document with a key
    /// replaces the one of that key, one without gets a new key. A thousand lines are one commit.
    /// An error names the line; the lines before its thousand are stored then, and told.
    pub fn import(&self, input: &mut dyn BufRead) -> Result<Imported> {
        let mut imported = Imported::default();
        let mut number = 0;
        loop {
            let (lines, failure) = self.read_lines(input, &mut number);
            let is_last = lines.len() < IMPORT_DOCUMENTS;
            let stored = match failure {
                Some(error) => Err(error),
                None => self.store(&lines),
            };
            stored.map_err(|error| match imported.documents {
                0 => error.at("nothing was imported"),
                count => error.at(format_args!("{count} documents were imported, then")),
            })?;
            imported.documents += lines.len() as u64;
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
                Ok(Some(text)) => match serde_json::from_slice::<Line<T>>(&text) {
                    Ok(line) => lines.push((
                        *number,
                        Line {
                            key: line.key,
                            document: Arc::new(line.document),
                        },
                    )),
                    Err(error) => {
                        let message = format!(
                            "line {number}, column {}: {}",
                            error.column(),
                            without_place(&error)
                        );
                        return (lines, Some(Error::new(ErrorKind::Syntax, message)));
                    }
                },
                Err(error) => return (lines, Some(error)),
            }
        }
        (lines, None)
    }

    fn store(&self, lines: &[(u64, Line<Arc<T>>)]) -> Result<()> {
        self.core().run(&mut |transaction| {
            for (number, line) in lines {
                let document = Arc::clone(&line.document);
                let stored = match line.key {
                    Some(key) => transaction.put(self, key, document).map(drop),
                    None => transaction.insert(self, document).map(drop),
                };
                stored.map_err(|error| {
                    if error.is_overtaken() {
                        error
                    } else {
                        error.at(format_args!("line {number}"))
                    }
                })?;
            }
            Ok(())
        })
    }
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

/// The next line that is not empty.
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
        if !line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Some(line));
        }
    }
}

/// What is wrong, without the place that is told for a document of this one line.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&place) {
        Some(problem) => problem.to_owned(),
        None => message,
    }
}
