//! Calls that are given up although their app may run them.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use clientmcp_proto::v1::cancel::Reason;
use clientmcp_proto::v1::outcome::Outcome;
use clientmcp_proto::v1::{self, GiveUp};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::gateway::Gateway;
use crate::links::{End, InFlight, News, Settling};

/// A call that was delivered more than once and is given up may be known to no node: it is between
/// holders, or waits for its app to come back. That it is given up is then brought to the app on
/// the way that the call itself would take, waiting included (SPEC.md §7.2).
#[derive(Debug)]
pub(crate) struct Abandoned {
    gateway: Weak<Gateway>,
    client_id: ClientId,
    armed: Option<Armed>,
    /// Cancelled when the call goes on without us.
    released: Option<CancellationToken>,
}

#[derive(Debug)]
struct Armed {
    call: Uuid,
    instance: String,
    reason: Reason,
}

impl Abandoned {
    pub(crate) fn new(gateway: &Arc<Gateway>, client_id: &ClientId) -> Self {
        Self {
            gateway: Arc::downgrade(gateway),
            client_id: client_id.clone(),
            armed: None,
            released: None,
        }
    }

    /// It is not given up once this is cancelled: another router carries it.
    pub(crate) fn unless(&mut self, released: CancellationToken) {
        self.released = Some(released);
    }

    /// This instance may run the call: dropping this tells it, from here on.
    pub(crate) fn arm(&mut self, call: Uuid, instance: String) {
        self.armed = Some(Armed {
            call,
            instance,
            reason: Reason::Disconnect,
        });
    }

    /// It is given up for this reason, and not because its agent has gone.
    pub(crate) fn because(&mut self, reason: Reason) {
        if let Some(armed) = &mut self.armed {
            armed.reason = reason;
        }
    }

    /// It has ended, or nobody runs it.
    pub(crate) fn disarm(&mut self) {
        self.armed = None;
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let (Some(armed), Some(gateway)) = (self.armed.take(), self.gateway.upgrade()) else {
            return;
        };
        let released = self.released.as_ref();
        if released.is_some_and(CancellationToken::is_cancelled) {
            return;
        }
        if Handle::try_current().is_err() {
            return;
        }
        let client_id = self.client_id.clone();
        tokio::spawn(async move {
            let timings = &gateway.config.timings;
            // After that nobody expects the app back, and its own memory of the call ends.
            let patience = timings.grace + timings.orphan;
            tokio::select! {
                () = tell(&gateway, &client_id, &armed) => {}
                () = tokio::time::sleep(patience) => {}
                () = gateway.abort.cancelled() => {}
            }
        });
    }
}

/// Until the app was told, or is not expected back.
async fn tell(gateway: &Arc<Gateway>, client_id: &ClientId, armed: &Armed) {
    let mut route = gateway.placement.route(client_id);
    route.insist();
    while let Ok(peer) = route.next().await {
        let run = peer.run();
        let frame = armed.frame(gateway, client_id);
        let Ok(in_flight) = peer.start(frame, Bytes::new(), Settling::OnArrival) else {
            route.not_here(&run);
            continue;
        };
        match end_of(in_flight).await {
            End::Moved(to) | End::Outcome(Outcome::Elsewhere(to)) => route.elsewhere(&run, &to),
            End::Outcome(Outcome::NotHere(_) | Outcome::Lost(v1::Lost { r#final: false, .. }))
            | End::LinkLost { .. } => route.not_here(&run),
            End::Outcome(_) => return,
        }
    }
}

async fn end_of(mut in_flight: InFlight) -> End {
    loop {
        if let News::End(end) = in_flight.next().await {
            return end;
        }
    }
}

impl Armed {
    fn frame(&self, gateway: &Gateway, client_id: &ClientId) -> v1::Call {
        let timings = &gateway.config.timings;
        let patience = timings.grace + timings.orphan;
        v1::Call {
            // The call's own ID may still be in flight on the same link.
            call_id: Bytes::copy_from_slice(Uuid::now_v7().as_bytes()),
            client_id: client_id.to_string(),
            instance: self.instance.clone(),
            attempt: 1,
            attach_only: true,
            deadline_ms: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
            unreachable: gateway.placement.unreachable(),
            era: v1::Era::Modern.into(),
            give_up: Some(GiveUp {
                call_id: Bytes::copy_from_slice(self.call.as_bytes()),
                reason: self.reason.into(),
            }),
            ..v1::Call::default()
        }
    }
}
