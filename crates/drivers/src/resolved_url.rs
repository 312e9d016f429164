//! What a URL means, and whether anything is there.

/// What a URL means. Looking at it makes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The place without user, password and other options, and with what the URL leaves open: which
    /// database, schema or prefix is meant.
    pub url: String,
    /// Whether there is a key space, or something in its place.
    pub exists: bool,
}

impl Site {
    /// That of a file or folder.
    #[cfg(any(feature = "embedded", feature = "file", feature = "sqlite"))]
    pub(crate) fn local(url: &crate::url::Url<'_>) -> espalier_keyspace::Result<Self> {
        Ok(Self {
            url: format!("{}:{}", url.scheme, url.place),
            exists: crate::foreign_files::is_occupied(url.place.as_ref()),
        })
    }

    /// That of this process: there is always one.
    #[cfg(feature = "memory")]
    pub(crate) fn memory(url: &crate::url::Url<'_>) -> espalier_keyspace::Result<Self> {
        Ok(Self {
            url: format!("{}:", url.scheme),
            exists: true,
        })
    }
}
