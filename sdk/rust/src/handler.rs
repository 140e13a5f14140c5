//! What runs a call, whatever its method is.

use std::sync::Arc;

use clientmcp_core::json::Json;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::reply::Answer;
use crate::result::{CallError, RpcError};

/// Runs one call, to the result as it is sent.
pub(crate) type Handler =
    Arc<dyn Fn(Context) -> BoxFuture<'static, Result<Answer<Json>, CallError>> + Send + Sync>;

/// Reads what an agent sent; what cannot be read is its mistake.
pub(crate) fn read_params<T: DeserializeOwned>(json: &Json) -> Result<T, CallError> {
    let read = json.value();
    read.map_err(|error| RpcError::invalid_params(error.to_string()).into())
}
