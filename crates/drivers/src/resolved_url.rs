//! The canonical form of a URL, and whether the key space exists.

/// A resolved URL. Resolving creates nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedUrl {
    /// The URL without user, password and other options, with defaults filled in: the database, schema or
    /// prefix.
    pub url: String,
    /// Whether the key space exists, or something else is in its place.
    pub exists: bool,
}

impl ResolvedUrl {
    /// Resolves the URL of a file or directory.
    pub(crate) fn local(url: &crate::url::Url<'_>) -> espalier_keyspace::Result<Self> {
        Ok(Self {
            url: format!("{}:{}", url.scheme, url.place),
            exists: crate::foreign_files::is_occupied(url.place.as_ref()),
        })
    }

    /// Resolves the URL of an in-memory key space, which always exists.
    pub(crate) fn memory(url: &crate::url::Url<'_>) -> espalier_keyspace::Result<Self> {
        Ok(Self {
            url: format!("{}:", url.scheme),
            exists: true,
        })
    }
}
