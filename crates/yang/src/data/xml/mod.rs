//! XML (RFC 7950 §7, §9), with the attributes of RFC 6241, RFC 6243 and RFC 7950, as streams.

mod any;
mod capture;
mod input;
mod prefixes;
mod print;
mod read;
mod write;

pub use any::{RAW_JSON_NAMESPACE, RAW_XML_MEMBER, raw_content, raw_xml};
pub use input::{DEPTH_MAX, TOKEN_LENGTH_MAX};
pub use print::Printer;
pub use read::parse;
