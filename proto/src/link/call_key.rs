//! The call ID as frames carry it.

use std::fmt;

use bytes::Bytes;

/// A call ID: the 16 bytes of a UUID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey(pub [u8; 16]);

impl CallKey {
    /// Reads the `call_id` of a frame; `None` if it has another length.
    #[must_use]
    pub fn read(call_id: &[u8]) -> Option<Self> {
        call_id.try_into().ok().map(Self)
    }

    /// The key as the `call_id` of a frame.
    #[must_use]
    pub fn to_bytes(self) -> Bytes {
        Bytes::copy_from_slice(&self.0)
    }
}

impl fmt::Debug for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}
