//! Offer tools of a running program to AI agents through a ClientMCP cluster.
