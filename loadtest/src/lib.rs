//! Load, faults and their audit, on a cluster of real processes.
//!
//! The cluster is started as operators would start it ([`process`], [`network`]) and is used as
//! strangers use it: apps on the SDK ([`apps`]) that count what they run, agents that speak MCP
//! over plain HTTP ([`agents`]) on a schedule that is fixed in advance. [`audit`] compares what the
//! agents were told with what the apps ran. [`chaos`] has the scenarios: which faults, on how large
//! a cluster. [`report`] shows what came of it.
//!
//! Nothing here knows how the cluster works inside. What is read of it is what operators see: the
//! pages of the admin ports and the store's records.
//!
//! Errors are [`anyhow`]'s: each ends the run with one line for whoever started it.

pub mod agents;
pub mod apps;
pub mod audit;
pub mod chaos;
pub mod network;
pub mod process;
pub mod report;
