//! Encryption for `wss://`: rustls with the roots of the system.

use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// What the system trusts, read once for all applications of this process.
fn system() -> Arc<ClientConfig> {
    static SYSTEM: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    Arc::clone(SYSTEM.get_or_init(|| Arc::new(config(system_roots()))))
}

/// What the system trusts, and these certificates (DER) beside it. The error says which of them
/// is none.
pub(crate) fn trusting(extra: &[Vec<u8>]) -> Result<Arc<ClientConfig>, String> {
    if extra.is_empty() {
        return Ok(system());
    }
    let mut roots = system_roots();
    for (index, der) in extra.iter().enumerate() {
        roots
            .add(CertificateDer::from(der.as_slice()))
            .map_err(|error| format!("root certificate {index} cannot be used: {error}"))?;
    }
    Ok(Arc::new(config(roots)))
}

fn system_roots() -> RootCertStore {
    let loaded = rustls_native_certs::load_native_certs();
    for error in &loaded.errors {
        tracing::debug!("a root certificate of the system could not be read: {error}");
    }
    let mut roots = RootCertStore::empty();
    // Systems have some that rustls does not take; the others serve.
    roots.add_parsable_certificates(loaded.certs);
    roots
}

fn config(roots: RootCertStore) -> ClientConfig {
    // The provider is named, since a process may have more than one compiled in.
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has all suites of the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}
