//! What a call says while it runs: progress, log messages, that it becomes a task.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::LogLevel;
use crate::json::{Json, JsonError, ObjectWriter};

/// Progress of a call. Numbers and text are the app's, verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How far it is: a number.
    pub progress: Json,
    /// How far it goes: a number.
    pub total: Option<Json>,
    /// What is being done: a string.
    pub message: Option<Json>,
}

impl Progress {
    /// How far it is, for comparing; infinite where a double cannot hold it.
    #[must_use]
    pub fn value(&self) -> f64 {
        let text = self.progress.as_str();
        text.parse().expect("JSON's numbers are among Rust's")
    }

    /// Reads what [`Progress::to_json`] wrote.
    ///
    /// # Errors
    /// [`JsonError`] if `progress` is missing or no number.
    pub fn read(json: &Json) -> Result<Self, JsonError> {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(borrow)]
            progress: &'a RawValue,
            #[serde(borrow, default)]
            total: Option<&'a RawValue>,
            #[serde(borrow, default)]
            message: Option<&'a RawValue>,
        }
        let members: Members<'_> = json.read()?;
        let progress = json.part(members.progress);
        if !progress.is_number() {
            return Err(JsonError::Shape("progress must be a number".to_owned()));
        }
        Ok(Self {
            progress,
            total: members.total.map(|total| json.part(total)),
            message: members.message.map(|message| json.part(message)),
        })
    }

    /// `{"progress":…,"total":…,"message":…}`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut object = ObjectWriter::new();
        self.write(&mut object);
        object.finish()
    }

    pub(super) fn write(&self, object: &mut ObjectWriter) {
        object
            .raw("progress", &self.progress)
            .raw_if("total", self.total.as_ref())
            .raw_if("message", self.message.as_ref());
    }
}

/// A log message of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Its severity.
    pub level: LogLevel,
    /// Who says it: a string.
    pub logger: Option<Json>,
    /// What: any JSON, verbatim.
    pub data: Json,
}

impl Log {
    /// Reads what [`Log::to_json`] wrote.
    ///
    /// # Errors
    /// [`JsonError`] if `level` or `data` are missing, or the level is none.
    pub fn read(json: &Json) -> Result<Self, JsonError> {
        #[derive(Deserialize)]
        struct Members<'a> {
            level: LogLevel,
            #[serde(borrow, default)]
            logger: Option<&'a RawValue>,
            #[serde(borrow)]
            data: &'a RawValue,
        }
        let members: Members<'_> = json.read()?;
        Ok(Self {
            level: members.level,
            logger: members.logger.map(|logger| json.part(logger)),
            data: json.part(members.data),
        })
    }

    /// `{"level":…,"logger":…,"data":…}`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut object = ObjectWriter::with_capacity(64 + self.data.len());
        self.write(&mut object);
        object.finish()
    }

    pub(super) fn write(&self, object: &mut ObjectWriter) {
        object
            .name("level", self.level.as_str())
            .raw_if("logger", self.logger.as_ref())
            .raw("data", &self.data);
    }
}

/// A call becomes a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// How long its result is to be kept, in milliseconds.
    pub ttl_ms: Option<u64>,
    /// How often agents are to ask for it, in milliseconds.
    pub poll_interval_ms: Option<u64>,
    /// How it stands: a string.
    pub status_message: Option<Json>,
}

impl Task {
    /// Reads what [`Task::to_json`] wrote.
    ///
    /// # Errors
    /// [`JsonError`] if it is no object, or has a member of another type.
    pub fn read(json: &Json) -> Result<Self, JsonError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members<'a> {
            #[serde(default)]
            ttl_ms: Option<u64>,
            #[serde(default)]
            poll_interval_ms: Option<u64>,
            #[serde(borrow, default)]
            status_message: Option<&'a RawValue>,
        }
        let members: Members<'_> = json.read()?;
        Ok(Self {
            ttl_ms: members.ttl_ms,
            poll_interval_ms: members.poll_interval_ms,
            status_message: members.status_message.map(|message| json.part(message)),
        })
    }

    /// `{"ttlMs":…,"pollIntervalMs":…,"statusMessage":…}`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut object = ObjectWriter::new();
        self.write(&mut object);
        object.finish()
    }

    pub(super) fn write(&self, object: &mut ObjectWriter) {
        for (key, ms) in [
            ("ttlMs", self.ttl_ms),
            ("pollIntervalMs", self.poll_interval_ms),
        ] {
            if let Some(ms) = ms {
                object.plain(key, ms);
            }
        }
        object.raw_if("statusMessage", self.status_message.as_ref());
    }
}
