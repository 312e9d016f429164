//! Media types (RFC 8040 §5.2) of responses and request bodies.

use espalier_yang::ErrorTag;
use espalier_yang::data::Wrapping;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::error::{Failure, Result};

// An empty body would delete everything: docs/decisions/0048.
/// `Espalier-Document: bare` allows the body of PUT and PATCH of a datastore to be any document that
/// `espalier load` accepts: in another envelope than `ietf-restconf:data`, or without any node. Without
/// this header, a body that is neither the datastore resource nor a node of it is rejected, so it cannot
/// delete everything.
pub const DOCUMENT_HEADER: &str = "espalier-document";

/// The value of [`DOCUMENT_HEADER`].
pub const DOCUMENT_BARE: &str = "bare";

/// The accepted wrappings of a body for a whole datastore.
pub(super) fn wrapping(headers: &HeaderMap) -> Wrapping {
    let is_bare = headers
        .get(DOCUMENT_HEADER)
        .is_some_and(|value| value.as_bytes() == DOCUMENT_BARE.as_bytes());
    match is_bare {
        true => Wrapping::Optional,
        false => Wrapping::ResourceOrNodes,
    }
}

/// The encoding of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// RFC 7951.
    Json,
    /// RFC 7950.
    Xml,
}

/// A media type of responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaType {
    /// `application/yang-data+json`, the default.
    YangJson,
    /// `application/yang-data+xml`.
    YangXml,
    /// `application/json`.
    Json,
    /// `application/xml`.
    Xml,
    /// `text/xml`.
    TextXml,
    /// `application/yang-data+xml-list` (draft-ietf-netconf-list-pagination-rc §3.2), of whole lists and leaf-lists only.
    XmlList,
}

/// The supported types of whole lists and leaf-lists, preferred first.
const OFFERED_FOR_LISTS: [MediaType; 6] = [
    MediaType::YangJson,
    MediaType::YangXml,
    MediaType::Json,
    MediaType::Xml,
    MediaType::TextXml,
    MediaType::XmlList,
];

/// The supported types of all resources, preferred first.
const OFFERED: [MediaType; 5] = [
    MediaType::YangJson,
    MediaType::YangXml,
    MediaType::Json,
    MediaType::Xml,
    MediaType::TextXml,
];

/// The supported formats of PATCH bodies (RFC 5789 §3.1).
pub(super) const ACCEPT_PATCH: &str = "application/yang-data+json, application/yang-data+xml, application/yang-patch+json, application/yang-patch+xml";

/// The media types of a YANG Patch (RFC 8072 §5.2), for bodies of PATCH.
const YANG_PATCH: [(&str, Format); 2] = [
    ("application/yang-patch+json", Format::Json),
    ("application/yang-patch+xml", Format::Xml),
];

impl MediaType {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::YangJson => "application/yang-data+json",
            Self::YangXml => "application/yang-data+xml",
            Self::Json => "application/json",
            Self::Xml => "application/xml",
            Self::TextXml => "text/xml; charset=utf-8",
            Self::XmlList => "application/yang-data+xml-list",
        }
    }

    pub(super) fn format(self) -> Format {
        match self {
            Self::YangJson | Self::Json => Format::Json,
            Self::YangXml | Self::Xml | Self::TextXml | Self::XmlList => Format::Xml,
        }
    }

    pub(super) fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.as_str())
    }

    /// The default media type of a format.
    pub(super) fn of(format: Format) -> Self {
        match format {
            Format::Json => Self::YangJson,
            Format::Xml => Self::YangXml,
        }
    }

    fn essence(self) -> &'static str {
        match self {
            Self::TextXml => "text/xml",
            other => other.as_str(),
        }
    }
}

/// The media type of the response, selected by `Accept`; 406 if none is acceptable.
pub(super) fn negotiate(headers: &HeaderMap) -> Result<MediaType> {
    negotiate_among(headers, &OFFERED)
}

/// As [`negotiate`], for a whole list or leaf-list.
pub(super) fn negotiate_for_list(headers: &HeaderMap) -> Result<MediaType> {
    negotiate_among(headers, &OFFERED_FOR_LISTS)
}

fn negotiate_among(headers: &HeaderMap, offered: &[MediaType]) -> Result<MediaType> {
    let unacceptable = || {
        let offered: Vec<&str> = offered.iter().map(|media| media.essence()).collect();
        let message = format!("none of {} is acceptable", offered.join(", "));
        Failure::invalid(message).with_status(StatusCode::NOT_ACCEPTABLE)
    };
    if !headers.contains_key(ACCEPT) {
        return Ok(MediaType::YangJson);
    }
    let mut lines = headers.get_all(ACCEPT).iter();
    if let (Some(only), None) = (lines.next(), lines.next())
        && let Some(media) = exact_match(only.as_bytes(), offered)
    {
        return Ok(media);
    }
    let ranges = ranges(headers);
    let ranked = offered.iter().rev().filter_map(|&media| {
        let (rank, position) = best_match(&ranges, media)?;
        Some((rank, std::cmp::Reverse(position), media))
    });
    ranked
        .max_by_key(|&(rank, position, _)| (rank, position))
        .map(|(_, _, media)| media)
        .ok_or_else(unacceptable)
}

fn exact_match(accept: &[u8], offered: &[MediaType]) -> Option<MediaType> {
    match accept {
        b"*/*" => Some(MediaType::YangJson),
        accept => offered
            .iter()
            .copied()
            .find(|media| media.essence().as_bytes() == accept),
    }
}

/// The format of an error response: selected by `Accept`, or, if the client accepts anything or has no
/// `Accept`, the format of the request body.
pub(super) fn error_media(headers: &HeaderMap) -> MediaType {
    let is_open = headers
        .get(ACCEPT)
        .is_none_or(|accept| accept.as_bytes() == b"*/*");
    match yang_patch_format(headers).map_or_else(|| content_format(headers), Ok) {
        Ok(format) if is_open => MediaType::of(format),
        _ => match negotiate_for_list(headers) {
            Ok(MediaType::XmlList) => MediaType::YangXml,
            media => media.unwrap_or(MediaType::YangJson),
        },
    }
}

/// The format of the body if it is a YANG Patch, by `Content-Type`.
pub(super) fn yang_patch_format(headers: &HeaderMap) -> Option<Format> {
    let essence = essence(headers.get(CONTENT_TYPE)?);
    let mut all = YANG_PATCH.into_iter();
    let found = all.find(|(name, _)| name.eq_ignore_ascii_case(essence));
    found.map(|(_, format)| format)
}

/// A media type without its parameters.
fn essence(header: &HeaderValue) -> &str {
    let text = header.to_str().unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim()
}

/// The format of the request body, by `Content-Type`; 415 if it is not supported.
pub(super) fn content_format(headers: &HeaderMap) -> Result<Format> {
    let unsupported = |message: String| {
        let accepted: Vec<&str> = OFFERED.iter().map(|media| media.essence()).collect();
        let accepted = accepted.join(", ");
        let message = format!("{message}; accepted: {accepted}");
        Failure::new(ErrorTag::InvalidValue, message)
            .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
    };
    let Some(header) = headers.get(CONTENT_TYPE) else {
        return Err(unsupported("the request has no Content-Type".to_owned()));
    };
    let essence = essence(header);
    OFFERED
        .into_iter()
        .find(|media| media.essence().eq_ignore_ascii_case(essence))
        .map(MediaType::format)
        .ok_or_else(|| unsupported(format!("the media type “{essence}” is not supported")))
}

/// Rejects bodies with a content coding (RFC 9110 §8.4); none is supported.
pub(super) fn check_encoding(headers: &HeaderMap) -> Result<()> {
    let lines = headers.get_all(CONTENT_ENCODING).iter();
    for line in lines {
        let text = String::from_utf8_lossy(line.as_bytes());
        let codings = text.split(',').map(str::trim);
        if let Some(coding) = codings
            .filter(|coding| !coding.is_empty())
            .find(|coding| !coding.eq_ignore_ascii_case("identity"))
        {
            return Err(Failure::content_encoding(coding));
        }
    }
    Ok(())
}

/// One media range of `Accept` (RFC 9110 §12.5.1).
struct Range {
    kind: String,
    subtype: String,
    /// In thousandths.
    quality: u16,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let (kind, subtype) = parts.next()?.trim().split_once('/')?;
        let mut quality = 1000;
        for parameter in parts {
            if let Some((name, value)) = parameter.split_once('=')
                && name.trim().eq_ignore_ascii_case("q")
            {
                quality = parse_quality(value.trim())?;
            }
        }
        Some(Self {
            kind: kind.to_ascii_lowercase(),
            subtype: subtype.to_ascii_lowercase(),
            quality,
        })
    }

    /// How specific the match is: 2 exact, 1 by type, 0 by `*/*`.
    fn specificity(&self, media: MediaType) -> Option<u8> {
        let (kind, subtype) = media.essence().split_once('/')?;
        match (self.kind.as_str(), self.subtype.as_str()) {
            ("*", "*") => Some(0),
            (mine, "*") if mine == kind => Some(1),
            (mine, own) if mine == kind && own == subtype => Some(2),
            _ => None,
        }
    }
}

fn parse_quality(text: &str) -> Option<u16> {
    let quality: f32 = text.parse().ok()?;
    // In range by the check; a quality has at most three digits.
    (0.0..=1.0)
        .contains(&quality)
        .then(|| (quality * 1000.0).round() as u16)
}

fn ranges(headers: &HeaderMap) -> Vec<Range> {
    let lines = headers.get_all(ACCEPT).iter();
    let texts = lines.filter_map(|line| line.to_str().ok());
    texts
        .flat_map(|line| line.split(','))
        .filter_map(Range::parse)
        .collect()
}

/// The quality and specificity of a media type, and the position of the range that matches it.
fn best_match(ranges: &[Range], media: MediaType) -> Option<((u16, u8), usize)> {
    let matching = ranges
        .iter()
        .enumerate()
        .filter_map(|(position, range)| Some((range.specificity(media)?, position, range.quality)));
    let (specificity, position, quality) = matching
        .max_by_key(|&(specificity, position, _)| (specificity, std::cmp::Reverse(position)))?;
    (quality > 0).then_some(((quality, specificity), position))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(value: &str) -> Option<MediaType> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_str(value).unwrap());
        negotiate(&headers).ok()
    }

    #[test]
    fn the_best_range_decides() {
        let table = [
            ("*/*", Some(MediaType::YangJson)),
            ("application/*", Some(MediaType::YangJson)),
            ("application/xml", Some(MediaType::Xml)),
            ("text/*", Some(MediaType::TextXml)),
            (
                "text/html,application/xml;q=0.9,*/*;q=0.8",
                Some(MediaType::Xml),
            ),
            ("application/yang-data+xml, */*", Some(MediaType::YangXml)),
            (
                "application/yang-data+xml;q=0.5, application/yang-data+json;q=0.4",
                Some(MediaType::YangXml),
            ),
            (
                "application/yang-data+xml, application/yang-data+json",
                Some(MediaType::YangXml),
            ),
            (
                "*/*, application/yang-data+json;q=0",
                Some(MediaType::YangXml),
            ),
            ("APPLICATION/JSON; charset=utf-8", Some(MediaType::Json)),
            ("text/html", None),
            ("application/yang-data+json;q=0", None),
            ("nonsense", None),
        ];
        for (value, expected) in table {
            assert_eq!(accept(value), expected, "{value}");
        }
    }

    #[test]
    fn without_accept_the_response_is_json() {
        assert_eq!(negotiate(&HeaderMap::new()).unwrap(), MediaType::YangJson);
    }
}
