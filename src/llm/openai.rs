//! Any OpenAI-compatible server: async-openai's configuration and request types, our own reading of the answer.

use std::time::Duration;

use async_openai::config::{Config, OpenAIConfig};
use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls, ChatCompletionRequestAssistantMessage,
    ChatCompletionRequestMessage, ChatCompletionRequestSystemMessage, ChatCompletionRequestToolMessage,
    ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, ChatCompletionTool, ChatCompletionTools,
    CreateChatCompletionRequest, FunctionCall, FunctionObject,
};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::StreamExt;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, Url, redirect};

use super::reading::{BodyBroken, Reading};
use super::{
    ChatModel, DeltaStream, MAX_OUTPUT_TOKENS, Message, ModelError, ModelErrorKind, ModelRequest, Timeouts, ToolCall,
    ToolSpec, failure, retry,
};

/// As much of an error answer as is read: enough to find its code.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// How long an error answer may take after its head; its status is known by then.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(2);

/// Where the model is and how to talk to it.
#[derive(Clone)]
pub struct OpenAiConfig {
    /// Sent as a bearer token; local servers need none.
    pub api_key: Option<String>,
    /// The URL before `/chat/completions`, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// The model's name at the provider.
    pub model: String,
    /// How long to wait.
    pub timeouts: Timeouts,
}

/// Why a configuration cannot be used. Holds neither the key nor the URL, which may carry a password.
#[derive(Debug, thiserror::Error)]
pub enum OpenAiConfigError {
    /// `base_url` is not an http or https URL.
    #[error("the model's base URL is not an http or https URL")]
    BaseUrl,
    /// The key cannot stand in a header.
    #[error("the model's API key holds characters that cannot be sent")]
    ApiKey,
    /// No client could be built.
    #[error("no HTTPS client for the model")]
    Client(#[source] reqwest::Error),
}

/// A model behind an OpenAI-compatible API.
pub struct OpenAi {
    client: Client,
    url: Url,
    headers: HeaderMap,
    model: String,
    timeouts: Timeouts,
    token_limit: TokenLimit,
}

/// The name of the parameter that limits the output. OpenAI's newer models refuse `max_tokens`, nobody accepts both,
/// and many compatible servers (Ollama, Mistral, older llama.cpp) know only `max_tokens`. So the host decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenLimit {
    MaxTokens,
    MaxCompletionTokens,
}

impl TokenLimit {
    fn of(url: &Url) -> Self {
        match url.host_str() {
            Some(host) if host == "api.openai.com" || host.ends_with(".openai.azure.com") => Self::MaxCompletionTokens,
            _ => Self::MaxTokens,
        }
    }
}

impl OpenAi {
    /// Prepares the client; connects to nothing. Proxies from the environment are not used, redirects not followed.
    pub fn new(config: OpenAiConfig) -> Result<Self, OpenAiConfigError> {
        // reqwest is built without a TLS provider of its own. Being second is fine: it is the same for all of us.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let key = config.api_key.filter(|key| !key.is_empty());
        // OpenAIConfig takes the key into a header and panics if it cannot.
        HeaderValue::try_from(key.as_deref().unwrap_or_default()).map_err(|_| OpenAiConfigError::ApiKey)?;
        // OpenAIConfig starts from the environment; every field that it takes from there is set again here.
        let settings = OpenAIConfig::new()
            .with_api_base(config.base_url.trim_end_matches('/'))
            .with_api_key(key.as_deref().unwrap_or_default())
            .with_org_id("")
            .with_project_id("");
        let mut headers = settings.headers();
        if key.is_none() {
            headers.remove(AUTHORIZATION);
        }
        if let Some(token) = headers.get_mut(AUTHORIZATION) {
            token.set_sensitive(true);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let url = Url::parse(&settings.url("/chat/completions")).map_err(|_| OpenAiConfigError::BaseUrl)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(OpenAiConfigError::BaseUrl);
        }
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(config.timeouts.connect)
            .build()
            .map_err(OpenAiConfigError::Client)?;
        let token_limit = TokenLimit::of(&url);
        Ok(Self { client, url, headers, model: config.model, timeouts: config.timeouts, token_limit })
    }

    async fn open_in_time(&self, request: &ModelRequest) -> Result<DeltaStream, ModelError> {
        let body = self.body(request)?;
        // What has failed so far, should the time end before the next try tells more.
        let mut so_far = None;
        let opening = async {
            let mut retries = 0;
            loop {
                let error = match self.try_once(body.clone(), &mut so_far).await {
                    Ok(reading) => return Ok(reading),
                    Err(error) => error,
                };
                let Some(wait) = retry::wait_before(retries, &error, rand::random()) else { return Err(error) };
                retries += 1;
                tracing::warn!(status = error.status, reason = %error, wait_ms = wait.as_millis(), "model call is tried again");
                so_far = Some(error);
                tokio::time::sleep(wait).await;
            }
        };
        let opened = tokio::time::timeout(self.timeouts.first, opening).await;
        let reading = opened.unwrap_or_else(|_| {
            Err(so_far.unwrap_or_else(|| ModelError::timeout("the provider said nothing in time")))
        })?;
        Ok(reading.into_stream(self.timeouts.idle))
    }

    async fn try_once(&self, body: Bytes, so_far: &mut Option<ModelError>) -> Result<Reading, ModelError> {
        *so_far = None;
        let sent = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body).send().await;
        let response = sent.map_err(|error| {
            ModelError::unreachable(if error.is_connect() { "no connection" } else { "the connection broke" })
        })?;
        let status = response.status();
        if !status.is_success() {
            let retry_after = retry_after(response.headers());
            // The status counts even if the body never ends.
            *so_far = Some(failure::from_status(status.as_u16(), b"", retry_after));
            return Err(failure::from_status(status.as_u16(), &error_body(response).await, retry_after));
        }
        let body = response.bytes_stream().map(|bytes| bytes.map_err(|_| BodyBroken)).boxed();
        Reading::open(body).await
    }

    fn body(&self, request: &ModelRequest) -> Result<Bytes, ModelError> {
        let system = ChatCompletionRequestSystemMessage { content: request.system.as_str().into(), name: None };
        let mut body = CreateChatCompletionRequest {
            model: self.model.clone(),
            messages: std::iter::once(system.into()).chain(conversation(&request.messages)).collect(),
            tools: (!request.tools.is_empty()).then(|| request.tools.iter().map(tool).collect()),
            stream: Some(true),
            stream_options: Some(ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None }),
            ..CreateChatCompletionRequest::default()
        };
        match self.token_limit {
            TokenLimit::MaxCompletionTokens => body.max_completion_tokens = Some(MAX_OUTPUT_TOKENS),
            #[expect(deprecated, reason = "the only name that every compatible server knows")]
            TokenLimit::MaxTokens => body.max_tokens = Some(MAX_OUTPUT_TOKENS),
        }
        serde_json::to_vec(&body).map(Bytes::from).map_err(|_| ModelError {
            kind: ModelErrorKind::Refused,
            status: None,
            retry_after: None,
            reason: "the request cannot be written as JSON".to_owned(),
        })
    }
}

impl ChatModel for OpenAi {
    fn open<'a>(&'a self, request: &'a ModelRequest) -> BoxFuture<'a, Result<DeltaStream, ModelError>> {
        Box::pin(self.open_in_time(request))
    }

    fn name(&self) -> &str {
        &self.model
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    retry::retry_after(text(RETRY_AFTER)?, text(DATE))
}

/// The body of an error answer, or as much of it as comes soon.
async fn error_body(response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    let reading = async {
        while let Some(Ok(piece)) = pieces.next().await {
            body.extend_from_slice(&piece);
            if body.len() > MAX_ERROR_BYTES {
                break;
            }
        }
    };
    // What came before the time was over is enough, or there is nothing more to learn.
    let _ = tokio::time::timeout(ERROR_BODY_WAIT, reading).await;
    body
}

/// The conversation as the API takes it. Messages of the user's with nothing between them, because an answer was
/// stopped before it said anything, go as one: the templates of some models refuse two in a row.
fn conversation(messages: &[Message]) -> impl Iterator<Item = ChatCompletionRequestMessage> {
    let turns = messages.chunk_by(|a, b| matches!((a, b), (Message::User(_), Message::User(_))));
    turns.map(|turn| match turn {
        [one] => message(one),
        several => {
            let texts = several.iter().filter_map(|one| if let Message::User(text) = one { Some(text) } else { None });
            let text = texts.map(String::as_str).collect::<Vec<_>>().join("\n\n");
            message(&Message::User(text))
        }
    })
}

fn message(message: &Message) -> ChatCompletionRequestMessage {
    match message {
        Message::User(text) => ChatCompletionRequestUserMessage { content: text.as_str().into(), name: None }.into(),
        Message::Assistant { text, tool_calls } => ChatCompletionRequestAssistantMessage {
            // Empty text beside calls is left out, as servers themselves send it; without calls it must stand.
            content: (!text.is_empty() || tool_calls.is_empty()).then(|| text.as_str().into()),
            tool_calls: (!tool_calls.is_empty()).then(|| tool_calls.iter().map(tool_call).collect()),
            ..ChatCompletionRequestAssistantMessage::default()
        }
        .into(),
        Message::Tool { call_id, name: _, content } => {
            ChatCompletionRequestToolMessage { content: content.to_string().into(), tool_call_id: call_id.clone() }
                .into()
        }
    }
}

fn tool_call(call: &ToolCall) -> ChatCompletionMessageToolCalls {
    let arguments = serde_json::Value::Object(call.arguments.clone()).to_string();
    ChatCompletionMessageToolCalls::Function(ChatCompletionMessageToolCall {
        id: call.id.clone(),
        function: FunctionCall { name: call.name.clone(), arguments },
    })
}

fn tool(tool: &ToolSpec) -> ChatCompletionTools {
    ChatCompletionTools::Function(ChatCompletionTool {
        function: FunctionObject {
            name: tool.name.to_owned(),
            description: Some(tool.description.clone()),
            parameters: Some(tool.parameters.clone()),
            strict: None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_decides_the_name_of_the_token_limit() {
        for (url, expected) in [
            ("https://api.openai.com/v1", TokenLimit::MaxCompletionTokens),
            ("https://house.openai.azure.com/openai/v1", TokenLimit::MaxCompletionTokens),
            ("https://api.openai.com.example/v1", TokenLimit::MaxTokens),
            ("http://localhost:11434/v1", TokenLimit::MaxTokens),
        ] {
            assert_eq!(TokenLimit::of(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn a_configuration_that_cannot_work_is_refused() {
        let new = |key: &str, base_url: &str| {
            OpenAi::new(OpenAiConfig {
                api_key: Some(key.into()),
                base_url: base_url.into(),
                model: "m".into(),
                timeouts: Timeouts::default(),
            })
        };
        assert!(matches!(new("a\nb", "http://localhost/v1"), Err(OpenAiConfigError::ApiKey)));
        assert!(matches!(new("key", "localhost:8080"), Err(OpenAiConfigError::BaseUrl)));
        assert!(matches!(new("key", ""), Err(OpenAiConfigError::BaseUrl)));
        assert!(new("key", "http://localhost:8080/v1/").is_ok());
    }
}
