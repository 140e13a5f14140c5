//! Scenarios on a whole cluster in this process: three routers, three nodes, a store in memory.
//!
//! One file per subject. Agents and apps are raw: the tests decide what goes over the wire and
//! look at what comes back, in the revisions of both eras; what the cluster says is checked
//! against the revision's own schema wherever an app has not put anything else into it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod apps;
mod calls;
mod cancelling;
mod failures;
mod field_reports;
mod http_rules;
mod input;
mod list_changes;
mod lists;
mod mirrored_headers;
mod offers;
mod registrations;
mod rounds;
mod rounds_answers;
mod rounds_losses;
mod sdk_apps;
mod sessions;
mod shapes;
mod sizes;
mod slow_calls;
mod store_away;
mod subscriptions;
mod tasks;
mod versions;
