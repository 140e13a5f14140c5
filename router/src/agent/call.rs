//! What goes to the app, in both eras.

use std::sync::Arc;

use clientmcp_core::mcp::call;
use clientmcp_core::mcp::request::Request;

use super::Asking;
use crate::order::Order;

/// What a request asks of the app. It is checked against the registration of the moment at which
/// it is sent.
pub(super) fn of(asking: &Asking, request: &Arc<Request>) -> Arc<Order> {
    let headers = asking.headers.clone();
    let check = Box::new(move |request: &Request, offer: &_| call::check(request, &headers, offer));
    let share = asking.share.clone();
    Order::new(
        &asking.gateway,
        &asking.grant,
        request.clone(),
        check,
        share,
    )
}
