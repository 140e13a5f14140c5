//! What an app offers, as routers know it.

use std::sync::Arc;

use super::method::Method;
use crate::registration::{Hashes, Kind};
use crate::tool::{RestContent, ToolIndex};

/// The last registration of an app: what lists, discovery and the checks of calls go by.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The hashes of its content, kind by kind.
    pub hashes: Hashes,
    /// Its tools.
    pub tools: Arc<ToolIndex>,
    /// What else it says of itself.
    pub rest: Arc<RestContent>,
}

impl Offer {
    /// What is known of an app that never registered, or whose registration is forgotten.
    #[must_use]
    pub fn unknown() -> Offer {
        Offer {
            hashes: Hashes::empty(),
            tools: Arc::default(),
            rest: Arc::default(),
        }
    }

    /// Whether the app offers anything of a kind. Tools count always: they are declared before
    /// the first is there.
    #[must_use]
    pub fn has(&self, kind: Kind) -> bool {
        kind == Kind::Tools || self.hashes.get(kind) != kind.empty_hash()
    }

    /// Whether a modern agent may use a method: the capability that it belongs to is declared.
    #[must_use]
    pub fn serves(&self, method: Method) -> bool {
        method != Method::Complete || self.rest.completions
    }
}
