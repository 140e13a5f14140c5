//! The names of keys. All that concerns one client ID has it as its hash tag, so that it would
//! stay together if the keys were spread over several servers.

use clientmcp_core::ids::ClientId;
use clientmcp_core::registration::ContentHash;

use crate::store::tasks::TaskKey;

/// All members: a hash, member ID to entry.
pub(super) const MEMBERS: &str = "clientmcp:members";

/// Tasks that have to be driven: a sorted set, by the time when their drivers' leases lapse.
pub(super) const DRIVEN: &str = "clientmcp:driven";

/// A task: a hash.
pub(super) fn task(task: &TaskKey) -> String {
    format!("clientmcp:task:{{{}}}:{}", task.client_id, task.id)
}

/// Who holds a client ID: a hash.
pub(super) fn client(client_id: &ClientId) -> String {
    format!("clientmcp:client:{{{client_id}}}")
}

/// What is noted of the sessions of a client ID: a hash, session to the time when it may be
/// forgotten and the note.
pub(super) fn sessions(client_id: &ClientId) -> String {
    format!("clientmcp:sessions:{{{client_id}}}")
}

/// One kind's content: a string.
pub(super) fn content(hash: &ContentHash) -> String {
    format!("clientmcp:content:{hash}")
}
