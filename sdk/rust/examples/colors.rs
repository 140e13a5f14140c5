//! A program with a colour that agents can set and watch.
//!
//! With a cluster on this machine (`clientmcp dev` prints a URL and tokens):
//!
//! ```sh
//! CLIENTMCP_APP_TOKEN=… cargo run --example colors -- ws://127.0.0.1:8080/v1/connect
//! ```

use std::sync::{Arc, Mutex};
use std::time::Duration;

use clientmcp_sdk::{App, CallError, Context, Elicited, Status, Structured, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct SetColor {
    /// Any name of a colour
    color: String,
}

#[derive(Serialize, JsonSchema)]
struct Color {
    color: String,
}

/// What the user is asked.
#[derive(Deserialize, JsonSchema)]
struct Favourite {
    /// Your favourite colour
    color: String,
}

/// Fades in three steps: shows progress, and stops when nobody waits any more.
async fn fade(_: Value, call: Context) -> Result<&'static str, CallError> {
    for step in 1..=3 {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
            reason = call.cancelled() => {
                return Err(ToolError::new(format!("stopped half-way: {reason:?}")).into());
            }
        }
        call.progress(f64::from(step), Some(3.0), Some("fading"));
    }
    Ok("faded")
}

/// Asks the user, through the agent.
async fn ask(_: Value, call: Context) -> Result<String, CallError> {
    Ok(
        match call
            .elicit::<Favourite>("Which colour do you like?")
            .await?
        {
            Elicited::Accepted(answer) => format!("The user likes {}.", answer.color),
            Elicited::Declined | Elicited::Cancelled => "The user would not say.".to_owned(),
        },
    )
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt::init();
    let url = std::env::args().nth(1);
    let url = url.unwrap_or_else(|| "ws://127.0.0.1:8080/v1/connect".to_owned());
    let color = Arc::new(Mutex::new("white".to_owned()));
    let shown = Arc::clone(&color);

    let app = App::builder(url)
        .token(std::env::var("CLIENTMCP_APP_TOKEN")?)
        .server_info("colors", "1.0.0")
        .typed_tool(
            Tool::new("set_color", "Sets the colour."),
            move |args: SetColor, _| {
                let answer = format!("The colour is {} now.", args.color);
                *color.lock().expect("nobody panics with it") = args.color;
                async move { Ok(answer) }
            },
        )
        .tool(
            Tool::new("get_color", "Tells the colour.").annotations(json!({"readOnlyHint": true})),
            move |_: Value, _| {
                let color = shown.lock().expect("nobody panics with it").clone();
                async move { Ok(Structured(Color { color })) }
            },
        )
        .tool(Tool::new("ask_color", "Asks the user for a colour."), ask)
        .tool(Tool::new("fade", "Fades the colour away."), fade)
        .connect();

    let online = app.online().await?;
    println!("agents reach this program as {}", online.client_id);
    let mut status = app.status();
    tokio::select! {
        stopped = status.wait_for(|status| matches!(status, Status::Stopped(_))) => {
            println!("{:?}", *stopped?);
        }
        _ = tokio::signal::ctrl_c() => app.close().await,
    }
    Ok(())
}
