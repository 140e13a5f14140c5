//! Pages of `tools/list` (SPEC.md §8.1; MCP "Pagination").

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::convert;
use super::error::RpcError;
use super::message::decode_string;
use super::offer::Offer;
use super::request::Request;
use crate::json::{ArrayWriter, Json, ObjectWriter};
use crate::limits;
use crate::registration::ContentHash;

/// The page of tools that a request asks for, in the app's order: at most
/// [`limits::PAGE_ENTRIES`] of them and [`limits::PAGE_BYTES`], but at least one.
///
/// # Errors
/// -32602 with 200 if the cursor is none of ours, or the tools have changed since it was given.
pub(super) fn tools(request: &Request, offer: &Offer) -> Result<Json, RpcError> {
    let tools = offer.tools.tools();
    let hash = offer.hashes.tools;
    let start = match request
        .params
        .cursor
        .as_ref()
        .filter(|cursor| !cursor.is_null())
    {
        None => 0,
        Some(cursor) => {
            let cursor = decode_string(cursor.as_str()).unwrap_or_default();
            read_cursor(&cursor, &hash)
                .filter(|&at| at < tools.len())
                .ok_or_else(|| {
                    RpcError::invalid_params("The cursor is stale: list from the start")
                })?
        }
    };
    let mut page = ArrayWriter::with_capacity(limits::PAGE_BYTES / 16);
    let mut bytes = 0;
    let mut at = start;
    for tool in &tools[start..] {
        let definition =
            convert::tool(&tool.definition, request.version).map_err(|_| RpcError::internal())?;
        bytes += definition.len() + 1;
        if at > start && (at - start == limits::PAGE_ENTRIES || bytes > limits::PAGE_BYTES) {
            break;
        }
        page.raw(&definition);
        at += 1;
    }
    let mut result = ObjectWriter::with_capacity(bytes + 128);
    result.raw("tools", &page.finish());
    if at < tools.len() {
        result.name("nextCursor", write_cursor(at, &hash));
    }
    Ok(result.finish())
}

/// An empty list; no cursor belongs to it.
///
/// # Errors
/// -32602 with 200 if there is a cursor.
pub(super) fn empty(request: &Request, member: &str) -> Result<Json, RpcError> {
    match request
        .params
        .cursor
        .as_ref()
        .filter(|cursor| !cursor.is_null())
    {
        None => {
            let mut result = ObjectWriter::new();
            result.raw(member, &Json::EMPTY_ARRAY);
            Ok(result.finish())
        }
        Some(_) => Err(RpcError::invalid_params(
            "The cursor is stale: list from the start",
        )),
    }
}

fn write_cursor(at: usize, hash: &ContentHash) -> String {
    URL_SAFE_NO_PAD.encode(format!("{at}.{hash}"))
}

fn read_cursor(cursor: &str, hash: &ContentHash) -> Option<usize> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (at, of) = text.split_once('.')?;
    (ContentHash::parse(of)? == *hash).then_some(())?;
    at.parse().ok()
}

#[cfg(test)]
mod tests;
