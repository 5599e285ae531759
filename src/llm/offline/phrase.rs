//! A message cut into words: quotes kept whole, keys for comparing, the text as it was written for names.

use serde_json::Value;

/// One word, or one quoted span, of a message.
#[derive(Debug, Clone)]
pub struct Word<'a> {
    source: &'a str,
    start: usize,
    end: usize,
    /// What stands between the quotes, or the word without punctuation around it.
    pub text: &'a str,
    /// The word for comparing: lower case, plain apostrophes. Empty for a quoted span, which is never a keyword.
    pub key: String,
    /// Whether it stood in quotes.
    pub quoted: bool,
    /// Whether a comma follows.
    pub comma: bool,
}

impl Word<'_> {
    /// Whether this sign follows without a space.
    pub fn ends_with(&self, sign: char) -> bool {
        self.source[self.start..self.end].ends_with(sign)
    }

    /// Whether a question mark follows that stands alone.
    pub fn stands_before_question_mark(&self) -> bool {
        self.source[self.end..].trim_start().starts_with('?') && !self.source[self.end..].starts_with('?')
    }

    /// Whether the word is one of `keys`, given apart by spaces.
    pub fn is(&self, keys: &str) -> bool {
        keys.split_ascii_whitespace().any(|key| key == self.key)
    }
}

/// Cuts a message into its words.
pub fn words(source: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(skip) = source[at..].find(|c: char| !c.is_whitespace()) {
        let start = at + skip;
        let rest = &source[start..];
        let quoted = quoted_len(rest);
        let body = quoted.map_or(0, |(_, after)| after);
        let end = start + rest[body..].find(char::is_whitespace).map_or(rest.len(), |n| body + n);
        let raw = &source[start..end];
        let text = match quoted {
            Some((inner, _)) => inner,
            None => raw.trim_matches(punctuation),
        };
        // A lone dash, arrow or ellipsis says nothing.
        if !text.is_empty() {
            let key = if quoted.is_some() { String::new() } else { text.to_lowercase().replace('’', "'") };
            words.push(Word { source, start, end, text, key, quoted: quoted.is_some(), comma: raw.ends_with(',') });
        }
        at = end;
    }
    words
}

fn punctuation(c: char) -> bool {
    matches!(c, ',' | '.' | '!' | '?' | ';' | ':' | '(' | ')' | '…' | '–' | '—')
}

/// If `text` begins with a quoted span: its inside, and the length with both quotes.
fn quoted_len(text: &str) -> Option<(&str, usize)> {
    let open = text.chars().next()?;
    let closers: &[char] = match open {
        '"' | '“' | '„' => &['"', '”', '“'],
        '\'' | '‘' | '‚' => &['\'', '’', '‘'],
        '«' => &['»'],
        '»' => &['«'],
        '`' => &['`'],
        _ => return None,
    };
    let inside = &text[open.len_utf8()..];
    // An apostrophe inside a word does not close: only a quote with nothing, a space or punctuation behind it does.
    let (length, close) = inside.char_indices().find(|&(at, c)| {
        let after = &inside[at + c.len_utf8()..];
        let ends = after.starts_with("'s ") || after.starts_with("’s ");
        closers.contains(&c) && (ends || after.chars().next().is_none_or(|c| c.is_whitespace() || punctuation(c)))
    })?;
    let inner = inside[..length].trim();
    (!inner.is_empty()).then_some((inner, open.len_utf8() + length + close.len_utf8()))
}

/// The words as they were written, without quotes around a single one and without punctuation at the ends.
pub fn written<'a>(words: &[Word<'a>]) -> &'a str {
    match words {
        [] => "",
        [one] => one.text,
        // Words that were put into another order have nothing between them to show.
        [first, .., last] => {
            let between = first.source.get(first.start..last.end).unwrap_or(first.text);
            between.trim_matches([',', '.', '!', '?', ';', ':'])
        }
    }
}

/// Removes the words around a name that are not part of it: "the check X", "my X check".
/// Only in lower case: somebody who writes "My backup" means a name. Quotes settle it.
pub fn name_span<'w, 'a>(mut words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    const BEFORE: &str = "the my check job monitor called named for of";
    let mut article = false;
    while let [first, rest @ ..] = words
        && !rest.is_empty()
        && first.is(BEFORE)
        && first.text == first.key
    {
        article |= first.is("the my");
        words = rest;
    }
    if let [rest @ .., last] = words
        && let Some(before) = rest.last()
        && (article || before.quoted)
        && last.is("check job monitor")
        && last.text == last.key
    {
        words = rest;
    }
    words
}

/// The sentence that asks for a check's name.
pub const WHICH: &str =
    "Which check? Please name it in the same message, in quotes if its name has several words: \"nightly backup\".";

/// The one check that these words name, or the sentence that asks for it.
pub fn name(words: &[Word]) -> Result<String, String> {
    subject(words)?.ok_or_else(|| WHICH.to_owned())
}

/// The one check that these words name; nothing if they are "it", or none. More than one is not to be had.
pub fn subject(words: &[Word]) -> Result<Option<String>, String> {
    match name_span(words) {
        [] => Ok(None),
        [one] if one.is("it its this that one check the a") => Ok(None),
        [one] if one.is("them they checks all everything") => Err(WHICH.to_owned()),
        [all, .., last] if all.is("all every") && last.is("checks jobs") => Err(WHICH.to_owned()),
        span => Ok(Some(written(span).to_owned())),
    }
}

/// Words that ask for no particular check: "a check", "any job".
pub fn is_any(words: &[Word]) -> bool {
    words.first().is_some_and(|first| first.is("a an any each every"))
}

/// The words without those at the start that are among `keys`.
pub fn skip<'w, 'a>(words: &'w [Word<'a>], keys: &str) -> &'w [Word<'a>] {
    &words[words.iter().take_while(|word| word.is(keys)).count()..]
}

/// The words without those at the end that fit; at least one stays, for it must be the name.
pub fn trim_end<'w, 'a>(mut words: &'w [Word<'a>], fits: impl Fn(&Word) -> bool) -> &'w [Word<'a>] {
    while let [rest @ .., last] = words
        && !rest.is_empty()
        && fits(last)
    {
        words = rest;
    }
    words
}

/// The checks that these words name. Several are told apart by commas, or each stands in quotes;
/// without either, "and" may be part of a name.
pub fn names(words: &[Word]) -> Result<Vec<String>, String> {
    let span = name_span(words);
    let is_list = span.len() > 1 && span.iter().any(|word| word.comma || word.quoted);
    if !is_list {
        return Ok(vec![name(words)?]);
    }
    let mut names = Vec::new();
    let mut from = 0;
    for (at, word) in span.iter().enumerate() {
        let joins = word.is("and &");
        if joins || word.comma || at + 1 == span.len() {
            let item = &span[from..if joins { at } else { at + 1 }];
            // "X, it is not needed any more": a reason is no name.
            if from > 0 && item.len() > 1 && item[0].is("it it's because since as we i they") {
                break;
            }
            if !item.is_empty() {
                names.push(name(item)?);
            }
            from = at + 1;
        }
    }
    Ok(names)
}

/// Tags: words apart by commas, "and" or spaces; a quoted span is one tag.
pub fn tags(words: &[Word]) -> Value {
    words
        .iter()
        .filter(|word| !word.is("and &"))
        .flat_map(|word| if word.quoted { vec![word.text] } else { word.text.split(',').collect() })
        .filter(|tag| !tag.is_empty())
        .collect()
}

/// The beginning of the person's own text, for quoting it back.
pub fn excerpt(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut short = String::new();
    // Word by word, for this is asked for each way of reading a long message.
    for word in text.split_whitespace() {
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
        if let Some((cut, _)) = short.char_indices().nth(LONGEST) {
            return format!("{}…", &short[..cut]);
        }
    }
    short
}
