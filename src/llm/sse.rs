//! Server-sent events as providers really send them: bytes in, frames out, every byte looked at once.

use super::nesting::{Nesting, Progress};

/// The longest frame that is read; a longer one is an error.
pub const MAX_FRAME_BYTES: usize = 4 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What kind of thing a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// The `data:` lines of one event.
    Event,
    /// An `event: error`, or a line of the field `error:` (older llama.cpp).
    Error,
    /// JSON that stands outside any `data:` line: a body that is no stream, or an error between two events.
    Document,
}

/// One event, or what stands in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What kind of thing this is.
    pub kind: FrameKind,
    /// Its data; the lines of one event are joined by `\n`.
    pub data: String,
    /// The body ended before the frame did, so that it may be cut.
    pub cut: bool,
}

/// Why a body cannot be read as frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A frame is over [`MAX_FRAME_BYTES`].
    #[error("a frame is longer than 4 MiB")]
    TooLong,
    /// A frame is not UTF-8; reading it loosely could lose words.
    #[error("a frame is not UTF-8")]
    NotUtf8,
    /// A page or a plain text, not a line of an event stream anywhere.
    #[error("the body is not an event stream")]
    NotAStream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum EventName {
    #[default]
    Message,
    Error,
    /// Only keeps the connection alive; its data means nothing.
    KeepAlive,
}

/// What the body has shown itself to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Seen {
    #[default]
    Nothing,
    OtherText,
    Stream,
}

/// Reads one body. Holds at most one unfinished frame.
#[derive(Debug, Default)]
pub struct SseReader {
    line: Vec<u8>,
    first_line_read: bool,
    /// The last byte was a CR that ended a line; an LF right after it belongs to the same line end.
    after_cr: bool,
    event: EventName,
    data: Option<Vec<u8>>,
    document: Option<(Vec<u8>, Nesting)>,
    seen: Seen,
}

impl SseReader {
    /// Reads on; whole frames are appended to `frames`, also those before an error.
    pub fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), SseError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut rest = bytes;
        if std::mem::take(&mut self.after_cr) {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&rest[..end])?;
            let mut line = std::mem::take(&mut self.line);
            self.read_line(&line, frames)?;
            line.clear();
            self.line = line;
            let ended_by_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if ended_by_cr {
                self.after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
        }
        self.extend_line(rest)
    }

    /// The body is over: what is still pending becomes a last frame, marked as possibly cut.
    pub fn finish(&mut self, frames: &mut Vec<Frame>) -> Result<(), SseError> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.read_line(&line, frames)?;
        }
        if let Some((json, _)) = self.document.take() {
            push_frame(FrameKind::Document, json, true, frames)?;
        }
        self.end_event(true, frames)?;
        if self.seen == Seen::OtherText { Err(SseError::NotAStream) } else { Ok(()) }
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        let held = self.data.as_ref().map_or(0, Vec::len) + self.document.as_ref().map_or(0, |(json, _)| json.len());
        if held + self.line.len() + bytes.len() > MAX_FRAME_BYTES {
            return Err(SseError::TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn read_line(&mut self, line: &[u8], frames: &mut Vec<Frame>) -> Result<(), SseError> {
        let first = !std::mem::replace(&mut self.first_line_read, true);
        let line = if first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        if self.document.is_some() {
            return self.read_document_line(line, frames);
        }
        if line.is_empty() {
            return self.end_event(false, frames);
        }
        match line.trim_ascii_start().first() {
            Some(b'{' | b'[') => {
                self.seen = Seen::Stream;
                self.document = Some((Vec::new(), Nesting::default()));
                return self.read_document_line(line, frames);
            }
            // Said at once: a page may be long, and its connection may stay open.
            Some(b'<') if self.seen != Seen::Stream => return Err(SseError::NotAStream),
            _ => {}
        }
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        self.read_field(field, value.strip_prefix(b" ").unwrap_or(value), frames)
    }

    fn read_field(&mut self, field: &[u8], value: &[u8], frames: &mut Vec<Frame>) -> Result<(), SseError> {
        match field {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => {
                self.event = match value {
                    b"error" => EventName::Error,
                    b"ping" | b"heartbeat" | b"keepalive" | b"keep-alive" => EventName::KeepAlive,
                    _ => EventName::Message,
                }
            }
            b"error" => push_frame(FrameKind::Error, value.to_vec(), false, frames)?,
            b"" | b"id" | b"retry" => {}
            _ => {
                self.seen = if self.seen == Seen::Stream { Seen::Stream } else { Seen::OtherText };
                return Ok(());
            }
        }
        self.seen = Seen::Stream;
        Ok(())
    }

    fn read_document_line(&mut self, line: &[u8], frames: &mut Vec<Frame>) -> Result<(), SseError> {
        if let Some((json, nesting)) = &mut self.document {
            json.extend_from_slice(line);
            json.push(b'\n');
            nesting.feed(line);
            let over = matches!(nesting.progress(), Progress::Whole | Progress::Broken);
            if over && let Some((json, _)) = self.document.take() {
                return push_frame(FrameKind::Document, json, false, frames);
            }
        }
        Ok(())
    }

    /// A blank line, or the end of the body. An event without data is none, as the standard has it.
    fn end_event(&mut self, cut: bool, frames: &mut Vec<Frame>) -> Result<(), SseError> {
        let event = std::mem::take(&mut self.event);
        let Some(data) = self.data.take().filter(|data| !data.trim_ascii().is_empty()) else { return Ok(()) };
        match event {
            EventName::Message => push_frame(FrameKind::Event, data, cut, frames),
            EventName::Error => push_frame(FrameKind::Error, data, cut, frames),
            EventName::KeepAlive => Ok(()),
        }
    }
}

fn push_frame(kind: FrameKind, data: Vec<u8>, cut: bool, frames: &mut Vec<Frame>) -> Result<(), SseError> {
    match String::from_utf8(data) {
        Ok(data) => frames.push(Frame { kind, data, cut }),
        // The end of the body inside a character is the end of the body, nothing worse.
        Err(_) if cut => {}
        Err(_) => return Err(SseError::NotUtf8),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(writes: &[&[u8]]) -> Result<Vec<Frame>, SseError> {
        let (mut reader, mut frames) = (SseReader::default(), Vec::new());
        for write in writes {
            reader.push(write, &mut frames)?;
        }
        reader.finish(&mut frames).map(|()| frames)
    }

    fn data(body: &str) -> Vec<String> {
        read(&[body.as_bytes()]).unwrap().into_iter().map(|frame| frame.data).collect()
    }

    #[test]
    fn line_ends_may_be_lf_crlf_or_cr() {
        for end in ["\n", "\r\n", "\r"] {
            assert_eq!(
                data(&format!(": hi{end}data: a{end}data:b{end}{end}data{end}data: c{end}{end}")),
                ["a\nb", "\nc"]
            );
        }
    }

    #[test]
    fn errors_documents_and_keep_alives_are_told_apart() {
        let body = "event: ping\ndata: x\n\nevent: error\ndata: a\n\nerror: b\n\n{\"c\":\n1}\n[DONE]\ndata: d";
        let frames = read(&[body.as_bytes()]).unwrap();
        let told: Vec<_> = frames.iter().map(|frame| (frame.kind, frame.data.trim(), frame.cut)).collect();
        assert_eq!(
            told,
            [
                (FrameKind::Error, "a", false),
                (FrameKind::Error, "b", false),
                (FrameKind::Document, "{\"c\":\n1}", false),
                (FrameKind::Document, "[DONE]", false),
                (FrameKind::Event, "d", true),
            ]
        );
    }

    #[test]
    fn pages_and_plain_text_are_no_stream() {
        assert_eq!(read(&[b"\n <!doctype html>"]), Err(SseError::NotAStream));
        assert_eq!(read(&[b"upstream busy\n"]), Err(SseError::NotAStream));
        assert_eq!(read(&[b"", b"\n\n"]), Ok(vec![]));
        assert_eq!(data("noise\ndata: a\n\n"), ["a"]);
    }

    #[test]
    fn a_frame_over_the_limit_is_an_error_however_it_arrives() {
        let piece = vec![b'x'; 1 << 16];
        for separator in [&b""[..], b"\ndata:"] {
            let (mut reader, mut frames) = (SseReader::default(), Vec::new());
            reader.push(b"data:", &mut frames).unwrap();
            let refused = (0..=64)
                .find(|_| reader.push(&piece, &mut frames).and_then(|()| reader.push(separator, &mut frames)).is_err());
            assert!(refused >= Some(62), "{refused:?}");
        }
    }

    #[test]
    fn bad_utf8_is_an_error_but_a_cut_character_at_the_end_is_not() {
        assert_eq!(read(&[b"data: \xff\n\n"]), Err(SseError::NotUtf8));
        assert_eq!(read(&[b"data: a\n\ndata: \xc3"]).unwrap().len(), 1);
    }

    proptest! {
        #[test]
        fn any_bytes_give_the_same_however_they_are_split(
            body in proptest::collection::vec(
                proptest::sample::select(vec![
                    &b"data:"[..], b" ", b"\n", b"\r", b"\r\n", b"a", b"{", b"}", b"\"", b":", b"<", b"\xEF\xBB\xBF",
                    b"\xc3\x9c", b"\xf0", b"event: error",
                ]),
                0..40,
            ),
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
        ) {
            let body = body.concat();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
            cuts.push(body.len());
            cuts.sort_unstable();
            let mut start = 0;
            let writes: Vec<&[u8]> = cuts.iter().map(|&end| &body[std::mem::replace(&mut start, end)..end]).collect();
            prop_assert_eq!(read(&writes), read(&[&body]));
        }
    }
}
