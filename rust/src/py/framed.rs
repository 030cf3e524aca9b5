//! The Python classes `FramedEncoder` and `FramedEncoding`: texts with the same special tokens
//! around each, cut and filled up to a length.
//!
//!     text        "to be"
//!     own ids     [20, 21, 22]
//!     in a frame  [1, 20, 21, 2, 0]   cut to 4, with 1 before and 2 after it, padded with 0 to 5
//!     overflow    [1, 22, 2, 0, 0]
//!
//! Most callers want the ids and offsets of many short texts, one by one or in batches. An encoding
//! holds the ids as numbers, and finds offsets when they are asked for. Whatever transformers asks
//! of an encoding is answered here; the encoding of the real tokenizer answers the rest, such as
//! word ids, and encodes the text again for it. With encodings that are objects of Python from the
//! beginning, all of it takes 1.2 to 1.5 times as long.

use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PySequence, PyString, PyTuple};

use super::arguments::Threads;
use super::decode::watched;
use super::encode::{Around, PyEncoder, each};
use super::ids::pairs;
use super::texts::OneText;
use super::watch::PyWatch;
use crate::encode::{self, Special, Trim};
use crate::error::Result;
use crate::memory;
use crate::normalize::Beginning;

/// The memory of an encoding besides its ids.
const BYTES_PER_ENCODING: usize = 240;

/// The memory of a token in a real encoding: its properties, and its text.
const BYTES_PER_REAL_TOKEN: usize = 128;

/// Encodes texts, each with the same special tokens around it.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct FramedEncoder {
    encoder: Py<PyEncoder>,
    frame: Frame,
    /// Makes the real encoding of a text that has been filled up to a length.
    make: Py<PyAny>,
    /// How tokens of texts are spelled, or None if only the real encoding knows.
    spell: Py<PyAny>,
    /// How many threads batches may use that are worth more than one.
    threads: Py<PyAny>,
}

/// How texts are encoded, and what is around them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Frame {
    special: Special,
    /// None if only ids are wanted, and no places of tokens.
    trim: Option<Trim>,
    /// The tokens before and after a text, and the type of those of the text.
    before: Vec<Token>,
    after: Vec<Token>,
    type_id: u32,
    /// Whether the tokens of the text are distinguished from those around it.
    is_apart: bool,
    truncation: Option<Truncation>,
    padding: Option<Padding>,
    /// The id of unknown bytes, if a text with some is not for this encoder.
    refused: Option<u32>,
}

/// A token that is not of a text.
#[derive(FromPyObject)]
struct Token {
    #[pyo3(item(0))]
    id: u32,
    #[pyo3(item(1))]
    type_id: u32,
    #[pyo3(item(2))]
    text: Py<PyString>,
}

/// How texts are cut.
#[derive(Clone, Copy, FromPyObject)]
struct Truncation {
    /// How many of a text's own tokens are kept.
    #[pyo3(item(0))]
    room: usize,
    /// With how many of them the next part begins.
    #[pyo3(item(1))]
    stride: usize,
    /// Whether the last ones are kept.
    #[pyo3(item(2))]
    keeps_last: bool,
}

/// How encodings are filled up.
#[derive(FromPyObject)]
struct Padding {
    #[pyo3(item(0))]
    token: Token,
    /// Whether at the beginning.
    #[pyo3(item(1))]
    is_left: bool,
    /// To which length; by default, the length of the longest one.
    #[pyo3(item(2))]
    length: Option<usize>,
    /// To a multiple of which number.
    #[pyo3(item(3))]
    multiple: Option<usize>,
}

/// What a method gives to Python.
type AnyResult<'py> = PyResult<Bound<'py, PyAny>>;

#[pymethods]
impl FramedEncoder {
    #[new]
    fn new(
        encoder: Py<PyEncoder>,
        frame: Frame,
        make: Py<PyAny>,
        spell: Py<PyAny>,
        threads: Py<PyAny>,
    ) -> Self {
        Self { encoder, frame, make, spell, threads }
    }

    fn encode(slf: &Bound<'_, Self>, text: OneText<'_, '_>) -> PyResult<FramedEncoding> {
        let frame = &slf.get().frame;
        let mut encoding = Self::unfilled(slf, &text, Threads(None))?;
        if frame.padding.is_some() {
            encoding.filled = frame.filled(encoding.length(), 1)?;
        }
        Ok(encoding)
    }

    fn encode_batch<'py>(
        slf: &Bound<'py, Self>,
        texts: &Bound<'py, PySequence>,
    ) -> PyResult<Bound<'py, PyList>> {
        let frame = &slf.get().frame;
        // The encodings refer to these texts, which nobody else can change.
        let texts = texts.to_tuple()?;
        let threads = slf.get().threads_for(&texts)?;
        let mut encodings = if texts.len() == 1 {
            // Most calls have one text, which a batch takes twice as long to encode.
            vec![Self::unfilled(slf, texts.get_item(0)?.cast::<PyString>()?, threads)?]
        } else {
            Self::several_unfilled(slf, &texts, threads)?
        };
        if frame.padding.is_some() {
            let longest = encodings.iter().map(FramedEncoding::length).max().unwrap_or(0);
            let filled = frame.filled(longest, encodings.len())?;
            for encoding in &mut encodings {
                encoding.filled = filled;
            }
        }
        PyList::new(slf.py(), encodings)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.make)?;
        visit.call(&self.spell)?;
        visit.call(&self.threads)
    }
}

impl FramedEncoder {
    /// Returns how many threads texts may use, without asking where one is enough.
    fn threads_for(&self, texts: &Bound<'_, PyTuple>) -> PyResult<Threads> {
        let mut most_bytes = 0;
        for text in texts.iter_borrowed() {
            most_bytes += text.cast::<PyString>()?.len()? * char::MAX.len_utf8();
        }
        if encode::is_for_one_thread(most_bytes) {
            return Ok(Threads(Some(1)));
        }
        self.threads.bind(texts.py()).call0()?.extract()
    }

    /// Encodes one text, which is not yet filled up to a length.
    fn unfilled(
        slf: &Bound<'_, Self>,
        text: &Bound<'_, PyString>,
        threads: Threads,
    ) -> PyResult<FramedEncoding> {
        let encoder = slf.get().encoder.get();
        let choice = slf.get().frame.special.into();
        encoder.with_ids(slf.py(), text.to_str()?, choice, threads, |own_ids| {
            FramedEncoding::new(slf, text, own_ids)
        })
    }

    /// Encodes several texts, which are not yet filled up to a length.
    fn several_unfilled(
        slf: &Bound<'_, Self>,
        texts: &Bound<'_, PyTuple>,
        threads: Threads,
    ) -> PyResult<Vec<FramedEncoding>> {
        let encoder = slf.get().encoder.get();
        let special = slf.get().frame.special;
        let watch = &mut PyWatch::default();
        let encoded = encoder.of_many::<u32>(texts, special, threads, &Around::default(), watch)?;
        memory::ensure(texts.len() * BYTES_PER_ENCODING + size_of_val(&encoded.ids[..]))?;
        let texts = texts.iter().zip(each(&encoded));
        texts
            .map(|(text, own_ids)| FramedEncoding::new(slf, text.cast::<PyString>()?, own_ids))
            .collect()
    }
}

impl Frame {
    /// Returns the tokens of a part of a text: the first part is kept, the others overflow. None if
    /// there is no such part.
    fn part(&self, count: usize, number: usize) -> Option<Range<usize>> {
        let Some(truncation) = self.truncation.filter(|truncation| count > truncation.room) else {
            return (number == 0).then_some(0..count);
        };
        let Truncation { room, stride, keeps_last } = truncation;
        let part = match (room, number) {
            (0, 0) => 0..0,
            (0, 1) => 0..count,
            (0, _) => return None,
            _ => {
                let start = number.checked_mul(room - stride)?;
                // The last part is the first one that reaches the end.
                if number > 0 && start + stride >= count {
                    return None;
                }
                start..count.min(start + room)
            }
        };
        if keeps_last {
            // The same from the end.
            return Some(count - part.end..count - part.start);
        }
        Some(part)
    }

    fn pads_left(&self) -> bool {
        self.padding.as_ref().is_some_and(|padding| padding.is_left)
    }

    /// Returns the length to which each of some encodings is filled up if the longest one has this
    /// length.
    fn filled(&self, longest: usize, encodings: usize) -> Result<usize> {
        let Some(padding) = &self.padding else { return Ok(longest) };
        let length = padding.length.unwrap_or(longest);
        let multiple = padding.multiple.unwrap_or(1).max(1);
        let filled = length.checked_next_multiple_of(multiple).unwrap_or(usize::MAX);
        // Whoever pads wants the ids of all of them.
        memory::ensure(filled.saturating_mul(encodings).saturating_mul(size_of::<u32>()))?;
        Ok(filled)
    }
}

/// A text with its ids, which the parts that truncation makes of it share.
struct EncodedText {
    encoder: Py<FramedEncoder>,
    text: Py<PyString>,
    ids: Box<[u32]>,
    /// The places of all tokens, once they were asked for.
    places: PyOnceLock<Vec<(usize, usize)>>,
}

/// The encoding of one text, in the interface of `tokenizers.Encoding`.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct FramedEncoding {
    source: Arc<EncodedText>,
    /// Which part of the text it is: 0 for the tokens that are kept, more for overflow.
    part: usize,
    /// Which of the text's ids are in this part.
    kept: Range<usize>,
    /// The length to which it is filled up, if it is shorter.
    filled: usize,
    /// The real encoding, once it was asked for: it may be changed then.
    real: PyOnceLock<Py<PyAny>>,
}

#[pymethods]
impl FramedEncoding {
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> AnyResult<'py> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).getattr(intern!(py, "ids"));
        }
        let own_ids = self.source.ids[self.kept.clone()].iter().copied();
        self.list(py, self.row(|token| token.id, own_ids, |token| token.id)?)
    }

    #[getter]
    fn type_ids<'py>(&self, py: Python<'py>) -> AnyResult<'py> {
        // The tokens of overflow have no type.
        let own_type = if self.part == 0 { self.frame().type_id } else { 0 };
        self.numbers(
            py,
            intern!(py, "type_ids"),
            |token| token.type_id,
            own_type,
            |token| token.type_id,
        )
    }

    #[getter]
    fn attention_mask<'py>(&self, py: Python<'py>) -> AnyResult<'py> {
        self.numbers(py, intern!(py, "attention_mask"), |_| 1, 1, |_| 0)
    }

    #[getter]
    fn special_tokens_mask<'py>(&self, py: Python<'py>) -> AnyResult<'py> {
        self.numbers(py, intern!(py, "special_tokens_mask"), |_| 1, 0, |_| 1)
    }

    #[getter]
    fn sequence_ids<'py>(&self, py: Python<'py>) -> AnyResult<'py> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).getattr(intern!(py, "sequence_ids"));
        }
        let outside = (!self.frame().is_apart).then_some(0);
        let row = self.row(|_| outside, repeat_n(Some(0), self.kept.len()), |_| outside)?;
        memory::ensure(row.len().saturating_mul(size_of::<usize>()))?;
        Ok(PyList::new(py, row)?.into_any())
    }

    #[getter]
    fn n_sequences<'py>(&self, py: Python<'py>) -> AnyResult<'py> {
        match self.real.get(py) {
            Some(real) => real.bind(py).getattr(intern!(py, "n_sequences")),
            None => Ok(1_usize.into_pyobject(py)?.into_any()),
        }
    }

    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> AnyResult<'py> {
        let real = |py| self.real(py)?.getattr(intern!(py, "tokens"));
        if self.real.get(py).is_some() || self.frame().trim.is_none() {
            return real(py);
        }
        let own_ids = self.encoder().integers.list(py, &self.source.ids[self.kept.clone()])?;
        let spelled = self.source.encoder.get().spell.bind(py).call1((own_ids,))?;
        let Ok(spelled) = spelled.cast_into::<PyList>() else { return real(py) };
        let text = |token: &Token| token.text.bind(py).clone().into_any();
        let row = self.row(text, spelled.iter(), text)?;
        Ok(PyList::new(py, row)?.into_any())
    }

    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> AnyResult<'py> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).getattr(intern!(py, "offsets"));
        }
        let places = &self.source.places(py)?[self.kept.clone()];
        let nowhere = |_: &Token| (0, 0);
        let row = self.row(nowhere, places.iter().copied(), nowhere)?;
        Ok(pairs(py, &self.encoder().integers, row)?.into_any())
    }

    /// What truncation cut off, in parts as long as the first one.
    #[getter]
    fn overflowing<'py>(&self, py: Python<'py>) -> AnyResult<'py> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).getattr(intern!(py, "overflowing"));
        }
        let parts = PyList::empty(py);
        if self.part == 0 {
            for part in 1.. {
                let Some(kept) = self.frame().part(self.source.ids.len(), part) else { break };
                let source = Arc::clone(&self.source);
                let filled = self.filled;
                parts.append(Self { source, part, kept, filled, real: PyOnceLock::new() })?;
            }
        }
        Ok(parts.into_any())
    }

    #[pyo3(signature = (char_pos, sequence_index=0))]
    fn char_to_token<'py>(
        &self,
        py: Python<'py>,
        char_pos: usize,
        sequence_index: usize,
    ) -> AnyResult<'py> {
        if let Some(real) = self.real.get(py) {
            return real
                .bind(py)
                .call_method1(intern!(py, "char_to_token"), (char_pos, sequence_index));
        }
        let places = &self.source.places(py)?[self.kept.clone()];
        let token = places.iter().position(|&(start, end)| start <= char_pos && char_pos < end);
        let token = token.map(|place| self.own_start() + place);
        Ok(token.into_pyobject(py)?.into_any())
    }

    fn token_to_chars<'py>(&self, py: Python<'py>, token_index: usize) -> AnyResult<'py> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).call_method1(intern!(py, "token_to_chars"), (token_index,));
        }
        let chars = match token_index.checked_sub(self.own_start()) {
            Some(place) if place < self.kept.len() => {
                Some(self.source.places(py)?[self.kept.start + place])
            }
            _ if self.frame().is_apart || token_index >= self.length() => None,
            _ => Some((0, 0)),
        };
        Ok(chars.into_pyobject(py)?.into_any())
    }

    fn token_to_sequence<'py>(&self, py: Python<'py>, token_index: usize) -> AnyResult<'py> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).call_method1(intern!(py, "token_to_sequence"), (token_index,));
        }
        let start = self.own_start();
        let is_own = if self.frame().is_apart {
            (start..start + self.kept.len()).contains(&token_index)
        } else {
            // In tokenizers, such a text has the place after its end, too.
            token_index <= self.length()
        };
        Ok(is_own.then_some(0).into_pyobject(py)?.into_any())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.real.get(py) {
            Some(real) => real.bind(py).len(),
            None => Ok(self.length()),
        }
    }

    /// The real encoding, which takes the place of this one from now on.
    #[getter(real)]
    fn real<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let make = || {
            let whole =
                self.source.encoder.get().make.bind(py).call1((&self.source.text, self.filled))?;
            if self.part == 0 {
                return Ok(whole.unbind());
            }
            let parts = whole.getattr(intern!(py, "overflowing"))?;
            Ok::<_, PyErr>(parts.get_item(self.part - 1)?.unbind())
        };
        Ok(self.real.get_or_try_init(py, make)?.bind(py))
    }

    /// Fill up the real encoding, which would abort the process without the memory.
    #[pyo3(signature = (length, **options))]
    fn pad<'py>(
        &self,
        py: Python<'py>,
        length: usize,
        options: Option<&Bound<'py, PyDict>>,
    ) -> AnyResult<'py> {
        memory::ensure(length.saturating_mul(BYTES_PER_REAL_TOKEN))?;
        self.real(py)?.call_method(intern!(py, "pad"), (length,), options)
    }

    /// Whatever only the real encoding has.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> AnyResult<'py> {
        self.real(py)?.getattr(name)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.real(py)?.repr()
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let pickle = py.import("pickle")?;
        let pickled = pickle.call_method1("dumps", (self.real(py)?,))?;
        Ok((pickle.getattr("loads")?, (pickled,)))
    }
}

impl EncodedText {
    /// Returns where the tokens of the text are.
    fn places(&self, py: Python<'_>) -> PyResult<&[(usize, usize)]> {
        let FramedEncoder { encoder, frame, .. } = self.encoder.get();
        let encoder = &encoder.get().encoder;
        let text = self.text.to_str(py)?;
        let find = || match frame.trim {
            Some(trim) => watched(py, text.len(), |pulse| {
                encoder.places(text, Beginning::Text, &self.ids, frame.special.into(), trim, pulse)
            }),
            None => Ok(memory::filled((0, 0), self.ids.len())?),
        };
        Ok(self.places.get_or_try_init(py, find)?)
    }
}

impl FramedEncoding {
    fn new(
        encoder: &Bound<'_, FramedEncoder>,
        text: &Bound<'_, PyString>,
        own_ids: &[u32],
    ) -> PyResult<Self> {
        let frame = &encoder.get().frame;
        if frame.refused.is_some_and(|id| own_ids.contains(&id)) {
            return Err(PyValueError::new_err("the result has unknown tokens"));
        }
        memory::ensure(size_of_val(own_ids))?;
        let kept = frame.part(own_ids.len(), 0).unwrap_or_default();
        let source = EncodedText {
            encoder: encoder.clone().unbind(),
            text: text.clone().unbind(),
            ids: own_ids.into(),
            places: PyOnceLock::new(),
        };
        Ok(Self { source: Arc::new(source), part: 0, kept, filled: 0, real: PyOnceLock::new() })
    }

    fn encoder(&self) -> &PyEncoder {
        self.source.encoder.get().encoder.get()
    }

    fn frame(&self) -> &Frame {
        &self.source.encoder.get().frame
    }

    /// Returns the number of tokens of the text, and of those around it.
    fn framed(&self) -> usize {
        self.frame().before.len() + self.kept.len() + self.frame().after.len()
    }

    /// Returns the number of tokens that fill it up.
    fn pads(&self) -> usize {
        self.filled.saturating_sub(self.framed())
    }

    /// Returns the number of all tokens.
    fn length(&self) -> usize {
        self.filled.max(self.framed())
    }

    /// Returns where the first token of the text is.
    fn own_start(&self) -> usize {
        let pads_before = if self.frame().pads_left() { self.pads() } else { 0 };
        pads_before + self.frame().before.len()
    }

    /// Returns a value for each token, by `around` for those around the text, by `fill` for those
    /// that fill it up.
    fn row<T: Clone>(
        &self,
        around: impl Fn(&Token) -> T,
        of_text: impl Iterator<Item = T>,
        fill: impl Fn(&Token) -> T,
    ) -> Result<Vec<T>> {
        let frame = self.frame();
        let mut row = Vec::new();
        memory::reserve(&mut row, self.length())?;
        let add_fill = |row: &mut Vec<T>| {
            if let Some(padding) = &frame.padding {
                row.extend(repeat_n(fill(&padding.token), self.pads()));
            }
        };
        if frame.pads_left() {
            add_fill(&mut row);
        }
        row.extend(frame.before.iter().map(&around));
        row.extend(of_text);
        row.extend(frame.after.iter().map(&around));
        if !frame.pads_left() {
            add_fill(&mut row);
        }
        Ok(row)
    }

    /// Returns a number for each token, the same for all of the text; or what the real encoding has
    /// under this name.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        around: fn(&Token) -> u32,
        of_text: u32,
        fill: fn(&Token) -> u32,
    ) -> AnyResult<'py> {
        match self.real.get(py) {
            Some(real) => real.bind(py).getattr(name),
            None => {
                if self.is_uniform(of_text, around, fill) {
                    memory::ensure(self.length().saturating_mul(size_of::<usize>()))?;
                    let single = PyList::new(py, [of_text])?;
                    // Python repeats a number in a third of the time that a list of numbers takes.
                    return Ok(single.as_sequence().repeat(self.length())?.into_any());
                }
                let of_text = repeat_n(of_text, self.kept.len());
                self.list(py, self.row(around, of_text, fill)?)
            }
        }
    }

    /// Whether all tokens have the number of those of the text.
    fn is_uniform(&self, of_text: u32, around: fn(&Token) -> u32, fill: fn(&Token) -> u32) -> bool {
        let frame = self.frame();
        let mut tokens_around = frame.before.iter().chain(&frame.after);
        let pad = frame.padding.as_ref().filter(|_| self.pads() > 0);
        tokens_around.all(|token| around(token) == of_text)
            && pad.is_none_or(|padding| fill(&padding.token) == of_text)
    }

    fn list<'py>(&self, py: Python<'py>, row: Vec<u32>) -> AnyResult<'py> {
        Ok(self.encoder().integers.list(py, &row)?.into_any())
    }
}
