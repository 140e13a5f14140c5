//! The registration: what the application offers, by kind, and the hash that the cluster gave each
//! content, so that a content that the cluster knows is named instead of sent (SPEC.md §4.4).

use clientmcp_core::ids::InstanceId;
use clientmcp_core::json::Json;
use clientmcp_core::message::{ByHash, Register, ResourceList, Resources, Rest};
use clientmcp_core::registration::{ContentHash, Hashes};

/// What the application says about itself, apart from what it offers.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    pub(crate) server_info: Option<Json>,
    pub(crate) instructions: Option<String>,
    pub(crate) ttl_ms: Option<u64>,
}

/// What is offered, as it is registered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Offer {
    /// Definitions of tools.
    pub(crate) tools: Vec<Json>,
    /// An object by tool name, if any tool has options.
    pub(crate) tool_options: Option<Json>,
    /// Definitions of prompts.
    pub(crate) prompts: Vec<Json>,
    /// Definitions of resources and their templates.
    pub(crate) resources: Resources,
    /// Whether any argument is completed.
    pub(crate) completions: bool,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            tools: Vec::new(),
            tool_options: None,
            prompts: Vec::new(),
            resources: Resources {
                list: ResourceList::Listed(Vec::new()),
                templates: Vec::new(),
            },
            completions: false,
        }
    }
}

/// The content of each kind.
#[derive(Debug, Clone, PartialEq)]
struct Content {
    tools: Vec<Json>,
    prompts: Vec<Json>,
    resources: Resources,
    rest: Rest,
}

/// A `register` that was sent, to be remembered with the hashes that the answer gives it.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Whether no kind was named by its hash.
    pub(crate) full: bool,
    /// The version of the content.
    pub(crate) revision: u64,
    content: Content,
}

/// A registration would take a larger message than the cluster accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the registration takes a message of {bytes} bytes, and a message may be at most {limit}")]
pub struct TooLarge {
    /// Size of the message.
    pub bytes: usize,
    /// Size that the cluster accepts.
    pub limit: usize,
}

/// What is registered, and what the cluster knows of it.
#[derive(Debug)]
pub(crate) struct Registration {
    instance: InstanceId,
    about: About,
    content: Content,
    revision: u64,
    /// The content that was registered last, and its hashes.
    known: Option<(Content, Hashes)>,
}

impl Registration {
    pub(crate) fn new(instance: InstanceId, about: About, offer: Offer) -> Self {
        let content = Content::of(&about, offer);
        Self {
            instance,
            about,
            content,
            revision: 1,
            known: None,
        }
    }

    /// Replaces what is offered. Returns the version of the new content.
    pub(crate) fn set_offer(&mut self, offer: Offer, limit: usize) -> Result<u64, TooLarge> {
        let content = Content::of(&self.about, offer);
        let before = std::mem::replace(&mut self.content, content);
        if let Err(error) = self.check_size(limit) {
            self.content = before;
            return Err(error);
        }
        self.revision += 1;
        Ok(self.revision)
    }

    /// Whether a message can carry all of it.
    pub(crate) fn check_size(&self, limit: usize) -> Result<(), TooLarge> {
        let (message, _) = self.register(u64::MAX, true, true);
        let bytes = message.len();
        if bytes > limit {
            return Err(TooLarge { bytes, limit });
        }
        Ok(())
    }

    /// The `register` for a connection; `moving`: an earlier one still stands. A `full` one names
    /// no kind by its hash.
    pub(crate) fn register(&self, connection: u64, moving: bool, full: bool) -> (Json, Asked) {
        let known = self.known.as_ref().filter(|_| !full);
        let Content {
            tools,
            prompts,
            resources,
            rest,
        } = &self.content;
        let tools = by_hash(tools, known.map(|(known, hash)| (&known.tools, hash.tools)));
        let prompts = by_hash(
            prompts,
            known.map(|(known, hash)| (&known.prompts, hash.prompts)),
        );
        let resources = by_hash(
            resources,
            known.map(|(known, hash)| (&known.resources, hash.resources)),
        );
        let rest = by_hash(rest, known.map(|(known, hash)| (&known.rest, hash.rest)));
        let asked = Asked {
            full: is_full(&tools) && is_full(&prompts) && is_full(&resources) && is_full(&rest),
            revision: self.revision,
            content: self.content.clone(),
        };
        let message = Register {
            instance: self.instance.clone(),
            connection,
            moving,
            resume: true,
            tools,
            prompts,
            resources,
            rest,
        };
        (message.to_json(), asked)
    }

    /// Remembers the hashes of what was registered.
    pub(crate) fn handle_registered(&mut self, asked: &Asked, hashes: &Hashes) {
        self.known = Some((asked.content.clone(), *hashes));
    }
}

/// A content by its hash, if that is known.
fn by_hash<T: Clone + PartialEq>(content: &T, known: Option<(&T, ContentHash)>) -> ByHash<T> {
    match known {
        Some((known, hash)) if known == content => ByHash::Hash(hash),
        _ => ByHash::Full(content.clone()),
    }
}

fn is_full<T>(content: &ByHash<T>) -> bool {
    matches!(content, ByHash::Full(_))
}

impl Content {
    fn of(about: &About, offer: Offer) -> Self {
        Self {
            tools: offer.tools,
            prompts: offer.prompts,
            resources: offer.resources,
            rest: Rest {
                server_info: about.server_info.clone(),
                instructions: about.instructions.clone(),
                tool_options: offer.tool_options,
                completions: offer.completions,
                ttl_ms: about.ttl_ms,
            },
        }
    }
}

/// A name for this run of the application: 128 random bits.
pub(crate) fn random_instance() -> InstanceId {
    let text = format!("{:032x}", rand::random::<u128>());
    InstanceId::parse(&text).expect("hexadecimal digits follow the grammar")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clientmcp_core::registration::Kind;

    fn offer(tools: &[&'static str]) -> Offer {
        Offer {
            tools: tools
                .iter()
                .map(|tool| Json::parse(*tool).unwrap())
                .collect(),
            ..Offer::default()
        }
    }

    fn registration(tools: &[&'static str]) -> Registration {
        let about = About {
            server_info: Some(Json::parse(r#"{"name":"demo","version":"1"}"#).unwrap()),
            instructions: Some("a \"b\"".to_owned()),
            ttl_ms: Some(5),
        };
        Registration::new(InstanceId::parse("i").unwrap(), about, offer(tools))
    }

    fn hashes() -> Hashes {
        let hash = |kind| ContentHash::of(kind, b"");
        Hashes {
            tools: hash(Kind::Tools),
            prompts: hash(Kind::Prompts),
            resources: hash(Kind::Resources),
            rest: hash(Kind::Rest),
        }
    }

    fn named(kind: Kind) -> String {
        format!(r#""{kind}":{{"hash":"{}"}}"#, hashes().get(kind))
    }

    #[test]
    fn the_first_register_has_everything() {
        let (text, asked) = registration(&[r#"{"name": "a"}"#]).register(3, false, false);
        assert_eq!(
            text.as_str(),
            r#"{"type":"register","instance":"i","connection":3,"features":["resume"],"serverInfo":{"name":"demo","version":"1"},"instructions":"a \"b\"","ttlMs":5,"tools":[{"name": "a"}]}"#
        );
        assert!(asked.full);
    }

    #[test]
    fn what_the_cluster_knows_is_named_by_its_hash() {
        let mut registration = registration(&[]);
        let (_, asked) = registration.register(1, false, false);
        registration.handle_registered(&asked, &hashes());
        let (text, asked) = registration.register(2, false, false);
        let kinds = [Kind::Rest, Kind::Tools, Kind::Prompts, Kind::Resources];
        let by_hash = kinds.map(named).join(",");
        assert!(
            text.as_str()
                .ends_with(&format!(r#""features":["resume"],{by_hash}}}"#))
        );
        assert!(!asked.full);
        let (text, asked) = registration.register(2, false, true);
        assert!(asked.full && text.as_str().contains("serverInfo"));

        registration.set_offer(offer(&["1"]), 1000).unwrap();
        let (text, asked) = registration.register(2, false, false);
        assert!(text.as_str().contains(r#""tools":[1]"#));
        assert!(text.as_str().contains(&named(Kind::Rest)));
        assert!(!asked.full);
        registration.set_offer(offer(&[]), 1000).unwrap();
        let (text, _) = registration.register(2, false, false);
        assert!(text.as_str().contains(&named(Kind::Tools)), "known again");
    }

    #[test]
    fn a_hash_belongs_to_the_content_that_was_asked_for() {
        let mut registration = registration(&[]);
        let (_, asked) = registration.register(1, false, false);
        registration.set_offer(offer(&["1"]), 1000).unwrap();
        registration.handle_registered(&asked, &hashes());
        let (text, _) = registration.register(1, false, false);
        assert!(text.as_str().contains(r#""tools":[1]"#));
    }

    #[test]
    fn what_no_message_carries_is_refused_and_the_former_stays() {
        let mut registration = registration(&[]);
        let large = r#""aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa""#;
        let limit = 200;
        let error = registration.set_offer(offer(&[large]), limit).unwrap_err();
        assert!(error.bytes > limit && error.limit == limit);
        let (text, asked) = registration.register(1, false, false);
        assert!(text.as_str().contains(r#""tools":[]"#));
        assert_eq!(asked.revision, 1);
    }

    #[test]
    fn instances_are_random() {
        assert_ne!(random_instance(), random_instance());
    }
}
