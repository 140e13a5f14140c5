//! JSON-RPC responses around raw JSON.

use bytes::Bytes;

use super::error::RpcError;
use super::message::RequestId;

/// The response with the app's error object, verbatim.
#[must_use]
pub fn app_error(id: &RequestId, error: &str) -> Bytes {
    response(Some(id), "error", error)
}

/// The response with a result as it is: to `initialize`, which has nothing to be added.
#[must_use]
pub fn result(id: &RequestId, result: &str) -> Bytes {
    response(Some(id), "result", result)
}

/// The answer to a batch: its responses in an array.
#[must_use]
pub fn batch(responses: &[Bytes]) -> Bytes {
    let length: usize = responses.iter().map(|response| response.len() + 1).sum();
    let mut body = Vec::with_capacity(length + 1);
    body.push(b'[');
    for (at, response) in responses.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        body.extend_from_slice(response);
    }
    body.push(b']');
    body.into()
}

impl RpcError {
    /// The JSON-RPC error response, as the body of an HTTP response or the data of an event. The
    /// id is as the request had it; where it could not be read there is none, for MCP allows no
    /// null.
    #[must_use]
    pub fn to_body(&self) -> Bytes {
        response(self.id.as_ref(), "error", &self.to_object())
    }
}

fn response(id: Option<&RequestId>, member: &str, json: &str) -> Bytes {
    let mut body = start(id, member, json.len());
    body.push_str(json);
    body.push('}');
    body.into()
}

/// A response up to the value of `result` or `error`, with room for `length` bytes of it.
pub(super) fn start(id: Option<&RequestId>, member: &str, length: usize) -> String {
    let id = id.map_or("", RequestId::as_json);
    let mut body = String::with_capacity(length + id.len() + 48);
    body.push_str(r#"{"jsonrpc":"2.0","#);
    if !id.is_empty() {
        body.push_str(r#""id":"#);
        body.push_str(id);
        body.push(',');
    }
    body.push('"');
    body.push_str(member);
    body.push_str("\":");
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_echoed_verbatim_or_left_out() {
        let error = RpcError::invalid_request("no");
        assert_eq!(
            error.to_body(),
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}"#
        );
        for id in ["1", r#""1""#, "9007199254740993", r#""""#, "-1"] {
            let body = error.clone().for_request(&RequestId::parse(id).unwrap());
            assert_eq!(
                body.to_body(),
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32600,"message":"no"}}}}"#
                )
            );
        }
    }

    #[test]
    fn a_batch_is_an_array() {
        assert_eq!(batch(&["1".into(), "2".into()]), "[1,2]");
        assert_eq!(batch(&["1".into()]), "[1]");
    }

    #[test]
    fn an_apps_error_passes_as_it_is() {
        let id = RequestId::parse("7").unwrap();
        assert_eq!(
            app_error(&id, r#"{"code": -5,"message":"m","data":{"n":1e400}}"#),
            r#"{"jsonrpc":"2.0","id":7,"error":{"code": -5,"message":"m","data":{"n":1e400}}}"#
        );
    }
}
