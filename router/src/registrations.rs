//! What apps offer, as far as this router has seen it: contents by their hashes, so that a
//! million tabs of one application are read once.
//!
//! What is remembered may be out of date. A list is always asked for; a call names the hashes
//! that it was checked against, and the node refuses it if it has others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::offer::Offer;
use clientmcp_core::mcp::session::SessionKey;
use clientmcp_core::registration::{ContentError, ContentHash, Hashes, Kind};
use clientmcp_proto::v1::{self, describe_response::At};
use serde::Deserialize;

use crate::bounded::Bounded;
use crate::limits;
use crate::links::{Peer, Silence};
use crate::metrics::Metrics;
use crate::placement::{Placement, Unplaced};
use crate::refusal;

/// The registration of an app: what it offers, and the contents that this was read from.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) offer: Offer,
    contents: v1::Registration,
}

impl Known {
    fn read(hashes: Hashes, contents: v1::Registration) -> Result<Self, ContentError> {
        let offer = Offer::read(hashes, |kind| match kind {
            Kind::Tools => contents.tools.clone(),
            Kind::Prompts => contents.prompts.clone(),
            Kind::Resources => contents.resources.clone(),
            Kind::Rest => contents.rest.clone(),
        })?;
        Ok(Self { offer, contents })
    }

    /// The app's name, for people.
    pub(crate) fn name(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Info {
            name: String,
        }
        let info = self.offer.rest.server_info.read::<Info>().ok();
        info.map(|info| info.name)
    }

    fn weight(&self) -> usize {
        let c = &self.contents;
        let lengths = [&c.tools, &c.prompts, &c.resources, &c.rest].map(Bytes::len);
        // Beside the text there is the index of it.
        1024 + 2 * lengths.into_iter().sum::<usize>()
    }
}

/// The instance of an app, and what it can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct App {
    pub(crate) instance: String,
    /// It remembers calls: one that was lost may be delivered again.
    pub(crate) resumes: bool,
}

/// What a node said of a client ID.
#[derive(Debug)]
pub(crate) struct Described {
    /// Its registration, or the last one; `None` if none is remembered.
    pub(crate) known: Option<Arc<Known>>,
    /// The instance that registered it; `None` if that is not known.
    pub(crate) app: Option<App>,
    /// Present if it is not connected.
    pub(crate) absent: Option<v1::Absent>,
}

impl Described {
    /// What lists and discovery go by.
    pub(crate) fn offer(&self) -> Offer {
        let known = self.known.as_ref();
        known.map_or_else(Offer::unknown, |known| known.offer.clone())
    }
}

/// Why a client ID was not described.
#[derive(Debug)]
pub(crate) enum Undescribed {
    /// The session on whose behalf it was asked was ended.
    SessionEnded,
    /// Nobody could be asked.
    Unplaced(Unplaced),
    /// What came cannot be read.
    Unreadable,
}

impl From<ContentError> for Undescribed {
    fn from(error: ContentError) -> Self {
        tracing::warn!(%error, "a registration cannot be read");
        Self::Unreadable
    }
}

impl From<Undescribed> for RpcError {
    fn from(error: Undescribed) -> Self {
        match error {
            Undescribed::SessionEnded => RpcError::session_not_found(),
            Undescribed::Unplaced(Unplaced::NoNode) => refusal::no_node(),
            Undescribed::Unplaced(Unplaced::OutOfReach) => refusal::out_of_reach(),
            Undescribed::Unreadable => RpcError::internal(),
        }
    }
}

/// Registrations that were seen, bounded in bytes.
#[derive(Debug)]
pub(crate) struct Registrations {
    placement: Arc<Placement>,
    metrics: Arc<Metrics>,
    cache: Mutex<Cache>,
}

#[derive(Debug)]
struct Cache {
    registrations: Bounded<Hashes, Arc<Known>>,
    clients: Bounded<ClientId, (Hashes, App)>,
}

impl Registrations {
    pub(crate) fn new(placement: Arc<Placement>, metrics: Arc<Metrics>) -> Self {
        let cache = Cache {
            registrations: Bounded::new(limits::REGISTRATIONS_BYTES),
            clients: Bounded::new(limits::CLIENTS_REMEMBERED),
        };
        Self {
            placement,
            metrics,
            cache: Mutex::new(cache),
        }
    }

    /// What was last seen of a client ID; it may have changed since.
    pub(crate) fn recall(&self, client_id: &ClientId) -> Option<(Arc<Known>, App)> {
        let mut cache = self.cache();
        let (hashes, app) = cache.clients.get(client_id)?.clone();
        Some((cache.registrations.get(&hashes)?.clone(), app))
    }

    /// Asks the node that knows. A session that was ended is noticed on the way.
    ///
    /// # Errors
    /// [`Undescribed`].
    pub(crate) async fn describe(
        &self,
        client_id: &ClientId,
        session: Option<&SessionKey>,
    ) -> Result<Described, Undescribed> {
        let mut known = self.recall(client_id).map(|(known, _)| known);
        let mut route = self.placement.route(client_id);
        loop {
            let peer = route.next().await.map_err(Undescribed::Unplaced)?;
            let request = v1::DescribeRequest {
                target: peer.target(),
                client_id: client_id.to_string(),
                session_id: session.map_or_else(String::new, |key| key.as_str().to_owned()),
                known: known
                    .as_ref()
                    .and_then(|known| known.contents.hashes.clone()),
                unreachable: self.placement.unreachable(),
            };
            let (at, registration) = match ask(&peer, request).await {
                Ok(response) => (response.at, response.registration),
                Err(error) => {
                    tracing::debug!(node = %peer.run(), %error, "a client ID was not described");
                    (None, None)
                }
            };
            let absent = match at {
                Some(At::Here(_)) => None,
                Some(At::Absent(absent)) => Some(absent),
                Some(At::SessionEnded(_)) => return Err(Undescribed::SessionEnded),
                Some(At::Elsewhere(to)) => {
                    self.metrics.redirects.inc();
                    route.elsewhere(&peer.run(), &to);
                    continue;
                }
                Some(At::NotHere(_)) | None => {
                    route.not_here(&peer.run());
                    continue;
                }
            };
            let mut app = None;
            let known = match registration {
                None => None,
                Some(sent) => {
                    app = Some(App {
                        instance: sent.instance.clone(),
                        resumes: sent.resume,
                    });
                    let named = known.take();
                    match self.learn(client_id, named.as_deref(), sent)? {
                        // It left out what it thought was known here: it is asked for all of it.
                        None if named.is_some() => continue,
                        None => return Err(Undescribed::Unreadable),
                        known => known,
                    }
                }
            };
            return Ok(Described { known, app, absent });
        }
    }

    /// Takes what a node sent. `None`: a content is missing.
    fn learn(
        &self,
        client_id: &ClientId,
        known: Option<&Known>,
        sent: v1::Registration,
    ) -> Result<Option<Arc<Known>>, Undescribed> {
        let hashes = sent.hashes.as_ref().and_then(read_hashes);
        let hashes = hashes.ok_or(Undescribed::Unreadable)?;
        let remembered = self.cache().registrations.get(&hashes).cloned();
        let app = App {
            instance: sent.instance.clone(),
            resumes: sent.resume,
        };
        let learnt = match remembered {
            Some(learnt) => learnt,
            None => match complete(sent, known) {
                Some(contents) => Arc::new(Known::read(hashes, contents)?),
                None => return Ok(None),
            },
        };
        let mut cache = self.cache();
        cache.clients.insert(client_id.clone(), (hashes, app), 1);
        let weight = learnt.weight();
        cache.registrations.insert(hashes, learnt.clone(), weight);
        Ok(Some(learnt))
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        // Nothing that runs under the lock panics half-way.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask(peer: &Peer, request: v1::DescribeRequest) -> Result<v1::DescribeResponse, Silence> {
    let mut client = peer.bridge().client();
    peer.bridge().within(client.describe(request)).await
}

/// The hashes that a node sent; `None` if they are none.
pub(crate) fn read_hashes(hashes: &v1::Hashes) -> Option<Hashes> {
    Some(Hashes {
        tools: ContentHash::parse(&hashes.tools)?,
        prompts: ContentHash::parse(&hashes.prompts)?,
        resources: ContentHash::parse(&hashes.resources)?,
        rest: ContentHash::parse(&hashes.rest)?,
    })
}

/// Fills in the contents that were left out because they were known.
fn complete(mut sent: v1::Registration, known: Option<&Known>) -> Option<v1::Registration> {
    let nothing = v1::Registration::default();
    let known = known.map_or(&nothing, |known| &known.contents);
    let (theirs, ours) = (
        sent.hashes.clone().unwrap_or_default(),
        known.hashes.clone().unwrap_or_default(),
    );
    for (content, known, same) in [
        (&mut sent.tools, &known.tools, theirs.tools == ours.tools),
        (
            &mut sent.prompts,
            &known.prompts,
            theirs.prompts == ours.prompts,
        ),
        (
            &mut sent.resources,
            &known.resources,
            theirs.resources == ours.resources,
        ),
        (&mut sent.rest, &known.rest, theirs.rest == ours.rest),
    ] {
        if content.is_empty() {
            if !same || known.is_empty() {
                return None;
            }
            *content = known.clone();
        }
    }
    Some(sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clientmcp_core::registration::Kind;

    fn registration(tools: &'static str, rest: &'static str) -> v1::Registration {
        let hash = |kind, content: &str| ContentHash::of(kind, content.as_bytes()).to_string();
        v1::Registration {
            hashes: Some(v1::Hashes {
                tools: hash(Kind::Tools, tools),
                prompts: Kind::Prompts.empty_hash().to_string(),
                resources: Kind::Resources.empty_hash().to_string(),
                rest: hash(Kind::Rest, rest),
            }),
            tools: Bytes::from_static(tools.as_bytes()),
            prompts: Kind::Prompts.empty_content(),
            resources: Kind::Resources.empty_content(),
            rest: Bytes::from_static(rest.as_bytes()),
            ..v1::Registration::default()
        }
    }

    fn known(tools: &'static str, rest: &'static str) -> Known {
        let contents = registration(tools, rest);
        let hashes = read_hashes(contents.hashes.as_ref().unwrap()).unwrap();
        Known::read(hashes, contents).unwrap()
    }

    #[test]
    fn what_was_left_out_is_filled_in_if_it_is_known() {
        let known = known("[]", r#"{"ttlMs":5}"#);
        let whole = registration("[]", r#"{"ttlMs":5}"#);
        let sent = v1::Registration {
            rest: Bytes::new(),
            tools: Bytes::new(),
            ..whole.clone()
        };
        assert_eq!(complete(sent.clone(), Some(&known)), Some(whole));
        assert_eq!(complete(sent, None), None);
        let other = v1::Registration {
            rest: Bytes::new(),
            ..registration("[]", "{}")
        };
        assert_eq!(complete(other, Some(&known)), None);
    }

    #[test]
    fn a_registration_has_the_name_of_its_app() {
        let known = known("[]", r#"{"serverInfo":{"name":"Notes","version":"1"}}"#);
        assert_eq!(known.name().as_deref(), Some("Notes"));
    }
}
