//! The tools of the fixture: those with a fixed result, and those that do more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use anyhow::bail;
use clientmcp_sdk::{App, CallError, Context, LogLevel, Tool, ToolError, ToolResult, Tools};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::catalogue::Catalogue;
use crate::slow::{SlowStats, slow};

/// Between the steps of tools that take several.
const STEP: Duration = Duration::from_millis(50);

/// The app's tools and what they remember.
#[derive(Clone)]
pub(crate) struct Fixture(Arc<State>);

struct State {
    catalogue: Catalogue,
    app: OnceLock<App>,
    slow: SlowStats,
    counts: Mutex<HashMap<String, u64>>,
    dynamic: tokio::sync::Mutex<Dynamic>,
}

/// The tool that comes and goes.
#[derive(Default)]
struct Dynamic {
    number: u64,
    listed: bool,
}

impl Fixture {
    pub(crate) fn new(catalogue: Catalogue) -> Self {
        Self(Arc::new(State {
            catalogue,
            app: OnceLock::new(),
            slow: SlowStats::default(),
            counts: Mutex::default(),
            dynamic: tokio::sync::Mutex::default(),
        }))
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.0.catalogue
    }

    /// Lets `test_trigger_tool_change` register other tools.
    pub(crate) fn set_app(&self, app: App) {
        // Called once, before the app is online.
        _ = self.0.app.set(app);
    }

    /// All tools in the catalogue's order.
    pub(crate) fn tools(&self) -> anyhow::Result<Tools> {
        let mut tools = Tools::new();
        for tool in &self.0.catalogue.tools {
            let tool = tool.clone();
            tools = match self.0.catalogue.results.get(tool.name()) {
                Some(result) => {
                    let result = result.clone();
                    tools.raw_tool(tool, move |_, _| std::future::ready(Ok(result.clone())))
                }
                None => self.programmed(tools, tool)?,
            };
        }
        Ok(tools)
    }

    /// Adds a tool that does more than give a fixed result.
    fn programmed(&self, tools: Tools, tool: Tool) -> anyhow::Result<Tools> {
        let fixture = self.clone();
        Ok(match tool.name() {
            "test_x_mcp_header" => tools.tool(tool, show_region),
            "json_schema_2020_12_tool" => tools.tool(tool, show_arguments),
            "test_echo" => tools.tool(tool, echo),
            "test_logging_tool" => tools.tool(tool, log_once),
            "test_tool_with_logging" => tools.tool(tool, log_thrice),
            "test_tool_with_progress" => tools.tool(tool, progress_thrice),
            "test_slow" => tools.tool(tool, move |arguments: Value, call| {
                let fixture = fixture.clone();
                async move { slow(&arguments, &call, &fixture.0.slow).await }
            }),
            "test_slow_stats" => tools.tool(tool, move |_: IgnoredAny, _| {
                std::future::ready(Ok(fixture.0.slow.text()))
            }),
            "test_count" => tools.tool(tool, move |arguments: Value, _| {
                std::future::ready(fixture.count(&arguments["key"]))
            }),
            "test_trigger_tool_change" => tools.tool(tool, move |_: IgnoredAny, _| {
                let fixture = fixture.clone();
                async move { fixture.change_tools().await }
            }),
            name => bail!("the catalogue has a tool {name} that this program does not know"),
        })
    }

    fn count(&self, key: &Value) -> Result<String, CallError> {
        let Some(key) = key.as_str() else {
            return Err(ToolError::new("key must be a string").into());
        };
        let mut counts = self.0.counts.lock().expect("nobody panics while counting");
        let count = counts.entry(key.to_owned()).or_default();
        *count += 1;
        Ok(count.to_string())
    }

    /// Lists the dynamic tool, or takes it away, and answers when the cluster has seen it.
    async fn change_tools(&self) -> Result<String, CallError> {
        let mut dynamic = self.0.dynamic.lock().await;
        let mut tools = self
            .tools()
            .map_err(|error| ToolError::new(error.to_string()))?;
        let done = if dynamic.listed {
            dynamic.listed = false;
            format!("removed test_dynamic_{}", dynamic.number)
        } else {
            dynamic.listed = true;
            dynamic.number += 1;
            let number = dynamic.number;
            let tool = Tool::new(
                format!("test_dynamic_{number}"),
                "A tool that comes and goes",
            );
            let tool = tool.input_schema(json!({"type": "object", "properties": {}}));
            tools = tools.tool(tool, move |_: IgnoredAny, _| {
                std::future::ready(Ok(format!("dynamic {number}")))
            });
            format!("added test_dynamic_{number}")
        };
        let app = self
            .0
            .app
            .get()
            .expect("it was set before the app was online");
        app.set_tools(tools).await?;
        Ok(done)
    }
}

async fn show_region(arguments: Value, _: Context) -> Result<String, CallError> {
    let region = match &arguments["region"] {
        Value::Null => String::new(),
        Value::String(region) => region.clone(),
        other => other.to_string(),
    };
    Ok(format!("region={region}"))
}

async fn show_arguments(_: IgnoredAny, call: Context) -> Result<String, CallError> {
    let arguments = compact(call.arguments().as_str());
    Ok(format!("JSON Schema 2020-12 tool called with: {arguments}"))
}

async fn echo(_: IgnoredAny, call: Context) -> Result<ToolResult, CallError> {
    let result = ToolResult::text(call.arguments().as_str());
    Ok(result.with_structured(call.params().clone()))
}

async fn log_once(_: IgnoredAny, call: Context) -> Result<&'static str, CallError> {
    call.log(LogLevel::Info, Some("fixture"), "Diagnostic message");
    Ok("Logged.")
}

async fn log_thrice(_: IgnoredAny, call: Context) -> Result<&'static str, CallError> {
    let log = |text: &str| call.log(LogLevel::Info, Some("fixture"), text);
    log("Tool execution started");
    sleep(STEP).await;
    log("Tool processing data");
    sleep(STEP).await;
    log("Tool execution completed");
    Ok("Tool with logging executed successfully")
}

async fn progress_thrice(_: IgnoredAny, call: Context) -> Result<&'static str, CallError> {
    for done in [0, 50, 100] {
        if done > 0 {
            sleep(STEP).await;
        }
        let message = format!("Completed step {done} of 100");
        call.progress(f64::from(done), Some(100.0), Some(&message));
    }
    Ok("Tool with progress executed successfully")
}

/// JSON without the blanks between its tokens; numbers, names and their order stay.
fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let kept = json.chars().filter(|&c| {
        let was_in_string = in_string;
        match c {
            '"' if !escaped => in_string = !in_string,
            _ => {}
        }
        escaped = was_in_string && c == '\\' && !escaped;
        was_in_string || !c.is_ascii_whitespace()
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_the_catalogue_has_a_handler() {
        let fixture = Fixture::new(Catalogue::read().unwrap());
        let tools = fixture.tools().unwrap();
        assert!(
            tools
                .names()
                .eq(fixture.catalogue().tools.iter().map(Tool::name))
        );
    }

    #[test]
    fn compact_json_keeps_what_stands_in_strings() {
        let table = [
            (
                r#"{ "b" : [ 1.0 , 2e2 ], "a": null }"#,
                r#"{"b":[1.0,2e2],"a":null}"#,
            ),
            (
                r#"{"a b":" \" { \\" , "c":1}"#,
                r#"{"a b":" \" { \\","c":1}"#,
            ),
        ];
        for (json, expected) in table {
            assert_eq!(compact(json), expected);
        }
    }
}
