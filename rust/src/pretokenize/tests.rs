//! Every way to cut text against the others: masks of every machine, the automaton, and the
//! backtracking machine, which knows nothing of either.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use super::compiled::{Compiled, Cursor, Piece};
use super::local::LocalRules;
use super::machine::{Machine, MachineRun};
use super::masks::{Joint, MaskRules};
use super::sequence::{Scanner, Sequence};
use super::{Batch, Pattern, Pieces, Way, pretokenize};
use crate::error::Error;
use crate::unicode::bytes::character_of;
use crate::vectors::Instructions;
use crate::watch::Pulse;

/// Patterns of tokenizers that people use.
const PATTERNS: [&str; 23] = [
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    concat!(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+",
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    concat!(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*",
        r"|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}",
        r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
        r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    concat!(
        r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])*",
        r"(?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])+",
        r"(?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    concat!(
        r##"\p{N}{1,3}|[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"##,
        r"|[^\r\n\p{L}\p{P}\p{S}\p{N}一-龥぀-ゟ゠-ヿ]?(?:(?![一-龥぀-ゟ゠-ヿ])[\p{L}\p{M}])+",
        r"| ?(?:(?![一-龥぀-ゟ゠-ヿ])[\p{P}\p{S}])+[\r\n]*|\s*[\r\n]+|\s+(?![^\s\p{N}一-龥぀-ゟ゠-ヿ])|\s+",
        r"|(?:(?=[一-龥぀-ゟ゠-ヿ])[^\p{L}\p{P}\p{S}])?(?:(?=[一-龥぀-ゟ゠-ヿ])[\p{L}\p{M}])+"
    ),
    r"\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"\S+|\s+",
    r"(?s:.+)",
    r"\w+|[^\w\s]+",
    r"[a-z]+?(?=\d|$)|\d{2,}+[a-z]|\s+$|.",
    r"\p{N}",
    r"[\r\n]",
    r"\s?\p{L}+",
    r"\s?[!-/\p{P}]+|[0-9][0-9][0-9]",
    r" ?[^(\s|.,!?…。，、।۔،)]+",
    concat!(
        r"[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?",
        r"|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    r"[\t\n]|    |  ",
];

/// Sequences of tokenizers that people use: DeepSeek V3's, StarCoder's, a step that sees bytes,
/// Falcon's, most of DeepSeek LLM's, and two that count digits from the end.
const SEQUENCES: [&str; 10] = [
    concat!(
        r"\p{N}{1,3} then [一-龥぀-ゟ゠-ヿ]+ then ",
        r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"##,
        r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    r"\p{N} then '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"\p{N} then  ?\p{L}+|\s+ then (?bytes) then [Ġ\u0141-\u0143]",
    concat!(
        r"[\p{P}$+<=>^~`|]+ then '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+",
        r"|\s+(?!\S)|\s+ then [0-9][0-9][0-9]"
    ),
    concat!(
        r"[\r\n] then \s?\p{L}+ then \s?[!-/:-~！-／：-～‘-‟\u3000-。]+ then \s+(?![\s\S])",
        r" then [一-龥ࠀ-一가-\ud7ff]+ then \p{N}+"
    ),
    r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})) then \p{Han}+ then  ?\p{L}+|\s+(?!\S)|\s+",
    r"\p{N}+ then \p{N}(?:(?!(?:\p{N}{3})+(?!\p{N}))\p{N})* then a",
    concat!(
        r"(?:(?>\p{P}))++ then '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+",
        r"|\s+(?!\S)|\s+",
        r" then (?bytes) then \p{N}+ then [0-9][0-9][0-9]"
    ),
    r"(?bytes) then \p{L}+ then [\u0100-\u0120¸-½]+a? then \p{N}{2}",
    r"(?<=\s)\p{L}+ then \p{N}{1,3} then  ?\p{L}+|\s+(?!\S)|\s+ then \b. then [a-z]+|[^a-z]",
];

/// Patterns of this shape are compiled; what they cut need not make sense.
const PARTS: [&str; 30] = [
    r"\p{L}",
    r"\p{Lu}",
    r"\p{Ll}",
    r"\p{N}",
    r"\s",
    r"[^\s\p{L}\p{N}]",
    r"[\r\n]",
    r"[^\r\n\p{L}\p{N}]",
    " ",
    r"\S",
    r"[\p{L}\p{M}]",
    r"\p{Han}",
    r"[a-z]",
    r"[A-Z]",
    "'",
    "(?i:s)",
    r"\d",
    r"[^\s]",
    r"[\p{P}\p{S}]",
    ".",
    "(?s:.)",
    r"(?!\p{Han})\p{L}",
    r"[ \t]",
    r"\n",
    "(?:'s|'ll)",
    "(?i:'re|'d)",
    r"(?!\S)",
    "$",
    r"(?=\s)",
    r"\p{M}",
];
const BOUNDS: [&str; 14] =
    ["", "", "+", "+", "*", "?", "++", "?+", "{1,3}", "{2}", "*+", "{1,3}+", "+?", "{2,4}?"];

/// Characters of every kind that patterns tell apart, alone and as they often follow one another.
const CHARACTERS: [&str; 36] = [
    " ", "  ", "\n", "\r\n", "\t", "\u{a0}", "\u{3000}", "a", "S", "s", "ſ", "ll", "'", "'s",
    "'LL", "1", "٣", "12345", "!", "/", "(", "é", "É", "ǅ", "ª", "中", "々", "ー", "あ", "\u{301}",
    "한", "😀", "\0", "\u{3040}", " the", "Word",
];

/// The same numbers every time.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// A text of few kinds of characters, so that runs come up, or of all.
    fn text(&mut self, most: usize) -> String {
        let (kinds, offset) = (1 + self.below(CHARACTERS.len()), self.below(CHARACTERS.len()));
        (0..self.below(most))
            .map(|_| CHARACTERS[(offset + self.below(kinds)) % CHARACTERS.len()])
            .collect()
    }

    fn pattern(&mut self) -> String {
        let mut alternatives = Vec::new();
        for _ in 0..1 + self.below(5) {
            let parts = (0..1 + self.below(3))
                .map(|_| format!("(?:{}){}", self.of(&PARTS), self.of(&BOUNDS)));
            alternatives.push(parts.collect::<String>());
        }
        alternatives.join("|")
    }

    /// A step of a sequence: of one set, of a model's pattern, or of any pattern.
    fn step(&mut self) -> String {
        match self.below(4) {
            0 => self.of(&PATTERNS).to_owned(),
            1 => self.pattern(),
            _ => format!("(?:{}){}", self.of(&PARTS[..24]), self.of(&BOUNDS)),
        }
    }

    /// Two or three patterns, one after the other.
    fn sequence(&mut self) -> String {
        let mut steps: Vec<String> = (0..2 + self.below(2)).map(|_| self.pattern()).collect();
        let last = self.below(steps.len());
        steps[last] = self.of(&PATTERNS).to_owned();
        steps.join(" then ")
    }
}

/// The steps of a pattern, written in one line.
pub fn sources(written: &str) -> Vec<String> {
    written.split(" then ").map(str::to_owned).collect()
}

/// The pieces of a text; each is found from its beginning.
fn pieces(text: &str, mut piece_at: impl FnMut(usize) -> Piece) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut start = 0;
    while start < text.len() {
        pieces.push(piece_at(start));
        start = pieces[pieces.len() - 1].end;
    }
    pieces
}

fn ends(pieces: &[Piece]) -> Vec<usize> {
    pieces.iter().map(|piece| piece.end).collect()
}

/// The machine asked about every place by itself.
fn by(machine: &Machine, text: &str) -> Vec<Piece> {
    let (mut run, mut pulse) = (MachineRun::default(), Pulse::until(&STOPPED));
    pieces(text, |start| {
        let mut match_at = |place| machine.match_end(text, place, &mut run, &mut pulse).unwrap();
        if let Some(end) = match_at(start) {
            return Piece { end, is_match: true };
        }
        let mut places = (start + 1..text.len()).filter(|place| text.is_char_boundary(*place));
        let end = places.find(|place| match_at(*place).is_some()).unwrap_or(text.len());
        Piece { end, is_match: false }
    })
}

fn by_cursor(compiled: &Compiled, text: &str) -> Vec<Piece> {
    let (mut cursor, mut pulse) = (Cursor::new(compiled, text), Pulse::until(&STOPPED));
    pieces(text, |_| cursor.next_piece(&mut pulse).unwrap())
}

/// No test's call is stopped.
static STOPPED: AtomicBool = AtomicBool::new(false);

fn cut<'t>(text: &'t str, pattern: &Pattern) -> Pieces<'t> {
    pretokenize(text, pattern, &mut Pulse::until(&STOPPED)).unwrap()
}

/// The ends of all pieces.
fn scanned(mut scanner: Scanner) -> Vec<usize> {
    let (mut pulse, mut batch, mut found) = (Pulse::until(&STOPPED), Batch::default(), Vec::new());
    while scanner.fill(&mut batch, &mut pulse).unwrap() > 0 {
        found.extend_from_slice(batch.ends());
    }
    found
}

/// Everything that a pattern is compiled to.
struct Ways {
    source: String,
    compiled: Compiled,
    masks: Vec<Joint>,
}

impl Ways {
    fn new(source: &str) -> Option<Self> {
        let compiled =
            Compiled::new(source).unwrap_or_else(|reason| panic!("{source}: {reason:?}"));
        let automaton = compiled.automaton.as_ref()?;
        let decides = LocalRules::decide_at_once(automaton);
        let rules = LocalRules::new(automaton).and_then(|rules| MaskRules::new(&rules));
        let on = |instructions| {
            let mut masks = Joint::of_one(automaton, rules.as_ref()?, None, decides);
            masks.instructions = instructions;
            Some(masks)
        };
        let masks = Instructions::all().into_iter().filter_map(on).collect();
        Some(Self { source: source.to_owned(), compiled, masks })
    }

    fn by_automaton(&self, text: &str) -> Vec<Piece> {
        let pieces = by_cursor(&self.compiled, text);
        let (mut asking, mut pulse) = (Cursor::new(&self.compiled, text), Pulse::until(&STOPPED));
        for piece in &pieces {
            let start = asking.place();
            assert_eq!(
                asking.is_at_match(&mut pulse).unwrap(),
                piece.is_match,
                "{:?} {text:?} at {start}",
                self.source
            );
            asking.skip(piece.end - start);
        }
        pieces
    }

    fn by_machine(&self, text: &str) -> Vec<Piece> {
        by(&self.compiled.machine, text)
    }

    fn masks_agree(&self, text: &str, expected: &[Piece]) {
        for masks in &self.masks {
            let found = scanned(Scanner::new(Some(&self.compiled), Some(masks), &[], text, &[]));
            assert_eq!(
                found,
                ends(expected),
                "{:?} {:?} {text:?}",
                masks.instructions,
                self.source
            );
        }
    }

    fn agree(&self, text: &str) {
        let expected = self.by_machine(text);
        assert_eq!(self.by_automaton(text), expected, "{:?} {text:?}", self.source);
        self.masks_agree(text, &expected);
    }
}

#[test]
fn patterns_of_models_are_cut_by_masks() {
    for source in PATTERNS[..14].iter().chain(&PATTERNS[16..]) {
        assert_eq!(Pattern::new(&sources(source)).unwrap().way(), Way::Masks, "{source}");
    }
    for source in &PATTERNS[..10] {
        assert!(
            Compiled::new(source).unwrap().automaton.as_deref().unwrap().matches_all_text(),
            "{source}"
        );
    }
    assert_eq!(Pattern::new(&sources(r"\bword\b")).unwrap().way(), Way::Machine);
}

#[test]
fn a_way_that_is_not_tried_again_may_match_nothing() {
    for source in
        [r"(?>a??|b)", r"(?:a{0,2}|t)?+", r"(?>(?:a?|t)x?)", r"(?:a|b??)?+", r"a{0,2}+", "x*+"]
    {
        let pattern = Pattern::new(&sources(source)).unwrap();
        for text in ["ab", "tat", "xttx", "aaab"] {
            let machine = Machine::new(source).unwrap();
            let expected = by(&machine, text);
            let found: Vec<usize> = cut(text, &pattern).ends;
            assert_eq!(found, ends(&expected), "{source} {text}");
        }
    }
}

#[test]
fn a_possessive_part_before_what_always_matches_is_as_cheap_as_a_greedy_one() {
    let states = |source| Compiled::new(source).unwrap().automaton.as_deref().unwrap().states;
    for (possessive, greedy) in [
        (r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s", r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s"),
        (r"\p{N}{1,3}+(?:'s|x?)|\s", r"\p{N}{1,3}(?:'s|x?)|\s"),
        (r"(?:(?>a+)b?c*)|x", r"(?:a+b?c*)|x"),
    ] {
        assert_eq!(states(possessive), states(greedy), "{possessive}");
    }
    // Here, backtracking would find a match.
    assert_ne!(states(r"\p{N}{1,3}+1|\s"), states(r"\p{N}{1,3}1|\s"));
}

#[test]
fn every_way_cuts_short_texts_alike() {
    for source in PATTERNS {
        let ways = Ways::new(source).unwrap();
        for first in CHARACTERS {
            for second in CHARACTERS {
                for third in CHARACTERS {
                    ways.agree(&format!("{first}{second}{third}"));
                }
            }
        }
    }
}

#[test]
fn every_way_cuts_long_texts_alike() {
    let mut random = Random(1);
    for source in PATTERNS {
        let ways = Ways::new(source).unwrap();
        for round in 0..400 {
            ways.agree(&random.text(if round % 20 == 0 { 3000 } else { 90 }));
        }
    }
}

#[test]
fn every_way_cuts_the_same_around_the_ends_of_windows() {
    for source in PATTERNS {
        let ways = Ways::new(source).unwrap();
        for unit in ["a", " ", "a ", "中", "\n", "é!", "1", "a\n  "] {
            for ahead in (0..12_usize).chain(500..516) {
                for behind in
                    ["", "'s", "'ll x", "12345", "\u{3000}y", " \n x", "é", "中文 b", "  "]
                {
                    let text = unit.repeat(ahead.div_ceil(unit.len())) + behind;
                    let expected = ways.by_automaton(&text);
                    ways.masks_agree(&text, &expected);
                }
            }
        }
    }
}

#[test]
fn every_way_cuts_by_patterns_nobody_has_seen_alike() {
    let mut random = Random(7);
    let (mut compiled, mut by_masks) = (0, 0);
    for _ in 0..1500 {
        let Some(ways) = Ways::new(&random.pattern()) else { continue };
        compiled += 1;
        by_masks += usize::from(!ways.masks.is_empty());
        for round in 0..25 {
            ways.agree(&random.text(if round == 0 { 1200 } else { 30 }));
        }
    }
    assert!(compiled > 1300 && by_masks > 800, "{compiled} compiled, {by_masks} by masks");
}

/// A sequence on every machine, and its steps, each for the backtracking machine: none is for the
/// one from which on bytes are printed.
struct Joined {
    source: String,
    steps: Vec<Option<Machine>>,
    sequences: Vec<(Instructions, Sequence)>,
}

impl Joined {
    fn new(source: &str) -> Self {
        let step = |step| (step != "(?bytes)").then(|| Machine::new(step).unwrap());
        let steps = source.split(" then ").map(step).collect();
        let on = |machine| {
            let mut sequence =
                Sequence::new(&sources(source), &mut Pulse::until(&STOPPED)).unwrap();
            sequence.joints().for_each(|joint| joint.instructions = machine);
            (machine, sequence)
        };
        let sequences = Instructions::all().into_iter().map(on).collect();
        Self { source: source.to_owned(), steps, sequences }
    }

    fn agree(&self, text: &str) {
        let (mut expected, mut as_bytes) = (vec![text.len()], false);
        for step in &self.steps {
            let Some(step) = step else {
                as_bytes = true;
                continue;
            };
            let mut start = 0;
            let mut cut = Vec::new();
            for end in expected {
                if as_bytes {
                    let printed: String = text.as_bytes()[start..end]
                        .iter()
                        .map(|byte| character_of(*byte))
                        .collect();
                    let pieces = by(step, &printed);
                    cut.extend(
                        pieces.iter().map(|piece| start + printed[..piece.end].chars().count()),
                    );
                } else {
                    cut.extend(by(step, &text[start..end]).iter().map(|piece| start + piece.end));
                }
                start = end;
            }
            expected = cut;
        }
        for (machine, sequence) in &self.sequences {
            let prepared = sequence.prepare(text, &mut Pulse::until(&STOPPED)).unwrap();
            let found = scanned(sequence.scan(&prepared));
            assert_eq!(found, expected, "{machine:?} {:?} {text:?}", self.source);
        }
    }
}

#[test]
fn patterns_cut_together_like_one_after_the_other() {
    let mut random = Random(17);
    for source in SEQUENCES {
        let joined = Joined::new(source);
        let way = if source.contains(r"(?<=") { Way::Machine } else { Way::Masks };
        assert_eq!(Pattern::new(&sources(source)).unwrap().way(), way, "{source}");
        for first in CHARACTERS {
            for second in CHARACTERS {
                CHARACTERS[..24]
                    .iter()
                    .for_each(|third| joined.agree(&format!("{first}{second}{third}")));
            }
        }
        for round in 0..300 {
            joined.agree(&random.text(if round % 10 == 0 { 3000 } else { 90 }));
        }
    }
}

#[test]
fn what_the_next_character_but_one_tells_is_local() {
    for source in &PATTERNS[21..] {
        assert_eq!(Pattern::new(&sources(source)).unwrap().way(), Way::Masks, "{source}");
    }
}

#[test]
fn patterns_cut_together_around_the_ends_of_windows() {
    for source in SEQUENCES {
        let joined = Joined::new(source);
        for unit in ["a", " ", "a ", "中", "\n", "é!", "1", "a\n  "] {
            for ahead in (500..516_usize).chain([5000]) {
                for behind in ["", "'s", "12345 x", "\u{3000}y", " \n x", "é", "中文 b", "  "] {
                    joined.agree(&(unit.repeat(ahead.div_ceil(unit.len())) + behind));
                }
            }
        }
    }
}

#[test]
fn patterns_that_nobody_has_seen_cut_together_like_one_after_the_other() {
    let mut random = Random(19);
    let mut together = 0;
    for _ in 0..600 {
        let count = 2 + random.below(3);
        let steps: Vec<String> = (0..count).map(|_| random.step()).collect();
        let joined = Joined::new(&steps.join(" then "));
        together +=
            usize::from(Pattern::new(&sources(&joined.source)).unwrap().way() == Way::Masks);
        for round in 0..25 {
            joined.agree(&random.text(if round % 5 == 0 { 1200 } else { 40 }));
        }
    }
    assert!(together > 200, "{together}");
}

/// Behind a step that is not cut by masks, and where patterns see bytes.
#[test]
fn patterns_cut_given_pieces_together_like_one_after_the_other() {
    let (mut random, mut together) = (Random(29), 0);
    let not_by_masks = [r"\b\p{L}", r"(?<=\p{L}).", r"(?<!1)[ a\n]+", r"(?<=a)", r"\b"];
    let of_bytes = [
        "[\u{b2}\u{b3}\u{b9}]",
        "\\p{N}+",
        "[Ã-ï][\u{a1}-¿]+",
        "Ġ",
        "[0-9][0-9][0-9]",
        "[^ä]Ġ?",
        "¸|Ċ+",
    ];
    for _ in 0..500 {
        let mut steps: Vec<String> = (0..1 + random.below(3)).map(|_| random.step()).collect();
        if random.below(2) == 0 {
            steps.insert(0, random.of(&not_by_masks).to_owned());
        } else {
            steps.insert(random.below(2), "(?bytes)".to_owned());
            (0..random.below(3)).for_each(|_| steps.push(random.of(&of_bytes).to_owned()));
        }
        if steps.last().is_some_and(|last| last == "(?bytes)") {
            continue;
        }
        let mut joined = Joined::new(&steps.join(" then "));
        together += usize::from(joined.sequences[0].1.joints().count() > 0);
        for round in 0..25 {
            joined.agree(&random.text(if round % 5 == 0 { 1500 } else { 40 }));
        }
    }
    assert!(together > 300, "{together}");
}

/// Digits in threes from the right as a part of Llama 3's, Qwen's and o200k's patterns, and other
/// parts that look far ahead.
fn patterns_that_look_far_ahead() -> Vec<String> {
    let threes = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))";
    vec![
        PATTERNS[3].replace(r"\p{N}{1,3}", threes),
        PATTERNS[5].replace(r"|\p{N}|", &format!("|{threes}|")),
        PATTERNS[7].replace(r"\p{N}{1,3}", threes),
        r"\p{N}(?:(?!(?:\p{N}{3})+(?!\p{N}))\p{N})*| ?\p{L}+|\s+(?!\S)|\s+".to_owned(),
        r" ?\p{L}+(?!\p{N}+!)|\s+(?=\S{3})|\p{N}{1,2}(?=(?:\p{N}\p{N})*(?:[^\p{N}]|\Z))|."
            .to_owned(),
        r"a+(?=b)|(?:ab)+(?=c|a*1)|\s(?!\s*\n)|[^a]".to_owned(),
    ]
}

#[test]
fn patterns_that_look_far_ahead_are_cut_by_masks() {
    let mut random = Random(31);
    for source in patterns_that_look_far_ahead() {
        assert_eq!(Pattern::new(&sources(&source)).unwrap().way(), Way::Masks, "{source}");
        let joined = Joined::new(&source);
        for first in CHARACTERS {
            for second in CHARACTERS {
                CHARACTERS[..24]
                    .iter()
                    .for_each(|third| joined.agree(&format!("{first}{second}{third}")));
            }
        }
        for unit in ["a", " ", "中", "1", "1 ", "a\n  ", "1234", "é٣"] {
            for ahead in (0..12_usize).chain(500..516).chain([1029, 5000]) {
                for behind in ["", "'s", "12345 x", "\u{3000}y", " \n x", "é", "1234567890", "!"] {
                    joined.agree(&(unit.repeat(ahead.div_ceil(unit.len())) + behind));
                }
            }
        }
        for round in 0..300 {
            let longest = if round % 10 == 0 { 3000 } else { 90 };
            joined.agree(&random.text(longest));
            let few = (0..random.below(longest))
                .map(|_| random.of(&["1", "1", "٣", "a", "b", " ", "!", "\n"]));
            joined.agree(&few.collect::<String>());
        }
    }
}

#[test]
fn patterns_that_look_far_ahead_may_be_cut_where_that_changes_nothing() {
    let mut random = Random(37);
    for (number, source) in patterns_that_look_far_ahead().into_iter().enumerate() {
        let pattern = Pattern::new(&sources(&source)).unwrap();
        assert!(pattern.can_cut() || number > 3, "{source}");
        for _ in 0..300 {
            let text = (0..random.below(40))
                .map(|_| random.of(&["1", "1", "٣", "a", "b", " ", "!", "\n"]));
            let text: String = text.collect();
            let whole = cut(&text, &pattern).ends;
            let mut start = 0;
            let mut parts = Vec::new();
            while start < text.len() {
                let end = pattern.safe_cut(&text, start + 1).unwrap_or(text.len());
                parts.extend(
                    cut(&text[start..end], &pattern).ends.iter().map(|place| start + place),
                );
                start = end;
            }
            assert_eq!(parts, whole, "{source} {text:?}");
        }
    }
}

impl Random {
    /// A pattern of few characters that looks far ahead.
    fn looking_ahead(&mut self) -> String {
        let sets = [r"\d", r"\p{N}", "[1-3]", "1", "[12a]", "[!/]", r"\p{Han}"];
        let ahead = |this: &mut Self| {
            let [part, next, behind] = [(); 3].map(|()| this.of(&sets));
            let (many, kind) =
                (this.of(&["*", "+", "*?", "{2}", "?"]), this.of(&["=", "!", "!", "=(?!22)"]));
            let end = this.of(&["(?!BEHIND)", "BEHIND", "", "$", r"(?=BEHIND+a|\z)"]);
            format!("(?{kind}(?:{part}{next}){many}{})", end.replace("BEHIND", behind))
        };
        let (set, other, bound) =
            (self.of(&sets), self.of(&sets), self.of(&["", "+", "{1,3}", "{2}", "+?"]));
        match self.below(3) {
            0 => format!("{set}{bound}{}", ahead(self)),
            1 => format!("{set}(?:{}{other}){}", ahead(self), self.of(&["*", "{0,2}", "+", "*?"])),
            _ => format!("{}{set}{bound}|{other}{set}{}", ahead(self), ahead(self)),
        }
    }
}

#[test]
fn look_aheads_of_any_length_are_told_by_views() {
    let (mut random, mut together) = (Random(23), 0);
    for _ in 0..400 {
        let mut steps =
            [random.looking_ahead(), random.of(&["a+", r"\s", r"\p{N}+", "[12]"]).to_owned()];
        if random.below(2) == 0 {
            steps.reverse();
        }
        let joined = Joined::new(&steps.join(" then "));
        together +=
            usize::from(Pattern::new(&sources(&joined.source)).unwrap().way() == Way::Masks);
        for round in 0..25 {
            let longest = if round % 5 == 0 { 1500 } else { 12 };
            let text = (0..random.below(longest))
                .map(|_| random.of(&["1", "1", "2", "12", "a", "!", "中", " ", "a b "]));
            joined.agree(&text.collect::<String>());
            joined.agree(&random.text(longest));
        }
    }
    assert!(together > 150, "{together}");
}

/// Patterns whose matches begin and fail, or go on in vain after their end, and a text where they
/// do.
const IN_VAIN: [(&str, &str); 26] = [
    ("a+b", "a"),
    ("a*b|a", "a"),
    (r"\w+\d|.", "a"),
    (r"\p{L}+[0-9]", "é"),
    (r"[^x]*x", "ab c"),
    (r"(?:aa)*b", "a"),
    (r"(?:aa)+b|(?:aaa)+c|a{7}", "a"),
    (r"(?:a{50})*b", "a"),
    (r"\s+x|\s|[a-z]+(?=1)", "  a"),
    (r" ?\p{L}+\p{N}| ?\p{L}|\s+(?=x)", "a b  "),
    (r"\S+\s+\d|\S", "ab  "),
    (r"\d+(?=(?:\d\d)*x) then a", "1"),
    (r"a then \s+(?![\s\S]) then 1", "      1"),
    // The machine.
    (r"a+b(?=cd)", "a"),
    (r"(?<=x)a+|a+b", "a"),
    (r"\ba+\b\d|a(?!bc)", "a"),
    (r"(?:a|ab?)+(?=cd)|a", "a"),
    (r"(?>a+)(?=bc)|a", "a"),
    (r"(?:(?=a+b|c*)a)+(?=xy)|a", "a"),
    (r"a(?!a*bc)", "a"),
    (r"(?:ab?|b)*(?=cd)|a", "ab"),
    (r"(?:a*?(?:b|a))+(?=cd)|a", "ab"),
    // Look-behind with several ways, of which none leads to its end.
    (r"(?<=c(?:a|[ab]){30})b|a", "a"),
    (r"(?<!x(?:a|(?<=c(?:a|[ab]){20})b){3})a|b", "a"),
    // Sequences.
    (r"a+b then a*c|aa then \w+(?=bc)|.", "a"),
    (r"[ax] then (?space) then (?s:.+)b|. then  +x", "a"),
];

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Called for each step of an automaton or the machine, and for the characters of a window of
/// masks.
pub fn count_steps(steps: usize) {
    STEPS.set(STEPS.get() + steps);
}

#[test]
fn the_work_is_proportional_to_the_text_for_every_pattern_and_text() {
    let mut random = Random(11);
    let random_patterns: Vec<String> = (0..150).map(|_| random.pattern()).collect();
    let others = PATTERNS
        .iter()
        .chain(&SEQUENCES)
        .copied()
        .chain(random_patterns.iter().map(String::as_str));
    let units = ["a", " ", "a ", "é", "\n", "1", "'", "中", "a1", " \n", "A!"];
    let cases =
        IN_VAIN.into_iter().chain(others.flat_map(|source| units.map(|unit| (source, unit))));
    for (source, unit) in cases {
        let pattern = Pattern::new(&sources(source)).unwrap();
        let steps = [1, 4].map(|times| {
            let text = unit.repeat(times * 8000 / unit.len());
            STEPS.set(0);
            let pieces = cut(&text, &pattern);
            assert_eq!(pieces.ends.last(), Some(&pieces.text.text().len()));
            STEPS.get()
        });
        assert!(steps[1] < 5 * steps[0] + 20_000, "{source} {unit:?}: {steps:?}");
        assert!(steps[0] < 700 * 8000, "{source} {unit:?}: {steps:?}");
    }
}

/// Long repetitions have many states, of which only few are told apart at once.
#[test]
fn the_work_to_compile_a_pattern_is_bounded() {
    let two: Vec<String> =
        (0..100).map(|number| format!("{}{number}", char::from(b'a' + number % 26))).collect();
    let wide: Vec<String> =
        (0..100).map(|number| char::from_u32(0x100 + number).unwrap().to_string()).collect();
    for source in [
        format!("(?:.{{1500}})|{}", two.join("|")),
        format!("[ab]{{,900}}|{}", wide.join("|")),
        format!("(?:[^x]?[^y]){{,900}}|{}", wide.join("|")),
        format!("(?:(?=[ab])(?!c)[^z]?[ab]){{700}}|{}", wide.join("|")),
    ] {
        STEPS.set(0);
        let pattern = Pattern::new(&sources(&source)).unwrap();
        assert!(STEPS.get() < 50_000_000, "{source:.30}: {}", STEPS.get());
        let text = "ab1".repeat(700);
        assert_eq!(cut(&text, &pattern).ends, ends(&by(&Machine::new(&source).unwrap(), &text)));
    }
}

#[test]
fn what_is_remembered_changes_no_piece() {
    let mut random = Random(13);
    for (source, _) in IN_VAIN {
        // As a single pattern: the parts of a sequence become alternatives.
        let source = source.replace(" then ", "|").replace("(?space)", "x");
        let (ways, compiled) = (Ways::new(&source), Compiled::new(&source).unwrap());
        let machine = Machine::new(&source).unwrap();
        for round in 0..100 {
            let letters: &[&str] =
                if round % 2 == 0 { &["a", "a", "a", "b"] } else { &["a", " ", "1", "é", "x"] };
            let last = random.of(&["", "b", "bc", "bcd", "c", "1", "x"]);
            let length = random.below(if ways.is_some() { 900 } else { 150 });
            let text: String = (0..length).map(|_| random.of(letters)).chain([last]).collect();
            let expected = pieces(&text, |start| {
                let mut cursor = Cursor::new(&compiled, &text);
                cursor.skip(start);
                cursor.next_piece(&mut Pulse::until(&STOPPED)).unwrap()
            });
            assert_eq!(by(&machine, &text), expected, "{source} {text:?}");
            ways.iter().for_each(|ways| ways.agree(&text));
        }
    }
}

/// A long repetition has results for 8,000 splits to clear at each place: they count as work, or no
/// call would be stopped in time.
#[test]
fn the_work_of_the_machine_includes_what_it_clears() {
    let compiled = Compiled::new("(?:a|b){1,8000}c|d").unwrap();
    assert!(compiled.automaton.is_none());
    // The steps alone are fewer than 2,000.
    let (text, mut pulse) = ("ab".repeat(10), Pulse::until(&STOPPED));
    Cursor::new(&compiled, &text).next_piece(&mut pulse).unwrap();
    assert!(pulse.total > 5000, "{}", pulse.total);
}

#[test]
fn a_search_ends_where_the_call_was_stopped() {
    let stop = AtomicBool::new(true);
    for (source, unit) in IN_VAIN {
        let text = unit.repeat(1 << 20);
        let stopped =
            pretokenize(&text, &Pattern::new(&sources(source)).unwrap(), &mut Pulse::until(&stop));
        assert!(matches!(stopped, Err(Error::Stopped)), "{source}");
    }
}

/// Cutting wherever it is said to be safe, and each part on its own, gives the pieces of the whole.
#[test]
fn safe_cuts_change_no_piece() {
    let mut random = Random(3);
    let random_patterns: Vec<String> = (0..300).map(|_| random.pattern()).collect();
    let random_sequences: Vec<String> = (0..600).map(|_| random.sequence()).collect();
    let random_sources = random_patterns.iter().chain(&random_sequences).map(String::as_str);
    for source in PATTERNS.into_iter().chain(SEQUENCES).chain(random_sources) {
        let Ok(pattern) = Pattern::new(&sources(source)) else { continue };
        for _ in 0..40 {
            let text = random.text(60);
            let whole = cut(&text, &pattern);
            let mut parts: Vec<Vec<u8>> = Vec::new();
            let mut start = 0;
            while start < text.len() {
                let end = pattern.safe_cut(&text, start + 1).unwrap_or(text.len());
                parts.extend(cut(&text[start..end], &pattern).iter().map(<[u8]>::to_vec));
                start = end;
            }
            assert!(whole.iter().eq(parts.iter().map(Vec::as_slice)), "{source:?} {text:?}");
        }
    }
}

#[test]
fn models_patterns_may_be_cut_between_words() {
    for source in PATTERNS[..12].iter().chain(&SEQUENCES[..2]) {
        let pattern = Pattern::new(&sources(source)).unwrap();
        assert!(pattern.can_cut(), "{source}");
        assert_eq!(pattern.safe_cut("words of a text", 1), Some(5), "{source}");
    }
    for source in ["(?s:.+)", r"(?:ab)+ then (?s:.+)", r"\p{N} then (?space) then \s|\S+"] {
        let pattern = Pattern::new(&sources(source)).unwrap();
        assert!(!pattern.can_cut(), "{source}");
        assert_eq!(pattern.safe_cut("words of a text", 1), None);
    }
}
