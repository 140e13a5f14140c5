//! The methods of MCP that are known, and which revisions have them.

use super::version::{Era, Version};

/// A method of a request. What is not listed here is unknown (-32601).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// `initialize`
    Initialize,
    /// `ping`
    Ping,
    /// `logging/setLevel`
    SetLevel,
    /// `server/discover`
    Discover,
    /// `tools/list`
    ListTools,
    /// `tools/call`
    CallTool,
    /// `prompts/list`
    ListPrompts,
    /// `prompts/get`
    GetPrompt,
    /// `resources/list`
    ListResources,
    /// `resources/templates/list`
    ListResourceTemplates,
    /// `resources/read`
    ReadResource,
    /// `resources/subscribe`
    Subscribe,
    /// `resources/unsubscribe`
    Unsubscribe,
    /// `completion/complete`
    Complete,
    /// `subscriptions/listen`
    Listen,
    /// `tasks/get`
    GetTask,
    /// `tasks/update`
    UpdateTask,
    /// `tasks/cancel`
    CancelTask,
}

impl Method {
    /// Every method.
    pub const ALL: [Method; 18] = [
        Method::Initialize,
        Method::Ping,
        Method::SetLevel,
        Method::Discover,
        Method::ListTools,
        Method::CallTool,
        Method::ListPrompts,
        Method::GetPrompt,
        Method::ListResources,
        Method::ListResourceTemplates,
        Method::ReadResource,
        Method::Subscribe,
        Method::Unsubscribe,
        Method::Complete,
        Method::Listen,
        Method::GetTask,
        Method::UpdateTask,
        Method::CancelTask,
    ];

    /// The method's name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Initialize => "initialize",
            Method::Ping => "ping",
            Method::SetLevel => "logging/setLevel",
            Method::Discover => "server/discover",
            Method::ListTools => "tools/list",
            Method::CallTool => "tools/call",
            Method::ListPrompts => "prompts/list",
            Method::GetPrompt => "prompts/get",
            Method::ListResources => "resources/list",
            Method::ListResourceTemplates => "resources/templates/list",
            Method::ReadResource => "resources/read",
            Method::Subscribe => "resources/subscribe",
            Method::Unsubscribe => "resources/unsubscribe",
            Method::Complete => "completion/complete",
            Method::Listen => "subscriptions/listen",
            Method::GetTask => "tasks/get",
            Method::UpdateTask => "tasks/update",
            Method::CancelTask => "tasks/cancel",
        }
    }

    /// The method with this name in this revision; `None` if the revision does not have it. Names
    /// are case-sensitive.
    #[must_use]
    pub fn parse(name: &str, version: Version) -> Option<Method> {
        Method::ALL
            .into_iter()
            .find(|method| method.as_str() == name && method.is_in(version.era()))
    }

    fn is_in(self, era: Era) -> bool {
        match self {
            Method::Initialize
            | Method::Ping
            | Method::SetLevel
            | Method::Subscribe
            | Method::Unsubscribe => era == Era::Legacy,
            Method::Discover
            | Method::Listen
            | Method::GetTask
            | Method::UpdateTask
            | Method::CancelTask => era == Era::Modern,
            _ => true,
        }
    }

    /// The member of params that the `Mcp-Name` header repeats.
    #[must_use]
    pub fn name_member(self) -> Option<&'static str> {
        match self {
            Method::CallTool | Method::GetPrompt => Some("name"),
            Method::ReadResource => Some("uri"),
            Method::GetTask | Method::UpdateTask | Method::CancelTask => Some("taskId"),
            _ => None,
        }
    }

    /// Whether the app answers it whatever it has registered. `resources/list` may go to the app
    /// as well.
    #[must_use]
    pub fn is_call(self) -> bool {
        matches!(
            self,
            Method::CallTool | Method::GetPrompt | Method::ReadResource | Method::Complete
        )
    }

    /// Whether its results carry `ttlMs` and `cacheScope` in the modern era (MCP "Caching").
    #[must_use]
    pub fn is_cacheable(self) -> bool {
        matches!(
            self,
            Method::Discover
                | Method::ListTools
                | Method::ListPrompts
                | Method::ListResources
                | Method::ListResourceTemplates
                | Method::ReadResource
        )
    }

    /// Whether it may be answered with `input_required` (MCP "Multi Round-Trip Requests").
    #[must_use]
    pub fn may_ask(self) -> bool {
        matches!(
            self,
            Method::CallTool | Method::GetPrompt | Method::ReadResource
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_belong_to_eras() {
        for (name, legacy, modern) in [
            ("initialize", true, false),
            ("ping", true, false),
            ("logging/setLevel", true, false),
            ("server/discover", false, true),
            ("subscriptions/listen", false, true),
            ("tools/list", true, true),
            ("tools/call", true, true),
            ("completion/complete", true, true),
            ("resources/subscribe", true, false),
            ("resources/unsubscribe", true, false),
            ("tasks/get", false, true),
            ("tasks/result", false, false),
            ("tasks/list", false, false),
            ("TOOLS/LIST", false, false),
            ("", false, false),
        ] {
            for version in Version::ALL {
                let expected = match version.era() {
                    Era::Legacy => legacy,
                    Era::Modern => modern,
                };
                let found = Method::parse(name, version);
                assert_eq!(found.is_some(), expected, "{name} in {version:?}");
                assert!(found.is_none_or(|method| method.as_str() == name));
            }
        }
    }
}
