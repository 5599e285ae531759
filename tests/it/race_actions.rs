//! Decisions at the same moment, through one instance and through two: whatever the order, one transition leaves
//! PENDING, its effect happens once, and everybody is told the same truth.

mod expiry;
mod one;
mod several;

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::StatusCode;
use serde_json::Value;

use flatline::limits::Tier;

use crate::database::Kind;
use crate::proposals::{Answer, confirm, count, create, effects, events, new_id, propose, reject, row, tap};
use crate::site::{Plan, Site, Visitor, chunks, text};

/// A site with one user, who asks each of its instances.
struct Arena {
    site: Site,
    /// The same user at each instance.
    at: Vec<Visitor>,
}

/// How many instances a race is run with, one time after another.
fn instances(kind: Kind) -> &'static [usize] {
    match kind {
        Kind::Sqlite => &[1],
        Kind::Postgres => &[1, 2],
    }
}

impl Arena {
    async fn new(plan: Plan, instances: usize) -> Self {
        let site = plan.user_limit(1_000_000).instances(instances).start().await;
        let ada = site.user("ada", Tier::Business).await;
        let at = (0..instances).map(|instance| ada.at(&site, instance)).collect();
        Self { site, at }
    }

    /// The user, at one instance or the next.
    fn user(&self, n: usize) -> Visitor {
        self.at[n % self.at.len()].clone()
    }

    /// Five actions, each the creation of a check named after the round.
    async fn five(&self, talk: &str, round: usize) -> Vec<Value> {
        let calls: Vec<_> = (0..5).map(|n| create(&format!("check {round}.{n}"))).collect();
        propose(&self.site, &self.at[0], talk, &calls).await
    }

    fn tap(&self, n: usize, card: &Value) -> BoxFuture<'static, Answer> {
        let (who, card) = (self.user(n), card.clone());
        // Half of them as the button does it, half as the API does.
        async move { if n.is_multiple_of(4) { confirm(&who, &card).await } else { tap(&who, &card).await } }.boxed()
    }

    fn reject(&self, n: usize, card: &Value) -> BoxFuture<'static, Answer> {
        let (who, card) = (self.user(n), card.clone());
        async move { reject(&who, &card).await }.boxed()
    }

    /// Types a word and returns the server's sentence.
    fn say(&self, n: usize, talk: &str, word: &str) -> BoxFuture<'static, String> {
        let (who, talk, word) = (self.user(n), talk.to_owned(), word.to_owned());
        async move {
            let answer = who.say(&talk, &new_id(), &word).await;
            let status = answer.status();
            assert_eq!(status, StatusCode::OK, "{word}: {:?}", answer.text().await);
            text(&chunks(answer).await)
        }
        .boxed()
    }

    /// How many checks there are of what the card creates.
    async fn made(&self, card: &Value) -> i64 {
        let name = card["changes"][0]["after"].as_str().unwrap();
        count(&self.site, "SELECT count(*) FROM checks WHERE name = $1", name).await
    }

    /// Demands that the card's action has this end: once in the audit, and its check made as often as its effect.
    async fn ended(&self, card: &Value, status: &str) {
        let done = i64::from(status == "EXECUTED");
        assert_eq!(row(&self.site, card).await.status, status);
        assert_eq!((effects(&self.site, card).await, self.made(card).await), (done, done), "{status}");
        assert_eq!(events(&self.site, card).await, ["PROPOSED", status]);
    }

    /// Demands that as many actions were executed as there are effects, and `expected` of them.
    async fn executed(&self, expected: usize) {
        let rows = count(&self.site, "SELECT count(*) FROM pending_actions WHERE status = 'EXECUTED' AND id <> $1", "");
        let (rows, effects) =
            (rows.await, count(&self.site, "SELECT count(*) FROM action_effects WHERE action_id <> $1", "").await);
        assert_eq!((rows, effects), (i64::try_from(expected).unwrap(), rows));
    }
}

/// Demands that all were told the same outcome, and one of them that it was this very request.
fn one_outcome(answers: &[Answer], status: &str) {
    let told: Vec<(&Value, bool)> = answers.iter().map(Answer::decided).collect();
    assert!(told.iter().all(|(action, _)| *action == told[0].0 && action["status"] == status), "{told:#?}");
    assert_eq!(told.iter().filter(|(_, replayed)| !replayed).count(), 1, "{told:#?}");
}

/// Demands that all were refused, for the same reason.
fn all_refused(answers: &[Answer], refusal: (u16, &str)) {
    let told: Vec<(u16, &str)> = answers.iter().map(Answer::refusal).collect();
    assert!(told.iter().all(|told| *told == refusal), "{told:?}");
}
