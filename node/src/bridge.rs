//! The gRPC service: what routers, and other nodes, ask of this node.
//!
//! Every request names the run that it is meant for, and gets `NotHere` from any other. What a
//! router must tell apart stands in the answers; a gRPC status means that the transport or the
//! process failed.

mod answers;
mod describe;
mod sessions;
mod watch;

use std::pin::Pin;
use std::sync::Arc;

use clientmcp_core::claim::Epoch;
use clientmcp_core::ids::{ClientId, Incarnation, InstanceId, MemberId};
use clientmcp_proto::headers::{self, GRPC_MESSAGE_BYTES};
use clientmcp_proto::v1::bridge_server::{self, BridgeServer};
use clientmcp_proto::v1::{
    Accepted, AnswerRequest, AnswerResponse, AnswersEvent, AnswersRequest, AwaitAnswers,
    CancelRequestRequest, CancelRequestResponse, ChangeSessionRequest, ChangeSessionResponse,
    DescribeRequest, DescribeResponse, DisplaceRequest, DisplaceResponse, Elsewhere,
    EndSessionRequest, EndSessionResponse, HoldsRequest, HoldsResponse, IdentifyRequest,
    IdentifyResponse, NodeFrame, NotHere, RouterFrame, Target, TunnelFrame, WatchEvent,
    WatchRequest, displace_response, not_here, router_frame, tunnel_frame,
};
use futures_util::{Stream, StreamExt as _, stream};
use tonic::{Request, Response, Status, Streaming};

use crate::claims;
use crate::limits;
use crate::link;
use crate::registry::{Found, NewerHolder};
use crate::state::NodeState;
use crate::tunnels;

/// The service.
#[derive(Debug, Clone)]
pub(crate) struct Bridge {
    node: Arc<NodeState>,
}

/// Frames as tonic wants them.
type Frames = Pin<Box<dyn Stream<Item = Result<NodeFrame, Status>> + Send>>;
type TunnelFrames = Pin<Box<dyn Stream<Item = Result<TunnelFrame, Status>> + Send>>;
type AnswersEvents = Pin<Box<dyn Stream<Item = Result<AnswersEvent, Status>> + Send>>;
type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent, Status>> + Send>>;

impl Bridge {
    /// The service as it is served. Its caller has checked the cluster's key.
    pub(crate) fn server(node: Arc<NodeState>) -> BridgeServer<Self> {
        BridgeServer::new(Self { node })
            .max_decoding_message_size(GRPC_MESSAGE_BYTES)
            .max_encoding_message_size(GRPC_MESSAGE_BYTES)
    }

    /// Counts a request.
    fn count(&self, method: &str) {
        let requests = &self.node.metrics.requests;
        requests.with_label_values(&[method]).inc();
    }

    /// Whether a request is meant for this run.
    fn check(&self, target: Option<&Target>) -> Result<(), NotHere> {
        let is_me = |target: &Target| self.node.is_me(&target.node_id, target.incarnation);
        if target.is_some_and(is_me) {
            return Ok(());
        }
        Err(not_here(not_here::Why::OtherIncarnation))
    }
}

#[tonic::async_trait]
impl bridge_server::Bridge for Bridge {
    type LinkStream = Frames;
    type TrunkStream = TunnelFrames;
    type WatchStream = Events;
    type AnswersStream = AnswersEvents;

    async fn link(
        &self,
        request: Request<Streaming<RouterFrame>>,
    ) -> Result<Response<Frames>, Status> {
        self.count("link");
        let mut frames = request.into_inner();
        let first = first(&mut frames).await?.frame;
        let Some(router_frame::Frame::Hello(hello)) = first else {
            return Err(Status::invalid_argument("a link begins with Hello"));
        };
        let router = headers::router_run(&hello.router_id, hello.router_incarnation);
        if self.check(hello.target.as_ref()).is_err() {
            // Welcome says who is here, and the link ends.
            let welcome = Ok(link::welcome(&self.node).into());
            return Ok(Response::new(Box::pin(stream::iter([welcome]))));
        }
        let (frames, reading) = link::serve(self.node.clone(), router, frames);
        tokio::spawn(reading);
        Ok(Response::new(Box::pin(frames.map(Ok))))
    }

    async fn trunk(
        &self,
        request: Request<Streaming<TunnelFrame>>,
    ) -> Result<Response<TunnelFrames>, Status> {
        self.count("trunk");
        let mut frames = request.into_inner();
        let first = first(&mut frames).await?.frame;
        let Some(tunnel_frame::Frame::Hello(hello)) = first else {
            return Err(Status::invalid_argument("a trunk begins with Hello"));
        };
        let router = headers::router_run(&hello.router_id, hello.router_incarnation);
        if self.check(hello.target.as_ref()).is_err() {
            // Welcome says who is here, and the trunk ends.
            let welcome = Ok(TunnelFrame {
                tunnel: 0,
                frame: Some(tunnels::welcome(&self.node)),
            });
            return Ok(Response::new(Box::pin(stream::iter([welcome]))));
        }
        let (frames, reading) = tunnels::serve(self.node.clone(), router, frames);
        tokio::spawn(reading);
        Ok(Response::new(Box::pin(frames.map(Ok))))
    }

    async fn describe(
        &self,
        request: Request<DescribeRequest>,
    ) -> Result<Response<DescribeResponse>, Status> {
        self.count("describe");
        let request = request.into_inner();
        let answer = match self.check(request.target.as_ref()) {
            Ok(()) => describe::describe(&self.node, &request).await?,
            Err(not_here) => describe::elsewhere(not_here),
        };
        Ok(Response::new(answer))
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Events>, Status> {
        self.count("watch");
        let request = request.into_inner();
        let events = match self.check(request.target.as_ref()) {
            Ok(()) => watch::watch(self.node.clone(), &request)?,
            Err(not_here) => watch::elsewhere(not_here),
        };
        Ok(Response::new(events))
    }

    async fn cancel_request(
        &self,
        request: Request<CancelRequestRequest>,
    ) -> Result<Response<CancelRequestResponse>, Status> {
        self.count("cancel_request");
        let request = request.into_inner();
        let checked = self.check(request.target.as_ref());
        let answer = sessions::cancel_request(&self.node, checked, request).await?;
        Ok(Response::new(answer))
    }

    async fn change_session(
        &self,
        request: Request<ChangeSessionRequest>,
    ) -> Result<Response<ChangeSessionResponse>, Status> {
        self.count("change_session");
        let request = request.into_inner();
        let checked = self.check(request.target.as_ref());
        let answer = sessions::change_session(&self.node, checked, request).await?;
        Ok(Response::new(answer))
    }

    async fn end_session(
        &self,
        request: Request<EndSessionRequest>,
    ) -> Result<Response<EndSessionResponse>, Status> {
        self.count("end_session");
        let request = request.into_inner();
        let checked = self.check(request.target.as_ref());
        let answer = sessions::end_session(&self.node, checked, request).await?;
        Ok(Response::new(answer))
    }

    async fn answer(
        &self,
        request: Request<AnswerRequest>,
    ) -> Result<Response<AnswerResponse>, Status> {
        self.count("answer");
        let request = request.into_inner();
        let checked = self.check(request.target.as_ref());
        let answer = answers::answer(&self.node, checked, request).await?;
        Ok(Response::new(answer))
    }

    async fn answers(
        &self,
        request: Request<Streaming<AnswersRequest>>,
    ) -> Result<Response<AnswersEvents>, Status> {
        self.count("answers");
        let check = |request: &AwaitAnswers| self.check(request.target.as_ref());
        let events = answers::answers(self.node.clone(), check, request.into_inner()).await?;
        Ok(Response::new(events))
    }

    async fn displace(
        &self,
        request: Request<DisplaceRequest>,
    ) -> Result<Response<DisplaceResponse>, Status> {
        self.count("displace");
        let request = request.into_inner();
        let outcome = match self.check(request.target.as_ref()) {
            Ok(()) => self.displaced(&request)?,
            Err(not_here) => displace_response::Outcome::NotHere(not_here),
        };
        Ok(Response::new(DisplaceResponse {
            outcome: Some(outcome),
        }))
    }

    async fn holds(
        &self,
        request: Request<HoldsRequest>,
    ) -> Result<Response<HoldsResponse>, Status> {
        self.count("holds");
        let request = request.into_inner();
        let client_id = client_id(&request.client_id)?;
        let is_meant = self.check(request.target.as_ref()).is_ok();
        let found = self.node.registry.find(&client_id, None);
        let epoch = match found {
            // Of what a paused node holds it says nothing before it has read it again.
            Found::Here(holding) if is_meant && !self.node.is_fenced() => holding.claim.epoch,
            _ => Epoch(0),
        };
        Ok(Response::new(HoldsResponse { epoch: epoch.0 }))
    }

    async fn identify(
        &self,
        request: Request<IdentifyRequest>,
    ) -> Result<Response<IdentifyResponse>, Status> {
        self.count("identify");
        let ask_store = request.into_inner().ask_store;
        let store_answers =
            self.node.membership.store_answers() && (!ask_store || self.node.has_store().await);
        Ok(Response::new(IdentifyResponse {
            node_id: self.node.member_id.to_string(),
            incarnation: self.node.incarnation.0,
            ready: !self.node.draining.is_cancelled(),
            store_answers,
        }))
    }
}

impl Bridge {
    fn displaced(&self, request: &DisplaceRequest) -> Result<displace_response::Outcome, Status> {
        let client_id = client_id(&request.client_id)?;
        let unreadable = |_| Status::invalid_argument("the newer holder cannot be read");
        let by = NewerHolder {
            node: MemberId::parse(&request.node_id).map_err(unreadable)?,
            incarnation: Incarnation(request.incarnation),
            epoch: Epoch(request.epoch),
            instance: InstanceId::parse(&request.instance).map_err(unreadable)?,
            connection: request.connection,
            address: request.address.clone(),
        };
        let newer = claims::displace_here(&self.node, &client_id, &by);
        Ok(match newer {
            None => displace_response::Outcome::Displaced(Accepted {}),
            Some(epoch) => displace_response::Outcome::Newer(Elsewhere {
                node_id: self.node.member_id.to_string(),
                incarnation: self.node.incarnation.0,
                epoch: epoch.0,
                address: String::new(),
            }),
        })
    }
}

/// The first frame of a stream, which must not keep this node waiting.
async fn first<F>(frames: &mut Streaming<F>) -> Result<F, Status> {
    let first = tokio::time::timeout(limits::HELLO_TIMEOUT, frames.message());
    let first = first
        .await
        .map_err(|_| Status::deadline_exceeded("no Hello came"))??;
    first.ok_or_else(|| Status::invalid_argument("no Hello came"))
}

fn client_id(text: &str) -> Result<ClientId, Status> {
    ClientId::parse(text).map_err(|error| Status::invalid_argument(error.to_string()))
}

/// The runs of nodes that a router cannot reach.
pub(crate) fn unreachable(targets: &[Target]) -> Vec<(MemberId, Incarnation)> {
    let run = |target: &Target| {
        let node = MemberId::parse(&target.node_id).ok()?;
        Some((node, Incarnation(target.incarnation)))
    };
    targets.iter().filter_map(run).collect()
}

/// The session of a request, where it has one.
fn session(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn not_here(why: not_here::Why) -> NotHere {
    NotHere { why: why.into() }
}
