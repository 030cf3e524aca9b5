//! Counting in parts, on threads and from files equals counting one piece after the other.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::shard::CountSlot;
use super::*;
use crate::encode::Stages;
use crate::key::{HashSeed, Key};
use crate::normalize::{Beginning, Normalizer};
use crate::pretokenize::{Batch, pretokenize};
use crate::watch::{Stage, Unwatched};

const GPT2: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const PATTERNS: [&str; 4] = [GPT2, r"\S+|\s+", r"(?s:.+)", r"\w+"];
const BOUNDARIES: [&[&str]; 3] = [&[], &["<|end|>"], &["<|", "<|end|>", "a a", "end"]];

/// A shard with these pretokens and counts.
pub fn shard_of_entries(entries: &[(&[u8], u64)]) -> Shard {
    let (mut shard, seed) = (Shard::default(), HashSeed::of_process());
    for &(pretoken, count) in entries {
        let entry = CountSlot { key: Key::of(pretoken, seed), count };
        if entry.key.is_short() {
            shard.add_short(&[entry]).unwrap();
        } else {
            shard.add_long(&[entry], pretoken).unwrap();
        }
    }
    shard
}

type Counts = BTreeMap<Vec<u8>, u64>;

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn counted(table: &CountTable) -> Counts {
    let mut counts = Counts::new();
    let mut insert = |pretoken: &[u8], count| {
        assert!(counts.insert(pretoken.to_vec(), count).is_none());
        Ok(())
    };
    table.visit(&mut insert).unwrap();
    let sorted = table.sorted(None, &mut Pulse::of(&mut Unwatched)).unwrap();
    let mut entries = counts.iter();
    let mut start = 0;
    for (&end, count) in sorted.ends.iter().zip(&sorted.counts) {
        let pretoken = &sorted.pretokens[start as usize..end as usize];
        assert_eq!(
            entries.next().map(|(bytes, count)| (&bytes[..], count)),
            Some((pretoken, count))
        );
        start = end;
    }
    assert!(entries.next().is_none());
    counts
}

/// Leftmost-longest, by looking at every place.
fn plain_segments<'t>(text: &'t str, boundaries: &[&str]) -> Vec<&'t str> {
    let (mut segments, mut start, mut place) = (vec![], 0, 0);
    while place < text.len() {
        let found = boundaries
            .iter()
            .filter(|boundary| text.as_bytes()[place..].starts_with(boundary.as_bytes()));
        match found.map(|boundary| boundary.len()).max() {
            Some(length) => {
                segments.push(&text[start..place]);
                place += length;
                start = place;
            }
            None => place += 1,
        }
    }
    segments.push(&text[start..]);
    segments
}

/// Counts and documents, one piece after the other.
fn expected(texts: &[String], pattern: &str, boundaries: &[&str]) -> (Counts, u64) {
    let pattern = Pattern::new(&[pattern.into()]).unwrap();
    let (mut counts, mut documents) = (Counts::new(), 0);
    for stretch in texts.iter().flat_map(|text| plain_segments(text, boundaries)) {
        documents += u64::from(!stretch.is_empty());
        for piece in pretokenize(stretch, &pattern, &mut Pulse::of(&mut Unwatched)).unwrap().iter()
        {
            *counts.entry(piece.into()).or_default() += 1;
        }
    }
    (counts, documents)
}

/// The same numbers every time.
fn random(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) as usize
}

fn random_text(state: &mut u64) -> String {
    let pieces = [
        "a",
        " a",
        " ",
        "\n",
        "end",
        "<|",
        "<|end|>",
        "é",
        "中文",
        "1",
        "'s",
        "word after word",
        "\u{3000}",
    ];
    let kinds = 1 + random(state) % pieces.len();
    let offset = random(state);
    let count = random(state) % 120;
    (0..count).map(|_| pieces[(offset + random(state) % kinds) % pieces.len()]).collect()
}

fn threads(count: usize) -> Limits {
    Limits { threads: Some(count), memory: None }
}

/// A batch of documents, and the number of its first one.
struct Numbered(usize, Vec<Vec<u8>>);

impl Documents for Numbered {
    fn count(&self) -> usize {
        self.1.len()
    }

    fn length(&self, index: usize) -> usize {
        self.1[index].len()
    }

    fn read<'b>(
        &'b self,
        index: usize,
        range: Range<usize>,
        _: &'b mut Vec<u8>,
    ) -> Result<&'b [u8]> {
        Ok(&self.1[index][range])
    }

    fn name(&self, index: usize) -> String {
        format!("document {}", self.0 + index)
    }
}

/// Count documents, so many at a time.
fn add_batches(
    table: &mut CountTable,
    documents: &[&[u8]],
    size: usize,
    limits: Limits,
    watch: &mut dyn Watch,
) -> Result<()> {
    let mut first = 0;
    table.add_documents(limits, watch, &mut |_| {
        let batch: Vec<_> =
            documents[first..].iter().take(size).map(|document| document.to_vec()).collect();
        first += batch.len();
        Ok((!batch.is_empty()).then(|| Numbered(first - batch.len(), batch)))
    })
}

fn add(table: &mut CountTable, documents: &[&[u8]], limits: Limits) {
    add_batches(table, documents, documents.len().max(1), limits, &mut Unwatched).unwrap();
}

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bpetite-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn chunks_of_files_and_documents_count_like_the_whole() {
    let folder = Folder::new("chunks");
    let mut state = 7;
    for round in 0..192 {
        let pattern = PATTERNS[round % PATTERNS.len()];
        let boundaries = BOUNDARIES[round / PATTERNS.len() % BOUNDARIES.len()];
        let texts: Vec<String> = (0..1 + round % 4).map(|_| random_text(&mut state)).collect();
        let (counts, documents) = expected(&texts, pattern, boundaries);
        let table = || {
            CountTable::new(&[pattern.into()], &strings(boundaries), true, Stages::none()).unwrap()
        };

        let mut from_files = table();
        let name = |index| format!("{index}.txt");
        let paths: Vec<PathBuf> =
            (0..).zip(&texts).map(|(index, text)| folder.write(&name(index), text)).collect();
        from_files.add_files(&paths, threads(1 + round % 3), &mut Unwatched).unwrap();
        let mut from_memory = table();
        let borrowed: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        add(&mut from_memory, &borrowed, threads(1 + round % 3));
        let mut from_batches = table();
        add_batches(&mut from_batches, &borrowed, 1, threads(1 + round % 3), &mut Unwatched)
            .unwrap();

        for table in [from_files, from_memory, from_batches] {
            assert_eq!(counted(&table), counts, "{texts:?} {pattern} {boundaries:?}");
            assert_eq!(table.documents, documents, "{texts:?} {pattern} {boundaries:?}");
            assert_eq!(table.total, u128::from(counts.values().sum::<u64>()));
            assert_eq!(table.distinct().unwrap(), counts.len());
            assert_eq!(table.bytes, borrowed.iter().map(|text| text.len() as u64).sum::<u64>());
        }
    }
}

#[test]
fn many_pretokens_outgrow_every_table() {
    let words: String = (0..30_000).map(|n| format!(" word{n} {}", "x".repeat(n % 40))).collect();
    let mut table = CountTable::new(&[GPT2.into()], &[], true, Stages::none()).unwrap();
    add(&mut table, &[words.as_bytes()], threads(2));
    assert_eq!(counted(&table), expected(&[words], GPT2, &[]).0);
}

#[test]
fn the_first_bad_byte_of_a_file_is_told_whatever_the_threads_do() {
    let folder = Folder::new("bad");
    for offset in [0, 5, 47, 48, 49, 100, 333, 499] {
        for bad in [b"\xff".as_slice(), b"\xe4\xb8", b"\xc0\x80"] {
            let mut content = b"some words ".repeat(50);
            content.splice(offset..offset + 1, bad.iter().copied());
            content.extend(b"\xff and more");
            let first = str::from_utf8(&content).unwrap_err().valid_up_to() as u64;
            let path = folder.write("bad.txt", &content);
            for count in [1, 3] {
                let mut table = CountTable::new(&[GPT2.into()], &[], true, Stages::none()).unwrap();
                match table.add_files(std::slice::from_ref(&path), threads(count), &mut Unwatched) {
                    Err(Error::NotUtf8 { input, offset }) => {
                        assert_eq!((Path::new(&input), offset), (path.as_path(), first));
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error() {
    let folder = Folder::new("changed");
    for changed in
        ["short", "a text that is much longer than the one that was here when it all began"]
    {
        let path = folder.write("changing.txt", "a text of some length");
        let files = Files::new(std::slice::from_ref(&path)).unwrap();
        fs::write(&path, changed).unwrap();
        for range in [0..files.length(0), 2..4] {
            let error = files.read(0, range, &mut vec![]).unwrap_err();
            assert!(error.to_string().contains("changed while it was read"), "{error}");
        }
    }
}

#[test]
fn a_watch_that_says_stop_stops() {
    struct Stop;
    impl Watch for Stop {
        fn report(&mut self, _: Stage, _: u64, _: u64) -> Result<()> {
            Err(Error::Value("stop".into()))
        }
    }
    let mut table = CountTable::new(&[GPT2.into()], &[], true, Stages::none()).unwrap();
    let text = "word ".repeat(1000);
    let error = add_batches(&mut table, &[text.as_bytes()], 1, threads(2), &mut Stop).unwrap_err();
    assert_eq!(error.to_string(), "stop");
}

#[test]
fn a_batch_of_gaps_is_left_out_when_it_should_be() {
    let mut table = CountTable::new(&[r"\d".into()], &[], false, Stages::none()).unwrap();
    let text = "ab1 ".repeat(2 * Batch::default().ends().len().max(600));
    add(&mut table, &[text.as_bytes()], threads(1));
    assert_eq!(counted(&table), Counts::from([(b"1".to_vec(), 1200)]));
}

#[test]
fn tables_add_up_and_quickly() {
    let words: Vec<String> =
        (0..200_000).map(|n| format!(" w{n} {}", "y".repeat(n % 30))).collect();
    let count = |words: &[String]| {
        let mut table = CountTable::new(&[r"\S+|\s+".into()], &[], true, Stages::none()).unwrap();
        let documents: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        add(&mut table, &documents, threads(1));
        table
    };
    let mut sum = CountTable::new(&[r"\S+|\s+".into()], &[], true, Stages::none()).unwrap();
    sum.merge(&count(&words[..150_000]), 1).unwrap();
    sum.merge(&count(&words[100_000..]), 1).unwrap();
    let mut both = words[..150_000].to_vec();
    both.extend_from_slice(&words[100_000..]);
    assert_eq!(counted(&sum), counted(&count(&both)));
    assert_eq!((sum.documents, sum.total), (250_000, count(&both).total));
}

#[test]
fn counts_over_the_memory_limit_are_spilled_and_merged_back() {
    let words: Vec<String> =
        (0..9_000).map(|n| format!(" w{} {}", n % 7001, "y".repeat(n % 50))).collect();
    let documents: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
    let count = |documents: &[&[u8]], memory_limit| {
        let mut table = CountTable::new(&[r"\S+|\s+".into()], &[], true, Stages::none()).unwrap();
        add(&mut table, documents, Limits { threads: Some(2), memory: memory_limit });
        table
    };
    let expected = counted(&count(&documents, None));
    for limit in [0, 1, 1 << 16, 1 << 18, 1 << 40] {
        let table = count(&documents, Some(limit));
        assert_eq!(counted(&table), expected, "limit {limit}");
        assert_eq!(table.distinct().unwrap(), expected.len());
        let mut sum = count(&documents[..4000], Some(limit));
        sum.merge(&count(&documents[4000..6000], None), 1).unwrap();
        let mut last = count(&[], None);
        last.merge(&count(&documents[6000..], Some(limit)), 1).unwrap();
        sum.merge(&last, 1).unwrap();
        assert_eq!(counted(&sum), expected, "limit {limit}");
    }
}

#[test]
fn batches_count_like_the_whole_whoever_is_late() {
    let words: Vec<String> =
        (0..2_000).map(|n| format!(" w{} {}", n % 701, "y".repeat(n % 90))).collect();
    let all = expected(&words, GPT2, &[]).0;
    for threads in [1, 2, 5] {
        for late in [0, 1, 7] {
            let mut table = CountTable::new(&[GPT2.into()], &[], true, Stages::none()).unwrap();
            let (mut batches, mut returned) = (words.chunks(40), 0);
            let mut next = |counted: Vec<Numbered>| {
                returned += counted.len();
                if late > 0 && batches.len() % late == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
                let batch = batches.next();
                Ok(batch.map(|texts| {
                    Numbered(0, texts.iter().map(|text| text.as_bytes().to_vec()).collect())
                }))
            };
            let limits = Limits { threads: Some(threads), memory: None };
            table.add_documents(limits, &mut Unwatched, &mut next).unwrap();
            assert_eq!(counted(&table), all);
            assert!(returned <= 50);
        }
    }
}

#[test]
fn the_first_bad_document_is_told_before_what_comes_later() {
    let good = "some words ".repeat(30);
    let bad = [good.as_bytes(), b"\xff"].concat();
    for first_bad in [0, 3, 8, 9] {
        for (size, count) in [(1, 1), (1, 3), (4, 2), (10, 4)] {
            for interrupts in [false, true] {
                let mut number = 0;
                let mut table = CountTable::new(&[GPT2.into()], &[], true, Stages::none()).unwrap();
                let told = table.add_documents(threads(count), &mut Unwatched, &mut |_| {
                    if number >= 10 {
                        return Err(Error::Caller { raised: "no more".into(), interrupts });
                    }
                    let some = (number..10).take(size);
                    let is_bad = |number| number == first_bad || number == 9;
                    let batch =
                        some.map(|n| if is_bad(n) { bad.clone() } else { good.clone().into() });
                    let batch = Numbered(number, batch.collect());
                    number += batch.count();
                    Ok(Some(batch))
                });
                match told {
                    Err(Error::NotUtf8 { input, offset }) => {
                        assert_eq!(
                            (input, offset),
                            (format!("document {first_bad}"), good.len() as u64)
                        );
                    }
                    Err(Error::Caller { .. }) => assert!(interrupts, "{first_bad} {size} {count}"),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn segments_are_normalized_as_a_whole_before_they_are_cut() {
    let steps = [vec!["NFC".to_string()]];
    let normalizer = Normalizer::new(&steps).unwrap();
    let normalized = |text: &str| {
        let normalized =
            normalizer.normalize(text, Beginning::Text, &mut Pulse::of(&mut Unwatched));
        normalized.unwrap().into_owned()
    };
    for (text, boundaries) in [
        ("e\u{301} caf\u{65}\u{301}s a\u{323}\u{301} ".repeat(40), &[][..]),
        ("e\u{301}<|x|>\u{301}e <|x|>caf\u{65}\u{301}s".repeat(40), &["<|x|>"][..]),
    ] {
        let segments = match boundaries {
            [] => normalized(&text),
            [boundary, ..] => {
                text.split(boundary).map(normalized).collect::<Vec<_>>().join(boundary)
            }
        };
        let (counts, _) = expected(&[segments], GPT2, boundaries);
        for count in [1, 3] {
            let mut table = CountTable::new(
                &[GPT2.into()],
                &strings(boundaries),
                true,
                Stages::new(vec![], &steps).unwrap(),
            )
            .unwrap();
            add(&mut table, &[text.as_bytes()], threads(count));
            assert_eq!(counted(&table), counts);
        }
    }
}
