//! The clientmcp binary.
