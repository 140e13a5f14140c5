//! `e2e/fixture/catalogue.json`: what the app registers, and the results that never change.

use std::collections::HashMap;

use clientmcp_sdk::{Json, JsonError, Tool};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

const TEXT: &str = include_str!("../../../fixture/catalogue.json");

/// What the fixture offers. Definitions and results are the catalogue's, to the byte but for line
/// ends.
pub(crate) struct Catalogue {
    pub(crate) server_info: Json,
    pub(crate) instructions: String,
    /// In the order in which agents see them.
    pub(crate) tools: Vec<Tool>,
    /// By tool name.
    pub(crate) results: HashMap<String, Json>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(borrow)]
    server_info: &'a RawValue,
    instructions: String,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    tool_options: HashMap<String, Options>,
    #[serde(borrow)]
    results: HashMap<String, &'a RawValue>,
}

#[derive(Deserialize)]
struct Options {
    requires: Value,
}

impl Catalogue {
    /// Reads the catalogue that this program was built with.
    pub(crate) fn read() -> Result<Self, JsonError> {
        let whole = Json::parse(TEXT)?;
        let view: View<'_> = whole.read()?;
        let tool = |definition: &RawValue| {
            let tool = Tool::from_definition(whole.part(definition))?;
            Ok(match view.tool_options.get(tool.name()) {
                Some(options) => tool.requires(options.requires.clone()),
                None => tool,
            })
        };
        Ok(Self {
            server_info: whole.part(view.server_info),
            instructions: view.instructions.clone(),
            tools: view
                .tools
                .iter()
                .map(|raw| tool(raw))
                .collect::<Result<_, _>>()?,
            results: view
                .results
                .iter()
                .map(|(name, result)| (name.clone(), whole.part(result)))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_and_every_option_belongs_to_a_tool() {
        let catalogue = Catalogue::read().unwrap();
        let names: Vec<&str> = catalogue.tools.iter().map(Tool::name).collect();
        for name in catalogue.results.keys() {
            assert!(names.contains(&name.as_str()), "{name}");
        }
        assert_eq!(names.first(), Some(&"test_x_mcp_header"));
    }
}
