//! What was refused of a registration, as `registered` lists it (SPEC.md §4.5).

use std::borrow::Cow;

use crate::limits;
use crate::message::Rejection;
use crate::registration::Kind;

/// A bounded list of rejections.
#[derive(Debug, Default)]
pub(super) struct Rejected {
    list: Vec<Rejection>,
    more: usize,
}

impl Rejected {
    pub(super) fn add(
        &mut self,
        kind: Kind,
        name: Option<&str>,
        reason: impl Into<Cow<'static, str>>,
    ) {
        if self.list.len() == limits::REJECTIONS_LISTED {
            self.more += 1;
            return;
        }
        self.list.push(Rejection {
            kind,
            name: name.map(shorten),
            reason: reason.into(),
        });
    }

    /// The list; what did not fit is counted in a last entry.
    pub(super) fn into_list(mut self) -> Vec<Rejection> {
        if let (Some(last), 1..) = (self.list.last(), self.more) {
            self.list.push(Rejection {
                kind: last.kind,
                name: None,
                reason: format!("{} more entries were refused", self.more).into(),
            });
        }
        self.list
    }
}

/// A name that is too long to be one is not sent back whole.
fn shorten(name: &str) -> String {
    name[..name.floor_char_boundary(limits::TOOL_NAME_BYTES)].to_owned()
}
