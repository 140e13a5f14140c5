//! Pages of `tools/list` (SPEC.md §8.1; MCP "Pagination").

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;

use super::convert;
use super::error::RpcError;
use super::message::decode_string;
use super::offer::Offer;
use super::request::Request;
use crate::limits;
use crate::registration::ContentHash;

/// The page of tools that a request asks for, in the app's order: at most
/// [`limits::PAGE_ENTRIES`] of them and [`limits::PAGE_BYTES`], but at least one.
///
/// # Errors
/// -32602 with 200 if the cursor is none of ours, or the tools have changed since it was given.
pub fn tools(request: &Request, offer: &Offer) -> Result<Bytes, RpcError> {
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
    let mut page = String::from(r#"{"tools":["#);
    let mut at = start;
    for tool in &tools[start..] {
        let definition =
            convert::tool(&tool.definition, request.version).map_err(|_| RpcError::internal())?;
        let full = at - start == limits::PAGE_ENTRIES
            || page.len() + definition.len() >= limits::PAGE_BYTES;
        if full && at > start {
            break;
        }
        if at > start {
            page.push(',');
        }
        page.push_str(&definition);
        at += 1;
    }
    page.push(']');
    if at < tools.len() {
        page.push_str(r#","nextCursor":""#);
        page.push_str(&write_cursor(at, &hash));
        page.push('"');
    }
    page.push('}');
    Ok(page.into())
}

/// An empty list; no cursor belongs to it.
///
/// # Errors
/// -32602 with 200 if there is a cursor.
pub(super) fn empty(request: &Request, member: &str) -> Result<Bytes, RpcError> {
    match request
        .params
        .cursor
        .as_ref()
        .filter(|cursor| !cursor.is_null())
    {
        None => Ok(format!(r#"{{"{member}":[]}}"#).into()),
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
