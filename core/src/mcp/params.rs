//! The params of a request: the members that the cluster reads, and the whole as it came.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::RpcError;
use super::message::{decode_string, refused};
use crate::json::{self, Json};

/// Params, and of all methods the members that are read. Each of these stands there at most
/// once; a member that is `null` is there.
#[derive(Debug, Clone)]
pub struct Params {
    /// The params verbatim; `{}` where the message has none.
    pub raw: Json,
    /// `_meta`.
    pub meta: Option<Json>,
    /// `name`: of a tool or prompt.
    pub name: Option<Json>,
    /// `uri`: of a resource.
    pub uri: Option<Json>,
    /// `arguments`: of a tool or prompt.
    pub arguments: Option<Json>,
    /// `taskId`: of `tasks/get` and the like.
    pub task_id: Option<Json>,
    /// `cursor`: of a list.
    pub cursor: Option<Json>,
    /// `level`: of `logging/setLevel`.
    pub level: Option<Json>,
    /// `requestId`: of `notifications/cancelled`.
    pub request_id: Option<Json>,
    /// `reason`: of `notifications/cancelled`.
    pub reason: Option<Json>,
    /// `protocolVersion`: of `initialize`.
    pub protocol_version: Option<Json>,
    /// `capabilities`: of `initialize`.
    pub capabilities: Option<Json>,
    /// `clientInfo`: of `initialize`.
    pub client_info: Option<Json>,
    /// `notifications`: of `subscriptions/listen`.
    pub notifications: Option<Json>,
    /// `inputResponses`: of a call that follows on a request for input, and of `tasks/update`.
    pub input_responses: Option<Json>,
    /// `requestState`: of the same.
    pub request_state: Option<Json>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    #[serde(borrow, default, deserialize_with = "json::present", rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    task_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    cursor: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    level: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    request_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    reason: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    client_info: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    notifications: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    request_state: Option<&'a RawValue>,
}

impl Params {
    /// Reads params, or their absence.
    ///
    /// # Errors
    /// 400, -32600 if they are no object or have a member twice that is read.
    pub fn read(raw: Option<Json>) -> Result<Params, RpcError> {
        let raw = raw.unwrap_or(Json::EMPTY_OBJECT);
        let members: Members<'_> = raw.read().map_err(|error| refused(&error))?;
        let part = |member: Option<&RawValue>| member.map(|member| raw.part(member));
        Ok(Params {
            meta: part(members.meta),
            name: part(members.name),
            uri: part(members.uri),
            arguments: part(members.arguments),
            task_id: part(members.task_id),
            cursor: part(members.cursor),
            level: part(members.level),
            request_id: part(members.request_id),
            reason: part(members.reason),
            protocol_version: part(members.protocol_version),
            capabilities: part(members.capabilities),
            client_info: part(members.client_info),
            notifications: part(members.notifications),
            input_responses: part(members.input_responses),
            request_state: part(members.request_state),
            raw: raw.clone(),
        })
    }

    /// The text of a member that must be a string.
    ///
    /// # Errors
    /// 400, -32602 if it is missing or no string.
    pub fn text(member: Option<&Json>, name: &'static str) -> Result<String, RpcError> {
        member
            .and_then(|json| decode_string(json.as_str()))
            .map(std::borrow::Cow::into_owned)
            .ok_or_else(|| RpcError::invalid_envelope(format!("params.{name} must be a string")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_stands_there_once() {
        let read = |text: &'static str| Params::read(Some(Json::parse(text).unwrap()));
        for text in [
            r#"{"_meta":{},"_meta":{}}"#,
            r#"{"name":"a","n\u0061me":"b"}"#,
            r#"{"arguments":{},"arguments":{}}"#,
            r#"{"requestId":1,"requestId":2}"#,
            r#"{"inputResponses":{},"inputResponses":{}}"#,
            r#"{"requestState":"a","requestState":"b"}"#,
        ] {
            assert_eq!(read(text).unwrap_err().code, -32_600, "{text}");
        }
        let params = read(r#"{"x":1,"x":2,"name":null,"arguments":{"a":1,"a":2}}"#).unwrap();
        assert_eq!(params.name.unwrap().as_str(), "null");
        assert_eq!(params.arguments.unwrap().as_str(), r#"{"a":1,"a":2}"#);
        assert!(params.uri.is_none());
    }

    #[test]
    fn only_strings_are_text() {
        for (json, text) in [
            (Some(r#""a\u0062""#), Some("ab")),
            (Some("5"), None),
            (Some("null"), None),
            (None, None),
        ] {
            let member = json.map(|json| Json::parse(json).unwrap());
            let read = Params::text(member.as_ref(), "name");
            assert_eq!(read.ok().as_deref(), text);
        }
    }
}
