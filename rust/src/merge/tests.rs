//! The merge stage against a trainer that counts all pairs afresh before every merge.

use std::collections::{BTreeMap, HashMap};

use super::replacing::{Replaced, Task};
use super::slots::{Layout, Slots};
use super::tokens::{BOUNDARY, FIRST, HOLE, Tokens};
use super::trainer::Training;
use super::tuning::Tuning;
use super::{Conditions, MergeRow, Rules, SymbolWords, Texts, TieBreak, learn_from_long_words};
use crate::error::{Error, Result};
use crate::watch::{Pulse, Stage, Unwatched, Watch};

type Corpus = Vec<(Vec<u32>, u64)>;

const TIES: [TieBreak; 3] =
    [TieBreak::SmallestIds, TieBreak::LargestBytes, TieBreak::SmallestBytes];

/// Tunings that recount often or never, with little or much room for positions, with narrow slots,
/// wide slots, or slots that are widened on the way.
const TUNINGS: [Tuning; 3] = [
    Tuning {
        threads: 1,
        slack: 1,
        slack_when_few: 1,
        slack_when_frequent: 1,
        divisor: 2,
        few_codes: 0,
        growth_percent: 0,
        growth_per_entry: 1,
        buckets: 0,
        sort_batch: 1,
        sorted: 1,
        narrow_codes: 1 << 16,
    },
    Tuning {
        threads: 1,
        slack: 1 << 40,
        slack_when_few: 1 << 40,
        slack_when_frequent: 1 << 40,
        divisor: 2,
        few_codes: 320,
        growth_percent: 100,
        growth_per_entry: 0,
        buckets: 1 << 10,
        sort_batch: 1 << 10,
        sorted: 1 << 10,
        narrow_codes: 0,
    },
    Tuning {
        threads: 1,
        slack: 4,
        slack_when_few: 4,
        slack_when_frequent: 4,
        divisor: 2,
        few_codes: 320,
        growth_percent: 30,
        growth_per_entry: 0,
        buckets: 4,
        sort_batch: 1,
        sorted: 1 << 10,
        narrow_codes: 5,
    },
];

/// Tunings with several threads.
const THREADED: [Tuning; 3] = [
    Tuning {
        threads: 3,
        slack: 0,
        slack_when_few: 0,
        slack_when_frequent: 0,
        divisor: 2,
        few_codes: 0,
        growth_percent: 0,
        growth_per_entry: 0,
        buckets: 3,
        sort_batch: 2,
        sorted: 1,
        narrow_codes: 0,
    },
    Tuning {
        threads: 2,
        slack: 1 << 40,
        slack_when_few: 1 << 40,
        slack_when_frequent: 1 << 40,
        divisor: 8,
        few_codes: 0,
        growth_percent: 100,
        growth_per_entry: 0,
        buckets: 8,
        sort_batch: 1,
        sorted: 1,
        narrow_codes: 6,
    },
    Tuning {
        threads: 3,
        slack: 4,
        slack_when_few: 4,
        slack_when_frequent: 4,
        divisor: 2,
        few_codes: 5,
        growth_percent: 30,
        growth_per_entry: 1,
        buckets: 4,
        sort_batch: 1,
        sorted: 5,
        narrow_codes: 6,
    },
];

const DEFAULT: Tuning = Tuning::with_threads(1);

fn rules(tie_break: TieBreak, shared_tokens: bool) -> Rules {
    Rules {
        tie_break,
        shared_tokens,
        max_tokens: None,
        max_merges: None,
        max_token_length: None,
        least: 1,
        conditions: Conditions::default(),
    }
}

/// The oracle.
fn train_afresh(symbols: &[&[u8]], corpus: &Corpus, rules: &Rules) -> Vec<MergeRow> {
    let mut tokens: Vec<Vec<u8>> = symbols.iter().map(|symbol| symbol.to_vec()).collect();
    let mut words = corpus.clone();
    let base = tokens.len();
    let mut merges: Vec<MergeRow> = Vec::new();
    let mut conditions = rules.conditions.clone();
    while rules.max_merges.is_none_or(|most| (merges.len() as u64) < most)
        && rules.max_tokens.is_none_or(|most| ((tokens.len() - base) as u64) < most)
    {
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for (word, count) in &words {
            for pair in word.windows(2) {
                *counts.entry((pair[0], pair[1])).or_default() += count;
            }
        }
        let bytes = |id: u32| tokens[id as usize].clone();
        let longest = rules.max_token_length.unwrap_or(u64::MAX);
        counts.retain(|&(left, right), count| {
            let token = [bytes(left), bytes(right)].concat();
            *count > 0 && token.len() as u64 <= longest && conditions.allow_token(&token)
        });
        let Some(&highest) = counts.values().max() else { break };
        let tied: Vec<(u32, u32)> =
            counts.iter().filter(|pair| *pair.1 == highest).map(|pair| *pair.0).collect();
        let spelled = |pair: &(u32, u32)| (bytes(pair.0), bytes(pair.1));
        let best = match rules.tie_break {
            TieBreak::SmallestIds => tied[0],
            // The first of equal ones, which has the smallest ids.
            TieBreak::SmallestBytes => *tied.iter().min_by_key(|pair| spelled(pair)).unwrap(),
            TieBreak::LargestBytes => *tied.iter().rev().max_by_key(|pair| spelled(pair)).unwrap(),
        };
        let joined = [bytes(best.0), bytes(best.1)].concat();
        let known = tokens.iter().position(|token| rules.shared_tokens && *token == joined);
        let result = known.unwrap_or(tokens.len()) as u32;
        conditions.note(&joined);
        if known.is_none() {
            tokens.push(joined);
        }
        for (word, _) in &mut words {
            replace(word, best, result);
        }
        merges.push([best.0, best.1, result]);
    }
    merges
}

fn replace(word: &mut Vec<u32>, pair: (u32, u32), result: u32) {
    let mut replaced = Vec::new();
    let mut rest = &word[..];
    while let [first, after @ ..] = rest {
        if after.first().is_some_and(|&second| (*first, second) == pair) {
            replaced.push(result);
            rest = &after[1..];
        } else {
            replaced.push(*first);
            rest = after;
        }
    }
    *word = replaced;
}

/// The words of a corpus, in some parts.
fn in_parts(corpus: &[(Vec<u32>, u64)], number: usize) -> Vec<SymbolWords> {
    let of_each = corpus.len().div_ceil(number).max(1);
    let part_of = |words: &[(Vec<u32>, u64)]| {
        let mut part = SymbolWords::default();
        words.iter().for_each(|(word, count)| part.add(word, *count).unwrap());
        part
    };
    corpus.chunks(of_each).map(part_of).collect()
}

fn train_engine(
    symbols: &[&[u8]],
    corpus: &Corpus,
    rules: &Rules,
    tuning: Tuning,
) -> Result<Vec<MergeRow>> {
    let parts = in_parts(corpus, tuning.threads);
    Training::new(symbols.iter().copied(), parts, rules, tuning, &mut Unwatched)?
        .train(&mut Unwatched)
}

fn check(symbols: &[&[u8]], corpus: &Corpus, rules: &Rules) {
    check_at(&TUNINGS, symbols, corpus, rules);
}

fn check_at(tunings: &[Tuning], symbols: &[&[u8]], corpus: &Corpus, rules: &Rules) {
    let expected = train_afresh(symbols, corpus, rules);
    for &tuning in tunings {
        let merges = train_engine(symbols, corpus, rules, tuning).unwrap();
        assert_eq!(merges, expected, "{symbols:?} {corpus:?} {rules:?} {tuning:?}");
    }
}

fn check_all_rules(symbols: &[&[u8]], corpus: &Corpus) {
    for tie in TIES {
        for shared in [false, true] {
            check(symbols, corpus, &rules(tie, shared));
        }
    }
}

/// A small random generator, the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn word(&mut self, letters: u64, longest: u64) -> Vec<u32> {
        (0..self.below(longest + 1)).map(|_| self.below(letters) as u32).collect()
    }

    fn corpus(&mut self, letters: u64, words: u64, longest: u64, most: u64) -> Corpus {
        (0..=self.below(words))
            .map(|_| (self.word(letters, longest), 1 + self.below(most)))
            .collect()
    }
}

fn all_words(letters: u32, length: usize) -> impl Iterator<Item = Vec<u32>> {
    (0..letters.pow(length as u32)).map(move |number| {
        (0..length as u32).map(|place| number / letters.pow(place) % letters).collect()
    })
}

const AB: [&[u8]; 2] = [b"a", b"b"];
const ABCD: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];

#[test]
fn every_string_of_two_letters_up_to_eight_trains_as_specified() {
    for length in 0..=8 {
        for word in all_words(2, length) {
            check_all_rules(&AB, &vec![(word, 1)]);
        }
    }
}

#[test]
fn every_pair_of_short_strings_trains_as_specified() {
    let words: Vec<Vec<u32>> = (1..=4).flat_map(|length| all_words(2, length)).collect();
    for first in &words {
        for second in &words {
            check_all_rules(&AB, &vec![(first.clone(), 2), (second.clone(), 3)]);
        }
    }
}

#[test]
fn random_corpora_train_as_specified() {
    let mut dice = Dice(1);
    for round in 0..1500 {
        let letters = 2 + dice.below(3);
        let corpus = dice.corpus(letters, 12, 14, if round % 2 == 0 { 1 } else { 5 });
        check_all_rules(&ABCD[..letters as usize], &corpus);
    }
}

#[test]
fn threads_do_not_change_what_is_learned() {
    let mut dice = Dice(7);
    for _ in 0..60 {
        let corpus = dice.corpus(4, 40, 14, 5);
        for shared in [false, true] {
            check_at(&THREADED, &ABCD, &corpus, &rules(TieBreak::SmallestIds, shared));
        }
    }
}

#[test]
fn symbols_of_unequal_lengths_train_as_specified() {
    let symbols: [&[u8]; 5] = [b"a", b"b", b"ab", b"ba", b"aab"];
    let mut dice = Dice(2);
    for _ in 0..1000 {
        let corpus = dice.corpus(5, 8, 12, 3);
        check_all_rules(&symbols, &corpus);
    }
}

#[test]
fn symbols_with_equal_bytes_are_told_apart_by_their_numbers() {
    let symbols: [&[u8]; 4] = [b"b", b"a", b"b", b"a"];
    let mut dice = Dice(3);
    for _ in 0..500 {
        check_all_rules(&symbols, &dice.corpus(4, 8, 10, 2));
    }
}

#[test]
fn bounds_on_merges_tokens_and_lengths_hold() {
    let mut dice = Dice(4);
    for _ in 0..600 {
        let corpus = dice.corpus(3, 10, 12, 4);
        for tie in TIES {
            let mut rules = rules(tie, dice.below(2) == 1);
            match dice.below(3) {
                0 => rules.max_tokens = Some(dice.below(8)),
                1 => rules.max_merges = Some(dice.below(8)),
                _ => rules.max_token_length = Some(dice.below(5)),
            }
            check(&ABCD[..3], &corpus, &rules);
        }
    }
}

#[test]
fn conditions_on_the_bytes_of_tokens_hold() {
    let symbols: [&[u8]; 4] = [b"a", b" ", b"\xC3", b"\xA9"];
    let taken: Texts = [b"aa", b"a "].map(|token| token.to_vec()).into_iter().collect();
    let mut dice = Dice(8);
    for _ in 0..3000 {
        let corpus = dice.corpus(4, 12, 14, 5);
        let mut rules = rules(TIES[dice.below(3) as usize], dice.below(2) == 1);
        rules.conditions = match dice.below(4) {
            0 => Conditions { max_words: Some(dice.below(4)), ..Conditions::default() },
            1 => Conditions { without: vec![b" a".to_vec()], ..Conditions::default() },
            2 => Conditions { whole_characters: true, ..Conditions::default() },
            _ => Conditions { taken: Some(taken.clone()), ..Conditions::default() },
        };
        if dice.below(2) == 0 {
            rules.max_tokens = Some(dice.below(12));
        }
        check(&symbols, &corpus, &rules);
        check_at(&THREADED, &symbols, &corpus, &rules);
    }
}

#[test]
fn two_ways_to_make_the_same_token_are_one_where_it_is_taken_then() {
    // `ab` and `c`, or `a` and `bc`: the second is refused, although it was counted before.
    let corpus = vec![(vec![0, 1, 2], 9), (vec![0, 1], 9), (vec![1, 2], 8), (vec![3, 1, 2], 8)];
    let mut rules = rules(TieBreak::SmallestIds, false);
    let all = train_afresh(&ABCD, &corpus, &rules);
    rules.conditions.taken = Some(Texts::default());
    assert!(train_afresh(&ABCD, &corpus, &rules).len() <= all.len());
    check(&ABCD, &corpus, &rules);
    let symbols: [&[u8]; 4] = [b"a", b"b", b"ab", b"ba"];
    let mut dice = Dice(9);
    for _ in 0..500 {
        check(&symbols, &dice.corpus(4, 10, 14, 5), &rules);
        check_at(&THREADED, &symbols, &dice.corpus(4, 10, 14, 5), &rules);
    }
}

#[test]
fn pairs_far_rarer_than_the_next_threshold_are_still_merged() {
    let corpus = vec![(vec![0, 1], 100), (vec![2, 3], 1), (vec![1, 3], 1), (vec![3, 2, 0], 1)];
    let tuning = Tuning {
        slack: 1,
        slack_when_few: 1,
        slack_when_frequent: 1,
        divisor: 2,
        sorted: 1 << 10,
        ..DEFAULT
    };
    for tie in TIES {
        let rules = Rules { max_merges: Some(8), ..rules(tie, true) };
        for threads in 1..4 {
            check_at(&[Tuning { threads, ..tuning }], &ABCD, &corpus, &rules);
        }
    }
}

#[test]
fn long_words_that_are_cut_give_the_same_merges() {
    let symbols: [&[u8]; 6] = [b"a", b"b", b"c", b"ab", b"bc", b" "];
    let mut dice = Dice(11);
    for _ in 0..3000 {
        let corpus = dice.corpus(6, 12, 30, 40);
        let mut rules = rules(TIES[dice.below(3) as usize], false);
        rules.max_tokens = Some(dice.below(16));
        rules.conditions.taken = Some(symbols.iter().map(|symbol| symbol.to_vec()).collect());
        let tuning = THREADED[dice.below(3) as usize];
        let words = in_parts(&corpus, 2);
        let learned =
            learn_from_long_words(words, &symbols, &rules, tuning, &mut Unwatched).unwrap();
        assert_eq!(learned, train_afresh(&symbols, &corpus, &rules), "{corpus:?} {rules:?}");
    }
}

#[test]
fn the_example_of_the_header_is_true() {
    let (bar, hole, a, b, c) = (BOUNDARY, HOLE, FIRST, FIRST + 1, FIRST + 2);
    let (ab, abab) = (FIRST + 3, FIRST + 4);
    let slots_after = |merges: &[(u32, u32)]| {
        let corpus = [(vec![0, 1, 0, 1], 5), (vec![2, 0, 1], 2)];
        let words = in_parts(&corpus, 1).remove(0);
        let mut tokens = Tokens::new(ABCD[..3].iter().copied(), false, false).unwrap();
        let mut watch = Unwatched;
        let mut pulse = Pulse::of(&mut watch);
        let layout = Layout::measure(&words, tokens.spans(), &mut pulse).unwrap();
        let mut slots =
            Slots::<u32>::fill(&[layout], vec![words], tokens.spans(), 1, &mut pulse).unwrap();
        let mut replaced = Replaced::default();
        for (&(left, right), positions) in merges.iter().zip([&[1, 3, 7][..], &[1]]) {
            let (joined, _) = tokens.join(left, right).unwrap();
            let [left_span, span] = [left, joined].map(|code| tokens.span(code));
            let task = Task { left, right, joined, left_span, span };
            replaced
                .replace_all(
                    &mut slots,
                    positions.iter().copied(),
                    positions.len(),
                    task,
                    tokens.len(),
                )
                .unwrap();
        }
        (0..10).map(|at| slots.code(at)).collect::<Vec<_>>()
    };
    let merges = [(a, b), (ab, ab)];
    assert_eq!(slots_after(&[]), [bar, a, b, a, b, bar, c, a, b, bar]);
    assert_eq!(slots_after(&merges[..1]), [bar, ab, ab, ab, ab, bar, c, ab, ab, bar]);
    assert_eq!(slots_after(&merges), [bar, abab, ab, hole, abab, bar, c, ab, ab, bar]);
    let rules = rules(TieBreak::SmallestIds, false);
    let corpus = vec![(vec![0, 1, 0, 1], 5), (vec![2, 0, 1], 2)];
    let trained = train_engine(&ABCD[..3], &corpus, &rules, DEFAULT).unwrap();
    assert_eq!(trained[..2], [[0, 1, 3], [3, 3, 4]]);
}

#[test]
fn an_empty_symbol_is_refused_where_tokens_are_shared() {
    let symbols: [&[u8]; 2] = [b"", b"a"];
    let corpus = vec![(vec![0, 1, 1], 1)];
    check(&symbols, &corpus, &rules(TieBreak::SmallestBytes, false));
    let shared = rules(TieBreak::SmallestBytes, true);
    assert!(train_engine(&symbols, &corpus, &shared, DEFAULT).is_err());
}

#[test]
fn a_count_that_does_not_fit_64_bits_is_an_error() {
    let half = 1 << 63;
    let train =
        |corpus: Corpus| train_engine(&AB, &corpus, &rules(TieBreak::SmallestIds, false), DEFAULT);
    assert!(matches!(
        train(vec![(vec![0, 1], half), (vec![0, 1, 1], half)]),
        Err(Error::Overflow(_))
    ));
    assert!(matches!(train(vec![(vec![0, 0, 0], half)]), Err(Error::Overflow(_))));
    assert_eq!(
        train(vec![(vec![0, 1], half), (vec![1, 0], half)]).unwrap(),
        [[0, 1, 2], [1, 0, 3]]
    );
    assert_eq!(train(vec![(vec![0, 1], u64::MAX)]).unwrap(), [[0, 1, 2]]);
}

#[test]
fn one_giant_word_is_trained_in_near_linear_time() {
    let mut dice = Dice(6);
    let random: Vec<u32> = (0..300_000).map(|_| dice.below(4) as u32).collect();
    let merges = train_engine(
        &ABCD,
        &vec![(vec![0; 1 << 20], 1), (random, 1)],
        &rules(TieBreak::SmallestIds, false),
        DEFAULT,
    )
    .unwrap();
    assert!(merges.len() > 1000);
}

#[test]
fn a_watcher_stops_training() {
    struct Impatient(HashMap<u64, u64>);
    impl Watch for Impatient {
        fn report(&mut self, _: Stage, done: u64, _: u64) -> Result<()> {
            self.0.insert(done, done);
            if self.0.len() > 1 { Err(Error::Value("enough".to_string())) } else { Ok(()) }
        }
    }
    let words = in_parts(&[(vec![0; 4], 1)], 1);
    let all = rules(TieBreak::SmallestIds, false);
    let mut watch = Impatient(HashMap::new());
    let stopped = Training::new(AB.into_iter(), words, &all, DEFAULT, &mut watch)
        .and_then(|training| training.train(&mut watch));
    assert!(matches!(stopped, Err(Error::Value(message)) if message == "enough"));
}
