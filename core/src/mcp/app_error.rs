//! The app's error as the agent gets it (SPEC.md §5.9, §11).
//!
//! It passes as it is, but for the code of a resource that does not exist, which has changed with
//! 2026-07-28: an app need not know of what era the agent is.

use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::body;
use super::error::code;
use super::message::string;
use super::method::Method;
use super::request::Request;
use super::splice::Splice;
use super::version::Era;
use crate::json::{self, Json};

/// The JSON-RPC response with the app's error object, and the HTTP status if the response has not
/// begun: 400 for -32021 in the modern era, else 200.
#[must_use]
pub fn respond(request: &Request, error: &Json) -> (Bytes, StatusCode) {
    let Ok(members) = error.read::<Members<'_>>() else {
        return (body::app_error(&request.id, error.as_str()), StatusCode::OK);
    };
    let has_code = |code: i64| members.code.get() == code.to_string();
    let status = if request.era() == Era::Modern && has_code(code::MISSING_CAPABILITY) {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::OK
    };
    let mut splice = Splice::new(error.as_str());
    match request.era() {
        Era::Legacy if has_code(code::INVALID_PARAMS) && names_resource(request, &members) => {
            splice.replace(members.code, &code::RESOURCE_NOT_FOUND.to_string());
        }
        Era::Modern if has_code(code::RESOURCE_NOT_FOUND) => {
            splice.replace(members.code, &code::INVALID_PARAMS.to_string());
            if let (None, Ok(uri)) = (members.data, request.target()) {
                splice.add("data", &json!({ "uri": uri }).to_string());
            }
        }
        _ => return (body::app_error(&request.id, error.as_str()), status),
    }
    let mut text = String::with_capacity(error.len() + splice.growth());
    splice.write(&mut text);
    (body::app_error(&request.id, &text), status)
}

/// Whether an error says that the resource that was asked for does not exist, as 2026-07-28 has
/// it.
fn names_resource(request: &Request, error: &Members<'_>) -> bool {
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        uri: &'a RawValue,
    }
    let data = error.data.map(RawValue::get);
    let data = data.and_then(|data| serde_json::from_str::<Data<'_>>(data).ok());
    let named = data.and_then(|data| string(data.uri));
    request.method == Method::ReadResource
        && named.is_some_and(|uri| request.target().is_ok_and(|asked| asked == uri))
}

/// What is read of an error.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    code: &'a RawValue,
    #[serde(borrow, default, deserialize_with = "json::present")]
    data: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::fixture::request;
    use crate::mcp::version::Version;

    fn answered(version: Version, method: Method, error: &str) -> (String, u16) {
        let request = request(version, method, &json!({"uri": "x:1", "name": "n"}));
        let (body, status) = respond(&request, &Json::parse(error.to_owned()).unwrap());
        let body = String::from_utf8(body.to_vec()).unwrap();
        let error = body.strip_prefix(r#"{"jsonrpc":"2.0","id":7,"error":"#);
        let error = error.unwrap().strip_suffix('}').unwrap();
        (error.to_owned(), status.as_u16())
    }

    #[test]
    fn a_missing_resource_has_the_code_of_the_agents_era() {
        let modern = r#"{"code": -32602 ,"message":"m","data":{"uri":"x:1","n":1e400}}"#;
        let legacy = r#"{"code": -32002 ,"message":"m","data":{"uri":"x:1","n":1e400}}"#;
        for (version, said, expected) in [
            (Version::V2026_07_28, modern, modern),
            (Version::V2026_07_28, legacy, modern),
            (Version::V2025_11_25, modern, legacy),
            (Version::V2025_03_26, legacy, legacy),
        ] {
            let answer = answered(version, Method::ReadResource, said);
            assert_eq!(answer, (expected.to_owned(), 200), "{version:?} {said}");
        }
        let bare = r#"{"code":-32002,"message":"m"}"#;
        assert_eq!(
            answered(Version::V2026_07_28, Method::ReadResource, bare).0,
            r#"{"data":{"uri":"x:1"},"code":-32602,"message":"m"}"#
        );
    }

    #[test]
    fn all_other_errors_pass_as_they_are() {
        let legacy = Version::V2025_11_25;
        let modern = Version::V2026_07_28;
        for (version, method, error) in [
            (
                legacy,
                Method::ReadResource,
                r#"{"code":-32602,"message":"bad cursor"}"#,
            ),
            (
                legacy,
                Method::ReadResource,
                r#"{"code":-32602,"message":"m","data":{"uri":"x:2"}}"#,
            ),
            (
                legacy,
                Method::GetPrompt,
                r#"{"code":-32602,"message":"m","data":{"uri":"x:1"}}"#,
            ),
            (
                modern,
                Method::ReadResource,
                r#"{ "code":5,"message":"m" }"#,
            ),
            (legacy, Method::CallTool, r#"{"code":-32021,"message":"m"}"#),
        ] {
            assert_eq!(answered(version, method, error), (error.to_owned(), 200));
        }
    }

    #[test]
    fn a_missing_capability_is_a_bad_request_in_the_modern_era() {
        let error = r#"{"code":-32021,"message":"m"}"#;
        let answer = answered(Version::V2026_07_28, Method::CallTool, error);
        assert_eq!(answer, (error.to_owned(), 400));
    }
}
