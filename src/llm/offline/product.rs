//! Answers about Flatline itself: the section of `prompts/product.md` that shares most words with the question.

use std::collections::BTreeSet;

/// A section of the product text.
#[derive(Debug)]
struct Section {
    heading: String,
    body: String,
    heading_stems: BTreeSet<String>,
    body_stems: BTreeSet<String>,
}

/// The product text by sections.
#[derive(Debug)]
pub struct Product {
    sections: Vec<Section>,
}

/// A word in the heading tells more about a section than one in its text.
const HEADING_WEIGHT: f64 = 4.0;

/// Without a word in the heading, a section with a lower score shares only chance words with the question.
const LEAST_SCORE: f64 = 1.3;

impl Product {
    /// Cuts a text at its second-level headings; what stands before the first one is left out.
    pub fn new(text: &str) -> Self {
        let mut sections: Vec<Section> = Vec::new();
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                sections.push(Section {
                    heading: heading.trim().to_owned(),
                    body: String::new(),
                    heading_stems: stems(heading),
                    body_stems: BTreeSet::new(),
                });
            } else if let Some(section) = sections.last_mut() {
                section.body.push_str(line);
                section.body.push('\n');
            }
        }
        for section in &mut sections {
            section.body = section.body.trim().to_owned();
            section.body_stems = stems(&section.body);
        }
        Self { sections }
    }

    /// The headings, in order.
    pub fn headings(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().map(|section| section.heading.as_str())
    }

    /// The section that answers `question` best, if one does.
    pub fn answer(&self, question: &str) -> Option<&str> {
        let asked = stems(question);
        let mut best: Option<(f64, &Section)> = None;
        for section in &self.sections {
            let score: f64 = asked.iter().map(|stem| self.weight(stem, section)).sum();
            // Of equals the first one stays.
            let fits = score >= LEAST_SCORE || !section.heading_stems.is_disjoint(&asked);
            if fits && best.is_none_or(|(highest, _)| score > highest) {
                best = Some((score, section));
            }
        }
        best.map(|(_, section)| section.body.as_str())
    }

    /// Whether a word of `text` other than "check" stands in a heading.
    pub fn names_topic(&self, text: &str) -> bool {
        let mut asked = stems(text);
        asked.remove("check");
        self.sections.iter().any(|section| !section.heading_stems.is_disjoint(&asked))
    }

    /// A word counts more the fewer sections hold it.
    fn weight(&self, stem: &str, section: &Section) -> f64 {
        let holds = |section: &Section| section.heading_stems.contains(stem) || section.body_stems.contains(stem);
        let holders = u32::try_from(self.sections.iter().filter(|section| holds(section)).count()).unwrap_or(u32::MAX);
        let rarity = 1.0 / f64::from(holders.max(1)).sqrt();
        match (section.heading_stems.contains(stem), section.body_stems.contains(stem)) {
            (true, _) => HEADING_WEIGHT * rarity,
            (false, true) => rarity,
            (false, false) => 0.0,
        }
    }
}

/// The words of a text that carry meaning, without their endings.
fn stems(text: &str) -> BTreeSet<String> {
    const EMPTY: &str = "a about all am an and any are as at be by can could did do does for from get give has have how \
        i if in is it its many me much my no not of on one or please should so tell that the them then \
        there they this to use was we what when where which who why will with would you your";
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && EMPTY.split_ascii_whitespace().all(|empty| empty != *word))
        .map(stem)
        .collect()
}

/// "pings", "pinging" and "pinged" are one word; so are "pause" and "paused".
fn stem(word: &str) -> String {
    let cut = |ending: &str| word.strip_suffix(ending).filter(|rest| rest.len() >= 3 && rest.is_ascii());
    let rest = cut("ings").or_else(|| cut("ing")).or_else(|| cut("ies")).or_else(|| cut("ed")).or_else(|| cut("s"));
    let rest = rest.unwrap_or(word);
    let rest =
        rest.strip_suffix('e').or_else(|| rest.strip_suffix('y')).filter(|short| short.len() >= 3).unwrap_or(rest);
    rest.to_owned()
}
