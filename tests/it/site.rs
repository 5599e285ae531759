//! A whole site for a test: one or more instances on one database, a provider of our own, and callers.

use std::sync::Arc;
use std::time::Duration;

use flatline::accounts;
use flatline::app::{App, Parts};
use flatline::clock::{ManualClock, Millis, SharedClock, SystemClock};
use flatline::config::{Config, Provider};
use flatline::db::Db;
use flatline::limits::{Policy, Tier};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::database::{Fresh, Kind, fresh};
use crate::provider::FakeProvider;

/// What a site is made of, before it starts.
pub struct Plan {
    kind: Kind,
    instances: usize,
    manual_clock: bool,
    offline: bool,
    config: Config,
}

/// A running site. Its database is gone when it is dropped.
pub struct Site {
    /// Its instances; the first is the one that is asked unless told otherwise.
    pub apps: Vec<App>,
    /// Who answers.
    pub provider: FakeProvider,
    /// Moves only when told to, if the plan asked for it.
    pub clock: Option<Arc<ManualClock>>,
    /// A handle of the test's own on the site's database.
    pub database: Fresh,
    client: Client,
}

/// Somebody who asks.
#[derive(Clone)]
pub struct Visitor {
    client: Client,
    base: String,
    credential: Option<(&'static str, String)>,
}

impl Plan {
    /// One instance with the provider, the default settings and no flood guard.
    pub fn new(kind: Kind) -> Self {
        let mut config = Config::load(&|_| None).unwrap();
        config.flood_limit = None;
        config.sweep_interval = Duration::from_hours(1);
        Self { kind, instances: 1, manual_clock: false, offline: false, config }
    }

    /// Several instances on one database; on SQLite they share the file.
    pub fn instances(mut self, count: usize) -> Self {
        self.instances = count;
        self
    }

    /// A clock that stands still until it is moved.
    pub fn manual_clock(mut self) -> Self {
        self.manual_clock = true;
        self
    }

    /// No model: the built-in assistant answers.
    pub fn offline(mut self) -> Self {
        self.offline = true;
        self
    }

    /// Other settings.
    pub fn config(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// Another limit for users: so many in 600 s.
    pub fn user_limit(self, limit: u32) -> Self {
        self.config(|config| config.user_limit = Policy::named("user", limit, Duration::from_mins(10)))
    }

    /// Starts it.
    pub async fn start(self) -> Site {
        let database = fresh(self.kind).await;
        let provider = FakeProvider::start().await;
        let clock = self.manual_clock.then(|| Arc::new(ManualClock::new(SystemClock::machine_now())));
        let mut config = self.config;
        config.database_url.clone_from(&database.url);
        let base_url = provider.base_url().to_owned();
        // Unless the plan names another one.
        let own = || Provider { api_key: Some("test-key".to_owned()), base_url, model: "fake".to_owned() };
        if !self.offline {
            config.provider.get_or_insert_with(own);
        }
        let mut apps = Vec::new();
        for _ in 0..self.instances {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let shared = clock.clone().map(|clock| -> SharedClock { clock });
            apps.push(App::start(config.clone(), listener, Parts { clock: shared, model: None }).await.unwrap());
        }
        Site { apps, provider, clock, database, client: client() }
    }
}

impl Site {
    /// A site with one instance and the default settings.
    pub async fn start(kind: Kind) -> Self {
        Plan::new(kind).start().await
    }

    /// The test's own handle on the database.
    pub fn db(&self) -> &Db {
        &self.database.db
    }

    /// The time as the site sees it.
    pub fn now(&self) -> Millis {
        self.apps[0].clock.now()
    }

    /// Moves the manual clock.
    pub fn advance(&self, span: Duration) {
        self.clock.as_ref().unwrap().advance(span);
    }

    /// The address of an instance.
    pub fn base(&self, instance: usize) -> String {
        format!("http://{}", self.apps[instance].addr)
    }

    /// A new user with an API token, asking the first instance.
    pub async fn user(&self, name: &str, tier: Tier) -> Visitor {
        let clock = self.apps[0].clock.clone();
        accounts::add_user(self.db(), clock.as_ref(), name, tier).await.unwrap();
        self.token_of(name).await
    }

    /// The owner that every fresh database has, with the sample checks.
    pub async fn owner(&self) -> Visitor {
        self.token_of(accounts::OWNER).await
    }

    async fn token_of(&self, name: &str) -> Visitor {
        let clock = self.apps[0].clock.clone();
        let token = accounts::create_token(self.db(), clock.as_ref(), name, "test").await.unwrap();
        self.visitor(Some(("authorization", format!("Bearer {token}"))))
    }

    /// Somebody with a session of their own, minted by the site.
    pub async fn anonymous(&self) -> Visitor {
        let session = self.visitor(None).send(Method::POST, "/api/session", None).await;
        let token = json_of(session).await["token"].as_str().unwrap().to_owned();
        self.visitor(Some(("flatline-session", token)))
    }

    /// Somebody with that header, or none.
    pub fn visitor(&self, credential: Option<(&'static str, String)>) -> Visitor {
        Visitor::new(self.client.clone(), self.base(0), credential)
    }

    /// Stops every instance in order.
    pub async fn shutdown(self) {
        for app in self.apps {
            app.shutdown().await;
        }
    }
}

impl Visitor {
    /// Somebody who asks at `base`, with that header or none.
    pub fn new(client: Client, base: String, credential: Option<(&'static str, String)>) -> Self {
        Self { client, base, credential }
    }

    /// The same caller, asking another instance.
    pub fn at(&self, site: &Site, instance: usize) -> Self {
        self.through(&site.base(instance))
    }

    /// The same caller, asking at another address: a proxy's.
    pub fn through(&self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.clone() }
    }

    /// A request with this caller's credential.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.credential {
            Some((name, value)) => request.header(*name, value),
            None => request,
        }
    }

    /// Sends a request, with a JSON body if there is one.
    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Response {
        let request = self.request(method, path);
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        };
        request.send().await.unwrap()
    }

    /// GET, as JSON; panics unless it is a 200.
    pub async fn get(&self, path: &str) -> Value {
        let response = self.send(Method::GET, path, None).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        json_of(response).await
    }

    /// POST without a body.
    pub async fn post(&self, path: &str) -> Response {
        self.send(Method::POST, path, None).await
    }

    /// Sends a message and returns the answer's head; its stream is not read yet.
    pub async fn say(&self, conversation: &str, message: &str, text: &str) -> Response {
        let part = json!({"type": "text", "text": text});
        let message = json!({"id": message, "role": "user", "parts": [part]});
        self.send(Method::POST, "/api/chat", Some(json!({"id": conversation, "message": message}))).await
    }

    /// Sends a message and reads the whole stream; panics unless it is a 200.
    pub async fn chat(&self, conversation: &str, message: &str, text: &str) -> Vec<Value> {
        let response = self.say(conversation, message, text).await;
        assert_eq!(response.status(), StatusCode::OK);
        chunks(response).await
    }
}

/// Follows no redirect and uses no proxy.
pub fn client() -> Client {
    // An error says that another one is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

/// A body as JSON.
pub async fn json_of(response: Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

/// The chunks of a whole stream; panics unless it ends in `[DONE]`.
pub async fn chunks(response: Response) -> Vec<Value> {
    let text = response.text().await.unwrap();
    let mut frames: Vec<&str> = text.split("\n\n").filter_map(|frame| frame.strip_prefix("data: ")).collect();
    assert_eq!(frames.pop(), Some("[DONE]"), "{text}");
    frames.into_iter().map(|frame| serde_json::from_str(frame).unwrap()).collect()
}

/// The chunks' types, in order.
pub fn types(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect()
}

/// All text of a stream.
pub fn text(chunks: &[Value]) -> String {
    let deltas = chunks.iter().filter(|chunk| chunk["type"] == "text-delta");
    deltas.map(|chunk| chunk["delta"].as_str().unwrap()).collect()
}

/// The action cards of a stream.
pub fn cards(chunks: &[Value]) -> Vec<Value> {
    chunks.iter().filter(|chunk| chunk["type"] == "data-action").map(|chunk| chunk["data"].clone()).collect()
}
