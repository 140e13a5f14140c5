//! Notifications to agents, and the graceful end of a subscription.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::body;
use super::listen::Filter;
use super::message::RequestId;
use super::meta::ProgressToken;
use super::result::SERVER_INFO_KEY;
use crate::json::{Json, ObjectWriter};
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

/// `notifications/subscriptions/acknowledged`: the first message of a subscription.
#[must_use]
pub fn acknowledged(subscription: &RequestId, honoured: Filter) -> Bytes {
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
            acknowledged(&id("7"), honoured),
            r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"notifications":{"toolsListChanged":true}}}"#
        );
        assert_eq!(
            subscription_ended(&id("7"), &Json::constant(r#"{"name":"n","version":"1"}"#)),
            r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7,"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}}"#
        );
    }
}
