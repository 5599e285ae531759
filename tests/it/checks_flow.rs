//! Changes to checks through `apply`: what each writes, and what each guard of it refuses.

use std::time::Duration;

use flatline::checks::alerts::AlertChanges;
use flatline::checks::apply::{Applied, Effect, Pinned, apply};
use flatline::checks::config::from_object;
use flatline::checks::schedule::Schedule;
use flatline::checks::{Check, CheckError, Refusal, Status, store};
use flatline::clock::Millis;
use flatline::db::Db;
use flatline::ids::{CheckId, UserId};
use flatline::limits::Tier;
use flatline::on_db;
use serde_json::{Value, json};

use crate::database::fresh;

pub const NOW: Millis = Millis(1_790_000_000_000);

pub fn later(seconds: u64) -> Millis {
    NOW.plus(Duration::from_secs(seconds))
}

/// A new account.
pub async fn account(db: &Db, tier: Tier) -> UserId {
    let id = UserId::new(NOW);
    let sql = "INSERT INTO accounts (id, name, tier, created_at) VALUES ($1, $1, $2, $3)";
    on_db!(db.autocommit(), pool =>
        sqlx::query(sql).bind(&id).bind(tier.as_str()).bind(NOW).execute(pool).await.map(|_| ()))
    .expect("an account");
    id
}

/// Runs an effect in a transaction of its own.
pub async fn run(db: &Db, now: Millis, owner: &UserId, effect: Effect) -> Result<Applied, Refusal> {
    let owner = owner.clone();
    let applied = db.write(move |tx| Box::pin(async move { apply(tx, now, &owner, &effect).await })).await;
    applied.map_err(|error| match error {
        CheckError::Refused(refusal) => refusal,
        CheckError::Db(error) => panic!("the database refused: {error}"),
    })
}

/// `create_check` of what a request would say.
pub fn create(spec: Value) -> Effect {
    let Value::Object(spec) = spec else { panic!("not an object") };
    let spec: flatline::checks::config::CheckSpec = from_object(spec).expect("a spec");
    Effect::CreateCheck { settings: spec.settle(NOW).unwrap(), alerts: AlertChanges::default(), shown: None }
}

/// `update_check`.
pub fn update(check: &CheckId, config_version: Option<i64>, changes: Value) -> Effect {
    let Value::Object(changes) = changes else { panic!("not an object") };
    let (changes, alerts) = (from_object(changes).expect("changes"), AlertChanges::default());
    Effect::UpdateCheck { check: check.clone(), config_version, changes, alerts, shown: None }
}

/// A check of one hour and ten minutes' grace.
pub async fn hourly(db: &Db, owner: &UserId, name: &str) -> Check {
    let spec = json!({"name": name, "period_seconds": 3_600, "grace_seconds": 600});
    let made = run(db, NOW, owner, create(spec)).await.expect("created");
    find(db, owner, &made.check_id.expect("an id")).await
}

pub async fn find(db: &Db, owner: &UserId, id: &CheckId) -> Check {
    store::find_check(db, owner, id).await.expect("a read").expect("the check")
}

pub async fn count(db: &Db, owner: &UserId) -> (i64, i64) {
    let counted = store::find_account(db, owner).await.expect("a read").expect("the account").check_count;
    let sql = "SELECT count(*) FROM checks WHERE account_id = $1";
    let rows: i64 =
        on_db!(db.read(), pool => sqlx::query_scalar(sql).bind(owner).fetch_one(pool).await).expect("a count");
    (counted, rows)
}

/// Makes `check` what a success at `at` makes of it.
async fn put_up(db: &Db, check: &CheckId, at: Millis) {
    let sql = "UPDATE checks SET status = 'up', last_ping_at = $2, last_success_at = $2, counted_from = $2,
        due_at = $2 + period_seconds * 1000,
        deadline_at = $2 + (period_seconds + grace_seconds) * 1000 WHERE id = $1";
    on_db!(db.autocommit(), pool => sqlx::query(sql).bind(check).bind(at).execute(pool).await.map(|_| ()))
        .expect("put up");
}

/// One effect of every kind on a check.
fn every_kind(check: &Check, config_version: i64) -> Vec<Effect> {
    let (id, config_version_) = (check.id.clone(), Some(config_version));
    let pinned = Pinned { id: id.clone(), config_version, name: check.name.clone() };
    vec![
        update(&id, config_version_, json!({"name": "renamed"})),
        update(&id, config_version_, json!({"tags": ["a"]})),
        update(&id, config_version_, json!({"period_seconds": 7_200})),
        Effect::PauseCheck { check: id.clone(), config_version: config_version_, until: None },
        Effect::ResumeCheck { check: id.clone(), config_version: config_version_ },
        Effect::PauseChecks { checks: vec![pinned], until: None },
        Effect::RotatePingKey { check: id.clone(), config_version: config_version_ },
        Effect::DeleteCheck { check: id, config_version: config_version_ },
    ]
}

on_both! {
    async fn a_new_check_waits_for_its_first_ping(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let spec = json!({"name": " nightly-backup ", "period_seconds": 86_400, "tags": ["db", "db", "ops"]});
        let made = run(&fresh.db, NOW, &owner, create(spec)).await.expect("created");
        assert_eq!(made.message, "Created nightly-backup");
        let check = find(&fresh.db, &owner, &made.check_id.expect("an id")).await;
        assert_eq!((check.name.as_str(), check.status, check.tier), ("nightly-backup", Status::New, Tier::Free));
        assert_eq!(check.tags, ["db", "ops"]);
        assert_eq!((check.grace_seconds, check.max_runtime_seconds, check.config_version), (3_600, None, 1));
        assert_eq!((check.due_at, check.deadline_at, check.created_at), (None, None, NOW));
        assert_eq!(uuid::Uuid::parse_str(&check.ping_key).map(|key| key.get_version_num()), Ok(4));
        assert_eq!(count(&fresh.db, &owner).await, (1, 1));
    }

    async fn creating_is_refused_with_the_numbers(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        for n in 0..20 {
            hourly(&fresh.db, &owner, &format!("check {n}")).await;
        }
        let full = run(&fresh.db, NOW, &owner, create(json!({"name": "one more", "period_seconds": 3_600}))).await;
        let refusal = full.expect_err("full");
        assert_eq!(refusal.code, "check_limit_reached");
        assert_eq!(refusal.message, "The free tier has room for 20 checks, and 20 exist. Delete one first.");
        assert_eq!(count(&fresh.db, &owner).await, (20, 20));
    }

    async fn a_refused_create_takes_no_place(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        hourly(&fresh.db, &owner, "taken").await;
        let code = async |spec| run(&fresh.db, NOW, &owner, create(spec)).await.expect_err("refused").code;
        assert_eq!(code(json!({"name": "taken", "period_seconds": 3_600})).await, "name_taken");
        assert_eq!(code(json!({"name": "fast", "period_seconds": 60})).await, "invalid_field");
        assert_eq!(code(json!({"name": "tight", "period_seconds": 300, "grace_seconds": 60})).await, "invalid_field");
        assert_eq!(count(&fresh.db, &owner).await, (1, 1));
        // Another account may use the name, and on its tier the period.
        let other = account(&fresh.db, Tier::Pro).await;
        run(&fresh.db, NOW, &other, create(json!({"name": "taken", "period_seconds": 60}))).await.expect("created");
    }

    async fn an_edit_writes_the_named_fields_alone(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let before = hourly(&fresh.db, &owner, "a").await;
        let changes = json!({"max_runtime_seconds": 900});
        let edited = run(&fresh.db, later(60), &owner, update(&before.id, None, changes)).await.expect("edited");
        assert_eq!(edited.message, "Updated a: longest run none → 15 minutes");
        let changes = json!({"name": "b", "description": "two\nlines"});
        let edited = run(&fresh.db, later(60), &owner, update(&before.id, Some(2), changes)).await.expect("edited");
        assert_eq!(edited.message, "Updated a: name a → b; another description");
        let after = find(&fresh.db, &owner, &before.id).await;
        assert_eq!((after.name.as_str(), after.description.as_str()), ("b", "two\nlines"));
        assert_eq!((after.schedule, after.grace_seconds, after.max_runtime_seconds), (Schedule::Every(3_600), 600, Some(900)));
        assert_eq!((&after.tags, &after.ping_key, after.config_version), (&before.tags, &before.ping_key, 3));
        let changes = json!({"max_runtime_seconds": null});
        run(&fresh.db, NOW, &owner, update(&before.id, None, changes)).await.expect("edited");
        assert_eq!(find(&fresh.db, &owner, &before.id).await.max_runtime_seconds, None);
    }

    async fn an_edit_keeps_the_floor_and_other_names(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let check = hourly(&fresh.db, &owner, "a").await;
        hourly(&fresh.db, &owner, "b").await;
        let code = async |changes| {
            run(&fresh.db, NOW, &owner, update(&check.id, None, changes)).await.expect_err("refused").code
        };
        assert_eq!(code(json!({"name": "b"})).await, "name_taken");
        assert_eq!(code(json!({"period_seconds": 299})).await, "invalid_field");
        assert_eq!(code(json!({"period_seconds": 300, "grace_seconds": 299})).await, "invalid_field");
        let after = find(&fresh.db, &owner, &check.id).await;
        assert_eq!((after.name.as_str(), after.schedule, after.config_version), ("a", Schedule::Every(3_600), 1));
        run(&fresh.db, NOW, &owner, update(&check.id, None, json!({"name": "a"}))).await.expect("its own name is free");
        let same = find(&fresh.db, &owner, &check.id).await;
        assert_eq!(same.config_version, 1, "what changes nothing makes no proposal stale");
    }

    async fn an_edited_schedule_moves_the_times(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let check = hourly(&fresh.db, &owner, "a").await;
        put_up(&fresh.db, &check.id, NOW).await;
        let changes = json!({"period_seconds": 7_200, "grace_seconds": 1_200});
        run(&fresh.db, later(60), &owner, update(&check.id, None, changes)).await.expect("edited");
        let after = find(&fresh.db, &owner, &check.id).await;
        assert_eq!((after.due_at, after.deadline_at), (Some(later(7_200)), Some(later(8_400))));
        // What the edit makes late goes down at the edit, not before it.
        let changes = json!({"period_seconds": 300, "grace_seconds": 300});
        run(&fresh.db, later(1_800), &owner, update(&check.id, None, changes)).await.expect("edited");
        let after = find(&fresh.db, &owner, &check.id).await;
        assert_eq!((after.due_at, after.deadline_at), (Some(later(300)), Some(later(1_800))));
    }

    async fn a_pause_holds_the_times_and_a_resume_starts_them_anew(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let check = hourly(&fresh.db, &owner, "a").await;
        put_up(&fresh.db, &check.id, NOW).await;
        let pause = |until| Effect::PauseCheck { check: check.id.clone(), config_version: None, until };
        let resume = Effect::ResumeCheck { check: check.id.clone(), config_version: None };

        let paused = run(&fresh.db, later(60), &owner, pause(None)).await.expect("paused");
        assert_eq!(paused.message, "Paused a");
        let row = find(&fresh.db, &owner, &check.id).await;
        assert_eq!((row.paused_at, row.paused_until, row.due_at, row.deadline_at), (Some(later(60)), None, None, None));

        let paused = run(&fresh.db, later(120), &owner, pause(Some(later(7_200)))).await.expect("paused");
        assert_eq!(paused.message, "Paused a until 16:13:20 UTC");
        let row = find(&fresh.db, &owner, &check.id).await;
        assert_eq!((row.paused_at, row.paused_until), (Some(later(60)), Some(later(7_200))));
        assert_eq!((row.due_at, row.deadline_at), (Some(later(10_800)), Some(later(11_400))));

        let resumed = run(&fresh.db, later(3_600), &owner, resume.clone()).await.expect("resumed");
        assert_eq!(resumed.message, "Resumed a");
        let row = find(&fresh.db, &owner, &check.id).await;
        assert_eq!((row.paused_at, row.paused_until, row.config_version), (None, None, 4));
        assert_eq!((row.due_at, row.deadline_at), (Some(later(7_200)), Some(later(7_800))));

        // There is nothing to resume any more: nothing moves, and the answer does not claim it.
        let again = run(&fresh.db, later(4_000), &owner, resume).await.expect("no refusal");
        assert_eq!(again.message, "a is not paused");
        let same = find(&fresh.db, &owner, &check.id).await;
        assert_eq!((same.due_at, same.config_version), (row.due_at, 4));

        let late = run(&fresh.db, later(4_000), &owner, pause(Some(later(4_000)))).await.expect_err("in the past");
        assert_eq!((late.code.as_str(), late.field.as_deref()), ("invalid_field", Some("until")));
    }

    async fn a_pause_names_the_day_unless_it_is_today(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let check = hourly(&fresh.db, &owner, "nightly-backup").await;
        let at = |text| Millis::parse(text).expect("a time");
        let pause = |until| Effect::PauseCheck { check: check.id.clone(), config_version: None, until: Some(until) };
        let message = async |until| {
            run(&fresh.db, at("2026-12-01T09:00:00Z"), &owner, pause(at(until))).await.expect("paused").message
        };
        assert_eq!(message("2026-12-01T15:00:00+01:00").await, "Paused nightly-backup until 14:00 UTC");
        assert_eq!(message("2026-12-02T14:00:00Z").await, "Paused nightly-backup until 2026-12-02 14:00 UTC");
    }

    async fn several_are_paused_all_or_none(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let (a, b) = (hourly(&fresh.db, &owner, "a").await, hourly(&fresh.db, &owner, "b").await);
        let pin = |check: &Check, config_version| {
            Pinned { id: check.id.clone(), config_version, name: check.name.clone() }
        };
        let stale = Effect::PauseChecks { checks: vec![pin(&a, 1), pin(&b, 9)], until: None };
        let refusal = run(&fresh.db, NOW, &owner, stale).await.expect_err("stale");
        assert_eq!(refusal.code, "check_changed");
        let message = refusal.message;
        assert!(message.starts_with("b: ") && message.ends_with("None was paused."), "{message}");
        assert_eq!(find(&fresh.db, &owner, &a.id).await.paused_at, None);
        let both = Effect::PauseChecks { checks: vec![pin(&b, 1), pin(&a, 1)], until: None };
        assert_eq!(run(&fresh.db, NOW, &owner, both).await.expect("paused").message, "Paused 2 checks: b, a");
        for check in [&a, &b] {
            assert_eq!(find(&fresh.db, &owner, &check.id).await.paused_at, Some(NOW));
        }
    }

    async fn a_deleted_check_gives_its_place_back(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let check = hourly(&fresh.db, &owner, "a").await;
        let delete = Effect::DeleteCheck { check: check.id.clone(), config_version: Some(1) };
        assert_eq!(run(&fresh.db, NOW, &owner, delete.clone()).await.expect("deleted").message, "Deleted a");
        assert_eq!(count(&fresh.db, &owner).await, (0, 0));
        assert_eq!(run(&fresh.db, NOW, &owner, delete).await.expect_err("gone").code, "check_not_found");
        assert_eq!(count(&fresh.db, &owner).await, (0, 0));
    }

    async fn every_kind_is_refused_on_another_version(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let check = hourly(&fresh.db, &owner, "a").await;
        hourly(&fresh.db, &owner, "another, so that a place is taken").await;
        for effect in every_kind(&check, 2) {
            let refusal = run(&fresh.db, NOW, &owner, effect.clone()).await.expect_err("another version");
            assert_eq!(refusal.code, "check_changed", "{effect:?}");
        }
        let same = find(&fresh.db, &owner, &check.id).await;
        assert_eq!((same.name.as_str(), same.config_version, same.paused_at), ("a", 1, None));
        assert_eq!((same.schedule, &same.ping_key), (Schedule::Every(3_600), &check.ping_key));
        assert_eq!(count(&fresh.db, &owner).await, (2, 2));
    }

    async fn every_kind_moves_the_version(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let check = hourly(&fresh.db, &owner, "a").await;
        let mut version = 1;
        for effect in every_kind(&check, 1) {
            let mut effect = serde_json::to_value(effect).expect("JSON");
            match &mut effect["checks"] {
                Value::Array(checks) => checks[0]["config_version"] = version.into(),
                _ => effect["config_version"] = version.into(),
            }
            let effect: Effect = serde_json::from_value(effect).expect("an effect");
            let deletes = matches!(effect, Effect::DeleteCheck { .. });
            run(&fresh.db, NOW, &owner, effect).await.expect("at its version");
            if !deletes {
                version += 1;
                assert_eq!(find(&fresh.db, &owner, &check.id).await.config_version, version);
            }
        }
        assert_eq!((version, count(&fresh.db, &owner).await), (8, (0, 0)));
    }

    async fn another_owners_check_is_no_check(kind) {
        let fresh = fresh(kind).await;
        let owner = account(&fresh.db, Tier::Free).await;
        let check = hourly(&fresh.db, &owner, "a").await;
        let other = account(&fresh.db, Tier::Free).await;
        hourly(&fresh.db, &other, "theirs").await;
        for effect in every_kind(&check, 1) {
            let refusal = run(&fresh.db, NOW, &other, effect.clone()).await.expect_err("not theirs");
            assert_eq!(refusal.code, "check_not_found", "{effect:?}");
        }
        let same = find(&fresh.db, &owner, &check.id).await;
        assert_eq!((same.name.as_str(), same.config_version, same.paused_at), ("a", 1, None));
        assert_eq!((count(&fresh.db, &owner).await, count(&fresh.db, &other).await), ((1, 1), (1, 1)));
        assert!(store::find_check(&fresh.db, &other, &check.id).await.expect("a read").is_none());
    }
}
