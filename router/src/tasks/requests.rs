//! `tasks/get`, `tasks/update`, `tasks/cancel`.

use std::sync::Arc;

use clientmcp_cluster::store::{Driving, TaskKey};
use clientmcp_core::ids::{CallId, Subject};
use clientmcp_core::json::Json;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::method::Method;
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::task::{self, NextRound, Phase, TaskCall, Updated};
use clientmcp_core::token::CallGrant;
use clientmcp_proto::v1::cancel::Reason;
use uuid::Uuid;

use super::records::{Record, TaskError, Write};
use super::takeover;
use crate::abandoned::Abandoned;
use crate::answer::{self, Answer};
use crate::gateway::{Gateway, unix_ms};

/// Answers a request about a task; `None` if it is about something else.
pub(crate) async fn answer(
    gateway: &Arc<Gateway>,
    grant: &CallGrant,
    request: &Request,
) -> Option<Answer> {
    if !task::is_about_one(request.method) {
        return None;
    }
    let asking = Asking {
        gateway,
        request,
        subject: grant.subject(),
    };
    let result = match task::named(request) {
        Ok(id) => {
            let client_id = grant.client_id().clone();
            asking.result(&TaskKey { client_id, id }).await
        }
        Err(error) => Err(error),
    };
    Some(match result {
        Ok(result) => {
            let known = gateway.registrations.recall(grant.client_id());
            let rest = known
                .map(|(known, _)| known.offer.rest.clone())
                .unwrap_or_default();
            answer::of_result(request, result.into_bytes(), &rest)
        }
        Err(error) => request.refuse(error).into(),
    })
}

struct Asking<'a> {
    gateway: &'a Arc<Gateway>,
    request: &'a Request,
    subject: &'a Subject,
}

impl Asking<'_> {
    async fn result(&self, key: &TaskKey) -> Result<Json, RpcError> {
        let asked = match self.request.method {
            Method::UpdateTask => self.update(key).await?,
            Method::CancelTask => self.cancel(key).await,
            _ => self.get(key).await,
        };
        asked
            .map_err(|error| error.refusal())?
            .ok_or_else(|| task::unknown(self.request))
    }

    async fn get(&self, key: &TaskKey) -> Result<Option<Json>, TaskError> {
        let record = self.gateway.tasks.read(key).await?;
        let record = record.filter(|record| record.task.subject == *self.subject);
        Ok(record.map(|record| record.task.detailed(key.id)))
    }

    async fn update(&self, key: &TaskKey) -> Result<Result<Option<Json>, TaskError>, RpcError> {
        let answers = self.request.params.input_responses.as_ref();
        let answers = answers.filter(|answers| answers.members().is_ok());
        let answers = answers
            .ok_or_else(|| RpcError::invalid_envelope("params.inputResponses must be an object"))?;
        let changed = self.gateway.tasks.change(key, |record| {
            if record.task.subject != *self.subject {
                return (None, Write::Nothing);
            }
            let updated = record.task.handle_answers(unix_ms(), answers);
            let write = match updated.expect("it is an object") {
                Updated::Nothing => Write::Nothing,
                Updated::Partly => Write::Task(Driving::Kept),
                Updated::Whole(next) => {
                    record.call = following(&record.call, &next);
                    Write::Call(Driving::Wanted)
                }
            };
            (Some(write), write)
        });
        let write = match changed.await {
            Ok(changed) => changed.and_then(|(_, write)| write),
            Err(error) => return Ok(Err(error)),
        };
        if write == Some(Write::Call(Driving::Wanted))
            && let Err(error) = takeover::drive(self.gateway, key).await
        {
            tracing::debug!(task = %key.id, %error, "another router will drive it");
        }
        Ok(Ok(write.map(|_| task::acknowledgement())))
    }

    async fn cancel(&self, key: &TaskKey) -> Result<Option<Json>, TaskError> {
        let changed = self.gateway.tasks.change(key, |record| {
            if record.task.subject != *self.subject {
                return (None, Write::Nothing);
            }
            let was_working = *record.task.phase() == Phase::Working;
            let write = match record.task.handle_cancel(unix_ms()) {
                true => Write::Task(Driving::Over),
                false => Write::Nothing,
            };
            (Some(was_working && write != Write::Nothing), write)
        });
        let Some((record, Some(is_running))) = changed.await? else {
            return Ok(None);
        };
        if is_running {
            self.tell(key, &record);
        }
        Ok(Some(task::acknowledgement()))
    }

    /// The app hears of it on the way that its call would take, whichever router drives the task.
    fn tell(&self, key: &TaskKey, record: &Record) {
        if let Some(app) = &record.call.app {
            let mut abandoned = Abandoned::new(self.gateway, &key.client_id);
            abandoned.arm(record.call.id.0, app.instance.clone());
            abandoned.because(Reason::Agent);
        }
    }
}

/// The call of the next round: a new one, for whichever instance of the app is there by then.
fn following(last: &TaskCall, next: &NextRound) -> TaskCall {
    TaskCall {
        id: CallId(Uuid::now_v7()),
        round: last.round + 1,
        app: None,
        params: next
            .params(&last.params)
            .unwrap_or_else(|_| last.params.clone()),
        ..last.clone()
    }
}
