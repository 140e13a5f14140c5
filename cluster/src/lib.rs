//! Members, the ring and the store: where a client ID lives.
//!
//! [`ring`] and [`view`] are pure: time is an argument. [`membership`] is the task that drives
//! them with a [`store`].
//!
//! What nodes and routers have in common as processes stands here too: long-lived [`tasks`], the
//! [`listener`] that accepts connections, the [`admin`] server for operators, [`metrics`].

pub mod admin;
pub mod listener;
pub mod member;
pub mod membership;
pub mod metrics;
pub mod ring;
pub mod store;
pub mod tasks;
pub mod view;
