//! The format of backup files: see docs/formats.md.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::digest::{Digest, Digester};
use super::rows::{Row, Rows, is_transferred};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::subspace::FORMAT_VERSION;

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"ESPALBAK";

/// The version of this format.
const FILE_VERSION: u64 = 1;

/// Bytes of rows in one block before compression: 1 MiB, or one row.
const BLOCK_BYTES: usize = 1 << 20;

/// The maximum size of a block, compressed or not: 16 MiB. A file with a larger length is damaged.
pub const BLOCK_BYTES_MAX: usize = 16 << 20;

/// Bytes of the checksum of a block.
const CHECKSUM_BYTES: usize = 16;

/// Bytes before the content of a block: its kind and its two lengths.
const PREFIX_BYTES: usize = 1 + 4 + 4;

const HEADER: u8 = b'H';
const ROWS: u8 = b'R';
const END: u8 = b'E';

/// The header of a backup file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BackupHeader {
    /// The version of the file's format.
    pub file_version: u64,
    /// The version of the store format of the rows.
    pub store_version: u64,
    /// The engine that the rows come from.
    pub engine: String,
    /// The version of the snapshot.
    pub version: u64,
    /// When the backup was started, in milliseconds since 1970.
    pub made_ms: u64,
}

impl BackupHeader {
    pub(super) fn new(engine: &str, version: u64, now: Timestamp) -> Self {
        Self {
            file_version: FILE_VERSION,
            store_version: FORMAT_VERSION,
            engine: engine.to_owned(),
            version,
            made_ms: now.0,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct End {
    rows: u64,
    bytes: u64,
    hash: String,
}

/// The checksum of a block. It includes the block number, so that swapped blocks are detected.
fn checksum(number: u64, prefix: &[u8], content: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(prefix);
    hasher.update(content);
    let mut checksum = [0; CHECKSUM_BYTES];
    checksum.copy_from_slice(&hasher.finalize().as_bytes()[..CHECKSUM_BYTES]);
    checksum
}

/// Writes a file.
pub(super) struct BackupWriter<W> {
    out: W,
    blocks: u64,
    written: u64,
    plain: Vec<u8>,
    digester: Digester,
}

impl<W: Write> BackupWriter<W> {
    pub(super) fn begin(mut out: W, header: &BackupHeader) -> Result<Self> {
        out.write_all(MAGIC)?;
        let mut writer = Self {
            out,
            blocks: 0,
            written: MAGIC.len() as u64,
            plain: Vec::new(),
            digester: Digester::default(),
        };
        let header = serde_json::to_vec(header).map_err(io::Error::from)?;
        writer.block(HEADER, header.len(), &header)?;
        Ok(writer)
    }

    pub(super) fn row(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.plain.len() + key.len() + value.len() > BLOCK_BYTES {
            self.put_rows()?;
        }
        self.digester.update(key, value);
        for part in [key, value] {
            put_varint(&mut self.plain, part.len() as u64);
            self.plain.extend_from_slice(part);
        }
        Ok(())
    }

    fn put_rows(&mut self) -> Result<()> {
        if self.plain.is_empty() {
            return Ok(());
        }
        let plain = std::mem::take(&mut self.plain);
        self.block(ROWS, plain.len(), &lz4_flex::block::compress(&plain))
    }

    fn block(&mut self, kind: u8, plain_len: usize, content: &[u8]) -> Result<()> {
        let mut prefix = [kind; PREFIX_BYTES];
        prefix[1..5].copy_from_slice(&length(content.len())?.to_le_bytes());
        prefix[5..].copy_from_slice(&length(plain_len)?.to_le_bytes());
        self.out.write_all(&prefix)?;
        self.out.write_all(content)?;
        self.out
            .write_all(&checksum(self.blocks, &prefix, content))?;
        self.blocks += 1;
        self.written += (PREFIX_BYTES + content.len() + CHECKSUM_BYTES) as u64;
        Ok(())
    }

    /// Ends the file; returns the digest of its rows and its length.
    pub(super) fn finish(mut self) -> Result<(Digest, u64)> {
        self.put_rows()?;
        let digest = self.digester.finish();
        let end = End {
            rows: digest.rows,
            bytes: digest.bytes,
            hash: digest.hex(),
        };
        let end = serde_json::to_vec(&end).map_err(io::Error::from)?;
        self.block(END, end.len(), &end)?;
        self.out.flush()?;
        Ok((digest, self.written))
    }
}

fn length(bytes: usize) -> Result<u32> {
    let is_allowed = bytes <= BLOCK_BYTES_MAX;
    let length = u32::try_from(bytes).ok().filter(|_| is_allowed);
    length.ok_or_else(|| Error::corrupt(format!("a block of {bytes} bytes is too long")))
}

/// Reads a file, block by block.
pub(super) struct BackupReader<R> {
    input: R,
    header: BackupHeader,
    blocks: u64,
    /// The position of the next block.
    position: u64,
    plain: Vec<u8>,
    at: usize,
    current: Row,
    end: Option<Digest>,
}

impl<R: Read> BackupReader<R> {
    pub(super) fn open(mut input: R) -> Result<Self> {
        let mut magic = [0; MAGIC.len()];
        let is_backup = input.read_exact(&mut magic).is_ok() && magic == *MAGIC;
        if !is_backup {
            return Err(Error::Damaged {
                place: "the start of the file".to_owned(),
                problem: "it is not an Espalier backup".to_owned(),
            });
        }
        let mut reader = Self {
            input,
            header: BackupHeader::new("", 0, Timestamp(0)),
            blocks: 0,
            position: MAGIC.len() as u64,
            plain: Vec::new(),
            at: 0,
            current: Row::default(),
            end: None,
        };
        let (kind, content, _) = reader.block()?;
        let header = serde_json::from_slice(&content).ok();
        reader.header = header
            .filter(|_| kind == HEADER)
            .ok_or_else(|| reader.damaged("it is not a valid file header"))?;
        let (file, store) = (reader.header.file_version, reader.header.store_version);
        if file > FILE_VERSION || store > FORMAT_VERSION {
            return Err(reader.damaged(&format!(
                "the backup is of format {file} for stores of format {store}; this program supports \
                 {FILE_VERSION} and {FORMAT_VERSION}; use the program that wrote it"
            )));
        }
        Ok(reader)
    }

    pub(super) fn header(&self) -> &BackupHeader {
        &self.header
    }

    /// The digest in the file's end block; `None` before that is read.
    pub(super) fn digest(&self) -> Option<Digest> {
        self.end
    }

    /// An error in the last block that was read.
    fn damaged(&self, problem: &str) -> Error {
        Error::Damaged {
            place: format!("block {}, before byte {}", self.blocks, self.position),
            problem: problem.to_owned(),
        }
    }

    fn read(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        match self.input.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(Error::Damaged {
                    place: format!("block {}, from byte {}", self.blocks + 1, self.position),
                    problem: "the file is truncated".to_owned(),
                });
            }
            Err(error) => return Err(error.into()),
        }
        Ok(bytes)
    }

    /// Reads the next block: its kind, its content and its uncompressed length.
    fn block(&mut self) -> Result<(u8, Vec<u8>, usize)> {
        let start = self.position;
        let prefix = self.read(PREFIX_BYTES)?;
        let number = |at: usize| {
            let bytes = prefix[at..at + 4].try_into().unwrap_or([0xff; 4]);
            u32::from_le_bytes(bytes) as usize
        };
        let (stored, plain) = (number(1), number(5));
        let wrong = |problem: &str| Error::Damaged {
            place: format!("block {}, from byte {start}", self.blocks + 1),
            problem: problem.to_owned(),
        };
        if stored > BLOCK_BYTES_MAX || plain > BLOCK_BYTES_MAX {
            return Err(wrong("it is longer than the maximum length of a block"));
        }
        let content = self.read(stored)?;
        let found = self.read(CHECKSUM_BYTES)?;
        if found != checksum(self.blocks, &prefix, &content) {
            return Err(Error::Damaged {
                place: format!("block {}, from byte {start}", self.blocks + 1),
                problem: "its checksum is wrong".to_owned(),
            });
        }
        self.blocks += 1;
        self.position += (PREFIX_BYTES + stored + CHECKSUM_BYTES) as u64;
        Ok((prefix[0], content, plain))
    }

    /// Reads the next block of rows; returns whether there was one.
    fn next_block(&mut self) -> Result<bool> {
        let (kind, content, plain) = self.block()?;
        self.at = 0;
        match kind {
            ROWS => {
                let rows = lz4_flex::block::decompress(&content, plain);
                self.plain = rows.map_err(|_| self.damaged("it cannot be decompressed"))?;
                Ok(true)
            }
            END => {
                self.plain.clear();
                self.take_end(&content)?;
                Ok(false)
            }
            _ => Err(self.damaged("it is of an unknown kind")),
        }
    }

    fn take_end(&mut self, content: &[u8]) -> Result<()> {
        let end: Option<End> = serde_json::from_slice(content).ok();
        let digest = end.and_then(|end| {
            let hash = blake3::Hash::from_hex(&end.hash).ok()?;
            Some(Digest {
                rows: end.rows,
                bytes: end.bytes,
                hash: *hash.as_bytes(),
            })
        });
        let digest = digest.ok_or_else(|| self.damaged("it is not a valid end block"))?;
        if self.input.read(&mut [0])? != 0 {
            return Err(self.damaged("there are bytes after the end block"));
        }
        self.end = Some(digest);
        Ok(())
    }

    /// Reads one length-prefixed field from the block.
    fn take_field(&mut self) -> Result<Vec<u8>> {
        let mut rest = &self.plain[self.at..];
        let length = take_varint(&mut rest).ok();
        let part = length
            .and_then(|length| usize::try_from(length).ok())
            .and_then(|length| rest.get(..length));
        let Some(part) = part else {
            return Err(self.damaged("a row exceeds the end of the block"));
        };
        self.at = self.plain.len() - rest.len() + part.len();
        Ok(part.to_vec())
    }
}

impl<R: Read> Rows for BackupReader<R> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        while self.at >= self.plain.len() {
            if self.end.is_some() || !self.next_block()? {
                return Ok(None);
            }
        }
        let key = self.take_field()?;
        if key <= self.current.0 {
            return Err(self.damaged("its rows are not in key order"));
        }
        if !is_transferred(&key) {
            return Err(
                self.damaged("it contains a compiled schema set, which backups never include")
            );
        }
        self.current = (key, self.take_field()?);
        Ok(Some((&self.current.0, &self.current.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_compiled_schema_set_is_damaged() {
        let mut file = Vec::new();
        let header = BackupHeader::new("embedded", 1, Timestamp(0));
        let mut writer = BackupWriter::begin(&mut file, &header).unwrap();
        writer.row(&[0x03, 1], b"1").unwrap();
        writer.row(&[0x04, 0x15, 1, 0x14], b"1").unwrap();
        writer.finish().unwrap();
        let mut reader = BackupReader::open(file.as_slice()).unwrap();
        assert!(reader.next().unwrap().is_some());
        let error = reader.next().unwrap_err().to_string();
        assert!(error.contains("compiled schema set"), "{error}");
    }
}
