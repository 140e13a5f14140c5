//! Members, the ring and the store: where a client ID lives.
//!
//! [`ring`] and [`view`] are pure: time is an argument. [`membership`] is the task that drives
//! them with a [`store`]. [`admin`] is the HTTP server for operators that both kinds of process
//! have.

pub mod admin;
pub mod member;
pub mod membership;
pub mod metrics;
pub mod ring;
pub mod store;
pub mod view;
