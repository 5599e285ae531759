//! How far a JSON object or array has been read: enough to know where it ends without parsing it again and again.

/// What has been seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Progress {
    /// Nothing but blanks.
    #[default]
    Empty,
    /// Begun and not yet closed.
    Open,
    /// Closed; only blanks may follow. Whether it is valid JSON only a parser knows.
    Whole,
    /// Cannot become valid JSON any more.
    Broken,
}

/// Follows brackets and strings byte by byte. Copying it lets a caller try what a further piece would do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nesting {
    progress: Progress,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// A string has just ended: only `:`, `,` or a closing bracket may follow. This is what tells the rest of a cut
    /// string from the beginning of another object.
    after_string: bool,
}

impl Nesting {
    /// What has been seen so far.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Reads on. Linear in `bytes`.
    pub fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match self.progress {
                Progress::Broken => return,
                Progress::Empty => self.begin(byte),
                Progress::Open if self.in_string => self.inside_string(byte),
                Progress::Open => self.between_strings(byte),
                Progress::Whole => {
                    if !byte.is_ascii_whitespace() {
                        self.progress = Progress::Broken;
                    }
                }
            }
        }
    }

    fn begin(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => {
                self.depth = 1;
                self.progress = Progress::Open;
            }
            blank if blank.is_ascii_whitespace() => {}
            _ => self.progress = Progress::Broken,
        }
    }

    fn inside_string(&mut self, byte: u8) {
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
            self.after_string = true;
        }
    }

    fn between_strings(&mut self, byte: u8) {
        match byte {
            b'}' | b']' => {
                self.after_string = false;
                self.depth -= 1;
                if self.depth == 0 {
                    self.progress = Progress::Whole;
                }
            }
            b':' | b',' => self.after_string = false,
            blank if blank.is_ascii_whitespace() => {}
            _ if self.after_string => self.progress = Progress::Broken,
            b'{' | b'[' => self.depth += 1,
            b'"' => self.in_string = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(text: &str) -> Progress {
        let mut nesting = Nesting::default();
        nesting.feed(text.as_bytes());
        nesting.progress()
    }

    #[test]
    fn tells_how_far_an_object_has_come() {
        for (text, expected) in [
            ("", Progress::Empty),
            (" \n", Progress::Empty),
            ("{", Progress::Open),
            (r#"{"a":"}"#, Progress::Open),
            (r#"{"a":"\"}"#, Progress::Open),
            (r#"{"a":"\\"}"#, Progress::Whole),
            (r#"{"a":{"b":[1,{}]}} "#, Progress::Whole),
            ("[DONE]", Progress::Whole),
            ("check=delta", Progress::Broken),
            ("{} {}", Progress::Broken),
            (r#"{"check":"al{"check":"beta"}"#, Progress::Broken),
        ] {
            assert_eq!(progress(text), expected, "{text}");
        }
    }

    #[test]
    fn every_prefix_of_an_object_is_open() {
        let text = r#"{"näme":"a \"b\" \\ {","list":[{"x":[]},"]"],"n":-1.5e3,"t":null}"#;
        for end in (1..text.len()).filter(|&end| text.is_char_boundary(end)) {
            assert_eq!(progress(&text[..end]), Progress::Open, "{}", &text[..end]);
        }
        assert_eq!(progress(text), Progress::Whole);
    }
}
