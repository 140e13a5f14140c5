//! What the agent does against the cluster, and what must come of it: contents are compared, never
//! mere success.

use std::{
    env, fs, process,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, bail, ensure};
use rmcp::model::{CallToolResult, Tool};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    Era,
    agent::Agent,
    offers,
    wire::{Answer, Wire},
};

/// A failure's text is cut after so many characters.
const REASON_LENGTH: usize = 600;

/// How long any wait for the other side may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long a scenario may take.
const SCENARIO_LIMIT: Duration = Duration::from_secs(60);

struct Report {
    mode: String,
    passed: bool,
}

impl Report {
    async fn scenario(&mut self, name: &str, body: impl Future<Output = anyhow::Result<String>>) {
        let outcome = timeout(SCENARIO_LIMIT, body)
            .await
            .unwrap_or_else(|_| bail!("took too long"));
        let mode = &self.mode;
        match outcome {
            Ok(detail) => println!("{}", format!("ok rmcp {mode} {name} {detail}").trim_end()),
            Err(error) => {
                self.passed = false;
                let reason = format!("{error:#}")
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ");
                let reason: String = reason.chars().take(REASON_LENGTH).collect();
                println!("FAIL rmcp {mode} {name} {reason}");
            }
        }
    }
}

/// Runs all scenarios and tells whether all passed.
pub(crate) async fn run(mode: &str, era: Era, url: &str, token: &str) -> anyhow::Result<bool> {
    let path = env::var("FIXTURE_CATALOGUE").context("FIXTURE_CATALOGUE is not set")?;
    let catalogue: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    let mut report = Report {
        mode: mode.to_owned(),
        passed: true,
    };
    let wire = Wire::new();
    let mut connected = None;
    report
        .scenario("connect", async {
            let agent = Agent::connect(mode, url, token, Arc::clone(&wire)).await?;
            let version = agent.protocol_version()?;
            connected = Some(agent);
            expect(
                &version.as_str(),
                &if era == Era::Legacy {
                    "2025-11-25"
                } else {
                    "2026-07-28"
                },
                "version",
            )?;
            Ok(version)
        })
        .await;
    let Some(mut agent) = connected else {
        return Ok(false);
    };
    report.scenario("list", list(&agent, &catalogue)).await;
    report.scenario("call", call(&agent)).await;
    report.scenario("tool-error", tool_error(&agent)).await;
    report.scenario("slow", slow(&agent, &wire)).await;
    report.scenario("progress", progress(&agent)).await;
    report.scenario("cancel", cancel(&agent, &wire, era)).await;
    report
        .scenario("cancel-stream", cancel_stream(&agent, &wire, era))
        .await;
    report
        .scenario("list-changed", list_changed(&mut agent, &wire, era))
        .await;
    report
        .scenario("prompts", offers::prompts(&agent, &catalogue))
        .await;
    report
        .scenario("resources", offers::resources(&agent, &catalogue))
        .await;
    report.scenario("complete", offers::complete(&agent)).await;
    report
        .scenario("updated", offers::updated(&mut agent, era))
        .await;
    report.scenario("question", offers::question(&agent)).await;
    report
        .scenario("close", async {
            timeout(PATIENCE, agent.close()).await??;
            ensure!(
                era == Era::Modern || wire.deleted() == Some(true),
                "DELETE: {:?}",
                wire.deleted()
            );
            Ok(String::new())
        })
        .await;
    Ok(report.passed)
}

pub(crate) fn expect<T: PartialEq + std::fmt::Debug>(
    actual: &T,
    expected: &T,
    what: &str,
) -> anyhow::Result<()> {
    ensure!(
        actual == expected,
        "{what}: expected {expected:?}, got {actual:?}"
    );
    Ok(())
}

/// The one text item of a tool result.
pub(crate) fn text_of(result: &CallToolResult) -> anyhow::Result<String> {
    match result.content.as_slice() {
        [item] => Ok(item
            .as_text()
            .context("the content is not text")?
            .text
            .clone()),
        other => bail!("one content item expected, got {other:?}"),
    }
}

/// Calls a tool that must succeed and gives its one text.
pub(crate) async fn call_text(
    agent: &Agent,
    name: &str,
    arguments: Value,
) -> anyhow::Result<String> {
    let (result, _) = agent.call(name, &arguments).await?;
    ensure!(
        result.is_error != Some(true),
        "{name} answered an error: {:?}",
        result.content
    );
    text_of(&result)
}

/// The tools without the one that comes and goes.
fn fixed(tools: &[Tool]) -> impl Iterator<Item = &Tool> {
    tools
        .iter()
        .filter(|tool| !tool.name.starts_with("test_dynamic_"))
}

async fn list(agent: &Agent, catalogue: &Value) -> anyhow::Result<String> {
    let expected = catalogue["tools"]
        .as_array()
        .context("the catalogue has tools")?;
    let tools = agent.list_tools().await?;
    let tools: Vec<&Tool> = fixed(&tools).collect();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    expect(
        &names,
        &expected
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect(),
        "names",
    )?;
    for (tool, wanted) in tools.iter().zip(expected) {
        expect(
            &tool.description.as_deref(),
            &wanted["description"].as_str(),
            "description",
        )?;
        expect(
            &Value::Object((*tool.input_schema).clone()),
            &wanted["inputSchema"],
            "schema",
        )?;
    }
    Ok(format!("{} tools", tools.len()))
}

async fn call(agent: &Agent) -> anyhow::Result<String> {
    let text = call_text(agent, "test_simple_text", json!({})).await?;
    expect(
        &text.as_str(),
        &"This is a simple text response for testing.",
        "text",
    )?;
    let now = SystemTime::UNIX_EPOCH.elapsed()?.as_nanos();
    let key = json!({ "key": format!("schlüssel {} {now} ⚙", process::id()) });
    expect(
        &call_text(agent, "test_count", key.clone()).await?.as_str(),
        &"1",
        "first count",
    )?;
    expect(
        &call_text(agent, "test_count", key).await?.as_str(),
        &"2",
        "second count",
    )?;
    Ok(String::new())
}

async fn tool_error(agent: &Agent) -> anyhow::Result<String> {
    let (result, _) = agent.call("test_error_handling", &json!({})).await?;
    expect(&result.is_error, &Some(true), "isError")?;
    expect(
        &text_of(&result)?.as_str(),
        &"This tool intentionally returns an error for testing",
        "text",
    )?;
    Ok(String::new())
}

async fn slow(agent: &Agent, wire: &Wire) -> anyhow::Result<String> {
    let start = Instant::now();
    expect(
        &call_text(agent, "test_slow", json!({ "ms": 2500 }))
            .await?
            .as_str(),
        &"slept 2500 ms",
        "text",
    )?;
    let took = start.elapsed().as_millis();
    ensure!(took >= 2490, "took only {took} ms");
    expect(
        &wire.answers_to("test_slow").last(),
        &Some(&Answer::EventStream),
        "answer",
    )?;
    Ok(format!("{took} ms"))
}

async fn progress(agent: &Agent) -> anyhow::Result<String> {
    let (result, seen) = agent.call("test_tool_with_progress", &json!({})).await?;
    expect(
        &text_of(&result)?.as_str(),
        &"Tool with progress executed successfully",
        "text",
    )?;
    let seen: Vec<_> = seen
        .iter()
        .map(|p| (p.progress, p.total, p.message.as_deref()))
        .collect();
    let steps = [
        "Completed step 0 of 100",
        "Completed step 50 of 100",
        "Completed step 100 of 100",
    ];
    let expected = [0.0, 50.0, 100.0]
        .into_iter()
        .zip(steps)
        .map(|(n, step)| (n, Some(100.0), Some(step)));
    expect(&seen, &expected.collect(), "progress")?;

    let (result, seen) = agent.call("test_slow", &json!({ "ms": 2000 })).await?;
    expect(&text_of(&result)?.as_str(), &"slept 2000 ms", "text")?;
    ensure!(seen.len() >= 2, "progress of a slow call: {seen:?}");
    ensure!(
        seen.iter().all(|p| p.total == Some(2000.0)),
        "totals: {seen:?}"
    );
    ensure!(
        seen.is_sorted_by(|a, b| a.progress < b.progress),
        "not growing: {seen:?}"
    );
    Ok(String::new())
}

async fn slow_stats(agent: &Agent) -> anyhow::Result<[u64; 3]> {
    let stats: Value =
        serde_json::from_str(&call_text(agent, "test_slow_stats", json!({})).await?)?;
    let count = |name: &str| {
        stats[name]
            .as_u64()
            .with_context(|| format!("{name} in {stats}"))
    };
    Ok([count("started")?, count("cancelled")?, count("finished")?])
}

/// Takes a running call back and waits until the app has counted that.
async fn cancel_after(delay: Duration, agent: &Agent, wire: &Wire, era: Era) -> anyhow::Result<()> {
    let [started, cancelled, finished] = slow_stats(agent).await?;
    let cancels = wire.count_of("notifications/cancelled");
    let call = agent
        .start_call("test_slow", &json!({ "ms": 20_000 }))
        .await?;
    sleep(delay).await;
    expect(
        &slow_stats(agent).await?,
        &[started + 1, cancelled, finished],
        "counts while the call runs",
    )?;
    timeout(PATIENCE, call.cancel(Some("changed its mind".to_owned()))).await??;
    let deadline = Instant::now() + PATIENCE;
    let mut stats = slow_stats(agent).await?;
    while stats[1] == cancelled && Instant::now() < deadline {
        sleep(Duration::from_millis(100)).await;
        stats = slow_stats(agent).await?;
    }
    expect(
        &stats,
        &[started + 1, cancelled + 1, finished],
        "counts after the cancel",
    )?;
    let sent = wire.count_of("notifications/cancelled") - cancels;
    expect(
        &sent,
        &usize::from(era == Era::Legacy),
        "notifications/cancelled sent",
    )?;
    Ok(())
}

async fn cancel(agent: &Agent, wire: &Wire, era: Era) -> anyhow::Result<String> {
    cancel_after(Duration::from_millis(500), agent, wire, era).await?;
    Ok(String::new())
}

async fn cancel_stream(agent: &Agent, wire: &Wire, era: Era) -> anyhow::Result<String> {
    let answered = wire.answers_to("test_slow").len();
    cancel_after(Duration::from_millis(1500), agent, wire, era).await?;
    let answers = wire.answers_to("test_slow").split_off(answered);
    expect(&answers, &vec![Answer::EventStream], "answers")?;
    Ok(String::new())
}

async fn list_changed(agent: &mut Agent, wire: &Wire, era: Era) -> anyhow::Result<String> {
    agent.watch_tools(era).await?;
    timeout(PATIENCE, wire.stream_opened())
        .await
        .context("the notification stream did not open")?;
    let start = agent.list_tools().await?;
    for round in 1..=2 {
        let told = call_text(agent, "test_trigger_tool_change", json!({})).await?;
        let (verb, name) = told.split_once(' ').context(told.clone())?;
        let changed = timeout(PATIENCE, agent.tools_changed()).await;
        changed.with_context(|| format!("list_changed {round} did not come"))??;
        let listed = agent
            .list_tools()
            .await?
            .iter()
            .any(|tool| tool.name == name);
        expect(&listed, &(verb == "added"), &told)?;
        if verb == "added" {
            let number = name.trim_start_matches("test_dynamic_");
            expect(
                &call_text(agent, name, json!({})).await?,
                &format!("dynamic {number}"),
                "text",
            )?;
        }
    }
    let end = agent.list_tools().await?;
    ensure!(
        fixed(&end).eq(fixed(&start)),
        "the other tools must stay as they are"
    );
    expect(
        &end.len(),
        &start.len(),
        "two changes must end where they began",
    )?;
    ensure!(
        !agent.has_more_changes(),
        "more than one notification for each change"
    );
    Ok(String::new())
}
