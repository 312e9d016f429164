//! What may be accessed, and by which scheme.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use espalier_yang::{DataError, ErrorTag, ErrorType};

use super::folder::Folder;
use super::https::Https;

/// What the `url` parameters of operations may name; by default nothing.
#[derive(Clone, Debug, Default)]
pub struct UrlSettings {
    /// `file:///NAME` is the file NAME in this folder.
    pub folder: Option<PathBuf>,
    /// The beginnings of `https:` URLs that may be read, each with a host and a path that ends with a slash.
    pub https: Vec<String>,
    /// The authorities of the certificates of HTTPS servers, PEM; without it, those of Mozilla.
    pub https_authorities: Option<PathBuf>,
}

/// Accesses the documents that URLs name.
#[derive(Debug, Default)]
pub struct UrlAccess {
    folder: Option<Folder>,
    https: Option<Https>,
}

type Result<T> = std::result::Result<T, DataError>;

impl UrlAccess {
    /// Opens the folder, and reads the authorities.
    ///
    /// # Errors
    /// A setting is wrong, for the reason in the error.
    pub fn new(settings: &UrlSettings) -> io::Result<Self> {
        let folder = settings.folder.as_deref().map(Folder::open).transpose()?;
        let https = match settings.https.is_empty() {
            true => None,
            false => {
                let authorities = settings.https_authorities.as_deref();
                Some(Https::new(settings.https.clone(), authorities)?)
            }
        };
        Ok(Self { folder, https })
    }

    /// The schemes, as in the capability; `None` if there are none.
    pub(in crate::netconf) fn schemes(&self) -> Option<&'static str> {
        match (&self.folder, &self.https) {
            (Some(_), Some(_)) => Some("file,https"),
            (Some(_), None) => Some("file"),
            (None, Some(_)) => Some("https"),
            (None, None) => None,
        }
    }

    /// Opens a document. It can be of any size.
    ///
    /// # Errors
    /// `operation-not-supported` without any scheme; `invalid-value` for a URL that may not be accessed;
    /// `operation-failed` if it cannot be read.
    pub(in crate::netconf) fn open_document(&self, url: &str) -> Result<Box<dyn Read>> {
        match self.locate(url)? {
            Place::File(folder, path) => {
                let file = folder.open_file(&path);
                Ok(Box::new(file.map_err(|error| failed(url, &error))?))
            }
            Place::Https(https) => {
                let body = https.get(url).map_err(|error| failed(url, &error))?;
                Ok(Box::new(body))
            }
        }
    }

    /// Replaces a document by what `write` writes, or leaves it as it is if that fails.
    ///
    /// # Errors
    /// As [`Self::open_document`]; those of `write`.
    pub(in crate::netconf) fn replace<E: From<DataError>>(
        &self,
        url: &str,
        write: &mut dyn FnMut(&mut dyn Write) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (folder, path) = self.file(url)?;
        let mut new = folder.replace(&path).map_err(|error| failed(url, &error))?;
        write(&mut new)?;
        new.finish().map_err(|error| failed(url, &error))?;
        Ok(())
    }

    /// Deletes a document.
    ///
    /// # Errors
    /// As [`Self::open_document`].
    pub(in crate::netconf) fn delete(&self, url: &str) -> Result<()> {
        let (folder, path) = self.file(url)?;
        folder.delete(&path).map_err(|error| failed(url, &error))
    }

    /// A document that can be changed.
    fn file(&self, url: &str) -> Result<(&Folder, Vec<String>)> {
        match self.locate(url)? {
            Place::File(folder, path) => Ok((folder, path)),
            Place::Https(_) => Err(invalid(format!(
                "“{url}” can only be read: https is no target"
            ))),
        }
    }

    fn locate(&self, url: &str) -> Result<Place<'_>> {
        let Some(schemes) = self.schemes() else {
            let message = "“url” is not supported by this server; send the data in “config”";
            return Err(error(ErrorTag::OperationNotSupported, message));
        };
        let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
        match (&*scheme.to_ascii_lowercase(), &self.folder, &self.https) {
            ("file", Some(folder), _) => {
                let path = Folder::path(rest).ok_or_else(|| {
                    let form =
                        "file:///NAME, or file:///FOLDER/NAME, below the folder of the server";
                    invalid(format!("“{url}” must have the form {form}"))
                })?;
                Ok(Place::File(folder, path))
            }
            ("https", _, Some(https)) if https.may_read(url) => Ok(Place::Https(https)),
            ("https", _, Some(_)) => Err(invalid(format!(
                "“{url}” is not one of the URLs that the server may read (--netconf-url-https)"
            ))),
            _ => Err(invalid(format!(
                "the scheme of “{url}” is not supported; the server has {schemes}"
            ))),
        }
    }
}

/// Where a URL leads.
enum Place<'a> {
    File(&'a Folder, Vec<String>),
    Https(&'a Https),
}

fn failed(url: &str, reason: &io::Error) -> DataError {
    let message = format!("“{url}”: {reason}");
    error(ErrorTag::OperationFailed, message)
}

fn invalid(message: String) -> DataError {
    error(ErrorTag::InvalidValue, message)
}

fn error(tag: ErrorTag, message: impl Into<String>) -> DataError {
    let error = DataError::new(tag, message).of_type(ErrorType::Protocol);
    error.on_element("url")
}
