//! The process that holds app WebSockets.
