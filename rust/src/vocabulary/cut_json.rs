//! Cuts the long lists out of the JSON of a tokenizer: they are most of the file, and as Python's
//! objects most of the time.
//!
//! `{"model": {"vocab": {"a": 0, "b": 1}, "merges": ["a b"]}}` becomes `{"model": {"vocab": null,
//! "merges": null}}`, the ids of `a` and `b`, and the pair `a` and `b`.

use super::TokenList;
use super::spellings::NO_TOKEN;
use super::text_pairs::{BETWEEN, WITHIN};
use crate::read::json_lines::{DEPTH, Line};

type ReadList = fn(&mut Line<'_>) -> Option<LongList>;

/// The places of the lists in a `tokenizer.json` and in our own artifacts, and what reads them.
const PLACES: [(&str, ReadList); 5] = [
    ("model.vocab", ids),
    ("model.merges", pairs),
    ("merges", numbers_or_pairs),
    ("merge_ids", numbers),
    ("vocab", tokens),
];

/// What was cut out.
#[derive(Debug, PartialEq, Eq)]
pub enum LongList {
    Numbers(Vec<u32>),
    /// Lists of two numbers.
    NumberPairs(Vec<[u32; 2]>),
    /// Tokens as lists of bytes, by their ids.
    Tokens(TokenList),
    /// Merges, each a text `left right` or a list of texts, with [`WITHIN`] and [`BETWEEN`] them.
    Pairs(Vec<u8>),
    /// Texts of tokens, joined, the end of each, and their ids, which are distinct.
    Ids(Vec<u8>, Vec<usize>, Vec<u32>),
}

/// The JSON without its long lists, and these by their places.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CutJson {
    pub rest: Vec<u8>,
    pub lists: Vec<(&'static str, LongList)>,
}

/// Cuts the long lists out of an object. `None` if anything is unusual, which is left to Python.
pub fn cut_json(json: &[u8]) -> Option<CutJson> {
    let mut line = Line::new(json)?;
    let mut cutter = Cutter { whole: line.rest, copied: 0, cut: CutJson::default() };
    cutter.object(&mut line, "")?;
    cutter.cut.rest.extend_from_slice(&cutter.whole[cutter.copied..]);
    line.next().is_none().then_some(cutter.cut)
}

struct Cutter<'a> {
    whole: &'a [u8],
    /// Where the part begins that is not copied yet.
    copied: usize,
    cut: CutJson,
}

impl Cutter<'_> {
    /// Reads the object of the file, or, `inside` it, that of the model.
    fn object(&mut self, line: &mut Line<'_>, inside: &str) -> Option<()> {
        line.items(*b"{}", |line| {
            let mut key = Vec::new();
            line.string_onto(&mut key)?;
            line.byte(b':')?;
            let is_here = |(place, _): &(&str, _)| {
                place.strip_prefix(inside).map(str::as_bytes) == Some(&key)
            };
            if let Some((place, read)) = PLACES.into_iter().find(is_here) {
                line.next();
                let start = self.whole.len() - line.rest.len();
                self.cut.lists.push((place, read(line)?));
                self.cut.rest.extend_from_slice(&self.whole[self.copied..start]);
                self.cut.rest.extend_from_slice(b"null");
                self.copied = self.whole.len() - line.rest.len();
                Some(())
            } else if inside.is_empty() && key == b"model" && line.next() == Some(b'{') {
                self.object(line, "model.")
            } else {
                line.value(DEPTH)
            }
        })
    }
}

fn ids(line: &mut Line<'_>) -> Option<LongList> {
    let mut texts = Vec::new();
    let mut ends = Vec::new();
    let mut ids = Vec::new();
    line.items(*b"{}", |line| {
        line.string_onto(&mut texts)?;
        ends.push(texts.len());
        line.byte(b':')?;
        ids.push(number(line)?);
        Some(())
    })?;
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    let are_distinct = sorted.is_sorted_by(|id, next| id < next);
    are_distinct.then_some(LongList::Ids(texts, ends, ids))
}

fn numbers(line: &mut Line<'_>) -> Option<LongList> {
    let mut numbers = Vec::new();
    line.items(*b"[]", |line| {
        numbers.push(number(line)?);
        Some(())
    })?;
    Some(LongList::Numbers(numbers))
}

fn numbers_or_pairs(line: &mut Line<'_>) -> Option<LongList> {
    let start = line.rest;
    line.byte(b'[')?;
    let holds_lists = line.next()? == b'[';
    line.rest = start;
    if holds_lists { number_pairs(line) } else { numbers(line) }
}

fn number_pairs(line: &mut Line<'_>) -> Option<LongList> {
    let mut pairs = Vec::new();
    line.items(*b"[]", |line| {
        line.byte(b'[')?;
        let left = number(line)?;
        line.byte(b',')?;
        let right = number(line)?;
        line.byte(b']')?;
        pairs.push([left, right]);
        Some(())
    })?;
    Some(LongList::NumberPairs(pairs))
}

fn tokens(line: &mut Line<'_>) -> Option<LongList> {
    let mut key = Vec::new();
    let mut joined = Vec::new();
    let mut places = Vec::new();
    line.items(*b"{}", |line| {
        key.clear();
        line.string_onto(&mut key)?;
        let id = canonical(&key)?;
        line.byte(b':')?;
        let start = joined.len();
        line.items(*b"[]", |line| {
            joined.push(u8::try_from(number(line)?).ok()?);
            Some(())
        })?;
        places.push((id, start..joined.len()));
        Some(())
    })?;
    places.sort_unstable_by_key(|&(id, _)| id);
    if !places.is_sorted_by(|(id, _), (next, _)| id < next) {
        return None;
    }
    let mut list = TokenList::default();
    for (id, place) in places {
        list.push(id, &joined[place]);
    }
    Some(LongList::Tokens(list))
}

fn pairs(line: &mut Line<'_>) -> Option<LongList> {
    let mut pairs = Vec::new();
    line.items(*b"[]", |line| {
        push_pair(line, &mut pairs)?;
        pairs.push(BETWEEN);
        Some(())
    })?;
    pairs.pop();
    Some(LongList::Pairs(pairs))
}

fn push_pair(line: &mut Line<'_>, pairs: &mut Vec<u8>) -> Option<()> {
    let start = pairs.len();
    if line.next()? == b'"' {
        line.string_onto(pairs)?;
        for byte in &mut pairs[start..] {
            if *byte == b' ' {
                *byte = WITHIN;
            }
        }
        return Some(());
    }
    line.items(*b"[]", |line| {
        line.string_onto(pairs)?;
        pairs.push(WITHIN);
        Some(())
    })?;
    // A list without texts is no pair; of others, the last byte follows the last text.
    if pairs.len() == start {
        return None;
    }
    pairs.pop();
    Some(())
}

/// Reads the id that is next.
fn number(line: &mut Line<'_>) -> Option<u32> {
    line.next();
    let length = line.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = line.rest.split_at(length);
    line.rest = rest;
    canonical(digits)
}

/// Returns the id that digits spell in the one way that JSON has for it.
fn canonical(digits: &[u8]) -> Option<u32> {
    let are_digits = digits.iter().all(u8::is_ascii_digit);
    if !are_digits || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|&id| id != NO_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_of(json: &str, place: &str) -> Option<(String, LongList)> {
        let [(found, list)] = <[_; 1]>::try_from(cut_json(json.as_bytes())?.lists).ok()?;
        (found == place)
            .then(|| (String::from_utf8(cut_json(json.as_bytes()).unwrap().rest).unwrap(), list))
    }

    fn merges_of(list: &str) -> Option<String> {
        let json = format!("{{\"model\": {{\"merges\" : {list}, \"m\": [1]}}}} ");
        let (rest, list) = list_of(&json, "model.merges")?;
        assert_eq!(rest, r#"{"model": {"merges" : null, "m": [1]}} "#);
        let LongList::Pairs(pairs) = list else { return None };
        let shown = pairs.iter().map(|&byte| match byte {
            WITHIN => b'|',
            BETWEEN => b';',
            other => other,
        });
        Some(String::from_utf8(shown.collect()).unwrap())
    }

    #[test]
    fn merges_of_either_form_are_read() {
        let texts = r#"["a b", "\u0120 \"", "\\ é", "\n \ud83d\ude00"]"#;
        assert_eq!(merges_of(texts).unwrap(), "a|b;\u{120}|\";\\|é;\n|😀");
        assert_eq!(
            merges_of("[[\"a\",\"b\"],\n [ \"a b\" , \"\\u00e9\" ] ]").unwrap(),
            "a|b;a b|é"
        );
        assert_eq!(merges_of("[ ]").unwrap(), "");
        assert_eq!(
            merges_of(r#"["ab", ["a", "b", "c"], "a b c", ["a"]]"#).unwrap(),
            "ab;a|b|c;a|b|c;a"
        );
    }

    #[test]
    fn what_is_unusual_in_merges_is_left_to_others() {
        for list in [
            "{}",
            r#"["a b""#,
            r#"["a b",]"#,
            r#"["a b", []]"#,
            r#"["a b", 1]"#,
            r#"["a \ud800"]"#,
            r#"["a \ud800\u0041"]"#,
            r#"["a \udc00"]"#,
            r#"["a \ud800\"]"#,
            r#"["a \x"]"#,
            r#"["a \u+061"]"#,
            "[\"a \t\"]",
            "[null]",
            "[",
            r#"["a b"#,
            r#"["a \u00"#,
            "[\"a \n\"]",
        ] {
            assert_eq!(merges_of(list), None, "{list}");
        }
        assert_eq!(cut_json(b"{\"merges\": [\"a \xFF\"]}"), None);
        assert_eq!(cut_json(b"{\"merges\": [\"a b\"]} x"), None);
        assert_eq!(cut_json(b"[]"), None);
    }

    #[test]
    fn ids_and_numbers_are_read() {
        let (rest, list) = list_of(
            "{\"model\":{\"vocab\":{ \"a\": 10, \"\\u2581\" :0,\n\"\": 4294967294 }}}",
            "model.vocab",
        )
        .unwrap();
        assert_eq!(rest, "{\"model\":{\"vocab\":null}}");
        assert_eq!(list, LongList::Ids("a▁".into(), vec![1, 4, 4], vec![10, 0, u32::MAX - 1]));
        let (rest, list) = list_of("{\"merge_ids\":[0,5, 4294967294]}\r", "merge_ids").unwrap();
        assert_eq!(
            (rest.as_str(), list),
            ("{\"merge_ids\":null}", LongList::Numbers(vec![0, 5, u32::MAX - 1]))
        );
    }

    #[test]
    fn pairs_of_numbers_and_tokens_are_read() {
        let (rest, list) = list_of("{\"merges\": [ [97,98], [ 256 , 0 ] ]}", "merges").unwrap();
        assert_eq!(rest, "{\"merges\": null}");
        assert_eq!(list, LongList::NumberPairs(vec![[97, 98], [256, 0]]));
        let (_, list) = list_of("{\"merges\": [ ]}", "merges").unwrap();
        assert_eq!(list, LongList::Numbers(vec![]));
        let (rest, list) =
            list_of("{\"vocab\":{\"10\":[255, 0],\"\\u0032\":[ ],\"3\":[7]}}", "vocab").unwrap();
        assert_eq!(rest, "{\"vocab\":null}");
        let tokens =
            TokenList { ids: vec![2, 3, 10], joined: vec![7, 255, 0], ends: vec![0, 1, 3] };
        assert_eq!(list, LongList::Tokens(tokens));
    }

    #[test]
    fn what_is_unusual_in_pairs_and_tokens_is_left_to_others() {
        for pairs in [
            "[[1]]",
            "[[1,2,3]]",
            "[[1,2],3]",
            "[1,[2,3]]",
            "[[1,true]]",
            "[[1,-2]]",
            "[[1,2],]",
            "{}",
        ] {
            assert_eq!(cut_json(format!("{{\"merges\":{pairs}}}").as_bytes()), None, "{pairs}");
        }
        for tokens in [
            "[]",
            "{\"a\":[1]}",
            "{\"\":[1]}",
            "{\"01\":[1]}",
            "{\"-1\":[1]}",
            "{\"4294967295\":[1]}",
            "{\"1\":[256]}",
            "{\"1\":[1.0]}",
            "{\"1\":[true]}",
            "{\"1\":1}",
            "{\"1\":[1],\"1\":[1]}",
            "{\"1\":[1],}",
        ] {
            assert_eq!(cut_json(format!("{{\"vocab\":{tokens}}}").as_bytes()), None, "{tokens}");
        }
    }

    #[test]
    fn what_is_unusual_in_numbers_is_left_to_others() {
        for number in [
            "-1",
            "01",
            "1.0",
            "1e3",
            "4294967295",
            "4294967296",
            "true",
            "\"1\"",
            "",
            "1 2",
            "[1]",
        ] {
            let json = format!("{{\"model\":{{\"vocab\":{{\"a\": {number}}}}}}}");
            assert_eq!(cut_json(json.as_bytes()), None, "{number}");
            let json = format!("{{\"merges\":[1, {number}]}}");
            assert_eq!(cut_json(json.as_bytes()), None, "{number}");
        }
        assert_eq!(cut_json(b"{\"model\":{\"vocab\":{\"a\": 1, \"b\": 1}}}"), None);
    }

    #[test]
    fn lists_elsewhere_stay() {
        let json = br#"{"v": {"a": 0}, "m": {"merges": ["a b"]}, "model": {"merge_ids": [1]}}"#;
        assert_eq!(cut_json(json).unwrap(), CutJson { rest: json.to_vec(), lists: vec![] });
    }
}
