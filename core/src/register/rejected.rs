//! What was refused of a registration, as `registered` lists it (SPEC.md §4.5).

use std::borrow::Cow;

use serde::Deserialize;

use super::invalid;
use crate::json::Json;
use crate::limits;
use crate::message::{MessageError, Rejection};
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

/// Refuses what is offered of a kind that this version does not have.
///
/// # Errors
/// [`MessageError`] if it is neither a list nor, for resources, `"dynamic"`.
pub(super) fn unsupported(
    kind: Kind,
    offered: &Json,
    rejected: &mut Rejected,
) -> Result<(), MessageError> {
    let (reason, wrong) = match kind {
        Kind::Prompts => (
            "prompts are not supported by this version of the cluster",
            "prompts must be a list, or {\"hash\"}",
        ),
        _ => (
            "resources are not supported by this version of the cluster",
            "resources must be lists, \"dynamic\", or {\"hash\"}",
        ),
    };
    if kind == Kind::Resources && offered.as_str() == "\"dynamic\"" {
        rejected.add(kind, None, reason);
        return Ok(());
    }
    for entry in offered.entries().map_err(|_| invalid(wrong))? {
        rejected.add(kind, name(&offered.part(entry)).as_deref(), reason);
    }
    Ok(())
}

/// The name of an entry, where it has one that can be read.
pub(super) fn name(entry: &Json) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    entry.read::<Named<'_>>().ok().map(|named| named.name)
}
