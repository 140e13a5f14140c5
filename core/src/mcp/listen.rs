//! `subscriptions/listen`: what an agent wants to be told, and what of it it will be (MCP
//! "Subscriptions").

use std::collections::BTreeSet;

use serde::Deserialize;

use super::error::RpcError;
use super::offer::Offer;
use super::request::Request;
use crate::limits;
use crate::registration::Kind;
use crate::session_note;

/// What one stream tells of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// `toolsListChanged`
    pub tools: bool,
    /// `promptsListChanged`
    pub prompts: bool,
    /// `resourcesListChanged`
    pub resources: bool,
    /// `resourceSubscriptions`: URIs, in the agent's order. A legacy stream tells of those to
    /// which its session has subscribed, which is for the node to know.
    pub uris: Vec<String>,
}

impl Filter {
    /// The lists whose changes a legacy GET stream tells of: all.
    #[must_use]
    pub fn all_lists() -> Filter {
        Filter {
            tools: true,
            prompts: true,
            resources: true,
            uris: Vec::new(),
        }
    }

    /// The part of what a request asks for that will be honoured: changes of what the app
    /// offers, and of as many resources as one stream may watch.
    ///
    /// # Errors
    /// 400, -32602 if params have no filter, or one with members of the wrong type. The error
    /// has the request's id.
    pub fn honoured(request: &Request, offer: &Offer) -> Result<Filter, RpcError> {
        let asked: Asked = request
            .params
            .notifications
            .as_ref()
            .and_then(|filter| filter.read().ok())
            .ok_or_else(|| {
                request.refuse(RpcError::invalid_envelope(
                    "params.notifications must be a filter",
                ))
            })?;
        let has_resources = offer.has(Kind::Resources);
        let mut uris = Vec::new();
        let mut watched = BTreeSet::new();
        for uri in asked.resource_subscriptions {
            let fits = uri.len() <= limits::URI_BYTES && session_note::fits(&watched, &uri);
            if has_resources && fits && watched.insert(uri.clone()) {
                uris.push(uri);
            }
        }
        Ok(Filter {
            tools: asked.tools_list_changed,
            prompts: asked.prompts_list_changed && offer.has(Kind::Prompts),
            resources: asked.resources_list_changed && has_resources,
            uris,
        })
    }

    /// Whether a change of this kind is told.
    #[must_use]
    pub fn wants(&self, kind: Kind) -> bool {
        match kind {
            Kind::Tools => self.tools,
            Kind::Prompts => self.prompts,
            Kind::Resources => self.resources,
            Kind::Rest => false,
        }
    }
}

/// MCP's `SubscriptionFilter`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    #[serde(default)]
    tools_list_changed: bool,
    #[serde(default)]
    prompts_list_changed: bool,
    #[serde(default)]
    resources_list_changed: bool,
    #[serde(default)]
    resource_subscriptions: Vec<String>,
}

#[cfg(test)]
mod tests;
