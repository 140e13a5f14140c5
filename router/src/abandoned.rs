//! Calls that are given up while they are between holders.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::gateway::Gateway;

/// Cancels a call that is given up while it is between holders: its app may run it. Whoever
/// answers for the app by then is told.
#[derive(Debug)]
pub(crate) struct Abandoned {
    gateway: Weak<Gateway>,
    client_id: ClientId,
    call: Option<Uuid>,
}

impl Abandoned {
    pub(crate) fn new(gateway: &Arc<Gateway>, client_id: &ClientId) -> Self {
        Self {
            gateway: Arc::downgrade(gateway),
            client_id: client_id.clone(),
            call: None,
        }
    }

    /// The call is between holders: dropping this cancels it from here on.
    pub(crate) fn arm(&mut self, call: Uuid) {
        self.call = Some(call);
    }

    /// It was sent again, or nobody runs it.
    pub(crate) fn disarm(&mut self) {
        self.call = None;
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let (Some(call), Some(gateway)) = (self.call, self.gateway.upgrade()) else {
            return;
        };
        if Handle::try_current().is_err() {
            return;
        }
        let client_id = self.client_id.clone();
        tokio::spawn(async move {
            let cancelling = async {
                let mut route = gateway.placement.route(&client_id);
                if let Ok(peer) = route.next().await {
                    let call_id = Bytes::copy_from_slice(call.as_bytes());
                    peer.cancel_wherever(call_id, &client_id);
                }
            };
            tokio::select! {
                () = cancelling => {}
                () = gateway.abort.cancelled() => {}
            }
        });
    }
}
