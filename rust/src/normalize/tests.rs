use super::*;
use crate::watch::Unwatched;

fn normalizer(steps: &[&[&str]]) -> Normalizer {
    let steps: Vec<Vec<String>> =
        steps.iter().map(|step| step.iter().map(|&word| word.to_owned()).collect()).collect();
    Normalizer::new(&steps).unwrap()
}

fn normalized(steps: &[&[&str]], text: &str, at: Beginning) -> String {
    normalizer(steps).normalize(text, at, &mut Pulse::of(&mut Unwatched)).unwrap().into_owned()
}

#[test]
fn steps_are_taken_in_order() {
    for (steps, text, expected) in [
        (&[&["NFC"][..]][..], "ae\u{301}x", "aéx"),
        (&[&["NFD"], &["StripAccents"], &["Lowercase"]], "É", "e"),
        (&[&["Prepend", "\u{2581}"], &["Replace", "\u{2581}", " "]], "a\u{2581}b", " a b"),
        (&[&["Replace", " {2,}", " "], &["Strip right"]], "a   b  ", "a b"),
        (&[&["Map", "a", "b", "ab", "", "b", "a"]], "aabb", "ba"),
        (&[&["Map", "abc", "x", "a", "c", "a", "d"]], "abcabd", "xdbd"),
        (&[&["Lowercase"]], "ΑΣ İ", "ασ i\u{307}"),
        (&[&["NFC"], &["Replace", "xé", "b"]], "xe\u{301}", "b"),
    ] {
        assert_eq!(normalized(steps, text, Beginning::Text), expected);
    }
}

#[test]
fn what_is_put_before_a_text_depends_on_where_it_begins() {
    let steps: &[&[&str]] = &[&["Prepend", "b"], &["Prepend first", "a"]];
    for (at, expected) in
        [(Beginning::Text, "abx"), (Beginning::Segment, "bx"), (Beginning::Within, "x")]
    {
        assert_eq!(normalized(steps, "x", at), expected);
        assert_eq!(normalized(steps, "", at), "");
    }
}

#[test]
fn a_text_is_borrowed_if_nothing_changes() {
    let mut watch = Unwatched;
    let pulse = &mut Pulse::of(&mut watch);
    let text = "é 日 q\u{323}".repeat(20);
    for steps in
        [&[][..], &[&["NFC"][..]], &[&["Strip left"]], &[&["Lowercase"], &["Replace", "z", ""]]]
    {
        assert!(
            normalizer(steps).written::<true>(&text, Beginning::Text, pulse).unwrap().is_none()
        );
        let same = normalizer(steps);
        assert!(matches!(same.normalize(&text, Beginning::Text, pulse).unwrap(), Cow::Borrowed(_)));
    }
}

#[test]
fn places_of_no_characters_are_behind_those_before_them() {
    let mut watch = Unwatched;
    let pulse = &mut Pulse::of(&mut watch);
    let written = normalizer(&[&["NFC"], &["Replace", "b", "xy"]])
        .written::<true>("e\u{301}ab", Beginning::Text, pulse)
        .unwrap();
    let Written { text, alignment, .. } = written.unwrap();
    assert_eq!(text, "éaxy");
    assert_eq!(
        [(0, 1), (0, 2), (2, 4)].map(|(start, end)| alignment.place(start, end)),
        [(0, 1), (0, 3), (3, 4)]
    );
    assert_eq!([0, 2, 4].map(|place| alignment.place(place, place)), [(0, 0), (3, 3), (4, 4)]);
}
