//! The agent's side: MCP over HTTP in both eras, as pure functions (SPEC.md §5 to §9).
//!
//! # How a request passes through
//!
//! A router does the I/O between these steps; each refusal is an [`error::RpcError`], which has
//! the HTTP status, the headers and the body of its response.
//!
//! 1. [`origin::OriginPolicy::check`]: Host and Origin. Its [`origin::AllowedOrigin`] goes into
//!    [`cors::decorate`] for every response, errors among them; [`cors::preflight`] answers
//!    OPTIONS. Other HTTP methods than [`cors::ALLOW`] lists are
//!    [`error::RpcError::method_not_allowed`].
//! 2. The token: [`crate::token::Verifier`] gives the [`crate::token::CallGrant`] that the
//!    following steps ask for; [`error::RpcError::unauthorized`], [`error::RpcError::forbidden`].
//! 3. GET: [`legacy::open_stream`]. DELETE: [`legacy::end`]. Both give the session.
//! 4. POST: [`accept::check_content_type`], [`accept::Accept::read`], the body within
//!    [`crate::limits::REQUEST_BODY_BYTES`] ([`error::RpcError::too_large`]).
//! 5. [`inbound::receive`] parses the body, decides the era ([`era`]) and makes the checks of the
//!    era that need no registration ([`modern`], [`legacy`]). What is to be done is an
//!    [`inbound::Inbound`].
//! 6. `initialize`: [`local::initialize`] is the result, [`session::SessionKeys::mint`] the
//!    session ID.
//! 7. A [`request::Request`] needs the app's registration as an [`offer::Offer`]. What a router
//!    answers by itself is [`local::answer`]. Else it is
//!    - a call: [`call::check`] admits it, [`request::Request::context`] is what the app is told
//!      of the agent; `params.raw` goes to the app.
//!    - what changes its session: [`legacy::session_change`].
//!    - `subscriptions/listen`: [`listen::Filter::honoured`], then
//!      [`notification::acknowledged`], [`notification::list_changed`] and
//!      [`notification::resource_updated`] on the stream, and
//!      [`notification::subscription_ended`] at its end.
//! 8. While a call runs: [`notification::progress`], [`notification::log`]. If the app asks a
//!    legacy agent for input: [`rounds::Rounds`].
//! 9. The answer: [`result::respond`] for any result, the app's or one of ours;
//!    [`app_error::respond`] for the app's error; an [`outcome::Failure`] where there is none. The text of a response or notification is the
//!    body of a JSON response, or the data of an event ([`sse`]). A batch's responses go into
//!    [`body::batch`].

pub mod accept;
pub mod app_error;
mod authority;
pub mod body;
pub mod call;
pub mod capability;
mod convert;
pub mod cors;
pub mod era;
pub mod error;
#[cfg(test)]
mod fixture;
pub mod header;
pub mod inbound;
pub mod legacy;
mod list;
pub mod listen;
pub mod local;
pub mod message;
pub mod meta;
pub mod method;
mod mirror;
pub mod modern;
pub mod notification;
pub mod offer;
pub mod origin;
pub mod outcome;
pub mod params;
pub mod request;
pub mod result;
pub mod rounds;
mod sentinel;
pub mod session;
mod splice;
pub mod sse;
pub mod task;
pub mod version;
