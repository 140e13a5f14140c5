//! A node in this process, its apps as raw WebSockets, its routers as raw gRPC.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod app;
mod router;
mod scene;
mod world;

mod calls;
mod closing;
mod entrance;
mod giving_up;
mod handshakes;
mod links;
mod moving;
mod redelivery;
mod registering;
mod resources;
mod secrecy;
mod sessions;
mod slow_readers;
mod stopping;
mod store_trouble;
mod takeovers;
mod waiting;
mod watching;
mod without_store;
