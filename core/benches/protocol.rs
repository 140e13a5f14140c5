//! What the protocol costs: envelopes, registrations, tokens, the tool index, one call through a
//! channel. `cargo bench -p clientmcp-core`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::channel::{CallRequest, Channel, Claimed};
use clientmcp_core::ids::{CallId, ClientId};
use clientmcp_core::json::{Json, Text};
use clientmcp_core::mcp::version::Era;
use clientmcp_core::message::{AppMessage, Call};
use clientmcp_core::register;
use clientmcp_core::secret::Secrets;
use clientmcp_core::tick::Tick;
use clientmcp_core::timings::Timings;
use clientmcp_core::token::{self, Claims, Verifier};
use clientmcp_core::tool::{RestContent, ToolIndex};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const NOW_UNIX_S: u64 = 1_800_000_000;

criterion_group!(benches, envelope, registration, tokens, calls);
criterion_main!(benches);

/// A result of about so many bytes: one long text, or many small members.
fn result(bytes: usize, dense: bool) -> String {
    let id = id(1);
    let payload = if dense {
        format!(
            "[{}0]",
            r#"{"a":1,"b":[true,null],"c":"x"},"#.repeat(bytes / 32)
        )
    } else {
        format!(
            r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#,
            "x".repeat(bytes)
        )
    };
    format!(r#"{{"type":"result","id":"{id}","result":{payload}}}"#)
}

fn envelope(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("envelope");
    for (name, bytes, dense) in [
        ("200 B", 100, false),
        ("64 KiB text", 65_536, false),
        ("64 KiB dense", 65_536, true),
    ] {
        let frame = Bytes::from(result(bytes, dense));
        group.throughput(Throughput::Bytes(frame.len() as u64));
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let text = Text::new(frame.clone()).expect("the text is good");
                black_box(AppMessage::read(&text).expect("the message is good"))
            });
        });
    }
    group.finish();
}

fn register_message(tools: usize) -> Json {
    let tool = |n: usize| {
        format!(
            r#"{{"name":"tool_{n}","description":"A tool that does something with a document","inputSchema":{{"type":"object","properties":{{"region":{{"type":"string","x-mcp-header":"Region"}},"text":{{"type":"string","description":"what to write"}}}},"required":["text"]}}}}"#
        )
    };
    let tools: Vec<String> = (0..tools).map(tool).collect();
    let text = format!(
        r#"{{"type":"register","instance":"i1","connection":1,"serverInfo":{{"name":"app","version":"1"}},"tools":[{}]}}"#,
        tools.join(",")
    );
    Json::parse(text).expect("the text is good")
}

fn registration(criterion: &mut Criterion) {
    for tools in [10, 1_000] {
        let message = register_message(tools);
        criterion.bench_function(&format!("register {tools} tools"), |bench| {
            bench.iter(|| black_box(register::read(&message).expect("the message is good")));
        });
        let offer = register::read(&message).expect("the message is good");
        let content = offer.contents[0].2.clone();
        let rest = RestContent::default();
        criterion.bench_function(&format!("index {tools} tools"), |bench| {
            bench.iter(|| black_box(ToolIndex::read(content.clone(), &rest).expect("it is good")));
        });
        let index = ToolIndex::read(content, &rest).expect("the content is good");
        criterion.bench_function(&format!("find 1 of {tools} tools"), |bench| {
            bench.iter(|| black_box(index.get(black_box("tool_7"))));
        });
    }
}

fn secrets() -> Secrets {
    Secrets::new([
        "fedcba9876543210fedcba9876543210",
        "0123456789abcdef0123456789abcdef",
    ])
    .expect("the secrets are long enough")
}

fn mint() -> String {
    let claims = Claims {
        client_id: ClientId::parse("tab-1").expect("the ID is good"),
        agent: None,
        serve: true,
        call: true,
        expires_at: NOW_UNIX_S + 3_600,
        not_before: None,
    };
    token::mint(&secrets(), &claims)
}

fn tokens(criterion: &mut Criterion) {
    let verifier = Verifier::new(&secrets());
    let token = mint();
    criterion.bench_function("verify a token", |bench| {
        bench.iter(|| {
            black_box(
                verifier
                    .verify(&token, NOW_UNIX_S)
                    .expect("the token is good"),
            )
        });
    });
}

fn calls(criterion: &mut Criterion) {
    let mut n = 0;
    criterion.bench_function("a call through a channel", |bench| {
        let mut channel = channel();
        let now = Tick::START;
        bench.iter_batched(
            || {
                n += 1;
                let result = format!(r#"{{"type":"result","id":"{}","result":{{}}}}"#, id(n));
                (request(n), Bytes::from(result))
            },
            |(request, result)| {
                let id = request.call.id;
                channel.call(now, request).expect("the call is taken");
                black_box(channel.poll_transmit(now));
                channel.handle_text(now, &result);
                while let Some(output) = channel.poll_output() {
                    black_box(output);
                }
                channel.settled(now, &[id]);
                black_box(channel.poll_timeout());
            },
            BatchSize::SmallInput,
        );
    });
}

fn id(n: u128) -> CallId {
    CallId::parse(&format!("{n:032x}")).expect("it is a UUID")
}

fn request(n: u128) -> CallRequest {
    CallRequest {
        call: Call {
            id: id(n),
            root_id: id(n),
            round: 0,
            attempt: 0,
            method: "tools/call".to_owned(),
            params: Json::parse(r#"{"name":"t","arguments":{"text":"hello"}}"#).expect("good"),
            deadline: Duration::from_secs(120),
            traceparent: None,
            tracestate: None,
            context: Json::parse(r#"{"protocolVersion":"2026-07-28","clientCapabilities":{},"subject":"a","progress":false,"tasks":false}"#).expect("good"),
        },
        era: Era::Modern,
        instance: None,
        checked: Vec::new(),
        origin: None,
    }
}

fn channel() -> Channel {
    let now = Tick::START;
    let grant = Verifier::new(&secrets()).verify(&mint(), NOW_UNIX_S);
    let grant = grant
        .expect("the token is good")
        .serve()
        .expect("its scope is good");
    let mut channel = Channel::new(grant, Arc::new(Timings::default()), now);
    channel.handle_text(now, &register_message(1).into_bytes());
    while channel.poll_output().is_some() {}
    channel.handle_claimed(now, Claimed::Taken);
    while channel.poll_output().is_some() {}
    while channel.poll_transmit(now).is_some() {}
    channel
}
