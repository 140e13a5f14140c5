//! Wrong tokens are refused at the edge: by status over HTTP, by close code over WebSocket; no
//! node and no store hears of them (SPEC.md §3.4, §4.1).

use clientmcp_cluster::store::faulty::Operation;
use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::exchange::{Request, Response};
use clientmcp_e2e::raw_app::{Incoming, RawApp};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::session::{self, Session};
use clientmcp_e2e::tokens::{Scope, Tokens, now_s};
use http::Method;

/// What is asked of the store for somebody; the rest is how the cluster keeps itself.
const WORK: [Operation; 12] = [
    Operation::Join,
    Operation::Leave,
    Operation::Claim,
    Operation::Update,
    Operation::Restore,
    Operation::Release,
    Operation::Record,
    Operation::PutContent,
    Operation::TouchContent,
    Operation::Content,
    Operation::EndSession,
    Operation::EndedSessions,
];

/// What a node counts when anybody wants something of it.
const NODE_METRICS: [&str; 4] = [
    "clientmcp_node_requests_total",
    "clientmcp_node_calls_total",
    "clientmcp_node_registers_total",
    "clientmcp_node_refused_sockets_total",
];

#[tokio::test]
async fn wrong_tokens_of_agents_reach_neither_node_nor_store() {
    let scenario = Scenario::start().await;
    let heard = Heard::so_far(&scenario).await;
    for (name, token, status) in wrong_tokens(&scenario.tokens, "clientmcp:call", scenario.tokens.app(CLIENT)) {
        for request in requests_with(&token) {
            for index in 0..3 {
                let response = request.send(scenario.router(index)).await;
                assert_eq!(response.status, status, "{name}: {request:?}");
                expect_refusal(response, &token).await;
            }
        }
    }
    let bare = session::initialize("", "2025-11-25");
    for request in [
        bare.clone().without("Authorization"),
        bare.clone().with("Authorization", "Basic dXNlcjpwYXNz"),
        bare.clone().with("Authorization", "Bearer"),
        bare.clone().with("Authorization", scenario.tokens.agent(CLIENT)),
        bare.clone().without("Authorization").at(&format!("/mcp?access_token={}", scenario.tokens.agent(CLIENT))),
        bare.with("Authorization", format!("Bearer {0}, Bearer {0}", scenario.tokens.agent(CLIENT))),
    ] {
        let response = request.send(scenario.router(0)).await;
        assert_eq!(response.status, 401, "{request:?}");
        expect_refusal(response, "").await;
    }
    heard.expect_no_more(&scenario).await;
}

#[tokio::test]
async fn wrong_tokens_of_apps_reach_neither_node_nor_store() {
    let scenario = Scenario::start().await;
    let heard = Heard::so_far(&scenario).await;
    for (name, token, status) in wrong_tokens(&scenario.tokens, "clientmcp:serve", scenario.tokens.agent(CLIENT)) {
        let code = match status {
            401 => 4401,
            _ => 4403,
        };
        for index in 0..3 {
            let mut app = RawApp::connect(scenario.router(index), &token).await;
            match app.next().await {
                Incoming::Closed(closed, reason) => {
                    assert_eq!(closed, code, "{name}: {reason}");
                    assert!(!reason.is_empty(), "{name}");
                    assert!(token.is_empty() || !reason.contains(&token), "{name}: {reason}");
                }
                other @ Incoming::Message(_) => panic!("{name}: {other:?}"),
            }
        }
    }
    for subprotocols in [vec!["clientmcp.v1"], vec!["clientmcp.v1", "clientmcp.token.a", "clientmcp.token.b"]] {
        let mut app = RawApp::offer(scenario.router(0), &subprotocols).await.expect("the upgrade is accepted");
        assert!(matches!(app.next().await, Incoming::Closed(4401, _)), "{subprotocols:?}");
    }
    heard.expect_no_more(&scenario).await;
}

#[tokio::test]
async fn the_session_of_another_client_reaches_neither_node_nor_store() {
    let scenario = Scenario::start().await;
    let theirs = Session::begin(scenario.router(0), &scenario.tokens.agent("theirs"), Version::V2025_11_25).await;
    let heard = Heard::so_far(&scenario).await;
    let bearer = format!("Bearer {}", scenario.tokens.agent(CLIENT));
    for request in [
        theirs.call("1", "echo", "{}"),
        theirs.request("1", "tools/list", "{}"),
        theirs.notification("notifications/cancelled", r#"{"requestId":1}"#),
        theirs.stream(),
        theirs.end(),
    ] {
        for index in 0..3 {
            let response = request.clone().with("Authorization", &bearer).send(scenario.router(index)).await;
            assert_eq!(response.status, 404, "{request:?}");
        }
    }
    heard.expect_no_more(&scenario).await;
    // It was not ended by that.
    theirs.ask(scenario.router(1), "ping", "{}").await;
}

/// Tokens that are refused with a status; `other_scope` is good but for something else.
fn wrong_tokens(tokens: &Tokens, scope: &str, other_scope: String) -> Vec<(&'static str, String, u16)> {
    let (past, future) = (now_s() - 60, now_s() + 600);
    let hs256 = r#"{"alg":"HS256","typ":"JWT"}"#;
    let claims = |more: &str| format!(r#"{{"sub":"{CLIENT}","scope":"{scope}"{more}}}"#);
    let valid = claims(&format!(r#","exp":{future}"#));
    let signed = |claims: &str| tokens.signed(hs256, claims);
    let good = signed(&valid);
    let unsigned = good.rsplit_once('.').map_or("", |(content, _)| content);
    let stranger = Tokens::new("another secret that this cluster does not know");
    let mut bad_signature = good.clone();
    bad_signature.replace_range(good.len() - 3..good.len() - 2, if good.ends_with('A') { "B" } else { "-" });
    vec![
        ("empty", String::new(), 401),
        ("no JWT", "x.y.z".to_owned(), 401),
        ("bad signature", bad_signature, 401),
        ("no signature", unsigned.to_owned(), 401),
        ("foreign secret", stranger.signed(hs256, &valid), 401),
        ("alg none", tokens.signed(r#"{"alg":"none"}"#, &valid), 401),
        ("alg none, no signature", format!("{}.", tokens.signed(r#"{"alg":"none"}"#, &valid).rsplit_once('.').map_or("", |(c, _)| c)), 401),
        ("alg RS256", tokens.signed(r#"{"alg":"RS256"}"#, &valid), 401),
        ("alg HS512", tokens.signed(r#"{"alg":"HS512"}"#, &valid), 401),
        ("expired", signed(&claims(&format!(r#","exp":{past}"#))), 401),
        ("not yet valid", signed(&claims(&format!(r#","exp":{future},"nbf":{}"#, now_s() + 60))), 401),
        ("no exp", signed(&claims("")), 401),
        ("exp of another type", signed(&claims(r#","exp":"tomorrow""#)), 401),
        ("no sub", signed(&format!(r#"{{"scope":"{scope}","exp":{future}}}"#)), 401),
        ("sub is no client ID", signed(&valid.replace(CLIENT, "a/b")), 401),
        ("no scope", signed(&format!(r#"{{"sub":"{CLIENT}","exp":{future}}}"#)), 401),
        ("just expired", tokens.ending_in(CLIENT, Scope::Call, -6), 401),
        ("wrong scope", other_scope, 403),
        ("empty scope", signed(&valid.replace(scope, "")), 403),
        ("nearly the scope", signed(&valid.replace(scope, &format!("{scope}x"))), 403),
    ]
}

/// Whatever can be asked with a token.
fn requests_with(token: &str) -> Vec<Request> {
    let modern = clientmcp_e2e::modern::Modern::new(token.to_owned());
    let bearer = format!("Bearer {token}");
    let bare = |method: Method| Request::new(method, "/mcp").with("Authorization", &bearer);
    vec![
        session::initialize(token, "2025-11-25"),
        modern.call("1", "echo", "{}"),
        modern.request("1", "server/discover", "{}"),
        modern.request("1", "subscriptions/listen", r#"{"notifications":{"toolsListChanged":true}}"#),
        modern.notification("notifications/cancelled", "{}"),
        bare(Method::GET).with("Mcp-Session-Id", "x"),
        bare(Method::DELETE).with("Mcp-Session-Id", "x"),
        // An array does not get around it, nor does a body that cannot be read.
        modern.post(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#),
        modern.post("x"),
        modern.call("1", "echo", "{}").at("/mcp/"),
    ]
}

async fn expect_refusal(response: Response, token: &str) {
    let challenge = response.header("www-authenticate").map(str::to_owned);
    if response.status == 401 {
        assert!(challenge.is_some_and(|challenge| challenge.starts_with("Bearer")));
    }
    assert_eq!(response.header("content-type"), Some("application/json"));
    let body = response.bytes().await;
    let body = std::str::from_utf8(&body).unwrap();
    assert!(body.contains(r#""code":40"#), "{body}");
    assert!(token.is_empty() || !body.contains(token), "{body}");
}

/// What nodes and store had heard at one moment.
#[derive(Debug, PartialEq)]
struct Heard {
    store: Vec<usize>,
    nodes: Vec<f64>,
}

impl Heard {
    async fn so_far(scenario: &Scenario) -> Self {
        let store = WORK.iter().map(|operation| scenario.store.calls(*operation)).collect();
        let mut nodes = Vec::new();
        for metric in NODE_METRICS {
            nodes.push(scenario.of_nodes(metric).await);
        }
        Self { store, nodes }
    }

    /// Fails if there was more since, or if good tokens would have gone unnoticed too.
    async fn expect_no_more(self, scenario: &Scenario) {
        assert_eq!(Self::so_far(scenario).await, self, "{WORK:?} {NODE_METRICS:?}");
        let _app = scenario.echo().await;
        assert_eq!(scenario.modern().use_tool(scenario.router(1), "echo", "{}").await.text(), "{}");
        let now = Self::so_far(scenario).await;
        assert!(now.store > self.store && (0..3).all(|metric| now.nodes[metric] > self.nodes[metric]), "{now:?} {self:?}");
    }
}
