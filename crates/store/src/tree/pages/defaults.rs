//! The page of an unset leaf-list, whose entries are its defaults.

use espalier_yang::Instances;

use super::entries::Entries;
use super::metadata::{PageInfo, Remaining};
use super::page::out_of_range;
use super::parameters::LOCALE;
use super::request::{PageDirection, PageRequest, PageStart};
use crate::error::{Error, Result};
use crate::tree::validate::NodeRef;

impl<T: Instances<Inner = NodeRef, Error = Error>> Entries<'_, T> {
    /// Sends a page of the defaults. Returns its metadata; `None` if there are no defaults in use.
    pub fn send_defaults(&mut self, request: &PageRequest) -> Result<Option<PageInfo>> {
        let mut values = Vec::new();
        let defaults = self.output.defaults()?;
        if defaults.is_empty() {
            return Ok(None);
        }
        for value in defaults {
            if self.fulfils_default(&value)? {
                values.push(value);
            }
        }
        if request.direction == PageDirection::Backwards {
            values.reverse();
        }
        let offset = match request.start {
            PageStart::Offset(offset) => offset,
            PageStart::Cursor(_) | PageStart::After(_) => 0,
        };
        let total = values.len() as u64;
        if offset > total {
            return Err(out_of_range(offset, total));
        }
        let left = total - offset;
        let count = request.limit.map_or(left, |limit| limit.min(left));
        let info = PageInfo {
            remaining: (count < left).then_some(Remaining::Known(left - count)),
            locale: request.is_sort_requested.then_some(LOCALE),
            ..PageInfo::default()
        };
        let page = values.iter().skip(offset as usize).take(count as usize);
        for (index, value) in page.enumerate() {
            if index == 0 {
                self.output.annotate(info.annotations())?;
            }
            if !self.output.send_default(value)? {
                break;
            }
        }
        Ok(Some(info))
    }
}
