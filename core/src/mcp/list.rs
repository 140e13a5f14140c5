//! Pages of lists (SPEC.md §8.1; MCP "Pagination").

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::convert;
use super::error::RpcError;
use super::message::decode_string;
use super::offer::Offer;
use super::request::Request;
use crate::json::{ArrayWriter, Json, JsonError, ObjectWriter};
use crate::limits;
use crate::registration::ContentHash;

/// One list, as its pages name it.
#[derive(Debug, Clone, Copy)]
struct List {
    /// The member of results that has it.
    member: &'static str,
    /// The content that it is of.
    hash: ContentHash,
}

/// `tools/list`.
///
/// # Errors
/// As for [`page`].
pub(super) fn tools(request: &Request, offer: &Offer) -> Result<Json, RpcError> {
    let of = List {
        member: "tools",
        hash: offer.hashes.tools,
    };
    page(request, of, offer.tools.tools(), |tool| {
        convert::tool(&tool.definition, request.version)
    })
}

/// `prompts/list`.
///
/// # Errors
/// As for [`page`].
pub(super) fn prompts(request: &Request, offer: &Offer) -> Result<Json, RpcError> {
    let of = List {
        member: "prompts",
        hash: offer.hashes.prompts,
    };
    page(request, of, offer.prompts.definitions(), verbatim)
}

/// `resources/list` of an app that has registered its list.
///
/// # Errors
/// As for [`page`].
pub(super) fn resources(request: &Request, offer: &Offer) -> Result<Json, RpcError> {
    let of = List {
        member: "resources",
        hash: offer.hashes.resources,
    };
    page(request, of, offer.resources.listed(), verbatim)
}

/// `resources/templates/list`.
///
/// # Errors
/// As for [`page`].
pub(super) fn templates(request: &Request, offer: &Offer) -> Result<Json, RpcError> {
    let of = List {
        member: "resourceTemplates",
        hash: offer.hashes.resources,
    };
    page(request, of, offer.resources.templates(), verbatim)
}

/// Every revision allows members that it does not know.
#[allow(clippy::unnecessary_wraps, reason = "a tool may have to be converted")]
fn verbatim(definition: &Json) -> Result<Cow<'_, Json>, JsonError> {
    Ok(Cow::Borrowed(definition))
}

/// The page that a request asks for, in the app's order: at most [`limits::PAGE_ENTRIES`] entries
/// and [`limits::PAGE_BYTES`], but at least one entry.
///
/// # Errors
/// -32602 with 200 if the cursor is none of ours, or the list has changed since it was given.
fn page<'o, T>(
    request: &Request,
    of: List,
    entries: &'o [T],
    shown: impl Fn(&'o T) -> Result<Cow<'o, Json>, JsonError>,
) -> Result<Json, RpcError> {
    let start = start(request, of)?;
    if start > 0 && start >= entries.len() {
        return Err(stale());
    }
    let mut page = ArrayWriter::with_capacity(limits::PAGE_BYTES / 16);
    let mut bytes = 0;
    let mut at = start;
    for entry in &entries[start..] {
        let definition = shown(entry).map_err(|_| RpcError::internal())?;
        bytes += definition.len() + 1;
        if at > start && (at - start == limits::PAGE_ENTRIES || bytes > limits::PAGE_BYTES) {
            break;
        }
        page.raw(&definition);
        at += 1;
    }
    let mut result = ObjectWriter::with_capacity(bytes + 128);
    result.raw(of.member, &page.finish());
    if at < entries.len() {
        result.name("nextCursor", of.cursor(at));
    }
    Ok(result.finish())
}

/// Where the page begins: at the cursor, if there is one.
fn start(request: &Request, of: List) -> Result<usize, RpcError> {
    let cursor = request.params.cursor.as_ref();
    let Some(cursor) = cursor.filter(|cursor| !cursor.is_null()) else {
        return Ok(0);
    };
    let cursor = decode_string(cursor.as_str()).unwrap_or_default();
    let at = of.read_cursor(&cursor).filter(|&at| at > 0);
    at.ok_or_else(stale)
}

fn stale() -> RpcError {
    RpcError::invalid_params("The cursor is stale: list from the start")
}

impl List {
    fn cursor(self, at: usize) -> String {
        let Self { member, hash } = self;
        URL_SAFE_NO_PAD.encode(format!("{at}.{member}.{hash}"))
    }

    fn read_cursor(self, cursor: &str) -> Option<usize> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        let (at, of) = text.split_once('.')?;
        (of == format!("{}.{}", self.member, self.hash)).then_some(())?;
        at.parse().ok()
    }
}

#[cfg(test)]
mod tests;
