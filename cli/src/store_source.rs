//! The store of a cluster of several processes.

use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use clientmcp_cluster::store::Store;
use clientmcp_cluster::store::redis::RedisStore;

/// Where members and registrations are kept.
#[derive(Debug, Args)]
pub(crate) struct StoreSource {
    /// The Redis server that all processes of the cluster share
    #[arg(
        long,
        env = "CLIENTMCP_REDIS_URL",
        value_name = "URL",
        default_value = "redis://127.0.0.1:6379"
    )]
    redis_url: String,
}

impl StoreSource {
    /// Connects, so that a wrong address stops the start.
    pub(crate) async fn connect(&self) -> anyhow::Result<Arc<dyn Store>> {
        let store = RedisStore::connect(&self.redis_url)
            .await
            .context("--redis-url")?;
        Ok(Arc::new(store))
    }
}
