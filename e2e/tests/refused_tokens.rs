//! Wrong tokens are refused at the edge: by status over HTTP, by close code over WebSocket; no
//! node and no store hears of them (SPEC.md §3.4, §4.1).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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
    Operation::NoteSession,
    Operation::Sessions,
];

/// What a node counts when anybody wants something of it. Links and probes are the processes' own.
const NODE_METRICS: [&str; 9] = [
    r#"clientmcp_node_requests_total{method="describe""#,
    "clientmcp_node_calls_total",
    "clientmcp_node_registers_total",
    "clientmcp_node_refused_sockets_total",
    r#"clientmcp_node_requests_total{method="watch""#,
    r#"clientmcp_node_requests_total{method="cancel_request""#,
    r#"clientmcp_node_requests_total{method="change_session""#,
    r#"clientmcp_node_requests_total{method="end_session""#,
    r#"clientmcp_node_requests_total{method="displace""#,
];

#[tokio::test]
async fn wrong_tokens_of_agents_reach_neither_node_nor_store() {
    let scenario = Scenario::start().await;
    let heard = Heard::so_far(&scenario).await;
    for (name, token, status) in wrong_tokens(
        &scenario.tokens,
        "clientmcp:call",
        scenario.tokens.app(CLIENT),
    ) {
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
        bare.clone()
            .with("Authorization", scenario.tokens.agent(CLIENT)),
        bare.clone().without("Authorization").at(&format!(
            "/mcp?access_token={}",
            scenario.tokens.agent(CLIENT)
        )),
        bare.with(
            "Authorization",
            format!("Bearer {0}, Bearer {0}", scenario.tokens.agent(CLIENT)),
        ),
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
    for (name, token, status) in wrong_tokens(
        &scenario.tokens,
        "clientmcp:serve",
        scenario.tokens.agent(CLIENT),
    ) {
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
                    assert!(
                        token.is_empty() || !reason.contains(&token),
                        "{name}: {reason}"
                    );
                }
                other @ Incoming::Message(_) => panic!("{name}: {other:?}"),
            }
        }
    }
    for subprotocols in [
        vec!["clientmcp.v1"],
        vec!["clientmcp.v1", "clientmcp.token.a", "clientmcp.token.b"],
    ] {
        let mut app = RawApp::offer(scenario.router(0), &subprotocols)
            .await
            .expect("the upgrade is accepted");
        assert!(
            matches!(app.next().await, Incoming::Closed(4401, _)),
            "{subprotocols:?}"
        );
    }
    heard.expect_no_more(&scenario).await;
}

#[tokio::test]
async fn the_session_of_another_client_reaches_neither_node_nor_store() {
    let scenario = Scenario::start().await;
    let theirs = Session::begin(
        scenario.router(0),
        &scenario.tokens.agent("theirs"),
        Version::V2025_11_25,
    )
    .await;
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
            let response = request
                .clone()
                .with("Authorization", &bearer)
                .send(scenario.router(index))
                .await;
            assert_eq!(response.status, 404, "{request:?}");
        }
    }
    heard.expect_no_more(&scenario).await;
    // It was not ended by that.
    theirs.ask(scenario.router(1), "ping", "{}").await;
}

/// What is wrong with a token, the token, the status with which it is refused.
type Wrong = (&'static str, String, u16);

/// Tokens that are refused; `other_scope` is good but for something else.
fn wrong_tokens(tokens: &Tokens, scope: &str, other_scope: String) -> Vec<Wrong> {
    let mut wrong = wrong_signatures(tokens, scope);
    wrong.extend(wrong_claims(tokens, scope));
    wrong.push(("wrong scope", other_scope, 403));
    wrong
}

fn wrong_signatures(tokens: &Tokens, scope: &str) -> Vec<Wrong> {
    let stranger = Tokens::new("another secret that this cluster does not know");
    let claims = claims(scope, &format!(r#","exp":{}"#, now_s() + 600));
    let header = |alg: &str| format!(r#"{{"alg":"{alg}","typ":"JWT"}}"#);
    let signed = |alg: &str| tokens.signed(&header(alg), &claims);
    let without_signature = |alg: &str| signed(alg).rsplit_once('.').unwrap().0.to_owned();
    let mut changed = signed("HS256");
    let at = changed.len() - 5;
    let other = if changed[at..].starts_with('A') {
        "B"
    } else {
        "A"
    };
    changed.replace_range(at..=at, other);
    vec![
        ("empty", String::new(), 401),
        ("no JWT", "x.y.z".to_owned(), 401),
        ("bad signature", changed, 401),
        ("no signature", without_signature("HS256"), 401),
        (
            "foreign secret",
            stranger.signed(&header("HS256"), &claims),
            401,
        ),
        ("alg none", signed("none"), 401),
        (
            "alg none, no signature",
            without_signature("none") + ".",
            401,
        ),
        ("alg RS256", signed("RS256"), 401),
        ("alg HS512", signed("HS512"), 401),
    ]
}

fn wrong_claims(tokens: &Tokens, scope: &str) -> Vec<Wrong> {
    let (past, future, later) = (now_s() - 60, now_s() + 600, now_s() + 60);
    let valid = claims(scope, &format!(r#","exp":{future}"#));
    let not_yet = claims(scope, &format!(r#","exp":{future},"nbf":{later}"#));
    let expired = claims(scope, &format!(r#","exp":{past}"#));
    let no_sub = format!(r#"{{"scope":"{scope}","exp":{future}}}"#);
    let no_scope = format!(r#"{{"sub":"{CLIENT}","exp":{future}}}"#);
    let texts = [
        ("expired", expired, 401),
        ("not yet valid", not_yet, 401),
        ("no exp", claims(scope, ""), 401),
        (
            "exp of another type",
            claims(scope, r#","exp":"tomorrow""#),
            401,
        ),
        ("no sub", no_sub, 401),
        ("sub is no client ID", valid.replace(CLIENT, "a/b"), 401),
        ("no scope", no_scope, 401),
        ("empty scope", valid.replace(scope, ""), 403),
        (
            "nearly the scope",
            valid.replace(scope, &format!("{scope}x")),
            403,
        ),
    ];
    let signed = texts.map(|(wrong, claims, status)| {
        (wrong, tokens.signed(r#"{"alg":"HS256"}"#, &claims), status)
    });
    let beyond_leeway = tokens.ending_in(CLIENT, Scope::Call, -6);
    let mut wrong = signed.to_vec();
    wrong.push(("just expired", beyond_leeway, 401));
    wrong
}

fn claims(scope: &str, more: &str) -> String {
    format!(r#"{{"sub":"{CLIENT}","scope":"{scope}"{more}}}"#)
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
        modern.request(
            "1",
            "subscriptions/listen",
            r#"{"notifications":{"toolsListChanged":true}}"#,
        ),
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
        let store = WORK
            .iter()
            .map(|operation| scenario.store.calls(*operation))
            .collect();
        let mut nodes = Vec::new();
        for metric in NODE_METRICS {
            nodes.push(scenario.of_nodes(metric).await);
        }
        Self { store, nodes }
    }

    /// Fails if there was more since, or if good tokens would have gone unnoticed too.
    async fn expect_no_more(self, scenario: &Scenario) {
        assert_eq!(
            Self::so_far(scenario).await,
            self,
            "{WORK:?} {NODE_METRICS:?}"
        );
        let _app = scenario.echo().await;
        assert_eq!(
            scenario
                .modern()
                .use_tool(scenario.router(1), "echo", "{}")
                .await
                .text(),
            "{}"
        );
        let now = Self::so_far(scenario).await;
        assert!(
            now.store > self.store && (0..3).all(|metric| now.nodes[metric] > self.nodes[metric]),
            "{now:?} {self:?}"
        );
    }
}
