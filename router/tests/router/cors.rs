//! Agents in web pages (SPEC.md §9.4).

use crate::harness::{Cluster, Request, agent_token};
use crate::http_client::Answer;

const PAGE: &str = "https://app.example.com";

async fn cluster(nodes: usize) -> Cluster {
    Cluster::with(nodes, |config| {
        config.allowed_origins = vec![PAGE.to_owned()];
    })
    .await
}

fn assert_readable(answer: &Answer, status: u16) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
    assert_eq!(
        answer.header("access-control-expose-headers"),
        Some("Mcp-Session-Id, WWW-Authenticate, Retry-After")
    );
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    assert!(vary(answer).contains(&"origin".to_owned()));
}

fn vary(answer: &Answer) -> Vec<String> {
    let values = answer.headers.iter().filter(|(name, _)| name == "vary");
    values
        .flat_map(|(_, value)| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect()
}

#[tokio::test]
async fn a_preflight_needs_no_token_and_allows_what_was_asked_for() {
    let cluster = cluster(1).await;
    let asked = "content-type,authorization,accept,mcp-protocol-version,mcp-session-id,\
                 mcp-method,mcp-name,last-event-id,mcp-param-region";
    for path in ["/mcp", "/mcp/", "/v1/locate"] {
        let request = Request::new("OPTIONS", path)
            .header("Origin", PAGE)
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", asked);
        let answer = cluster.send(&request).await;
        assert_readable(&answer, 204);
        let allowed = answer.header("access-control-allow-headers").unwrap();
        for name in asked.split(',') {
            assert!(
                allowed.contains(name.trim()),
                "{name} is missing in {allowed}"
            );
        }
        let methods = answer.header("access-control-allow-methods").unwrap();
        for method in ["GET", "POST", "DELETE"] {
            assert!(methods.contains(method));
        }
        let vary = vary(&answer);
        assert_eq!(vary.iter().filter(|name| *name == "origin").count(), 1);
    }
}

#[tokio::test]
async fn every_answer_to_a_page_can_be_read_by_it() {
    let cluster = cluster(1).await;
    let page = |request: Request| request.header("Origin", PAGE);
    let list = Request::modern("1", "tools/list", "");
    assert_readable(&cluster.send(&page(list.clone())).await, 200);
    let initialized = cluster.send(&page(Request::initialize("2025-11-25"))).await;
    assert_readable(&initialized, 200);
    let session = initialized.header("mcp-session-id").unwrap();
    let challenged = cluster
        .send(&page(list.clone().without("authorization")))
        .await;
    assert_readable(&challenged, 401);
    assert_readable(&cluster.send(&page(list.clone().at("/nowhere"))).await, 404);
    assert_readable(&cluster.send(&page(Request::legacy("x", "{}"))).await, 400);
    let too_large = Request::post("").header("Content-Length", "99999999");
    assert_readable(&cluster.send(&page(too_large)).await, 413);
    let delete = Request::new("DELETE", "/mcp")
        .header("Authorization", &format!("Bearer {}", agent_token()))
        .header("Mcp-Session-Id", session);
    assert_readable(&cluster.send(&page(delete.clone())).await, 204);
    assert_readable(&cluster.send(&page(delete)).await, 404);
}

#[tokio::test]
async fn an_answer_without_nodes_can_be_read_too() {
    let cluster = cluster(0).await;
    let request = Request::modern("1", "tools/list", "").header("Origin", PAGE);
    let answer = cluster.send(&request).await;
    assert_readable(&answer, 503);
    assert!(answer.header("retry-after").is_some());
}

#[tokio::test]
async fn foreign_pages_get_nothing() {
    let cluster = cluster(1).await;
    for origin in ["https://evil.example.com", "null"] {
        for request in [
            Request::new("OPTIONS", "/mcp").header("Access-Control-Request-Method", "POST"),
            Request::modern("1", "tools/list", ""),
        ] {
            let answer = cluster.send(&request.header("Origin", origin)).await;
            assert_eq!(answer.status, 403, "{origin}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
            assert!(vary(&answer).contains(&"origin".to_owned()));
        }
    }
    // Whoever is no page gets no CORS headers, but a cache is told.
    let answer = cluster.send(&Request::modern("1", "tools/list", "")).await;
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert!(vary(&answer).contains(&"origin".to_owned()));
}
