//! Whole-cluster tests and the fixture app that they drive.
//!
//! What stands here is for tests of a whole cluster, in this process ([`scenario`]) or as
//! processes of its own ([`processes`]): agents ([`modern`], [`session`]) and apps ([`raw_app`])
//! that send exactly what a test says and keep every byte that they get.

pub mod answer;
pub mod events;
pub mod exchange;
pub mod fixture;
pub mod input;
pub mod modern;
pub mod process;
pub mod processes;
pub mod raw_app;
pub mod raw_json;
pub mod scenario;
pub mod schema;
pub mod session;
pub mod tokens;
pub mod waiting;
