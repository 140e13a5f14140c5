//! What an app offers beside tools, and what it asks.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    Era,
    agent::Agent,
    scenarios::{PATIENCE, call_text, expect, text_of},
};

const WATCHED: &str = "test://watched-resource";

pub(crate) async fn prompts(agent: &Agent, catalogue: &Value) -> anyhow::Result<String> {
    let prompts = agent.list_prompts().await?;
    let prompts = prompts.as_array().context("prompts are a list")?.iter();
    let prompts = prompts.filter(|prompt| {
        let name = prompt["name"].as_str().unwrap_or_default();
        !name.starts_with("test_dynamic_")
    });
    let prompts = Value::Array(prompts.cloned().collect());
    expect(&prompts, &catalogue["prompts"], "prompts")?;

    let arguments = json!({ "arg1": "ä", "arg2": "2" });
    let messages = agent
        .prompt("test_prompt_with_arguments", &arguments)
        .await?;
    let text = "Prompt with arguments: arg1='ä', arg2='2'";
    let message = json!([{ "role": "user", "content": { "type": "text", "text": text } }]);
    expect(&messages, &message, "messages")?;
    let image = agent.prompt("test_prompt_with_image", &json!({})).await?;
    let expected = &catalogue["promptResults"]["test_prompt_with_image"]["messages"];
    expect(&image, expected, "image")?;
    refused(
        agent.prompt("no such prompt", &json!({})).await,
        "no such prompt",
    )
}

pub(crate) async fn resources(agent: &Agent, catalogue: &Value) -> anyhow::Result<String> {
    let resources = &catalogue["resources"];
    expect(&agent.list_resources().await?, resources, "resources")?;
    let templates = agent.list_templates().await?;
    expect(&templates, &catalogue["resourceTemplates"], "templates")?;

    let contents = catalogue["contents"].as_object();
    for (uri, content) in contents.context("the catalogue has contents")? {
        let all = resources.as_array().context("resources are a list")?;
        let resource = all.iter().find(|resource| resource["uri"] == **uri);
        let mut expected = content.clone();
        expected["uri"] = json!(uri);
        expected["mimeType"] = resource.context("the resource is listed")?["mimeType"].clone();
        expect(&agent.read(uri).await?, &json!([expected]), uri)?;
    }
    let uri = "test://template/caf%C3%A9/data";
    let text = r#"{"id":"café","templateTest":true,"data":"Data for ID: café"}"#;
    let content = json!([{ "uri": uri, "mimeType": "application/json", "text": text }]);
    expect(&agent.read(uri).await?, &content, uri)?;
    refused(agent.read("test://no-such").await, "Resource not found")
}

pub(crate) async fn complete(agent: &Agent) -> anyhow::Result<String> {
    let values = agent
        .complete_argument("test_prompt_with_arguments", "arg1", "PAR")
        .await?;
    expect(&values.join(" ").as_str(), &"paris park party", "prompt")?;
    let values = agent
        .complete_variable("test://template/{id}/data", "id", "12")
        .await?;
    expect(&values.join(" ").as_str(), &"12 123", "template")?;
    Ok(String::new())
}

pub(crate) async fn updated(agent: &mut Agent, era: Era) -> anyhow::Result<String> {
    agent.watch(WATCHED, era).await?;
    let text = call_text(agent, "test_update_watched_resource", json!({})).await?;
    timeout(PATIENCE, agent.updated())
        .await
        .context("the update did not come")??;
    let content = json!([{ "uri": WATCHED, "mimeType": "text/plain", "text": text }]);
    expect(&agent.read(WATCHED).await?, &content, "content")?;
    Ok(String::new())
}

pub(crate) async fn question(agent: &Agent) -> anyhow::Result<String> {
    let content = r#"{"email":"ada@example.com","username":"ada"}"#;
    let form = format!("User response: action=accept, content={content}");
    for (tool, arguments, text) in [
        (
            "test_elicitation",
            json!({ "message": "Who are you?" }),
            form.as_str(),
        ),
        (
            "test_sampling",
            json!({ "prompt": "Well?" }),
            "LLM response: Yes: Well?",
        ),
        (
            "test_input_required_result_multiple_inputs",
            json!({}),
            "Name: Ada; Greeting: Yes: Generate a greeting; Roots: 1",
        ),
        (
            "test_input_required_result_multi_round",
            json!({}),
            "Multi-round complete for Ada who likes blue",
        ),
        (
            "test_input_required_result_request_state",
            json!({}),
            "state-ok: requestState validated",
        ),
    ] {
        let result = agent.call_that_asks(tool, &arguments).await?;
        expect(&text_of(&result)?.as_str(), &text, tool)?;
    }
    Ok(String::new())
}

fn refused(outcome: anyhow::Result<Value>, text: &str) -> anyhow::Result<String> {
    let told = match outcome {
        Ok(value) => anyhow::bail!("not refused: {value}"),
        Err(error) => format!("{error:#}"),
    };
    ensure!(told.contains(text), "{text:?} is not in {told}");
    Ok(String::new())
}
