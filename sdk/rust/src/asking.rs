//! Asking the agent, its user and its model while a handler runs.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::input::{
    AskError, Elicited, InputRequest, InputRequests, InputResponses, Root, Roots, read_elicited,
};
use crate::sampling::{Sampled, Sampling};
use crate::schema;

/// Each of these answers the agent with what is asked, and waits until it calls again with the
/// answer, for 600 s at most. Meanwhile the handler stays as it is; 64 of an application can wait so.
/// What is asked at the same time (`tokio::join!`) goes out together. An answer that does not fit is
/// asked for again, twice. One that an agent gives with its first call, under the key of the request,
/// is taken. All this is for tools, prompts and resources alone.
///
/// ```
/// use clientmcp_sdk::{CallError, Context, Elicited};
///
/// /// How to send it.
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Delivery {
///     /// Where to
///     address: String,
///     express: bool,
/// }
///
/// async fn send(call: Context) -> Result<String, CallError> {
///     match call.elicit::<Delivery>("Where shall it go?").await? {
///         Elicited::Accepted(to) => Ok(format!("on its way to {}", to.address)),
///         Elicited::Declined | Elicited::Cancelled => Ok("not sent".to_owned()),
///     }
/// }
/// ```
impl Context {
    /// Asks the user to fill in a form: a struct of texts, numbers, yes or no, and choices.
    ///
    /// # Errors
    /// [`AskError`]; with `?` its text goes to the model.
    pub async fn elicit<T>(&self, message: impl AsRef<str>) -> Result<Elicited<T>, AskError>
    where
        T: JsonSchema + DeserializeOwned,
    {
        let elicited = self.elicit_schema(message, schema::form_of::<T>()).await?;
        let read = elicited.read();
        read.map_err(|error| AskError::Unfit(error.to_string()))
    }

    /// The same by a JSON Schema: an object of simple fields.
    ///
    /// # Errors
    /// [`AskError`]
    pub async fn elicit_schema(
        &self,
        message: impl AsRef<str>,
        schema: Value,
    ) -> Result<Elicited<Value>, AskError> {
        let request = InputRequest::form(message.as_ref(), &schema);
        self.elicited(request).await
    }

    /// Asks the user to visit a page, for what must not pass through the agent. That the user
    /// consents does not say that they are done there.
    ///
    /// # Errors
    /// [`AskError`]
    pub async fn elicit_url(
        &self,
        message: impl AsRef<str>,
        url: impl AsRef<str>,
    ) -> Result<Elicited<()>, AskError> {
        let request = InputRequest::url(message.as_ref(), url.as_ref());
        Ok(match self.elicited(request).await? {
            Elicited::Accepted(_) => Elicited::Accepted(()),
            Elicited::Declined => Elicited::Declined,
            Elicited::Cancelled => Elicited::Cancelled,
        })
    }

    /// Asks the agent's model for a message.
    ///
    /// # Errors
    /// [`AskError`]
    pub async fn sample(&self, sampling: &Sampling) -> Result<Sampled, AskError> {
        let answer = self.run.ask(None, InputRequest::sampling(sampling)).await?;
        let read = answer.value();
        read.map_err(|error| AskError::Unfit(error.to_string()))
    }

    /// Asks which folders and files the agent works with.
    ///
    /// # Errors
    /// [`AskError`]
    pub async fn list_roots(&self) -> Result<Vec<Root>, AskError> {
        let answer = self.run.ask(None, InputRequest::roots()).await?;
        let read = answer.value::<Roots>();
        let roots = read.map_err(|error| AskError::Unfit(error.to_string()))?;
        Ok(roots.roots)
    }

    /// Asks several things at once, under keys that the agent sees.
    ///
    /// # Errors
    /// [`AskError`]: that of the first request that has no answer.
    pub async fn ask(&self, requests: InputRequests) -> Result<InputResponses, AskError> {
        let asked = requests.0.into_iter().map(|(key, request)| async {
            let answer = self.run.ask(Some(key.clone()), request).await?;
            Ok((key, answer))
        });
        let answers = futures_util::future::try_join_all(asked).await?;
        Ok(InputResponses(answers))
    }

    async fn elicited(&self, request: InputRequest) -> Result<Elicited<Value>, AskError> {
        let answer = self.run.ask(None, request).await?;
        let read = read_elicited(&answer);
        read.map_err(|error| AskError::Unfit(error.to_string()))
    }
}
