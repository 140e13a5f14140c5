//! What a handler asks the agent for, and what the agent answers (MCP's `inputRequests` and
//! `inputResponses`): a form, a page to visit, a message of its model, its roots.

use clientmcp_core::json::{Json, JsonError, ObjectWriter};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::context::CancelReason;
use crate::result::CallError;
use crate::sampling::{Sampled, Sampling};
use crate::schema::Validator;

/// Requests to the agent, each with a key under which its answer comes back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputRequests(pub(crate) Vec<(String, InputRequest)>);

/// One request to the agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InputRequest {
    kind: InputKind,
    params: Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputKind {
    Form,
    Url,
    Sampling,
    Roots,
}

impl InputRequests {
    /// No requests.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the user to fill in a form. The schema is an object of simple fields.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "callers write json!({…})")]
    pub fn elicit(self, key: impl Into<String>, message: impl AsRef<str>, schema: Value) -> Self {
        self.with(key, InputRequest::form(message.as_ref(), &schema))
    }

    /// Asks the user to visit a page.
    #[must_use]
    pub fn elicit_url(
        self,
        key: impl Into<String>,
        message: impl AsRef<str>,
        url: impl AsRef<str>,
    ) -> Self {
        self.with(key, InputRequest::url(message.as_ref(), url.as_ref()))
    }

    /// Asks the agent's model for a message.
    #[must_use]
    pub fn sample(self, key: impl Into<String>, sampling: &Sampling) -> Self {
        self.with(key, InputRequest::sampling(sampling))
    }

    /// Asks which folders and files the agent works with.
    #[must_use]
    pub fn list_roots(self, key: impl Into<String>) -> Self {
        self.with(key, InputRequest::roots())
    }

    /// The requests as they are sent.
    pub(crate) fn to_json(&self, legacy: bool) -> Json {
        let mut requests = ObjectWriter::new();
        for (key, request) in &self.0 {
            requests.raw(key, &request.to_json(legacy));
        }
        requests.finish()
    }

    pub(crate) fn with(mut self, key: impl Into<String>, request: InputRequest) -> Self {
        let key = key.into();
        self.0.retain(|(present, _)| *present != key);
        self.0.push((key, request));
        self
    }
}

impl InputRequest {
    pub(crate) fn form(message: &str, schema: &Value) -> Self {
        let mut params = ObjectWriter::new();
        params
            .name("mode", "form")
            .string("message", message)
            .raw("requestedSchema", &Json::of(schema));
        Self::new(InputKind::Form, params.finish())
    }

    pub(crate) fn url(message: &str, url: &str) -> Self {
        let mut params = ObjectWriter::new();
        params
            .name("mode", "url")
            .string("message", message)
            .string("url", url);
        Self::new(InputKind::Url, params.finish())
    }

    pub(crate) fn sampling(sampling: &Sampling) -> Self {
        Self::new(InputKind::Sampling, sampling.to_json())
    }

    pub(crate) fn roots() -> Self {
        Self::new(InputKind::Roots, Json::EMPTY_OBJECT)
    }

    fn new(kind: InputKind, params: Json) -> Self {
        Self { kind, params }
    }

    /// The request as it is sent. Agents of 2025-11-25 want a name for each page to visit.
    pub(crate) fn to_json(&self, legacy: bool) -> Json {
        let mut params = self.params.clone();
        if legacy && self.kind == InputKind::Url {
            let mut with_id = ObjectWriter::new();
            for (key, value) in params.members().unwrap_or_default() {
                with_id.raw(&key, &params.part(value));
            }
            with_id.name("elicitationId", format!("{:032x}", rand::random::<u128>()));
            params = with_id.finish();
        }
        let method = match self.kind {
            InputKind::Form | InputKind::Url => "elicitation/create",
            InputKind::Sampling => "sampling/createMessage",
            InputKind::Roots => "roots/list",
        };
        let mut request = ObjectWriter::new();
        request.name("method", method).raw("params", &params);
        request.finish()
    }

    /// Whether an agent with these capabilities can answer it.
    ///
    /// # Errors
    /// The capability that is missing.
    pub(crate) fn check(&self, capabilities: &Json) -> Result<(), AskError> {
        let declared: Value = capabilities.value().unwrap_or_default();
        let (capability, there) = match self.kind {
            // Elicitation without a mode means forms.
            InputKind::Form => (
                "elicitation",
                declared
                    .get("elicitation")
                    .is_some_and(|modes| modes.get("form").is_some() || modes.get("url").is_none()),
            ),
            InputKind::Url => (
                "elicitation.url",
                declared
                    .get("elicitation")
                    .is_some_and(|modes| modes.get("url").is_some()),
            ),
            InputKind::Sampling => ("sampling", declared.get("sampling").is_some()),
            InputKind::Roots => ("roots", declared.get("roots").is_some()),
        };
        if there {
            return Ok(());
        }
        Err(AskError::Unsupported { capability })
    }

    /// Whether this answers it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn check_answer(&self, answer: &Json) -> Result<(), String> {
        let told = |error: JsonError| error.to_string();
        match self.kind {
            InputKind::Form => {
                let Elicited::Accepted(content) = read_elicited(answer).map_err(told)? else {
                    return Ok(());
                };
                let params: Value = self.params.value().map_err(told)?;
                match Validator::new(&params["requestedSchema"]) {
                    Ok(validator) => validator.check(&content),
                    // A schema that nobody can check with is the agent's to interpret.
                    Err(_) => Ok(()),
                }
            }
            InputKind::Url => read_elicited(answer).map(drop).map_err(told),
            InputKind::Sampling => answer.value::<Sampled>().map(drop).map_err(told),
            InputKind::Roots => answer.value::<Roots>().map(drop).map_err(told),
        }
    }
}

/// What the agent answered, by the key of each request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputResponses(pub(crate) Vec<(String, Json)>);

impl InputResponses {
    /// Those of a call's params; none if there are none, or they are no object.
    pub(crate) fn of(params: &Json) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct View<'a> {
            #[serde(borrow, default)]
            input_responses: Option<&'a serde_json::value::RawValue>,
        }
        let responses = params.read::<View<'_>>().ok();
        let responses = responses.and_then(|view| view.input_responses);
        let responses = responses.map(|raw| params.part(raw));
        let members = responses.as_ref().and_then(|json| {
            let members = json.members().ok()?.into_iter();
            Some(members.map(|(key, value)| (key.into_owned(), json.part(value))))
        });
        Self(members.into_iter().flatten().collect())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The answer to a request, as it came.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        let found = self.0.iter().find(|(present, _)| present == key);
        found.map(|(_, answer)| answer)
    }

    /// The answer to a request, once.
    pub(crate) fn take(&mut self, key: &str) -> Option<Json> {
        let found = self.0.iter().position(|(present, _)| present == key)?;
        Some(self.0.swap_remove(found).1)
    }

    /// What the user did with a form, or with the request to visit a page (then read it as
    /// [`Value`]). `None` without an answer, or with one that is none.
    ///
    /// # Errors
    /// [`CallError`] if the content cannot be read.
    pub fn elicited<T: DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<Option<Elicited<T>>, CallError> {
        match self.get(key).map(read_elicited) {
            Some(Ok(elicited)) => Ok(Some(elicited.read()?)),
            _ => Ok(None),
        }
    }

    /// What the agent's model said. `None` without an answer, or with one that is none.
    #[must_use]
    pub fn sampled(&self, key: &str) -> Option<Sampled> {
        self.get(key)?.value().ok()
    }

    /// The agent's roots. `None` without an answer, or with one that is none.
    #[must_use]
    pub fn roots(&self, key: &str) -> Option<Vec<Root>> {
        Some(self.get(key)?.value::<Roots>().ok()?.roots)
    }
}

/// What the user did with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elicited<T> {
    /// Filled the form in, or consented to visit the page.
    Accepted(T),
    /// Said no.
    Declined,
    /// Gave no answer.
    Cancelled,
}

impl<T> Elicited<T> {
    /// What was filled in, if it was.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(content) => Some(content),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

impl Elicited<Value> {
    pub(crate) fn read<T: DeserializeOwned>(self) -> Result<Elicited<T>, serde_json::Error> {
        Ok(match self {
            Self::Accepted(content) => Elicited::Accepted(serde_json::from_value(content)?),
            Self::Declined => Elicited::Declined,
            Self::Cancelled => Elicited::Cancelled,
        })
    }
}

/// Reads MCP's `ElicitResult`.
pub(crate) fn read_elicited(answer: &Json) -> Result<Elicited<Value>, JsonError> {
    #[derive(Deserialize)]
    struct View {
        action: Action,
        #[serde(default)]
        content: Option<Value>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Action {
        Accept,
        Decline,
        Cancel,
    }
    let View { action, content } = answer.value()?;
    Ok(match action {
        Action::Accept => Elicited::Accepted(content.unwrap_or_else(|| json!({}))),
        Action::Decline => Elicited::Declined,
        Action::Cancel => Elicited::Cancelled,
    })
}

/// A folder or file that the agent works with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Root {
    /// Where it is: a `file://` URI.
    pub uri: String,
    /// Its name for people.
    #[serde(default)]
    pub name: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Roots {
    pub(crate) roots: Vec<Root>,
}

/// Why the agent was not asked, or did not answer. Its text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The agent's client did not say that it can.
    #[error(
        "this needs an answer through the MCP capability `{capability}`, which this client does not \
         have: use a client that has it, or do without"
    )]
    Unsupported {
        /// The capability.
        capability: &'static str,
    },
    /// MCP lets no agent be asked while it completes an argument or lists resources.
    #[error("nothing can be asked during {method}")]
    NotHere {
        /// The method.
        method: String,
    },
    /// Too many handlers wait for answers.
    #[error("too many questions wait for an answer: answer those first, then try again")]
    TooMany,
    /// No answer came in time.
    #[error("the question was not answered within {} s", crate::seal::ANSWERED_WITHIN.as_secs())]
    Unanswered,
    /// The agent answered, but not what was asked, and again.
    #[error("the answer does not fit what was asked: {0}")]
    Unfit(String),
    /// Nobody waits for the result any more.
    #[error("the call was given up: {0:?}")]
    Cancelled(CancelReason),
}
