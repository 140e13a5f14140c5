//! What a task waits for: the requests of its app, and the answers of its agent.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::StoredTaskError;
use crate::json::{self, ArrayWriter, Json, JsonError, ObjectWriter};
use crate::mcp::error::RpcError;
use crate::mcp::rounds::retry::with_input;

/// A request of the app, and its answer once that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// Its key towards the agent: no other request of the task has ever had it.
    pub(super) key: String,
    /// Its key as the app knows it.
    pub(super) app_key: String,
    pub(super) request: Json,
    pub(super) answer: Option<Json>,
}

/// With what the app is called again: all answers, and its own state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextRound {
    /// Under the app's own keys.
    answers: Vec<(String, Json)>,
    state: Option<Json>,
}

impl NextRound {
    /// The params of the next call: those of the last one with the input of this round.
    ///
    /// # Errors
    /// As [`with_input`]; the params were read before.
    pub fn params(&self, last: &Json) -> Result<Json, RpcError> {
        let answers = self.answers.iter();
        let answers = answers.map(|(key, answer)| (key.as_str(), answer));
        with_input(last, answers, self.state.as_ref())
    }
}

/// Questions of the app, and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub(super) questions: Vec<Question>,
    pub(super) state: Option<Json>,
}

impl Asked {
    /// Takes what the app asks; `used` has the keys of all earlier requests, and those of these
    /// are added to it.
    pub(super) fn new(
        requests: &Json,
        state: Option<Json>,
        used: &mut Vec<String>,
    ) -> Result<Self, JsonError> {
        let mut questions = Vec::new();
        for (app_key, request) in requests.members()? {
            let key = free_key(&app_key, used);
            used.push(key.clone());
            questions.push(Question {
                key,
                app_key: app_key.into_owned(),
                request: requests.part(request),
                answer: None,
            });
        }
        Ok(Self { questions, state })
    }

    /// What is not answered yet, as `inputRequests`.
    pub(super) fn outstanding(&self) -> Json {
        let mut object = ObjectWriter::new();
        for question in &self.questions {
            if question.answer.is_none() {
                object.raw(&question.key, &question.request);
            }
        }
        object.finish()
    }

    /// Takes answers; those to other keys are ignored. `None`: nothing is new.
    pub(super) fn answer(&mut self, responses: &Json) -> Result<Option<()>, JsonError> {
        let mut is_new = None;
        for (key, response) in responses.members()? {
            let open = |question: &&mut Question| question.answer.is_none() && question.key == key;
            if let Some(question) = self.questions.iter_mut().find(open) {
                question.answer = Some(responses.part(response));
                is_new = Some(());
            }
        }
        Ok(is_new)
    }

    /// All answers under the app's own keys; `None` while one is missing.
    pub(super) fn next_round(&self) -> Option<NextRound> {
        let answers = self.questions.iter().map(|question| {
            let answer = question.answer.clone()?;
            Some((question.app_key.clone(), answer))
        });
        Some(NextRound {
            answers: answers.collect::<Option<_>>()?,
            state: self.state.clone(),
        })
    }
}

fn free_key(wanted: &str, used: &[String]) -> String {
    let is_free = |key: &String| !used.contains(key);
    let mut numbered = (2..).map(|number| format!("{wanted}~{number}"));
    let wanted = Some(wanted.to_owned()).filter(is_free);
    wanted
        .or_else(|| numbered.find(is_free))
        .expect("there is always a next number")
}

// ---- As it is stored ----

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    app_key: Cow<'a, str>,
    #[serde(borrow)]
    request: &'a RawValue,
    #[serde(borrow, default, deserialize_with = "json::present")]
    answer: Option<&'a RawValue>,
}

impl Asked {
    pub(super) fn to_json(&self) -> Json {
        let mut list = ArrayWriter::new();
        for question in &self.questions {
            let mut object = ObjectWriter::new();
            object
                .string("key", &question.key)
                .string("appKey", &question.app_key)
                .raw("request", &question.request)
                .raw_if("answer", question.answer.as_ref());
            list.raw(&object.finish());
        }
        list.finish()
    }

    pub(super) fn read(list: &Json, state: Option<Json>) -> Result<Self, StoredTaskError> {
        let mut questions = Vec::new();
        for entry in list.entries()? {
            let entry = list.part(entry);
            let view: View<'_> = entry.read()?;
            questions.push(Question {
                key: view.key.into_owned(),
                app_key: view.app_key.into_owned(),
                request: entry.part(view.request),
                answer: view.answer.map(|answer| entry.part(answer)),
            });
        }
        Ok(Self { questions, state })
    }
}
