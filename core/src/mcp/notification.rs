//! Notifications to agents, and the graceful end of a subscription.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::body;
use super::listen::Filter;
use super::message::RequestId;
use super::meta::ProgressToken;
use super::result::SERVER_INFO_KEY;
use super::splice::Splice;
use crate::json::{self, Json, ObjectWriter};
use crate::message::{Log, LogLevel, Progress};
use crate::registration::Kind;

/// The `_meta` key of the subscription that a message belongs to.
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// `notifications/progress` of a request, with its token as the agent wrote it.
#[must_use]
pub fn progress(token: &ProgressToken, progress: &Progress) -> Bytes {
    let mut params = ObjectWriter::new();
    params
        .plain("progressToken", token.as_json())
        .raw("progress", &progress.progress)
        .raw_if("total", progress.total.as_ref())
        .raw_if("message", progress.message.as_ref());
    notification("notifications/progress", &params.finish())
}

/// `notifications/message`; `None` if the agent wants none of this severity. `wanted` is the
/// request's level: without one it wants none at all.
#[must_use]
pub fn log(log: &Log, wanted: Option<LogLevel>) -> Option<Bytes> {
    let wanted = wanted?;
    (log.level >= wanted).then(|| notification("notifications/message", &log.to_json()))
}

/// `notifications/…/list_changed`; `None` for the kind that is no list. On the stream of a
/// subscription it carries its ID; a legacy stream has none.
#[must_use]
pub fn list_changed(kind: Kind, subscription: Option<&RequestId>) -> Option<Bytes> {
    let method = match kind {
        Kind::Tools => "notifications/tools/list_changed",
        Kind::Prompts => "notifications/prompts/list_changed",
        Kind::Resources => "notifications/resources/list_changed",
        Kind::Rest => return None,
    };
    Some(match subscription {
        None => {
            let mut message = ObjectWriter::new();
            message.name("jsonrpc", "2.0").name("method", method);
            message.finish().into_bytes()
        }
        Some(id) => {
            let mut params = ObjectWriter::new();
            params.raw("_meta", &subscription_meta(id, None));
            notification(method, &params.finish())
        }
    })
}

/// `notifications/resources/updated`, with the app's params verbatim. On the stream of a
/// subscription `_meta` has its ID, whatever the app has put there; a legacy stream has none.
#[must_use]
pub fn resource_updated(params: &Json, subscription: Option<&RequestId>) -> Bytes {
    let tagged = subscription.and_then(|id| tagged(params, id));
    let params = tagged.as_ref().unwrap_or(params);
    notification("notifications/resources/updated", params)
}

/// Params with the ID of a subscription; `None` if they cannot be read.
fn tagged(params: &Json, subscription: &RequestId) -> Option<Json> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(
            borrow,
            default,
            deserialize_with = "json::present",
            rename = "io.modelcontextprotocol/subscriptionId"
        )]
        subscription: Option<&'a RawValue>,
    }
    let members: Params<'_> = params.read().ok()?;
    let mut splice = Splice::new(params.as_str());
    let id = subscription.as_json();
    match members.meta {
        None => {
            let meta = subscription_meta(subscription, None);
            splice.add("_meta", meta.as_str());
        }
        Some(meta) => match serde_json::from_str::<Meta<'_>>(meta.get())
            .ok()?
            .subscription
        {
            None => {
                splice.add_in(meta, SUBSCRIPTION_KEY, id);
            }
            Some(theirs) => {
                splice.replace(theirs, id);
            }
        },
    }
    let mut text = String::with_capacity(params.len() + splice.growth());
    splice.write(&mut text);
    Json::trusted(text.into()).ok()
}

/// `notifications/cancelled` of a request of ours.
#[must_use]
pub fn cancelled(id: &str, reason: &str) -> Bytes {
    let mut params = ObjectWriter::new();
    params.name("requestId", id).string("reason", reason);
    notification("notifications/cancelled", &params.finish())
}

/// `notifications/elicitation/complete` (MCP 2025-11-25 "Elicitation").
#[must_use]
pub fn elicitation_complete(elicitation: &str) -> Bytes {
    let mut params = ObjectWriter::new();
    params.string("elicitationId", elicitation);
    notification("notifications/elicitation/complete", &params.finish())
}

/// `notifications/subscriptions/acknowledged`: the first message of a subscription.
#[must_use]
pub fn acknowledged(subscription: &RequestId, honoured: &Filter) -> Bytes {
    let mut filter = Map::new();
    for (wanted, member) in [
        (honoured.tools, "toolsListChanged"),
        (honoured.prompts, "promptsListChanged"),
        (honoured.resources, "resourcesListChanged"),
    ] {
        if wanted {
            filter.insert(member.to_owned(), Value::Bool(true));
        }
    }
    if !honoured.uris.is_empty() {
        let uris = json!(honoured.uris);
        filter.insert("resourceSubscriptions".to_owned(), uris);
    }
    let mut params = ObjectWriter::new();
    params
        .raw("_meta", &subscription_meta(subscription, None))
        .raw("notifications", &Json::of(&filter));
    notification("notifications/subscriptions/acknowledged", &params.finish())
}

/// The response that ends a subscription gracefully. `server_info` is the app's.
#[must_use]
pub fn subscription_ended(subscription: &RequestId, server_info: &Json) -> Bytes {
    let mut result = ObjectWriter::new();
    result
        .name("resultType", "complete")
        .raw("_meta", &subscription_meta(subscription, Some(server_info)));
    body::result(subscription, result.finish().as_str())
}

fn subscription_meta(subscription: &RequestId, server_info: Option<&Json>) -> Json {
    let mut meta = ObjectWriter::new();
    meta.plain(SUBSCRIPTION_KEY, subscription.as_json())
        .raw_if(SERVER_INFO_KEY, server_info);
    meta.finish()
}

fn notification(method: &str, params: &Json) -> Bytes {
    let mut message = ObjectWriter::with_capacity(params.len() + 96);
    message
        .name("jsonrpc", "2.0")
        .name("method", method)
        .raw("params", params);
    message.finish().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(json: &str) -> RequestId {
        RequestId::parse(json).unwrap()
    }

    #[test]
    fn progress_carries_the_token_as_it_was_given() {
        let number = |text: &str| Json::parse(text.to_owned()).unwrap();
        let bare = Progress {
            progress: number("1e2"),
            total: None,
            message: None,
        };
        let full = Progress {
            total: Some(number("100.0")),
            message: Some(number("\"m\"")),
            ..bare.clone()
        };
        assert_eq!(
            progress(&id("0"), &bare),
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1e2}}"#
        );
        assert_eq!(
            progress(&id("\"0\""), &full),
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"0","progress":1e2,"total":100.0,"message":"m"}}"#
        );
    }

    #[test]
    fn logs_pass_at_and_above_the_level_that_is_wanted() {
        let said = |level, wanted| {
            let log = Log {
                level,
                logger: None,
                data: Json::constant("\"d\""),
            };
            super::log(&log, wanted).is_some()
        };
        for (level, wanted, passes) in [
            (LogLevel::Info, None, false),
            (LogLevel::Emergency, None, false),
            (LogLevel::Info, Some(LogLevel::Debug), true),
            (LogLevel::Info, Some(LogLevel::Info), true),
            (LogLevel::Info, Some(LogLevel::Notice), false),
            (LogLevel::Emergency, Some(LogLevel::Alert), true),
        ] {
            assert_eq!(said(level, wanted), passes, "{level:?} {wanted:?}");
        }
    }

    #[test]
    fn an_update_passes_as_the_app_wrote_it_under_the_right_subscription() {
        let told = |params: &'static str, subscription: Option<&RequestId>| {
            let message = resource_updated(&Json::constant(params), subscription);
            let message = String::from_utf8(message.to_vec()).unwrap();
            let head = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":"#;
            let params = message.strip_prefix(head).unwrap();
            params.strip_suffix('}').unwrap().to_owned()
        };
        let bare = r#"{"uri":"x:1", "n":1e400}"#;
        let mine =
            r#"{"uri":"x:1","_meta":{"io.modelcontextprotocol/subscriptionId":"theirs","k":1}}"#;
        let other = r#"{"_meta":{"k":1},"uri":"x:1"}"#;
        for params in [bare, mine, other] {
            assert_eq!(told(params, None), params);
        }
        let id = id("7");
        for (params, expected) in [
            (
                bare,
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"uri":"x:1", "n":1e400}"#,
            ),
            (
                mine,
                r#"{"uri":"x:1","_meta":{"io.modelcontextprotocol/subscriptionId":7,"k":1}}"#,
            ),
            (
                other,
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":7,"k":1},"uri":"x:1"}"#,
            ),
        ] {
            assert_eq!(told(params, Some(&id)), expected);
        }
    }

    #[test]
    fn what_belongs_to_a_subscription_says_so() {
        assert_eq!(
            list_changed(Kind::Tools, None).unwrap(),
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#
        );
        assert_eq!(
            list_changed(Kind::Prompts, Some(&id("\"s\""))).unwrap(),
            r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}"#
        );
        assert_eq!(list_changed(Kind::Rest, None), None);
        let honoured = Filter {
            tools: true,
            ..Filter::default()
        };
        assert_eq!(
            acknowledged(&id("7"), &honoured),
            r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"notifications":{"toolsListChanged":true}}}"#
        );
        let honoured = Filter {
            uris: vec!["x:\"1".to_owned(), "x:2".to_owned()],
            ..Filter::default()
        };
        assert_eq!(
            acknowledged(&id("\"\""), &honoured),
            r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":""},"notifications":{"resourceSubscriptions":["x:\"1","x:2"]}}}"#
        );
        assert_eq!(
            subscription_ended(&id("7"), &Json::constant(r#"{"name":"n","version":"1"}"#)),
            r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7,"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}}"#
        );
    }
}
