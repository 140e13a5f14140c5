//! A router, frame by frame.

use std::collections::HashMap;

use bytes::Bytes;
use clientmcp_core::secret::Secrets;
use clientmcp_node::Node;
use clientmcp_proto::headers;
use clientmcp_proto::link::{Arrived, Assembler, Begun, CallKey, Drain, Limits, Outbox, outbox};
use clientmcp_proto::transport::{Probing, endpoint};
use clientmcp_proto::v1::bridge_client::BridgeClient;
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::{
    Call, Cancel, Credit, Elsewhere, Era, Hello, NodeFrame, RouterFrame, Settled, Target, cancel,
    event, node_frame, router_frame,
};
use serde_json::{Value, json};
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Request, Streaming};
use uuid::Uuid;

use crate::world::{SOON, ms};

pub(crate) const LIMITS: Limits = Limits {
    chunk_bytes: 64 * 1024,
    window_bytes: 1024 * 1024,
    payload_bytes: 4 * 1024 * 1024,
    queue_bytes: 256 * 1024 * 1024,
};

/// The gRPC client of one node.
#[derive(Clone)]
pub(crate) struct Router {
    pub(crate) client: BridgeClient<Channel>,
    key: String,
    pub(crate) target: Target,
}

/// A link to one node.
pub(crate) struct Link {
    pub(crate) outbox: Outbox<RouterFrame>,
    frames: Streaming<NodeFrame>,
    assembler: Assembler<fn(Bytes) -> Word>,
    /// What was heard of calls that nobody asked about yet.
    heard: HashMap<CallKey, Vec<Heard>>,
}

/// What a router hears of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    Progress(Value),
    Log(Value),
    Task(Value),
    Outcome(Word),
    Moved(Elsewhere),
}

impl Router {
    pub(crate) async fn connect(node: &Node, id: &str, secrets: &Secrets) -> Self {
        let probing = Probing {
            connect_timeout: ms(1000),
            probe_interval: ms(1000),
            probe_timeout: ms(2000),
        };
        let endpoint = endpoint(&node.addr().to_string(), &probing).unwrap();
        let channel = endpoint.connect().await.unwrap();
        Self {
            client: BridgeClient::new(channel)
                .max_decoding_message_size(headers::GRPC_MESSAGE_BYTES)
                .max_encoding_message_size(headers::GRPC_MESSAGE_BYTES),
            key: secrets.cluster_key(),
            target: Target {
                node_id: id.to_owned(),
                incarnation: node.incarnation().0,
            },
        }
    }

    pub(crate) fn signed<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let key = self.key.parse().unwrap();
        request.metadata_mut().insert(headers::CLUSTER_KEY, key);
        request
    }

    pub(crate) fn target(&self) -> Option<Target> {
        Some(self.target.clone())
    }

    /// Opens a link; gives it after the node's Welcome.
    pub(crate) async fn link(&self) -> Link {
        let (outbox, drain) = outbox(LIMITS);
        let mut link = self.open(outbox, drain, self.target.clone()).await;
        match link.frame().await {
            Some(node_frame::Frame::Welcome(welcome)) => {
                assert_eq!(welcome.node_id, self.target.node_id);
                assert_eq!(welcome.incarnation, self.target.incarnation);
            }
            other => panic!("expected Welcome, heard {other:?}"),
        }
        link
    }

    pub(crate) async fn open(
        &self,
        outbox: Outbox<RouterFrame>,
        drain: Drain<RouterFrame>,
        target: Target,
    ) -> Link {
        let hello = Hello {
            router_id: "router-1".into(),
            router_incarnation: 7,
            target: Some(target),
        };
        outbox.send(router_frame::Frame::Hello(hello)).unwrap();
        let mut client = self.client.clone();
        let frames = client.link(self.signed(drain)).await.unwrap();
        Link {
            outbox,
            frames: frames.into_inner(),
            assembler: Assembler::new(LIMITS),
            heard: HashMap::new(),
        }
    }
}

/// A call as a modern agent makes it.
pub(crate) fn call(client_id: &str) -> Call {
    let context = json!({
        "protocolVersion": "2026-07-28",
        "clientCapabilities": {},
        "subject": client_id,
        "progress": true,
        "logLevel": "debug",
        "tasks": false,
    });
    let id = CallKey(Uuid::now_v7().into_bytes());
    Call {
        call_id: id.to_bytes(),
        root_id: id.to_bytes(),
        client_id: client_id.into(),
        method: "tools/call".into(),
        deadline_ms: 10_000,
        context: context.to_string().into(),
        era: Era::Modern.into(),
        ..Call::default()
    }
}

/// As a router that dies: its half of the stream ends.
impl Drop for Link {
    fn drop(&mut self) {
        self.outbox.close();
    }
}

impl Link {
    /// Sends a call with these params.
    pub(crate) fn send(&self, call: Call, params: impl Into<Bytes>) -> CallKey {
        let key = CallKey::read(&call.call_id).unwrap();
        let sent = self
            .outbox
            .send_payload(key, params.into(), |params, params_bytes| {
                router_frame::Frame::Call(Call {
                    params,
                    params_bytes,
                    ..call
                })
            });
        sent.unwrap();
        key
    }

    /// Calls `echo`.
    pub(crate) fn call(&self, client_id: &str) -> CallKey {
        let params = json!({"name": "echo", "arguments": {"n": 1}});
        self.send(call(client_id), params.to_string())
    }

    pub(crate) fn cancel(&self, call: CallKey) {
        let cancel = Cancel {
            call_id: call.to_bytes(),
            reason: cancel::Reason::Agent.into(),
        };
        self.outbox
            .send(router_frame::Frame::Cancel(cancel))
            .unwrap();
    }

    pub(crate) fn settle(&self, call: CallKey) {
        let call_ids = vec![call.to_bytes()];
        let settled = router_frame::Frame::Settled(Settled { call_ids });
        self.outbox.send(settled).unwrap();
    }

    /// The next frame; `None` at the end of the link.
    pub(crate) async fn frame(&mut self) -> Option<node_frame::Frame> {
        let frame = timeout(SOON, self.frames.message());
        let frame = frame.await.expect("nothing was heard").ok()??;
        frame.frame
    }

    /// What is heard of a call next. What is heard of others meanwhile waits for its turn.
    pub(crate) async fn hear(&mut self, call: CallKey) -> Heard {
        loop {
            if let Some(heard) = self.heard.get_mut(&call).filter(|heard| !heard.is_empty()) {
                return heard.remove(0);
            }
            let frame = self.frame().await.expect("the link has ended");
            self.take(frame);
        }
    }

    /// The outcome of a call; what comes before it does not matter.
    pub(crate) async fn outcome(&mut self, call: CallKey) -> Word {
        loop {
            if let Heard::Outcome(word) = self.hear(call).await {
                return word;
            }
        }
    }

    /// The result of a call, which must have one.
    pub(crate) async fn result(&mut self, call: CallKey) -> Value {
        match self.outcome(call).await {
            Word::Result(result) => serde_json::from_slice(&result).unwrap(),
            other => panic!("expected a result, heard {other:?}"),
        }
    }

    fn take(&mut self, frame: node_frame::Frame) {
        let key = |call_id: &Bytes| CallKey::read(call_id).unwrap();
        let parsed = |json: &Bytes| serde_json::from_slice(json).unwrap();
        let (call, heard) = match frame {
            node_frame::Frame::Event(it) => match it.event.unwrap() {
                event::Event::Progress(json) => (key(&it.call_id), Heard::Progress(parsed(&json))),
                event::Event::Log(json) => (key(&it.call_id), Heard::Log(parsed(&json))),
                event::Event::Task(json) => (key(&it.call_id), Heard::Task(parsed(&json))),
            },
            node_frame::Frame::Outcome(it) => {
                let call = key(&it.call_id);
                let (word, within): (fn(Bytes) -> Word, _) = match it.outcome.unwrap() {
                    Word::Result(within) => (Word::Result, within),
                    Word::Error(within) => (Word::Error, within),
                    other => return self.note(call, Heard::Outcome(other)),
                };
                match self.assembler.begin(call, word, within, it.payload_bytes) {
                    Ok(Begun::Whole(word, payload)) => (call, Heard::Outcome(word(payload))),
                    Ok(Begun::Partial) => return,
                    Err(error) => panic!("{error}"),
                }
            }
            node_frame::Frame::Chunk(it) => {
                let call = key(&it.call_id);
                match self.assembler.chunk(call, &it.data).unwrap() {
                    Arrived::Whole(word, payload) => (call, Heard::Outcome(word(payload))),
                    Arrived::Partial { credit: 0 } | Arrived::Unknown => return,
                    Arrived::Partial { credit } => {
                        let credit = router_frame::Frame::Credit(Credit {
                            call_id: call.to_bytes(),
                            bytes: credit,
                        });
                        self.outbox.send(credit).unwrap();
                        return;
                    }
                }
            }
            node_frame::Frame::Moved(it) => (key(&it.call_id), Heard::Moved(it.to.unwrap())),
            node_frame::Frame::Credit(it) => return self.outbox.credit(key(&it.call_id), it.bytes),
            other => panic!("unexpected {other:?}"),
        };
        self.note(call, heard);
    }

    fn note(&mut self, call: CallKey, heard: Heard) {
        self.heard.entry(call).or_default().push(heard);
    }
}
