//! The registration: what the application offers, by kind, and the hash that the cluster gave each
//! content, so that a content that the cluster knows is named instead of sent (SPEC.md §4.4).

use clientmcp_core::json::{ArrayWriter, Json, ObjectWriter};
use clientmcp_core::registration::Kind;

/// What this SDK does beyond the necessary (SPEC.md §4.4).
const FEATURES: &[&str] = &["resume"];

/// What the application says about itself, apart from its tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    pub(crate) server_info: Option<Json>,
    pub(crate) instructions: Option<String>,
    pub(crate) ttl_ms: Option<u64>,
}

/// The tools as they are registered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Offer {
    /// A list of definitions.
    pub(crate) tools: Json,
    /// An object by tool name, if any tool has options.
    pub(crate) options: Option<Json>,
}

/// The content of the kinds that this SDK fills. Those that it leaves out are empty.
#[derive(Debug, Clone, PartialEq)]
struct Content {
    tools: Json,
    rest: Rest,
}

/// The members of the kind `rest`, in their order on the wire.
#[derive(Debug, Clone, PartialEq)]
struct Rest(Vec<(&'static str, Json)>);

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
    instance: String,
    about: About,
    content: Content,
    revision: u64,
    known_tools: Option<(Json, String)>,
    known_rest: Option<(Rest, String)>,
}

impl Registration {
    pub(crate) fn new(instance: String, about: About, offer: &Offer) -> Self {
        let content = Content::of(&about, offer);
        Self {
            instance,
            about,
            content,
            revision: 1,
            known_tools: None,
            known_rest: None,
        }
    }

    /// Replaces the tools. Returns the version of the new content.
    pub(crate) fn set_tools(&mut self, offer: &Offer, limit: usize) -> Result<u64, TooLarge> {
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
        let bytes = self.text(u64::MAX, false, false).len();
        if bytes > limit {
            return Err(TooLarge { bytes, limit });
        }
        Ok(())
    }

    /// The `register` for a connection; a `full` one names no kind by its hash.
    pub(crate) fn register(&self, connection: u64, full: bool) -> (Json, Asked) {
        let name_tools =
            !full && self.known_tools.as_ref().map(|known| &known.0) == Some(&self.content.tools);
        let name_rest =
            !full && self.known_rest.as_ref().map(|known| &known.0) == Some(&self.content.rest);
        let asked = Asked {
            full: !name_tools && !name_rest,
            revision: self.revision,
            content: self.content.clone(),
        };
        (self.text(connection, name_tools, name_rest), asked)
    }

    /// Remembers the hashes of what was registered.
    pub(crate) fn handle_registered(&mut self, asked: &Asked, hashes: Vec<(Kind, String)>) {
        for (kind, hash) in hashes {
            match kind {
                Kind::Tools => self.known_tools = Some((asked.content.tools.clone(), hash)),
                Kind::Rest => self.known_rest = Some((asked.content.rest.clone(), hash)),
                Kind::Prompts | Kind::Resources => {}
            }
        }
    }

    fn text(&self, connection: u64, name_tools: bool, name_rest: bool) -> Json {
        let mut message = ObjectWriter::with_capacity(256 + self.content.tools.len());
        let mut features = ArrayWriter::new();
        for feature in FEATURES {
            features.string(feature);
        }
        message
            .name("type", "register")
            .name("instance", &self.instance)
            .plain("connection", connection)
            .raw("features", &features.finish());
        match &self.known_rest {
            Some((_, hash)) if name_rest => {
                message.raw("rest", &named(hash));
            }
            _ => {
                for (key, value) in &self.content.rest.0 {
                    message.raw(key, value);
                }
            }
        }
        match &self.known_tools {
            Some((_, hash)) if name_tools => message.raw("tools", &named(hash)),
            _ => message.raw("tools", &self.content.tools),
        };
        message.finish()
    }
}

impl Content {
    fn of(about: &About, offer: &Offer) -> Self {
        let instructions = about.instructions.as_deref();
        let members = [
            ("serverInfo", about.server_info.clone()),
            ("instructions", instructions.map(Json::of)),
            ("toolOptions", offer.options.clone()),
            ("ttlMs", about.ttl_ms.map(|ms| Json::of(&ms))),
        ];
        let rest = members
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        Self {
            tools: offer.tools.clone(),
            rest: Rest(rest.collect()),
        }
    }
}

fn named(hash: &str) -> Json {
    let mut object = ObjectWriter::new();
    object.string("hash", hash);
    object.finish()
}

/// A name for this run of the application: 128 random bits.
pub(crate) fn random_instance() -> String {
    format!("{:032x}", rand::random::<u128>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(tools: &'static str) -> Offer {
        Offer {
            tools: Json::parse(tools).unwrap(),
            options: None,
        }
    }

    fn registration(tools: &'static str) -> Registration {
        let about = About {
            server_info: Some(Json::parse(r#"{"name":"demo","version":"1"}"#).unwrap()),
            instructions: Some("a \"b\"".to_owned()),
            ttl_ms: Some(5),
        };
        Registration::new("i".to_owned(), about, &offer(tools))
    }

    fn hashes() -> Vec<(Kind, String)> {
        vec![
            (Kind::Tools, "t".to_owned()),
            (Kind::Prompts, "p".to_owned()),
            (Kind::Rest, "r".to_owned()),
        ]
    }

    #[test]
    fn the_first_register_has_everything() {
        let (text, asked) = registration(r#"[{"name": "a"}]"#).register(3, false);
        assert_eq!(
            text.as_str(),
            r#"{"type":"register","instance":"i","connection":3,"features":["resume"],"serverInfo":{"name":"demo","version":"1"},"instructions":"a \"b\"","ttlMs":5,"tools":[{"name": "a"}]}"#
        );
        assert!(asked.full);
    }

    #[test]
    fn what_the_cluster_knows_is_named_by_its_hash() {
        let mut registration = registration("[]");
        let (_, asked) = registration.register(1, false);
        registration.handle_registered(&asked, hashes());
        let (text, asked) = registration.register(2, false);
        assert_eq!(
            text.as_str(),
            r#"{"type":"register","instance":"i","connection":2,"features":["resume"],"rest":{"hash":"r"},"tools":{"hash":"t"}}"#
        );
        assert!(!asked.full);
        let (text, asked) = registration.register(2, true);
        assert!(asked.full && text.as_str().contains("serverInfo"));

        registration.set_tools(&offer("[1]"), 1000).unwrap();
        let (text, asked) = registration.register(2, false);
        assert!(text.as_str().contains(r#""tools":[1]"#));
        assert!(text.as_str().contains(r#""rest":{"hash":"r"}"#));
        assert!(!asked.full);
        registration.set_tools(&offer("[]"), 1000).unwrap();
        let (text, _) = registration.register(2, false);
        assert!(
            text.as_str().contains(r#""tools":{"hash":"t"}"#),
            "known again"
        );
    }

    #[test]
    fn a_hash_belongs_to_the_content_that_was_asked_for() {
        let mut registration = registration("[]");
        let (_, asked) = registration.register(1, false);
        registration.set_tools(&offer("[1]"), 1000).unwrap();
        registration.handle_registered(&asked, hashes());
        let (text, _) = registration.register(1, false);
        assert!(text.as_str().contains(r#""tools":[1]"#));
    }

    #[test]
    fn tools_that_no_message_carries_are_refused_and_the_old_ones_stay() {
        let mut registration = registration("[]");
        let large = offer(r#"["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]"#);
        let limit = 200;
        let error = registration.set_tools(&large, limit).unwrap_err();
        assert!(error.bytes > limit && error.limit == limit);
        let (text, asked) = registration.register(1, false);
        assert!(text.as_str().contains(r#""tools":[]"#));
        assert_eq!(asked.revision, 1);
    }

    #[test]
    fn instances_are_random_and_follow_their_grammar() {
        let (a, b) = (random_instance(), random_instance());
        assert_ne!(a, b);
        for instance in [a, b] {
            clientmcp_core::ids::InstanceId::parse(&instance).unwrap();
        }
    }
}
