//! Reads the body of one answer to its end: waits for the first delta, then becomes the stream of deltas.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};

use super::chunks::Answer;
use super::sse::{Frame, SseError, SseReader};
use super::{Delta, DeltaStream, ModelError};

/// How long a connection may stay silent after a finish reason before the answer counts as over: usage and `[DONE]`
/// follow at once or never, and a person waits for the end.
const LINGER: Duration = Duration::from_secs(3);

/// The connection broke before the body's proper end.
#[derive(Debug)]
pub struct BodyBroken;

/// The bytes of an answer, as they arrive. Dropping it closes the connection.
pub type Body = BoxStream<'static, Result<Bytes, BodyBroken>>;

/// An answer that is being read. Reads only when asked, so a slow reader slows the provider and costs no memory.
pub struct Reading {
    body: Body,
    sse: SseReader,
    answer: Answer,
    ready: VecDeque<Delta>,
    failure: Option<ModelError>,
    ended: bool,
}

impl Reading {
    /// Reads until the first delta or the failure before it. Sets no deadline; the caller does.
    pub async fn open(body: Body) -> Result<Self, ModelError> {
        let mut reading = Self {
            body,
            sse: SseReader::default(),
            answer: Answer::default(),
            ready: VecDeque::new(),
            failure: None,
            ended: false,
        };
        while !reading.answer.is_answered() {
            if let Some(failure) = reading.failure.take() {
                return Err(failure);
            }
            reading.read_on().await;
        }
        Ok(reading)
    }

    /// The deltas, those already read first. After `idle` without a byte the answer has failed.
    pub fn into_stream(self, idle: Duration) -> DeltaStream {
        stream::unfold(self, move |mut reading| async move { reading.next(idle).await.map(|delta| (delta, reading)) })
            .boxed()
    }

    async fn next(&mut self, idle: Duration) -> Option<Result<Delta, ModelError>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(Ok(delta));
            }
            if self.ended {
                return self.failure.take().map(Err);
            }
            let patience = if self.answer.is_finished() { LINGER.min(idle) } else { idle };
            if tokio::time::timeout(patience, self.read_on()).await.is_err() {
                self.fall_silent();
            }
        }
    }

    async fn read_on(&mut self) {
        let mut frames = Vec::new();
        match self.body.next().await {
            Some(Ok(bytes)) => {
                let read = self.sse.push(&bytes, &mut frames);
                self.take(&frames, read, None);
            }
            end => {
                let read = self.sse.finish(&mut frames);
                self.take(&frames, read, Some(End { broken: end.is_some() }));
            }
        }
    }

    fn fall_silent(&mut self) {
        if self.answer.is_finished() {
            self.take(&[], Ok(()), Some(End { broken: false }));
        } else {
            self.fail(ModelError::timeout("the provider fell silent during the answer"));
        }
    }

    /// What is whole counts, also when something broken follows it in the same bytes.
    fn take(&mut self, frames: &[Frame], read: Result<(), SseError>, end: Option<End>) {
        let mut deltas = Vec::new();
        let outcome = frames
            .iter()
            .try_for_each(|frame| self.answer.read(frame, &mut deltas))
            .and_then(|()| if self.answer.is_over() { Ok(()) } else { read.map_err(ModelError::from) })
            .and_then(|()| end.map_or(Ok(()), |end| self.answer.close(end.broken, &mut deltas)));
        self.ready.extend(deltas);
        match outcome {
            Ok(()) if self.answer.is_over() => self.close(),
            Ok(()) => {}
            Err(failure) => self.fail(failure),
        }
    }

    fn fail(&mut self, failure: ModelError) {
        self.failure = Some(failure);
        self.close();
    }

    /// Closes the connection at once, whether or not the reader has taken everything yet.
    fn close(&mut self) {
        self.ended = true;
        self.body = stream::empty().boxed();
    }
}

struct End {
    broken: bool,
}

impl From<SseError> for ModelError {
    fn from(error: SseError) -> Self {
        Self::malformed(&error.to_string())
    }
}
