//! From how a handler ended to the one frame that answers its call.

use clientmcp_core::ids::CallId;
use clientmcp_core::json::{Json, ObjectWriter};
use clientmcp_core::limits;
use clientmcp_core::message::AppMessage;

use crate::result::{CallError, INTERNAL_ERROR, RpcError, ToolError, ToolResult};

/// The answer of a call of this method. One that no message of `limit` bytes can carry becomes an
/// error that says so: sent as it is, it would cost the connection.
pub(crate) fn answer(
    id: CallId,
    method: &str,
    outcome: Result<Json, CallError>,
    limit: usize,
) -> Json {
    let code = match &outcome {
        Err(CallError::Rpc(error)) => Some(error.code),
        _ => None,
    };
    let text = match outcome {
        Ok(result) => result_text(id, result),
        Err(CallError::Tool(error)) => failure(id, method, &error.to_string()),
        Err(CallError::Rpc(error)) => error_text(id, &error),
    };
    if text.len() <= limit {
        return text;
    }
    let problem = format!(
        "the result takes a message of {} bytes, and a message may be at most {limit} bytes \
         (maxMessageBytes): ask for less",
        text.len()
    );
    match code {
        Some(code) => error_text(id, &RpcError::new(code, problem)),
        None => failure(id, method, &problem),
    }
}

/// What a handler's panic is told as.
pub(crate) fn panicked(method: &str) -> CallError {
    let what = if is_tool(method) {
        "tool"
    } else {
        "application"
    };
    ToolError::new(format!("the {what} failed: its handler panicked")).into()
}

/// A failure, told to the model where the method has a way to.
fn failure(id: CallId, method: &str, problem: &str) -> Json {
    if is_tool(method) {
        result_text(id, ToolResult::error(problem).to_json())
    } else {
        error_text(id, &RpcError::new(INTERNAL_ERROR, problem))
    }
}

fn is_tool(method: &str) -> bool {
    method == "tools/call"
}

/// The answer to a redelivery of a call that the memory has had to forget.
pub(crate) fn unknown(id: CallId) -> Json {
    let error = RpcError {
        code: limits::FORGOTTEN_CALL,
        message: "the application no longer knows how this call ended".to_owned(),
        data: Some(Json::of(&serde_json::json!({"outcome": "unknown"}))),
    };
    error_text(id, &error)
}

fn result_text(id: CallId, result: Json) -> Json {
    AppMessage::Result { id, result }.to_json()
}

fn error_text(id: CallId, error: &RpcError) -> Json {
    let mut object = ObjectWriter::new();
    object
        .plain("code", error.code)
        .string("message", &error.message)
        .raw_if("data", error.data.as_ref());
    let error = object.finish();
    AppMessage::Error { id, error }.to_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 400;

    fn id() -> CallId {
        CallId::parse("01890a5d-ac96-774b-bcce-b302099a8057").unwrap()
    }

    fn encode(outcome: Result<Json, CallError>) -> String {
        let text = answer(id(), "tools/call", outcome, LIMIT);
        assert!(text.len() <= LIMIT);
        text.as_str()
            .replace(r#""id":"01890a5d-ac96-774b-bcce-b302099a8057","#, "")
    }

    #[test]
    fn results_pass_verbatim_and_errors_have_their_form() {
        let verbatim = Json::parse(r#"{ "n": 1e2, "content":[]}"#).unwrap();
        let data = Some(Json::parse("[1.0]").unwrap());
        let table = [
            (
                Ok(verbatim),
                r#"{"type":"result","result":{ "n": 1e2, "content":[]}}"#,
            ),
            (
                Err(ToolError::new("no").into()),
                r#"{"type":"result","result":{"content":[{"type":"text","text":"no"}],"isError":true}}"#,
            ),
            (
                Err(RpcError::new(-32602, "bad \"x\"").into()),
                r#"{"type":"error","error":{"code":-32602,"message":"bad \"x\""}}"#,
            ),
            (
                Err(CallError::Rpc(RpcError {
                    code: 7,
                    message: String::new(),
                    data,
                })),
                r#"{"type":"error","error":{"code":7,"message":"","data":[1.0]}}"#,
            ),
        ];
        for (outcome, text) in table {
            assert_eq!(encode(outcome), text);
        }
    }

    #[test]
    fn the_limit_is_on_the_whole_message() {
        let envelope = answer(id(), "tools/call", Ok(Json::of("")), LIMIT).len();
        let fits = "x".repeat(LIMIT - envelope);
        assert!(encode(Ok(Json::of(&fits))).contains(&fits));
        let over = encode(Ok(Json::of(&format!("{fits}x"))));
        assert!(over.contains("\"isError\":true"));
        assert!(over.contains("401 bytes"));
        assert!(over.contains("at most 400 bytes (maxMessageBytes)"));
    }

    #[test]
    fn errors_that_are_too_large_stay_errors() {
        let long = "x".repeat(LIMIT);
        let tool = encode(Err(ToolError::new(long.clone()).into()));
        assert!(tool.contains("isError") && tool.contains("maxMessageBytes"));
        let rpc = encode(Err(RpcError::new(-32000, long).into()));
        assert!(rpc.starts_with(r#"{"type":"error","error":{"code":-32000,"#));
        assert!(rpc.contains("maxMessageBytes"));
    }

    #[test]
    fn only_tools_tell_the_model() {
        let failed = |method| {
            let outcome = Err(ToolError::new("no").into());
            answer(id(), method, outcome, LIMIT).as_str().to_owned()
        };
        assert!(failed("tools/call").contains(r#""isError":true"#));
        assert!(failed("prompts/get").contains(r#""error":{"code":-32603,"message":"no"}"#));
        let large = Ok(Json::of(&"x".repeat(LIMIT)));
        let answer = answer(id(), "resources/read", large, LIMIT);
        assert!(answer.as_str().contains(r#""code":-32603"#));
        assert!(answer.as_str().contains("maxMessageBytes"));
    }

    #[test]
    fn an_unknown_outcome_is_told_to_programs() {
        assert!(unknown(id()).as_str().contains(
            r#""error":{"code":-31002,"message":"the application no longer knows how this call ended","data":{"outcome":"unknown"}}"#
        ));
    }
}
