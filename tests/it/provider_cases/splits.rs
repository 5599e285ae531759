//! The same bytes give the same answer, however the network splits them.

use bytes::Bytes;
use flatline::llm::reading::{BodyBroken, Reading};
use flatline::llm::sse::{Frame, SseError, SseReader};
use futures::stream::{self, StreamExt};
use proptest::prelude::*;

use super::fixture::{Case, Seen, Then};

/// Longer bodies are split at random places only.
const EVERY_SPLIT_UP_TO: usize = 16_000;

/// All cases with a body that is read to its end.
fn read_cases() -> Vec<Case> {
    Case::all().into_iter().filter(|case| case.status == 200).collect()
}

fn frames(writes: &[&[u8]]) -> (Vec<Frame>, Result<(), SseError>) {
    let (mut reader, mut frames) = (SseReader::default(), Vec::new());
    let pushed = writes.iter().try_for_each(|write| reader.push(write, &mut frames));
    let outcome = pushed.and_then(|()| reader.finish(&mut frames));
    (frames, outcome)
}

async fn read(case: &Case, writes: Vec<Bytes>) -> Seen {
    let writes = stream::iter(writes).map(Ok);
    let body = match case.then {
        Then::Close => writes.boxed(),
        Then::Reset => writes.chain(stream::once(async { Err(BodyBroken) })).boxed(),
        Then::Hang => writes.chain(stream::pending()).boxed(),
    };
    let short = std::time::Duration::from_millis(50);
    // Only a connection that stays open needs a deadline to end.
    let reading = match case.then {
        Then::Hang => tokio::time::timeout(short, Reading::open(body)).await.unwrap_or_else(|_| Err(late())),
        Then::Close | Then::Reset => Reading::open(body).await,
    };
    let mut deltas = match reading {
        Ok(reading) => reading.into_stream(short),
        Err(error) => return Seen::failed(error),
    };
    let mut seen = Seen::default();
    while let Some(delta) = deltas.next().await {
        seen.take(delta);
    }
    seen
}

fn late() -> flatline::llm::ModelError {
    flatline::llm::ModelError::timeout("late")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

#[test]
fn every_split_in_two_gives_the_same_frames() {
    for case in read_cases() {
        let body = case.body();
        let whole = frames(&[&body]);
        for at in 0..=body.len().min(EVERY_SPLIT_UP_TO) {
            assert_eq!(frames(&[&body[..at], &body[at..]]), whole, "{} split at {at}", case.name);
            if body.len() > EVERY_SPLIT_UP_TO && at > 400 {
                break;
            }
        }
    }
}

#[test]
fn one_byte_at_a_time_gives_the_expected_answer() {
    let runtime = runtime();
    for case in read_cases() {
        let body = Bytes::from(case.body());
        let bytes = (0..body.len()).map(|at| body.slice(at..=at)).collect();
        assert_eq!(runtime.block_on(read(&case, bytes)).difference(&case), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn random_splits_give_the_expected_answer(cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let runtime = runtime();
        for case in read_cases() {
            let body = Bytes::from(case.body());
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
            ends.push(body.len());
            ends.sort_unstable();
            let mut start = 0;
            let writes = ends.iter().map(|&end| body.slice(std::mem::replace(&mut start, end)..end)).collect();
            prop_assert_eq!(runtime.block_on(read(&case, writes)).difference(&case), None);
        }
    }
}
