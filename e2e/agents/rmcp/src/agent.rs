//! One connection of rmcp, in the words of the scenarios.
#![expect(
    deprecated,
    reason = "sampling, roots and subscribing are what older revisions have"
)]

use std::{
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context, bail};
use rmcp::{
    ClientHandler,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientConfig, ClientRequest,
        CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
        ErrorData, GetPromptRequestParams, ListRootsResult, ProgressNotificationParam,
        ProtocolVersion, ReadResourceRequestParams, ResourceUpdatedNotificationParam,
        ServerNotification, ServerResult, SubscribeRequestParams, SubscriptionFilter, Tool,
    },
    service::{
        ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions,
        RequestContext, RequestHandle, RoleClient, RunningService, Subscription,
    },
    transport::streamable_http_client::{
        StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    Era, answers,
    wire::{RecordingClient, Wire},
};

/// Collects what the server tells unasked, and answers what it asks.
struct Listener {
    progress: Arc<Mutex<Vec<ProgressNotificationParam>>>,
    changes: mpsc::UnboundedSender<()>,
    updates: mpsc::UnboundedSender<()>,
}

impl ClientHandler for Listener {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.progress
            .lock()
            .expect("no holder of the lock panics")
            .push(params);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        // Fails only when the scenarios are over.
        let _ = self.changes.send(());
    }

    async fn on_resource_updated(
        &self,
        _: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.updates.send(());
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        as_type(answers::form(&as_json(&request)))
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        as_type(answers::sample(&as_json(&request)))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        as_type(answers::roots())
    }

    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.client_info.name = "e2e-rmcp".to_owned();
        config.capabilities = as_type(answers::capabilities()).expect("they are well formed");
        config
    }
}

/// As it was on the wire.
fn as_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("it came as JSON")
}

fn as_type<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A connection.
pub(crate) struct Agent {
    service: RunningService<RoleClient, Listener>,
    progress: Arc<Mutex<Vec<ProgressNotificationParam>>>,
    changes: mpsc::UnboundedReceiver<()>,
    updates: mpsc::UnboundedReceiver<()>,
    subscription: Option<Subscription>,
    watch: Option<Subscription>,
}

impl Agent {
    /// Connects in the given lifecycle mode.
    pub(crate) async fn connect(
        mode: &str,
        url: &str,
        token: &str,
        wire: Arc<Wire>,
    ) -> anyhow::Result<Self> {
        let lifecycle = match mode {
            "legacy" => ClientLifecycleMode::Initialize,
            "discover" => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
            "auto" => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: None,
            },
            other => bail!("no mode {other}"),
        };
        let client = RecordingClient {
            http: reqwest::Client::new(),
            wire,
        };
        let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(token);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let progress = Arc::<Mutex<_>>::default();
        let (changed, changes) = mpsc::unbounded_channel();
        let (updated, updates) = mpsc::unbounded_channel();
        let listener = Listener {
            progress: Arc::clone(&progress),
            changes: changed,
            updates: updated,
        };
        let service = listener.serve_with_lifecycle(transport, lifecycle).await?;
        Ok(Self {
            service,
            progress,
            changes,
            updates,
            subscription: None,
            watch: None,
        })
    }

    /// The revision that was agreed on.
    pub(crate) fn protocol_version(&self) -> anyhow::Result<String> {
        let info = self
            .service
            .peer()
            .peer_info()
            .context("the handshake left no server information")?;
        Ok(info.protocol_version.to_string())
    }

    /// All tools, in the server's order.
    pub(crate) async fn list_tools(&self) -> anyhow::Result<Vec<Tool>> {
        Ok(self.service.peer().list_all_tools().await?)
    }

    /// Begins a call and gives the handle by which it is awaited or cancelled.
    pub(crate) async fn start_call(
        &self,
        name: &str,
        arguments: &Value,
    ) -> anyhow::Result<RequestHandle<RoleClient>> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        Ok(self
            .service
            .peer()
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await?)
    }

    /// Calls a tool; gives its result and the progress that came for this very call.
    pub(crate) async fn call(
        &self,
        name: &str,
        arguments: &Value,
    ) -> anyhow::Result<(CallToolResult, Vec<ProgressNotificationParam>)> {
        let handle = self.start_call(name, arguments).await?;
        let token = handle.progress_token.clone();
        let ServerResult::CallToolResult(result) = handle.await_response().await? else {
            bail!("{name} was answered with another kind of result");
        };
        // rmcp hands each notification to a task of its own; let those that came before the result run.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let all = mem::take(&mut *self.progress.lock().expect("no holder of the lock panics"));
        Ok((
            result,
            all.into_iter()
                .filter(|p| p.progress_token == token)
                .collect(),
        ))
    }

    /// Calls a tool that may ask; answers what it asks.
    pub(crate) async fn call_that_asks(
        &self,
        name: &str,
        arguments: &Value,
    ) -> anyhow::Result<CallToolResult> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        Ok(self.service.call_tool(params).await?)
    }

    /// All prompts, in the server's order.
    pub(crate) async fn list_prompts(&self) -> anyhow::Result<Value> {
        Ok(as_json(&self.service.peer().list_all_prompts().await?))
    }

    /// A prompt's messages.
    pub(crate) async fn prompt(&self, name: &str, arguments: &Value) -> anyhow::Result<Value> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = arguments.as_object().cloned();
        let result = self.service.peer().get_prompt(params).await?;
        Ok(as_json(&result.messages))
    }

    /// All resources, in the server's order.
    pub(crate) async fn list_resources(&self) -> anyhow::Result<Value> {
        Ok(as_json(&self.service.peer().list_all_resources().await?))
    }

    /// All resource templates, in the server's order.
    pub(crate) async fn list_templates(&self) -> anyhow::Result<Value> {
        let templates = self.service.peer().list_all_resource_templates().await?;
        Ok(as_json(&templates))
    }

    /// A resource's contents.
    pub(crate) async fn read(&self, uri: &str) -> anyhow::Result<Value> {
        let params = ReadResourceRequestParams::new(uri);
        let result = self.service.peer().read_resource(params).await?;
        Ok(as_json(&result.contents))
    }

    /// Values for an argument of a prompt.
    pub(crate) async fn complete_argument(
        &self,
        prompt: &str,
        argument: &str,
        value: &str,
    ) -> anyhow::Result<Vec<String>> {
        let peer = self.service.peer();
        Ok(peer.complete_prompt_simple(prompt, argument, value).await?)
    }

    /// Values for a variable of a resource template.
    pub(crate) async fn complete_variable(
        &self,
        template: &str,
        variable: &str,
        value: &str,
    ) -> anyhow::Result<Vec<String>> {
        let peer = self.service.peer();
        Ok(peer
            .complete_resource_simple(template, variable, value)
            .await?)
    }

    /// Begins to watch a resource.
    pub(crate) async fn watch(&mut self, uri: &str, era: Era) -> anyhow::Result<()> {
        let peer = self.service.peer();
        if era == Era::Modern {
            let filter = SubscriptionFilter::builder().resource_subscription(uri);
            self.watch = Some(peer.listen(filter.build()).await?);
        } else {
            peer.subscribe(SubscribeRequestParams::new(uri)).await?;
        }
        Ok(())
    }

    /// Waits until the watched resource has changed.
    pub(crate) async fn updated(&mut self) -> anyhow::Result<()> {
        let Some(watch) = &mut self.watch else {
            return self.updates.recv().await.context("the connection is over");
        };
        match watch.next().await? {
            Some(ServerNotification::ResourceUpdatedNotification(_)) => Ok(()),
            other => bail!("the subscription gave {other:?}"),
        }
    }

    /// Begins to listen for changes of the tool list, where the era asks for that.
    pub(crate) async fn watch_tools(&mut self, era: Era) -> anyhow::Result<()> {
        if era == Era::Modern {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let subscription = self.service.peer().listen(filter).await?;
            if subscription.acknowledged().tools_list_changed != Some(true) {
                bail!(
                    "the filter was not honoured: {:?}",
                    subscription.acknowledged()
                );
            }
            self.subscription = Some(subscription);
        }
        Ok(())
    }

    /// Waits for the next change of the tool list.
    pub(crate) async fn tools_changed(&mut self) -> anyhow::Result<()> {
        let Some(subscription) = &mut self.subscription else {
            return self.changes.recv().await.context("the connection is over");
        };
        match subscription.next().await? {
            Some(ServerNotification::ToolListChangedNotification(_)) => Ok(()),
            other => bail!("the subscription gave {other:?}"),
        }
    }

    /// Whether a change is waiting that nobody asked for.
    pub(crate) fn has_more_changes(&mut self) -> bool {
        self.changes.try_recv().is_ok()
    }

    /// Ends the subscription and the connection.
    pub(crate) async fn close(mut self) -> anyhow::Result<()> {
        for mut subscription in [self.subscription.take(), self.watch.take()]
            .into_iter()
            .flatten()
        {
            subscription.cancel().await?;
        }
        self.service.cancel().await?;
        Ok(())
    }
}
