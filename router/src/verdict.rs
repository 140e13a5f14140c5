//! The one answer to a call.

use std::sync::Arc;

use bytes::Bytes;
use clientmcp_core::mcp::outcome::{Failure, Reply};

use crate::links::Receipt;
use crate::registrations::Known;

/// The one answer to a call.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The app's result, verbatim.
    Result(Bytes),
    /// The app's error, verbatim.
    Error(Bytes),
    /// There is no answer of the app.
    Failed(Failure),
    /// The request cannot be served as it is.
    Refused(Reply),
    /// It was cancelled by `notifications/cancelled`: nothing is answered.
    Cancelled,
}

impl Verdict {
    /// What a metric calls it.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Verdict::Result(_) => "result",
            Verdict::Error(_) => "error",
            Verdict::Failed(failure) => failure.outcome.as_str(),
            Verdict::Refused(_) => "refused",
            Verdict::Cancelled => "cancelled",
        }
    }
}

/// A call that was answered.
#[derive(Debug)]
pub(crate) struct Answered {
    /// The answer.
    pub(crate) verdict: Verdict,
    /// What the call was checked against last: what its result is read by.
    pub(crate) known: Option<Arc<Known>>,
    /// To be used when the answer is where nothing can lose it, if it is one of an app that
    /// remembers it until then.
    pub(crate) receipt: Option<Receipt>,
}

impl Answered {
    /// An answer without a call.
    pub(crate) fn of(verdict: Verdict) -> Self {
        Self {
            verdict,
            known: None,
            receipt: None,
        }
    }
}
