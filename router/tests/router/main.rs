//! A router before scripted nodes: what agents and apps see of it, byte by byte.

mod agent_http;
mod calls;
mod cors;
mod harness;
mod http_client;
mod junk;
mod links;
mod node;
mod secrecy;
mod sessions;
mod stop;
mod streams;
mod tunnels;
