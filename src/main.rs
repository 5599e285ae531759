//! The `flatline` command: parses it, loads the settings, starts, and waits for a signal.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::{Parser, Subcommand};
use flatline::accounts::cli::{TokenCommand, UserCommand, login_link, run_token, run_user};
use flatline::accounts::{self, AccountError};
use flatline::app::{App, Parts, measure};
use flatline::clock::SystemClock;
use flatline::config::Config;
use flatline::db::{self, Db};
use flatline::telemetry;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Heartbeat monitoring with an assistant whose changes a person confirms.
///
/// Settings come from the environment and from a .env file; .env.example lists them.
#[derive(Parser)]
#[command(version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve (the default). Prints the address for visitors and a one-time sign-in link for the owner.
    Serve,
    /// Create or migrate the database.
    Migrate,
    /// Make a user, or change its tier.
    #[command(subcommand)]
    User(UserCommand),
    /// Make, list or revoke API tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Print a one-time sign-in link for a user, good for ten minutes.
    LoginLink {
        /// The user's name.
        name: String,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&anyhow!("no threads can be started: {error}")),
    };
    match runtime.block_on(run(cli.command.unwrap_or(Command::Serve))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// One line on standard error. Most errors tell their cause themselves; then it is not told again.
fn fail(error: &anyhow::Error) -> ExitCode {
    let mut line = "flatline".to_owned();
    for cause in error.chain().map(|cause| cause.to_string().replace('\n', " ")) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    eprintln!("{line}");
    ExitCode::FAILURE
}

async fn run(command: Command) -> Result<()> {
    let config = Config::from_environment()?;
    let command = match command {
        Command::Serve => return serve(config).await,
        command => command,
    };
    let clock = SystemClock::default();
    let public_url = config.public_url.clone().unwrap_or_else(|| format!("http://{}", config.addr));
    let db = open(&config).await?;
    measure(&db, &clock).await.context("the database does not tell the time")?;
    let printed: Result<String, AccountError> = match command {
        Command::Serve | Command::Migrate => Ok("the database is up to date".to_owned()),
        Command::User(command) => run_user(&db, &clock, command).await,
        Command::Token(command) => run_token(&db, &clock, command).await,
        Command::LoginLink { name } => login_link(&db, &clock, &name, &public_url).await,
    };
    db.close().await;
    let printed = printed?;
    if !printed.is_empty() {
        println!("{printed}");
    }
    Ok(())
}

async fn open(config: &Config) -> Result<Db> {
    let db = db::open(&config.database_url).await.context("the database cannot be opened; look at DATABASE_URL")?;
    db.migrate().await.context("the database cannot be migrated")?;
    Ok(db)
}

async fn serve(config: Config) -> Result<()> {
    telemetry::init_logs(&config);
    telemetry::metrics_handle();
    let mut terminate = signal(SignalKind::terminate()).context("signals cannot be received")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("signals cannot be received")?;
    let listener = TcpListener::bind(config.addr)
        .await
        .with_context(|| format!("{} cannot be listened on; set FLATLINE_ADDR to another address", config.addr))?;
    let app = App::start(config, listener, Parts::default()).await?;
    let link = login_link(&app.db, app.clock.as_ref(), accounts::OWNER, &app.public_url).await?;
    println!("Visitors: {}", app.public_url);
    println!("Sign in as {} (once, within 10 minutes): {link}", accounts::OWNER);
    either(&mut terminate, &mut interrupt).await;
    tracing::info!("stopping; a second signal ends at once");
    tokio::select! {
        () = app.shutdown() => Ok(()),
        () = either(&mut terminate, &mut interrupt) => Err(anyhow!("ended at once by a second signal")),
    }
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
