//! A router before scripted nodes: what agents and apps see of it, byte by byte.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agent_http;
mod bounds;
mod calls;
mod cors;
mod harness;
mod http2;
mod http_client;
mod junk;
mod links;
mod node;
mod outcomes;
mod proxy;
mod readiness;
mod redelivery;
mod relay;
mod secrecy;
mod sessions;
mod silence;
mod stop;
mod streams;
mod tunnels;
