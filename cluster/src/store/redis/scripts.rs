//! The scripts that run in Redis. Each is atomic; each may be sent twice and does the same.

use redis::Script;

/// All scripts, with their hashes computed once.
pub(super) struct Scripts {
    pub(super) join: Script,
    pub(super) heartbeat: Script,
    pub(super) leave: Script,
    pub(super) members: Script,
    pub(super) ticket: Script,
    pub(super) claim: Script,
    pub(super) update: Script,
    pub(super) restore: Script,
    pub(super) release: Script,
    pub(super) renew: Script,
    pub(super) record: Script,
    pub(super) put: Script,
    pub(super) touch: Script,
    pub(super) note_session: Script,
    pub(super) sessions: Script,
    pub(super) create_task: Script,
    pub(super) change_task: Script,
    pub(super) drive_task: Script,
    pub(super) keep_driving: Script,
    pub(super) undriven_tasks: Script,
}

/// The source of `renew.lua` with what goes in front of it.
pub(super) const RENEW: &str = concat!(
    include_str!("scripts/holder.lua"),
    include_str!("scripts/renew.lua")
);

macro_rules! script {
    ($($part:literal)*) => {
        Script::new(concat!($(include_str!(concat!("scripts/", $part, ".lua"))),*))
    };
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            join: script!("clock" "entry" "join"),
            heartbeat: script!("clock" "entry" "heartbeat"),
            leave: script!("clock" "entry" "leave"),
            members: script!("clock" "entry" "members"),
            ticket: script!("clock" "ticket"),
            claim: script!("clock" "holder" "claim"),
            update: script!("holder" "update"),
            restore: script!("holder" "restore"),
            release: script!("clock" "holder" "release"),
            renew: Script::new(RENEW),
            record: script!("clock" "holder" "record"),
            put: script!("put"),
            touch: script!("touch"),
            note_session: script!("clock" "note_session"),
            sessions: script!("clock" "sessions"),
            create_task: script!("clock" "task" "create_task"),
            change_task: script!("clock" "task" "change_task"),
            drive_task: script!("clock" "task" "drive_task"),
            keep_driving: script!("clock" "task" "keep_driving"),
            undriven_tasks: script!("clock" "undriven_tasks"),
        }
    }
}
