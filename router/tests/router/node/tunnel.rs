//! The tunnels' side of a scripted node.

use std::sync::Arc;

use bytes::Bytes;
use clientmcp_proto::headers::router_run;
use clientmcp_proto::tunnel::{Drain, Receiver, Sender, Trunk, trunk};
use clientmcp_proto::v1::{self, Header, TunnelAnswer, TunnelFrame, tunnel_frame};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tonic::{Status, Streaming};

use super::State;

/// A tunnel that was opened.
pub(crate) struct FakeTunnel {
    /// What the router passed on.
    pub(crate) headers: http::HeaderMap,
    /// The router that it comes through.
    pub(crate) router: String,
    pub(crate) stream: DuplexStream,
}

pub(super) async fn serve(
    state: &Arc<State>,
    mut frames: Streaming<TunnelFrame>,
) -> Result<Drain, Status> {
    let first = frames.message().await?.and_then(|frame| frame.frame);
    let Some(tunnel_frame::Frame::Hello(hello)) = first else {
        return Err(Status::invalid_argument("no hello"));
    };
    assert_eq!(
        hello.target.unwrap().incarnation,
        state.member.incarnation.0
    );
    let router = router_run(&hello.router_id, hello.router_incarnation);
    let (trunk, drain) = trunk();
    trunk.introduce(tunnel_frame::Frame::Welcome(v1::Welcome {
        node_id: state.member.id.to_string(),
        incarnation: state.member.incarnation.0,
    }));
    let state = state.clone();
    tokio::spawn(async move {
        while let Ok(Some(frame)) = frames.message().await {
            if let Some((number, open)) = trunk.handle(frame).unwrap() {
                answer(&state, &trunk, &router, number, open.headers);
            }
        }
        trunk.lose();
    });
    Ok(drain)
}

fn answer(state: &State, trunk: &Trunk, router: &str, number: u64, headers: Vec<Header>) {
    let refuse = state.script.lock().unwrap().refuse_tunnels;
    if let Some(status) = refuse {
        let status = status.into();
        let headers = Vec::new();
        return trunk.answer(number, TunnelAnswer { status, headers });
    }
    let (receiver, sender) = trunk.accept(number).unwrap();
    let header = |name: &str, value: &'static str| Header {
        name: name.to_owned(),
        value: value.into(),
    };
    let answer = TunnelAnswer {
        status: 101,
        headers: vec![
            header("upgrade", "websocket"),
            header("connection", "upgrade"),
            header("sec-websocket-accept", "made by the node"),
            header("sec-websocket-protocol", "clientmcp.v1"),
        ],
    };
    trunk.answer(number, answer);
    let (near, far) = tokio::io::duplex(64 * 1024);
    tokio::spawn(pump(far, receiver, sender));
    let headers = headers.into_iter().map(|header| {
        let name = http::HeaderName::try_from(header.name).unwrap();
        (name, http::HeaderValue::from_bytes(&header.value).unwrap())
    });
    let mut shown = http::HeaderMap::new();
    for (name, value) in headers {
        shown.append(name, value);
    }
    let _ = state.tunnels.send(FakeTunnel {
        headers: shown,
        router: router.to_owned(),
        stream: near,
    });
}

/// Until both sides have ended, or the node is lost.
async fn pump(stream: DuplexStream, mut receiver: Receiver, mut sender: Sender) {
    let (mut reads, mut writes) = tokio::io::split(stream);
    let inwards = async {
        while let Ok(Some(chunks)) = receiver.recv().await {
            for chunk in chunks {
                if writes.write_all(&chunk).await.is_err() {
                    return;
                }
                receiver.took(chunk.len());
            }
        }
        let _ = writes.shutdown().await;
    };
    let outwards = async {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(room) = sender.ready().await {
            match reads.read(&mut buffer[..room]).await {
                Ok(read @ 1..) => sender.send(Bytes::copy_from_slice(&buffer[..read])),
                _ => return sender.finish(),
            }
        }
    };
    tokio::join!(inwards, outwards);
}
