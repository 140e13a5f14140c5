//! What scripts answer, read strictly: an answer that is not understood is
//! [`StoreError::Corrupt`].

use std::time::Duration;

use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::ids::{ClientId, Incarnation, InstanceId, MemberId};
use clientmcp_core::registration::{ContentHash, Hashes};

use crate::member::{Member, ObservedMember, Standing};
use crate::store::{Beat, Claimed, Departure, Record, Restored, StoreError};

/// Epochs stay exact in a Lua number below this; as times in microseconds they do until 2255.
pub(super) const EPOCHS: u64 = 1 << 53;

/// One 64-bit number as 16 hexadecimal digits.
pub(super) fn hex(number: u64) -> String {
    format!("{number:016x}")
}

/// A connection number so that it compares as text.
pub(super) fn digits(number: u64) -> String {
    format!("{number:020}")
}

pub(super) fn departure(departure: Departure) -> &'static str {
    match departure {
        Departure::Clean => "clean",
        Departure::Left => "left",
        Departure::Lost => "lost",
    }
}

pub(super) fn member(json: &str) -> Result<Member, StoreError> {
    serde_json::from_str(json).map_err(|error| corrupt("a member", &error.to_string()))
}

pub(super) fn incarnation(text: &str) -> Result<Incarnation, StoreError> {
    text.parse().map_err(|_| corrupt("an incarnation", text))
}

/// The answer of `heartbeat.lua`.
pub(super) fn beat(answer: &[String]) -> Result<Beat, StoreError> {
    match answer {
        [word, micros, missing] if word == "renewed" => Ok(Beat::Renewed {
            store_micros: micros.parse().map_err(|_| corrupt("the time", micros))?,
            was_missing: missing == "1",
        }),
        [word, by] if word == "superseded" => Ok(Beat::Superseded {
            by: incarnation(by)?,
        }),
        other => Err(corrupt("a heartbeat's outcome", &other.join(" "))),
    }
}

pub(super) fn observed(
    (json, standing, ms): (String, String, u64),
) -> Result<ObservedMember, StoreError> {
    let time = Duration::from_millis(ms);
    Ok(ObservedMember {
        member: member(&json)?,
        standing: match standing.as_str() {
            "alive" => Standing::Alive { lease: time },
            "lapsed" => Standing::Lapsed { ago: time },
            "left" => Standing::Left { ago: time },
            other => return Err(corrupt("a member's standing", other)),
        },
    })
}

/// An answer of several texts, read front to back.
pub(super) struct Fields<'a> {
    client_id: &'a ClientId,
    fields: std::vec::IntoIter<String>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(client_id: &'a ClientId, fields: Vec<String>) -> Self {
        Self {
            client_id,
            fields: fields.into_iter(),
        }
    }

    fn next(&mut self, what: &str) -> Result<String, StoreError> {
        self.fields
            .next()
            .ok_or_else(|| corrupt(what, "it is missing"))
    }

    fn parsed<T>(
        &mut self,
        what: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        let text = self.next(what)?;
        parse(&text).ok_or_else(|| corrupt(what, &text))
    }

    fn hash(&mut self) -> Result<ContentHash, StoreError> {
        self.parsed("a content hash", ContentHash::parse)
    }

    fn holder(&mut self) -> Result<Holder, StoreError> {
        Ok(Holder {
            client_id: self.client_id.clone(),
            node: self.parsed("a node", |text| MemberId::parse(text).ok())?,
            claim: Claim {
                epoch: self.parsed("an epoch", |text| text.parse().ok().map(Epoch))?,
                incarnation: self.parsed("an incarnation", |text| text.parse().ok())?,
                nonce: self.parsed("a nonce", |text| u64::from_str_radix(text, 16).ok())?,
            },
            instance: self.parsed("an instance", |text| InstanceId::parse(text).ok())?,
            connection: self.parsed("a connection number", |text| text.parse().ok())?,
            resume: self.next("whether the app resumes")? == "1",
        })
    }

    fn holder_if_any(&mut self) -> Result<Option<Holder>, StoreError> {
        if self.fields.len() == 0 {
            return Ok(None);
        }
        self.holder().map(Some)
    }

    /// The answer of `claim.lua`; `asked` is the claim without its epoch.
    pub(super) fn claimed(mut self, asked: Claim) -> Result<Claimed, StoreError> {
        match self.next("a claim's outcome")?.as_str() {
            "taken" => Ok(Claimed::Taken {
                claim: Claim {
                    epoch: self.parsed("an epoch", |text| text.parse().ok().map(Epoch))?,
                    ..asked
                },
                previous: self.holder_if_any()?,
            }),
            "late" => Ok(Claimed::Late {
                holder: self.holder()?,
            }),
            other => Err(corrupt("a claim's outcome", other)),
        }
    }

    /// The answer of `restore.lua`.
    pub(super) fn restored(mut self) -> Result<Restored, StoreError> {
        match self.next("a claim's outcome")?.as_str() {
            "held" => Ok(Restored::Held),
            "beaten" => Ok(Restored::Beaten { by: self.holder()? }),
            other => Err(corrupt("a claim's outcome", other)),
        }
    }

    /// The answer of `record.lua`.
    pub(super) fn record(mut self) -> Result<Option<Record>, StoreError> {
        if self.fields.len() == 0 {
            return Ok(None);
        }
        let hashes = Hashes {
            tools: self.hash()?,
            prompts: self.hash()?,
            resources: self.hash()?,
            rest: self.hash()?,
        };
        let departure = match self.next("a departure")?.as_str() {
            "" => None,
            "clean" => Some(Departure::Clean),
            "left" => Some(Departure::Left),
            "lost" => Some(Departure::Lost),
            other => return Err(corrupt("a departure", other)),
        };
        let ago = self.next("the time of a departure")?;
        let departed = match departure {
            Some(departure) => {
                let ms = ago
                    .parse()
                    .map_err(|_| corrupt("the time of a departure", &ago))?;
                Some((departure, Duration::from_millis(ms)))
            }
            None => None,
        };
        let holder = self.holder()?;
        Ok(Some(Record {
            epoch: holder.claim.epoch,
            instance: holder.instance.clone(),
            resume: holder.resume,
            holder: departed.is_none().then_some(holder),
            hashes,
            departed,
        }))
    }
}

pub(super) fn corrupt(what: &str, found: &str) -> StoreError {
    StoreError::Corrupt(format!("{what}: {found}"))
}
