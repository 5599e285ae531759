//! A running instance: database, migrations, workers, server; and how it stops.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accounts;
use crate::chat::live::Turns;
use crate::chat::prompt::Prompts;
use crate::chat::streams::Streams;
use crate::chat::{Chat, store};
use crate::checks;
use crate::checks::notify::Sender;
use crate::clock::{Millis, SharedClock, SystemClock};
use crate::config::Config;
use crate::db::{self, Db, DbError};
use crate::http::flood::FloodGuard;
use crate::http::{AppState, metrics as metrics_endpoint, serve};
use crate::limits::{self, Tier};
use crate::llm::ChatModel;
use crate::llm::offline::Offline;
use crate::llm::openai::{OpenAi, OpenAiConfig};
use crate::router::router;

/// Running turns get this long to finish when the process stops.
const TURN_GRACE: Duration = Duration::from_secs(10);
/// Connections get this long to close after that.
const CONNECTION_GRACE: Duration = Duration::from_secs(2);
/// All that follows the turns' grace gets this long: the process ends within 15 s.
const REST_GRACE: Duration = Duration::from_secs(4);
/// Expired actions and dead turns are tidied this often.
const TIDY_EVERY: Duration = Duration::from_secs(10);
/// Checks that stay down are looked for this often.
const REMIND_EVERY: Duration = Duration::from_secs(10);
/// Rows of no further use are deleted this often.
const PRUNE_EVERY: Duration = Duration::from_hours(1);
/// The database's clock is measured this often.
const MEASURE_EVERY: Duration = Duration::from_mins(1);

/// Why an instance does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database.
    #[error("the database cannot be used; look at DATABASE_URL: {0}")]
    Db(#[from] DbError),
    /// A file or address.
    #[error("{what}: {cause}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why not.
        cause: std::io::Error,
    },
    /// The model's settings.
    #[error(transparent)]
    Model(#[from] crate::llm::openai::OpenAiConfigError),
    /// The owner's account.
    #[error(transparent)]
    Account(#[from] accounts::AccountError),
    /// What sends notifications.
    #[error(transparent)]
    Sender(#[from] checks::notify::SenderError),
    /// The sample checks.
    #[error("the sample checks could not be made: {0}")]
    Samples(#[from] checks::CheckError),
}

/// A running instance.
pub struct App {
    /// Where it listens.
    pub addr: SocketAddr,
    /// Where it is reached.
    pub public_url: Arc<str>,
    /// Its database.
    pub db: Db,
    /// Its clock.
    pub clock: SharedClock,
    turns: Turns,
    stopping: CancellationToken,
    stop_turns: CancellationToken,
    workers: TaskTracker,
    connections: TaskTracker,
}

/// What an instance may be given instead of its own: tests decide what time it is and who answers.
#[derive(Default)]
pub struct Parts {
    /// The time.
    pub clock: Option<SharedClock>,
    /// Who answers.
    pub model: Option<Arc<dyn ChatModel>>,
}

impl App {
    /// Opens and migrates the database, starts the workers and serves on `listener`.
    ///
    /// # Errors
    /// [`StartError`]: nothing runs then.
    pub async fn start(config: Config, listener: TcpListener, parts: Parts) -> Result<Self, StartError> {
        let db = db::open(&config.database_url).await?;
        db.migrate().await?;
        let system_clock = Arc::new(SystemClock::default());
        measure(&db, &system_clock).await?;
        let clock: SharedClock = parts.clock.unwrap_or_else(|| system_clock.clone());
        let prompts = Prompts::load(config.prompts_dir.as_deref())
            .map_err(|cause| StartError::Io { what: "the prompts cannot be read", cause })?;
        let model = match parts.model {
            Some(model) => model,
            None => model(&config, &prompts, clock.clone())?,
        };
        let secret = accounts::secret(&db, &config).await?;
        if db.is_embedded() {
            // Nobody else runs turns on this file: what still streams died with its process.
            store::running::interrupt_all(&db).await?;
        }
        first_start(&db, &clock).await?;
        let addr =
            listener.local_addr().map_err(|cause| StartError::Io { what: "the listener has no address", cause })?;
        let public_url: Arc<str> = config.public_url.clone().unwrap_or_else(|| format!("http://{addr}")).into();
        let metrics = match config.metrics_addr {
            None => None,
            Some(addr) => Some(TcpListener::bind(addr).await.map_err(|cause| {
                let what = "FLATLINE_METRICS_ADDR cannot be listened on; set another address";
                StartError::Io { what, cause }
            })?),
        };
        let smtp = config.smtp.as_ref();
        let sender = Sender::new(db.clone(), clock.clone(), &public_url, config.outgoing_allow.clone(), smtp)?;
        tracing::info!(%addr, model = model.name(), prompts = prompts.hash(), "started");

        let (stopping, stop_turns) = (CancellationToken::new(), CancellationToken::new());
        let (workers, connections) = (TaskTracker::new(), TaskTracker::new());
        let config = Arc::new(config);
        let turns = Turns::new(stop_turns.clone());
        let chat = Chat {
            db: db.clone(),
            clock: clock.clone(),
            config: config.clone(),
            model: model.clone(),
            prompts: Arc::new(prompts),
            turns: turns.clone(),
            streams: Streams::default(),
        };
        let flood_guard = config.flood_limit.map(FloodGuard::new);
        let state = AppState {
            db: db.clone(),
            clock: clock.clone(),
            config: config.clone(),
            model,
            secret: secret.into(),
            public_url: public_url.clone(),
            stopping: stopping.clone(),
        };
        let app = Self { addr, public_url, db, clock, turns, stopping, stop_turns, workers, connections };
        app.start_workers(&config, flood_guard.clone(), system_clock);
        app.workers.spawn(sender.run(app.stopping.clone()));
        if let Some(listener) = metrics {
            app.workers.spawn(metrics_endpoint::serve(listener, app.stop_turns.clone()));
        }
        let router = router(state, chat, flood_guard);
        // Readiness goes false first and new requests get 503; the listener closes with the turns.
        let closing = app.stop_turns.clone();
        app.workers.spawn(serve::serve(listener, router, app.connections.clone(), closing));
        Ok(app)
    }

    fn start_workers(&self, config: &Config, flood_guard: Option<FloodGuard>, system_clock: Arc<SystemClock>) {
        let (db, clock, stop) = (self.db.clone(), self.clock.clone(), self.stopping.clone());
        self.workers.spawn(checks::sweep::run(db, clock, config.sweep_interval, stop));
        let (db, clock) = (self.db.clone(), self.clock.clone());
        self.every(TIDY_EVERY, move || tidy(db.clone(), clock.clone()));
        let (db, clock) = (self.db.clone(), self.clock.clone());
        self.every(REMIND_EVERY, move || remind(db.clone(), clock.clone()));
        let (db, clock, stop) = (self.db.clone(), self.clock.clone(), self.stopping.clone());
        self.every(PRUNE_EVERY, move || prune(db.clone(), clock.clone(), stop.clone()));
        let (db, clock, stop) = (self.db.clone(), self.clock.clone(), self.stopping.clone());
        self.every(PRUNE_EVERY, move || prune_checks(db.clone(), clock.clone(), stop.clone()));
        let (db, clock) = (self.db.clone(), self.clock.clone());
        self.every(checks::intake::MARK_EVERY / 2, move || attend(db.clone(), clock.clone()));
        let db = self.db.clone();
        self.every(MEASURE_EVERY, move || {
            let (db, system_clock, flood_guard) = (db.clone(), system_clock.clone(), flood_guard.clone());
            async move {
                if let Some(guard) = flood_guard {
                    guard.tidy();
                }
                measure(&db, &system_clock).await
            }
        });
    }

    /// Runs `work` each `period` until the process stops; a failure is logged and tried again at its next time.
    fn every<F>(&self, period: Duration, work: impl Fn() -> F + Send + 'static)
    where
        F: Future<Output = Result<(), DbError>> + Send,
    {
        let stop = self.stopping.clone();
        self.workers.spawn(async move {
            let mut tick = interval(period);
            loop {
                tokio::select! {
                    _ = tick.tick() => {}
                    () = stop.cancelled() => return,
                }
                if let Err(error) = work().await {
                    tracing::warn!(%error, "background work failed");
                }
            }
        });
    }

    /// Stops: no new requests, turns get 10 s and are then stored as interrupted, connections close.
    pub async fn shutdown(self) {
        self.stopping.cancel();
        self.turns.tasks.close();
        if timeout(TURN_GRACE, self.turns.tasks.wait()).await.is_err() {
            tracing::info!("turns still run: they are stopped and stored as interrupted");
        }
        self.stop_turns.cancel();
        let rest = async {
            self.turns.tasks.wait().await;
            self.connections.close();
            if timeout(CONNECTION_GRACE, self.connections.wait()).await.is_err() {
                tracing::debug!("some connections were cut");
            }
            self.workers.close();
            self.workers.wait().await;
            self.db.close().await;
        };
        // A database that hangs must not keep the process: what it did not store is found by its lease.
        if timeout(REST_GRACE, rest).await.is_err() {
            tracing::warn!("not everything could be stored or closed in time");
        }
    }
}

fn model(config: &Config, prompts: &Prompts, clock: SharedClock) -> Result<Arc<dyn ChatModel>, StartError> {
    Ok(match &config.provider {
        Some(provider) => Arc::new(OpenAi::new(OpenAiConfig {
            api_key: provider.api_key.clone(),
            base_url: provider.base_url.clone(),
            model: provider.model.clone(),
            timeouts: config.model_timeouts,
        })?),
        None => Arc::new(Offline::new(prompts.product(), Arc::new(move || clock.now().timestamp()))),
    })
}

/// A database without an owner gets one, with a few sample checks, whatever users the commands have made before.
async fn first_start(db: &Db, clock: &SharedClock) -> Result<(), StartError> {
    match accounts::add_user(db, clock.as_ref(), accounts::OWNER, Tier::Free).await {
        Ok(owner) => Ok(checks::sample::create_samples(db, clock.now(), &owner.id).await?),
        // Not the first start, or another instance started at the same moment.
        Err(accounts::AccountError::Taken(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Follows the database's clock where instances share one.
pub async fn measure(db: &Db, clock: &SystemClock) -> Result<(), DbError> {
    let asked = clock.elapsed();
    if let Some(database_now) = db.shared_time().await? {
        clock.follow(asked, Millis(database_now));
    }
    Ok(())
}

async fn tidy(db: Db, clock: SharedClock) -> Result<(), DbError> {
    crate::actions::expire::expire(&db, clock.as_ref()).await?;
    store::running::interrupt_stale(&db, clock.now()).await?;
    Ok(())
}

async fn remind(db: Db, clock: SharedClock) -> Result<(), DbError> {
    checks::remind::remind(&db, clock.as_ref()).await.map(|_| ())
}

async fn prune(db: Db, clock: SharedClock, stop: CancellationToken) -> Result<(), DbError> {
    limits::delete_dead(&db, clock.now()).await?;
    checks::channels::prune(&db, clock.as_ref(), &stop).await?;
    accounts::store::delete_expired(&db, clock.now()).await
}

async fn prune_checks(db: Db, clock: SharedClock, stop: CancellationToken) -> Result<(), DbError> {
    let pruned = checks::prune::prune(&db, clock.now(), &stop).await?;
    if pruned.pings + pruned.flips > 0 {
        tracing::info!(pings = pruned.pings, flips = pruned.flips, "old history was deleted");
    }
    Ok(())
}

/// Beside the sweep, which does so too: it may be set to run less often than the mark must move.
async fn attend(db: Db, clock: SharedClock) -> Result<(), DbError> {
    checks::intake::attend(&db, clock.as_ref()).await.map(|_| ())
}
