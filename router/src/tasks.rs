//! Tasks: calls that outlive the request that began them (SPEC.md §12; the MCP extension
//! `io.modelcontextprotocol/tasks`).
//!
//! The cluster makes them; an app need not know. A call that may become a task is carried by
//! [`begin`] until it does, from then on by a [`driver`], which renews a lease in the store. If that
//! lapses, for the router is gone, another one takes the task over ([`takeover`]): it delivers the
//! same call again, under the same ID, so that the app runs it once. Whatever router an agent asks
//! for its task answers from the store ([`requests`]). What a task's states mean is the core's
//! ([`clientmcp_core::mcp::task`]), who may change what is the store's
//! ([`clientmcp_cluster::store::tasks`]).

mod begin;
mod driver;
mod records;
mod requests;
mod takeover;
mod watcher;

pub(crate) use begin::carry;
pub(crate) use records::Tasks;
pub(crate) use requests::answer;
pub(crate) use takeover::take_over;
pub(crate) use watcher::Watcher;
