//! All that an application offers: what is registered of it, and what runs the calls.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use clientmcp_core::json::Json;
use clientmcp_core::message::Call;
use futures_util::future::FutureExt as _;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::completion::{self, Completers, Completion, Reference};
use crate::context::Context;
use crate::handler::{Handler, read_params};
use crate::prompts::Prompts;
use crate::registration::Offer;
use crate::resources::Resources;
use crate::result::{METHOD_NOT_FOUND, RpcError};
use crate::tools::{ToolHandler, Tools};

/// All that an application offers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Offers {
    pub(crate) tools: Tools,
    pub(crate) prompts: Prompts,
    pub(crate) resources: Resources,
}

/// One kind of it.
#[derive(Debug)]
pub(crate) enum Part {
    Tools(Tools),
    Prompts(Prompts),
    Resources(Resources),
}

impl Offers {
    /// Replaces one kind.
    pub(crate) fn with(mut self, part: Part) -> Self {
        match part {
            Part::Tools(tools) => self.tools = tools,
            Part::Prompts(prompts) => self.prompts = prompts,
            Part::Resources(resources) => self.resources = resources,
        }
        self
    }

    /// What is registered.
    pub(crate) fn offer(&self) -> Offer {
        let (tools, tool_options) = self.tools.content();
        Offer {
            tools,
            tool_options,
            prompts: self.prompts.definitions(),
            resources: self.resources.content(),
            completions: self.prompts.completes() || self.resources.completes(),
        }
    }

    /// What runs the calls.
    pub(crate) fn handlers(&self) -> Handlers {
        Handlers {
            tools: self.tools.handlers(),
            prompts: self.prompts.handlers(),
            list: self.resources.list_handler(),
            resources: Arc::new(self.resources.clone()),
        }
    }
}

/// What runs the calls.
pub(crate) struct Handlers {
    tools: HashMap<String, ToolHandler>,
    prompts: HashMap<String, (Handler, Completers)>,
    resources: Arc<Resources>,
    list: Option<Handler>,
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").finish_non_exhaustive()
    }
}

/// What runs one call.
pub(crate) struct Found {
    pub(crate) handler: Handler,
    /// The arguments of a tool or prompt, the variables of a template.
    pub(crate) arguments: Json,
    /// Of `resources/read`.
    pub(crate) uri: Option<String>,
    /// It takes all of the params as they came, what belongs to rounds among it.
    pub(crate) raw: bool,
}

impl Handlers {
    /// Finds what runs a call.
    ///
    /// # Errors
    /// [`RpcError`] if nothing of that name, or no such method, is offered.
    pub(crate) fn find(&self, call: &Call, legacy: bool) -> Result<Found, RpcError> {
        match call.method.as_str() {
            "tools/call" => self.tool(&call.params),
            "prompts/get" => self.prompt(&call.params),
            "resources/read" => self.resource(&call.params, legacy),
            "resources/list" if self.list.is_some() => {
                let list = self.list.as_ref().map(Arc::clone);
                Ok(Found::of(list.expect("just seen"), Json::EMPTY_OBJECT))
            }
            "completion/complete" => self.completion(&call.params),
            method => {
                let message = format!("the application does not offer {method}");
                Err(RpcError::new(METHOD_NOT_FOUND, message))
            }
        }
    }

    fn tool(&self, params: &Json) -> Result<Found, RpcError> {
        let (name, arguments) = named(params)?;
        let Some(tool) = self.tools.get(&name) else {
            return Err(RpcError::invalid_params(format!("Unknown tool: {name}")));
        };
        Ok(Found {
            raw: tool.raw,
            ..Found::of(Arc::clone(&tool.handler), arguments)
        })
    }

    fn prompt(&self, params: &Json) -> Result<Found, RpcError> {
        let (name, arguments) = named(params)?;
        let Some((handler, _)) = self.prompts.get(&name) else {
            return Err(RpcError::invalid_params(format!("Unknown prompt: {name}")));
        };
        Ok(Found::of(Arc::clone(handler), arguments))
    }

    fn resource(&self, params: &Json, legacy: bool) -> Result<Found, RpcError> {
        #[derive(Deserialize)]
        struct View {
            uri: String,
        }
        let View { uri } = read(params)?;
        let Some((handler, variables)) = self.resources.find(&uri) else {
            return Err(RpcError::resource_not_found(&uri, legacy));
        };
        Ok(Found {
            uri: Some(uri),
            ..Found::of(Arc::clone(handler), variables)
        })
    }

    fn completion(&self, params: &Json) -> Result<Found, RpcError> {
        let read: completion::Params = read(params)?;
        let completers = match &read.reference {
            Reference::Prompt { name } => {
                let prompt = self.prompts.get(name);
                prompt
                    .map(|(_, completers)| completers)
                    .ok_or_else(|| RpcError::invalid_params(format!("Unknown prompt: {name}")))?
            }
            Reference::Resource { uri } => self.resources.completers(uri).ok_or_else(|| {
                RpcError::invalid_params(format!("Unknown resource template: {uri}"))
            })?,
        };
        let (argument, _) = read.into_request();
        let completer = completers.get(&argument).cloned();
        let handler = move |context: Context| {
            let completer = completer.clone();
            async move {
                let params: completion::Params = read_params(context.params())?;
                let (_, request) = params.into_request();
                let completion = match completer {
                    Some(completer) => completer.complete(request, context).await?,
                    None => Completion::default(),
                };
                Ok(completion.to_json().into())
            }
            .boxed()
        };
        Ok(Found::of(Arc::new(handler), Json::EMPTY_OBJECT))
    }
}

impl Found {
    fn of(handler: Handler, arguments: Json) -> Self {
        Self {
            handler,
            arguments,
            uri: None,
            raw: false,
        }
    }
}

/// Reads which tool or prompt is meant, and the arguments: `{}` if there are none.
fn named(params: &Json) -> Result<(String, Json), RpcError> {
    #[derive(Deserialize)]
    struct View<'a> {
        name: String,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
    }
    let view: View<'_> = params.read().map_err(|error| invalid(&error))?;
    let arguments = view
        .arguments
        .map_or(Json::EMPTY_OBJECT, |raw| params.part(raw));
    if !arguments.is_object() {
        return Err(RpcError::invalid_params("arguments must be an object"));
    }
    Ok((view.name, arguments))
}

fn read<T: serde::de::DeserializeOwned>(params: &Json) -> Result<T, RpcError> {
    params.read().map_err(|error| invalid(&error))
}

fn invalid(error: &clientmcp_core::json::JsonError) -> RpcError {
    RpcError::invalid_params(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::INVALID_PARAMS;

    fn read_named(params: &'static str) -> Result<(String, Json), RpcError> {
        named(&Json::parse(params).unwrap())
    }

    #[test]
    fn arguments_are_an_object_or_absent() {
        let empty = Ok(("a".to_owned(), Json::EMPTY_OBJECT));
        assert_eq!(read_named(r#"{"name":"a"}"#), empty);
        assert_eq!(read_named(r#"{"name":"a","arguments":null}"#), empty);
        let (_, arguments) =
            read_named(r#"{"name":"a","arguments":{ "x":1.0 },"_meta":{}}"#).unwrap();
        assert_eq!(arguments.as_str(), r#"{ "x":1.0 }"#);
        for bad in [
            r#"{"name":"a","arguments":[]}"#,
            "{}",
            "[]",
            r#"{"name":1}"#,
        ] {
            assert_eq!(read_named(bad).unwrap_err().code, INVALID_PARAMS, "{bad}");
        }
    }
}
