//! Where handlers wait that have asked the agent for something, until the agent calls again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::run::Run;
use crate::seal::Binding;

/// Handlers that wait at most.
const PLACES: usize = 64;
/// How a text begins that names a handler; no sealed state begins so.
const MARK: &str = "~";

/// A handler that waits: 128 random bits, of use once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Handle(u128);

impl Handle {
    /// The text that an agent brings back.
    pub(crate) fn to_text(self) -> String {
        format!("{MARK}{:032x}", self.0)
    }

    fn parse(text: &str) -> Option<Self> {
        let digits = text
            .strip_prefix(MARK)
            .filter(|digits| digits.len() == 32)?;
        u128::from_str_radix(digits, 16).ok().map(Self)
    }
}

/// The handlers of an application that wait.
#[derive(Debug, Default)]
pub(crate) struct Shelf(Mutex<HashMap<Handle, Arc<Run>>>);

impl Shelf {
    /// Puts a handler there; `None` if there is no room.
    pub(crate) fn put(&self, run: Arc<Run>) -> Option<Handle> {
        let mut places = self.places();
        if places.len() >= PLACES {
            return None;
        }
        let handle = Handle(rand::random());
        places.insert(handle, run);
        Some(handle)
    }

    /// Takes the handler of this name, if it waits for this very call.
    pub(crate) fn take(&self, text: &str, binding: &Binding) -> Option<Arc<Run>> {
        let handle = Handle::parse(text)?;
        let mut places = self.places();
        places.get(&handle).filter(|run| run.binding() == binding)?;
        places.remove(&handle)
    }

    /// Takes a handler that nobody has answered. Returns whether it was still there.
    pub(crate) fn give_up(&self, handle: Handle) -> bool {
        self.places().remove(&handle).is_some()
    }

    /// All that wait.
    pub(crate) fn all(&self) -> Vec<Arc<Run>> {
        self.places().values().cloned().collect()
    }

    fn places(&self) -> MutexGuard<'_, HashMap<Handle, Arc<Run>>> {
        // Nothing panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
