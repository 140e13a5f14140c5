//! Members, the ring and the store: where a client ID lives.

pub mod member;
pub mod store;
