//! `clientmcp token`: mints tokens.

use std::time::{Duration, SystemTime};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use clientmcp_core::ids::{ClientId, Subject};
use clientmcp_core::token::{self, Claims};

use crate::secret_source::SecretSource;

/// Prints a token, and nothing else, to standard output.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  clientmcp token app --client demo                   lets an application connect as \"demo\", for a day
  clientmcp token agent --client demo --ttl 30days    lets an agent call it
  clientmcp token --client demo --scope clientmcp:serve --scope clientmcp:call

The secret is read from --secret-file or CLIENTMCP_SECRET; it must be the cluster's.")]
pub struct Token {
    /// Whom the token is for: sets its scope
    #[arg(value_name = "FOR", required_unless_present = "scope")]
    bearer: Option<Bearer>,
    /// The client ID that the token names
    #[arg(long, env = "CLIENTMCP_CLIENT", value_name = "ID")]
    client: String,
    /// What the token allows, instead of FOR; may be given more than once
    #[arg(
        long,
        env = "CLIENTMCP_SCOPE",
        value_name = "SCOPE",
        conflicts_with = "bearer"
    )]
    scope: Vec<TokenScope>,
    /// How long it is valid, as in 15m, 12h, 30days
    #[arg(long, env = "CLIENTMCP_TOKEN_TTL", value_name = "TIME", default_value = "1day",
          value_parser = humantime::parse_duration)]
    ttl: Duration,
    /// Who calls: the subject of the agent's sessions
    #[arg(long, env = "CLIENTMCP_AGENT", value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    secrets: SecretSource,
}

/// Whom a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bearer {
    /// An application: scope clientmcp:serve
    App,
    /// An agent: scope clientmcp:call
    Agent,
}

/// The scopes by their names in the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TokenScope {
    #[value(name = "clientmcp:serve")]
    Serve,
    #[value(name = "clientmcp:call")]
    Call,
}

impl Token {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let secrets = self.secrets.read()?;
        let client_id = ClientId::parse(&self.client).context("--client")?;
        ensure!(!self.ttl.is_zero(), "--ttl: must be longer than zero");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let allows = |bearer, scope| match self.bearer {
            Some(given) => given == bearer,
            None => self.scope.contains(&scope),
        };
        let claims = Claims {
            client_id,
            agent: self
                .agent
                .as_deref()
                .map(Subject::parse)
                .transpose()
                .context("--agent")?,
            serve: allows(Bearer::App, TokenScope::Serve),
            call: allows(Bearer::Agent, TokenScope::Call),
            expires_at: (now + self.ttl).as_secs(),
            not_before: None,
        };
        println!("{}", token::mint(&secrets, &claims));
        Ok(())
    }
}
