//! A channel that is deleted: gone at once for its owner, its deliveries in batches, whatever comes in between.

use flatline::checks::CheckError;
use flatline::checks::channels::{delete, prune};
use flatline::checks::store::channels::{list_channels, mark_deleted};
use flatline::checks::store::deliveries::list_of_channel;
use flatline::db::DbError;
use flatline::limits::Tier;
use flatline::on_db;
use tokio_util::sync::CancellationToken;

use super::post::{fill, rows, sender, webhook};
use super::receiver::Receiver;
use crate::rig::Rig;

async fn channel_rows(rig: &Rig) -> i64 {
    let sql = "SELECT count(*) FROM channels";
    on_db!(rig.db().read(), pool => sqlx::query_scalar(sql).fetch_one(pool).await).unwrap()
}

on_both! {
    async fn a_long_history_goes_in_batches(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::willing().await;
        let id = webhook(&rig, "hook", &receiver.url("/")).await.channel.id;
        fill(&rig, &rig.owner, &id, 1_500, "sent", rig.now()).await;
        fill(&rig, &rig.owner, &id, 1_500, "pending", rig.now()).await;
        delete(rig.db(), rig.now(), &rig.owner, &id).await.unwrap();
        assert_eq!(rows(rig.db()).await.len(), 2_000, "no statement deletes more than a thousand");
        // For everybody else it is gone.
        assert_eq!(list_channels(rig.db(), &rig.owner).await.unwrap(), []);
        assert_eq!(list_of_channel(rig.db(), &rig.owner, &id, None, 10).await.unwrap().len(), 0);
        assert_eq!(sender(&rig, 0).deliver_due().await.unwrap(), 0);
        assert_eq!(receiver.count(), 0);
        let again = delete(rig.db(), rig.now(), &rig.owner, &id).await;
        assert!(matches!(again, Err(CheckError::Refused(refusal)) if refusal.code == "channel_not_found"));
        let check = rig.new_check().await;
        webhook(&rig, "hook", &receiver.url("/")).await;
        rig.ping(&check, flatline::checks::history::Kind::Fail).await;
        assert_eq!(sender(&rig, 0).deliver_due().await.unwrap(), 1);
        // Somebody stops at once: the rest stays for the next time.
        let stopped = CancellationToken::new();
        stopped.cancel();
        prune(rig.db(), &*rig.clock, &stopped).await.unwrap();
        assert_eq!(channel_rows(&rig).await, 2);
        prune(rig.db(), &*rig.clock, &CancellationToken::new()).await.unwrap();
        assert_eq!((rows(rig.db()).await.len(), channel_rows(&rig).await), (1, 1));
    }

    /// The process died after the first write.
    async fn what_a_crash_leaves_is_pruned(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let id = webhook(&rig, "hook", "https://hooks.example/").await.channel.id;
        fill(&rig, &rig.owner, &id, 10, "pending", rig.now()).await;
        let (owner, now) = (rig.owner.clone(), rig.now());
        let marked: Result<bool, DbError> =
            rig.db().write(move |tx| Box::pin(async move { mark_deleted(tx, &owner, &id, now).await })).await;
        assert!(marked.unwrap());
        assert_eq!((rows(rig.db()).await.len(), channel_rows(&rig).await), (10, 1));
        prune(rig.db(), &*rig.clock, &CancellationToken::new()).await.unwrap();
        assert_eq!((rows(rig.db()).await.len(), channel_rows(&rig).await), (0, 0));
    }
}
