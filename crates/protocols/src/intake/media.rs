//! The media type of a body.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// The media type of a body.
#[derive(Debug)]
pub struct Media {
    /// The type and subtype in lower case, without parameters.
    pub essence: String,
    /// Whether it has the parameter `version`.
    pub has_version: bool,
}

/// The media type of a body. A repeated header is treated as absent.
pub fn media(headers: &HeaderMap) -> Option<Media> {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(media), None) = (values.next(), values.next()) else {
        return None;
    };
    let mut parts = media.to_str().unwrap_or_default().split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let mut names = parts.filter_map(|part| Some(part.split_once('=')?.0.trim()));
    Some(Media {
        essence,
        has_version: names.any(|name| name.eq_ignore_ascii_case("version")),
    })
}
