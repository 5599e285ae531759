//! A word sent twice, or overtaken by a tap, never reaches a second action.

use futures::FutureExt;
use futures::future::BoxFuture;

use flatline::limits::Tier;
use reqwest::StatusCode;

use super::states;
use crate::database::Kind;
use crate::proposals::{at_once, count, create, effects, new_id, propose, reject, tap};
use crate::site::{Plan, Site, Visitor, chunks, text};

const ROUNDS: usize = 20;

/// Two instances where two can share the database.
fn instances(kind: Kind) -> usize {
    if kind == Kind::Postgres { 2 } else { 1 }
}

/// Sends a word under an id and returns the server's sentence, or the code of the refusal.
fn word(
    who: &Visitor,
    site: &Site,
    instance: usize,
    talk: &str,
    message: &str,
    said: &'static str,
) -> BoxFuture<'static, String> {
    let (who, talk, message) = (who.at(site, instance), talk.to_owned(), message.to_owned());
    async move {
        let answer = who.say(&talk, &message, said).await;
        assert_eq!(answer.status(), StatusCode::OK, "{:?}", answer.text().await);
        text(&chunks(answer).await)
    }
    .boxed()
}

on_both! {
    async fn two_words_at_once_touch_at_most_the_latest(kind) {
        let instances = instances(kind);
        let site = Plan::new(kind).user_limit(100_000).instances(instances).start().await;
        let ada = site.user("ada", Tier::Business).await;
        for round in 0..ROUNDS {
            let talk = new_id();
            let open =
                propose(&site, &ada, &talk, &[create(&format!("a {round}")), create(&format!("b {round}"))]).await;
            let send = |instance: usize, said| word(&ada, &site, instance % instances, &talk, &new_id(), said);
            // The latest is decided while both words are under way: by its number, by its button, or not at all.
            let mut racers = vec![send(0, "confirm"), send(1, "confirm")];
            match round % 3 {
                0 => {}
                1 => racers.push({
                    let (ada, card) = (ada.at(&site, round % instances), open[1].clone());
                    async move { tap(&ada, &card).await.state().0.to_owned() }.boxed()
                }),
                _ => {
                    let (ada, card) = (ada.at(&site, round % instances), open[1].clone());
                    racers.push(async move { reject(&ada, &card).await.state().0.to_owned() }.boxed());
                }
            }
            let told = at_once(racers).await;
            let expected = [["PENDING", "PENDING"], ["PENDING", "EXECUTED"], ["PENDING", "REJECTED"]][round % 3];
            assert_eq!(states(&site, &open).await, expected, "round {round}: {told:?}");
            assert_eq!(effects(&site, &open[0]).await, 0, "round {round}");
            // The older one only takes its number.
            assert_eq!(
                word(&ada, &site, 0, &talk, &new_id(), "confirm 1").await,
                format!("Created a {round} (action 1).")
            );
            reject(&ada, &open[1]).await;
        }
    }

    async fn two_words_at_once_do_the_only_one_once(kind) {
        let instances = instances(kind);
        let site = Plan::new(kind).user_limit(100_000).instances(instances).start().await;
        let ada = site.user("ada", Tier::Business).await;
        for round in 0..ROUNDS {
            let talk = new_id();
            // An older one is open elsewhere; it is not meant.
            let open = propose(&site, &ada, &talk, &[create(&format!("check {round}"))]).await;
            let send = |instance: usize| word(&ada, &site, instance % instances, &talk, &new_id(), "confirm");
            let mut told = at_once(vec![send(0), send(1)]).await;
            told.sort();
            let done = format!("Created check {round}");
            assert_eq!(told, [format!("Action 1 was carried out already: {done}."), format!("{done} (action 1).")]);
            assert_eq!((states(&site, &open).await, effects(&site, &open[0]).await), (vec!["EXECUTED".to_owned()], 1));
        }
        let all = "SELECT count(*) FROM checks WHERE name LIKE 'check %' AND id <> $1";
        assert_eq!(count(&site, all, "").await, i64::try_from(ROUNDS).unwrap());
    }

    async fn one_message_sent_twice_at_once_is_one_message(kind) {
        let instances = instances(kind);
        let site = Plan::new(kind).user_limit(100_000).instances(instances).start().await;
        let ada = site.user("ada", Tier::Business).await;
        for round in 0..ROUNDS {
            let talk = new_id();
            let open = propose(&site, &ada, &talk, &[create(&format!("check {round}"))]).await;
            let message = new_id();
            let send = |instance: usize| word(&ada, &site, instance % instances, &talk, &message, "confirm");
            let told = at_once(vec![send(0), send(1)]).await;
            assert_eq!(
                told,
                [format!("Created check {round} (action 1)."), format!("Created check {round} (action 1).")]
            );
            assert_eq!((states(&site, &open).await, effects(&site, &open[0]).await), (vec!["EXECUTED".to_owned()], 1));
            assert_eq!(count(&site, "SELECT count(*) FROM messages WHERE id = $1", &message).await, 1);
            assert_eq!(count(&site, "SELECT count(*) FROM messages WHERE reply_to = $1", &message).await, 1);
        }
    }
}
