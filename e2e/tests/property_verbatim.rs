//! Arguments, results, ids and `_meta` of arbitrary JSON text come out byte-equal on the other
//! side, as JSON and as events, in both eras; line ends between tokens alone become blanks
//! (SPEC.md §5.8).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../core/testing/json.rs"]
mod json_texts;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clientmcp_core::limits::JSON_DEPTH;
use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::exchange::Request;
use clientmcp_e2e::raw_json::member;
use clientmcp_e2e::scenario::Scenario;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const CASES: u32 = 256;

/// What goes there and what comes back.
#[derive(Debug, Clone)]
struct Texts {
    id: String,
    arguments: String,
    /// A value of a member of `_meta` that nobody in between knows.
    meta: String,
    /// Likewise, of the result.
    result_meta: String,
    structured: String,
}

#[test]
fn what_passes_is_not_changed() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let answers = Arc::new(Mutex::new(String::new()));
    let seen = Arc::new(Mutex::new(String::new()));
    let (scenario, session, _app) = runtime.block_on(async {
        let scenario = Scenario::start().await;
        let (answers, seen) = (answers.clone(), seen.clone());
        let app = scenario.app(&["echo"]).await.serve(move |call| {
            lock(&seen).clone_from(&call.raw("params"));
            vec![call.result(&lock(&answers))]
        });
        let session = scenario.session(Version::V2025_11_25).await;
        (scenario, session, app)
    });

    let mut runner = TestRunner::new(Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    });
    let turn = std::cell::Cell::new(0);
    let outcome = runner.run(&texts(), |texts| {
        *lock(&answers) = texts.result();
        turn.set(turn.get() + 1);
        let router = scenario.router(turn.get());
        let params = format!(
            r#"{{"name":"echo","arguments":{},"_meta":{{"com.example/x":{}}}}}"#,
            texts.arguments, texts.meta
        );
        let legacy = session.request(&texts.id, "tools/call", &params);
        let stated = scenario
            .modern()
            .with_meta(&format!(r#""com.example/x":{}"#, texts.meta));
        let stated = stated.call(&texts.id, "echo", &texts.arguments);
        for (request, accept) in [
            (&legacy, "application/json"),
            (&legacy, "text/event-stream"),
            (&stated, "application/json"),
            (&stated, "text/event-stream"),
        ] {
            let answer = runtime.block_on(ask(request.clone().with("Accept", accept), router));
            prop_assert_eq!(answer.streamed, accept == "text/event-stream");
            texts.check(&lock(&seen), &answer)?;
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test]
async fn nesting_up_to_the_limit_passes_and_deeper_is_refused() {
    let scenario = Scenario::start().await;
    let _app = scenario.app(&["echo"]).await.serve(|call| {
        vec![call.result(&format!(
            r#"{{"content":[],"structuredContent":{}}}"#,
            call.arguments()
        ))]
    });
    let nested = |depth: usize| format!("{}0{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let session = scenario.session(Version::V2025_11_25).await;
    // The message and its params are two levels of their own.
    let deepest = nested(JSON_DEPTH - 2);
    for request in [
        session.call("1", "echo", &deepest),
        scenario.modern().call("1", "echo", &deepest),
    ] {
        let answer = ask(request, scenario.router(1)).await;
        let result = answer.raw_member("result").unwrap();
        assert_eq!(member(&result, "structuredContent"), Some(deepest.clone()));
    }
    let deeper = nested(JSON_DEPTH - 1);
    for request in [
        session.call("1", "echo", &deeper),
        scenario.modern().call("1", "echo", &deeper),
    ] {
        assert_eq!(
            ask(request, scenario.router(1)).await.error(),
            (400, -32600)
        );
    }
}

/// A case that failed must not fail those that follow, by which proptest makes it small.
fn lock(text: &Mutex<String>) -> MutexGuard<'_, String> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn ask(request: Request, router: std::net::SocketAddr) -> Answer {
    Answer::read(request.send(router).await).await
}

fn texts() -> impl Strategy<Value = Texts> {
    let id = prop_oneof![
        "-?[1-9][0-9]{0,40}",
        Just("0".to_owned()),
        json_texts::string(),
    ];
    (
        id,
        json_texts::object(),
        json_texts::value(),
        json_texts::value(),
        json_texts::object(),
    )
        .prop_map(|(id, arguments, meta, result_meta, structured)| Texts {
            id,
            arguments,
            meta,
            result_meta,
            structured,
        })
}

impl Texts {
    fn result(&self) -> String {
        format!(
            r#"{{"content":[],"structuredContent":{},"_meta":{{"com.example/y":{}}}}}"#,
            self.structured, self.result_meta
        )
    }

    fn check(&self, params: &str, answer: &Answer) -> Result<(), TestCaseError> {
        let expect = |object: &str, path: [&str; 2], text: &str| {
            let outer = member(object, path[0]).unwrap_or_default();
            let found = if path[1].is_empty() {
                Some(outer)
            } else {
                member(&outer, path[1])
            };
            prop_assert_eq!(
                found,
                Some(json_texts::normalised(text)),
                "{:?} of {}",
                path,
                object
            );
            Ok(())
        };
        expect(params, ["arguments", ""], &self.arguments)?;
        expect(params, ["_meta", "com.example/x"], &self.meta)?;

        prop_assert_eq!(answer.raw_member("id"), Some(self.id.clone()));
        let result = answer.raw_member("result").unwrap_or_default();
        prop_assert!(!result.is_empty(), "{:?}", answer.raw);
        expect(&result, ["structuredContent", ""], &self.structured)?;
        expect(&result, ["_meta", "com.example/y"], &self.result_meta)?;
        prop_assert!(
            !answer.raw.contains(&b'\r') && !answer.raw.contains(&b'\n'),
            "{:?}",
            answer.raw
        );
        Ok(())
    }
}
