//! The process that faces the world: agents' HTTP and apps' WebSocket upgrades.
