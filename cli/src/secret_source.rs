//! Where the secrets come from: a file or the environment, never the command line, which every
//! user of the machine can read.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use clientmcp_core::secret::Secrets;

/// The variable that holds the secrets themselves.
const VARIABLE: &str = "CLIENTMCP_SECRET";

/// The secrets that sign tokens.
#[derive(Debug, Args)]
pub(crate) struct SecretSource {
    /// File with the secrets that sign tokens, one a line, at least 32 bytes each; the first
    /// signs, all verify. Without it the variable CLIENTMCP_SECRET is read (several with commas)
    #[arg(long, env = "CLIENTMCP_SECRET_FILE", value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl SecretSource {
    /// The given secrets, or new ones for this run alone.
    pub(crate) fn read_or_generate(&self) -> anyhow::Result<Secrets> {
        if self.secret_file.is_some() || std::env::var_os(VARIABLE).is_some() {
            return self.read();
        }
        let random: [u8; 32] = rand::random();
        let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Secrets::from_text(&text).context("generated secret")
    }

    /// Reads and checks the secrets.
    pub(crate) fn read(&self) -> anyhow::Result<Secrets> {
        let (text, origin) = match &self.secret_file {
            Some(file) => {
                let text = std::fs::read_to_string(file)
                    .with_context(|| format!("--secret-file: cannot read {}", file.display()))?;
                (text, format!("--secret-file {}", file.display()))
            }
            None => match std::env::var(VARIABLE) {
                Ok(text) => (text, VARIABLE.to_owned()),
                Err(_) => bail!(
                    "no secret: give --secret-file, or set {VARIABLE} to at least 32 random bytes \
                     (for example: export {VARIABLE}=$(openssl rand -hex 32))"
                ),
            },
        };
        Secrets::from_text(&text).with_context(|| origin)
    }
}
