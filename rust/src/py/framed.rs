//! The Python classes `FramedEncoder` and `FramedEncoding`: texts with the same special tokens around each, cut and
//! filled up to a length.
//!
//!     text        "to be"
//!     own ids     [20, 21, 22]
//!     in a frame  [1, 20, 21, 2, 0]   cut to a length of 4, with 1 before and 2 after it, filled up with 0 to 5
//!     overflow    [1, 22, 2, 0, 0]
//!
//! Most callers want the ids and offsets of many short texts, one by one or in batches. An encoding holds the ids as
//! numbers, and finds offsets when they are asked for. Whatever transformers asks of an encoding is answered here; the
//! encoding of the real tokenizer answers the rest, such as word ids, and encodes the text again for it. With encodings
//! that are objects of Python from the beginning, all of it takes 1.2 to 1.5 times as long.

use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PySequence, PyString};

use super::PyWatch;
use super::arguments::Threads;
use super::decode::watched;
use super::encode::{Around, PyEncoder, each};
use super::ids::pairs;
use super::texts::OneText;
use crate::encode::{Special, Trim};
use crate::error::Result;
use crate::memory;

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
}

/// How texts are encoded, and what stands around them.
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

/// How many of a text's own tokens are kept, with how many of them the next part begins, and whether the last ones are kept.
type Truncation = (usize, usize, bool);

/// With which token encodings are filled up, whether at their beginning, to which length (by default, that of the longest
/// one), and to a multiple of which number.
#[derive(FromPyObject)]
struct Padding(Token, bool, Option<usize>, Option<usize>);

#[pymethods]
impl FramedEncoder {
    #[new]
    fn new(encoder: Py<PyEncoder>, frame: Frame, make: Py<PyAny>, spell: Py<PyAny>) -> Self {
        Self { encoder, frame, make, spell }
    }

    fn encode(slf: &Bound<'_, Self>, text: OneText<'_, '_>) -> PyResult<FramedEncoding> {
        let framed = slf.get();
        let mut encoding = framed.encoder.get().with_ids(
            slf.py(),
            text.to_str()?,
            framed.frame.special.into(),
            Threads(None),
            |own| FramedEncoding::new(slf, &text, own),
        )?;
        if framed.frame.padding.is_some() {
            encoding.filled = framed.frame.filled(encoding.length(), 1)?;
        }
        Ok(encoding)
    }

    #[pyo3(signature = (texts, num_threads=Threads(None)))]
    fn encode_batch<'py>(
        slf: &Bound<'py, Self>,
        texts: &Bound<'py, PySequence>,
        num_threads: Threads,
    ) -> PyResult<Bound<'py, PyList>> {
        let (framed, watch) = (slf.get(), &mut PyWatch::default());
        // The encodings refer to these texts, which nobody else can change.
        let texts = texts.to_tuple()?;
        let encoded = framed.encoder.get().of_many::<u32>(
            &texts,
            framed.frame.special,
            num_threads,
            &Around::default(),
            watch,
        )?;
        memory::ensure(texts.len() * BYTES_PER_ENCODING + size_of_val(&encoded.ids[..]))?;
        let mut encodings = Vec::new();
        for (text, own) in texts.iter().zip(each(&encoded)) {
            encodings.push(FramedEncoding::new(slf, &text.cast_into::<PyString>()?, own)?);
        }
        if framed.frame.padding.is_some() {
            let longest = encodings.iter().map(FramedEncoding::length).max().unwrap_or(0);
            let filled = framed.frame.filled(longest, encodings.len())?;
            encodings.iter_mut().for_each(|encoding| encoding.filled = filled);
        }
        PyList::new(slf.py(), encodings)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.make)?;
        visit.call(&self.spell)
    }
}

impl Frame {
    /// The tokens of a part of a text: the first part is kept, the others overflow. None if there is no such part.
    fn part(&self, count: usize, number: usize) -> Option<Range<usize>> {
        let Some((room, stride, keeps_last)) = self.truncation.filter(|&(room, ..)| count > room) else {
            return (number == 0).then_some(0..count);
        };
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
        Some(if keeps_last { count - part.end..count - part.start } else { part })
    }

    fn pads_left(&self) -> bool {
        self.padding.as_ref().is_some_and(|padding| padding.1)
    }

    /// The length to which each of some encodings is filled up if the longest one has this length.
    fn filled(&self, longest: usize, encodings: usize) -> Result<usize> {
        let Some(Padding(_, _, length, multiple)) = self.padding else { return Ok(longest) };
        let multiple = multiple.unwrap_or(1).max(1);
        let filled = length.unwrap_or(longest).checked_next_multiple_of(multiple).unwrap_or(usize::MAX);
        // Whoever pads wants the ids of all of them.
        memory::ensure(filled.saturating_mul(encodings).saturating_mul(size_of::<u32>()))?;
        Ok(filled)
    }
}

/// A text with its ids, which the parts that truncation makes of it share.
struct EncodedText {
    of: Py<FramedEncoder>,
    text: Py<PyString>,
    ids: Box<[u32]>,
    /// The places of all tokens, once they were asked for.
    places: PyOnceLock<Vec<(usize, usize)>>,
}

/// The encoding of one text, in the interface of `tokenizers.Encoding`.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct FramedEncoding {
    of: Arc<EncodedText>,
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
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).getattr(intern!(py, "ids"));
        }
        let own = self.of.ids[self.kept.clone()].iter().copied();
        self.list(py, self.row(|token| token.id, own, |token| token.id)?)
    }

    #[getter]
    fn type_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // The tokens of overflow have no type.
        let own = if self.part == 0 { self.frame().type_id } else { 0 };
        self.numbers(py, intern!(py, "type_ids"), |token| token.type_id, own, |token| token.type_id)
    }

    #[getter]
    fn attention_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(py, intern!(py, "attention_mask"), |_| 1, 1, |_| 0)
    }

    #[getter]
    fn special_tokens_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(py, intern!(py, "special_tokens_mask"), |_| 1, 0, |_| 1)
    }

    #[getter]
    fn sequence_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).getattr(intern!(py, "sequence_ids"));
        }
        let outside = (!self.frame().is_apart).then_some(0);
        let row = self.row(|_| outside, repeat_n(Some(0), self.kept.len()), |_| outside)?;
        memory::ensure(row.len().saturating_mul(size_of::<usize>()))?;
        Ok(PyList::new(py, row)?.into_any())
    }

    #[getter]
    fn n_sequences<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.real.get(py) {
            Some(real) => real.bind(py).getattr(intern!(py, "n_sequences")),
            None => Ok(1_usize.into_pyobject(py)?.into_any()),
        }
    }

    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let real = |py| self.real(py)?.getattr(intern!(py, "tokens"));
        if self.real.get(py).is_some() || self.frame().trim.is_none() {
            return real(py);
        }
        let of = self.of.of.get();
        let own = of.encoder.get().integers.list(py, &self.of.ids[self.kept.clone()])?;
        let spelled = of.spell.bind(py).call1((own,))?;
        let Ok(spelled) = spelled.cast_into::<PyList>() else { return real(py) };
        let text = |token: &Token| token.text.bind(py).clone().into_any();
        let row = self.row(text, spelled.iter(), text)?;
        Ok(PyList::new(py, row)?.into_any())
    }

    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).getattr(intern!(py, "offsets"));
        }
        let places = &self.of.places(py)?[self.kept.clone()];
        let row = self.row(|_| (0, 0), places.iter().copied(), |_| (0, 0))?;
        Ok(pairs(py, &self.of.of.get().encoder.get().integers, row)?.into_any())
    }

    /// What truncation cut off, in parts as long as the first one.
    #[getter]
    fn overflowing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).getattr(intern!(py, "overflowing"));
        }
        let parts = PyList::empty(py);
        if self.part == 0 {
            for part in 1.. {
                let Some(kept) = self.frame().part(self.of.ids.len(), part) else { break };
                let (of, filled) = (Arc::clone(&self.of), self.filled);
                parts.append(Self { of, part, kept, filled, real: PyOnceLock::new() })?;
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
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).call_method1(intern!(py, "char_to_token"), (char_pos, sequence_index));
        }
        let places = &self.of.places(py)?[self.kept.clone()];
        let token = places.iter().position(|&(start, end)| start <= char_pos && char_pos < end);
        Ok(token.map(|place| self.own_start() + place).into_pyobject(py)?.into_any())
    }

    fn token_to_chars<'py>(&self, py: Python<'py>, token_index: usize) -> PyResult<Bound<'py, PyAny>> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).call_method1(intern!(py, "token_to_chars"), (token_index,));
        }
        let place = token_index.checked_sub(self.own_start()).filter(|&place| place < self.kept.len());
        let chars = match place {
            Some(place) => Some(self.of.places(py)?[self.kept.start + place]),
            None => (!self.frame().is_apart && token_index < self.length()).then_some((0, 0)),
        };
        Ok(chars.into_pyobject(py)?.into_any())
    }

    fn token_to_sequence<'py>(&self, py: Python<'py>, token_index: usize) -> PyResult<Bound<'py, PyAny>> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).call_method1(intern!(py, "token_to_sequence"), (token_index,));
        }
        let own = self.own_start()..self.own_start() + self.kept.len();
        // In tokenizers, a text that is not apart has the place behind it, too.
        let is_own =
            if self.frame().is_apart { own.contains(&token_index) } else { token_index <= self.length() };
        Ok(is_own.then_some(0).into_pyobject(py)?.into_any())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.real.get(py).map_or(Ok(self.length()), |real| real.bind(py).len())
    }

    /// The real encoding, which takes the place of this one from now on.
    #[getter(real)]
    fn real<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let make = || {
            let whole = self.of.of.get().make.bind(py).call1((&self.of.text, self.filled))?;
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
    ) -> PyResult<Bound<'py, PyAny>> {
        memory::ensure(length.saturating_mul(BYTES_PER_REAL_TOKEN))?;
        self.real(py)?.call_method(intern!(py, "pad"), (length,), options)
    }

    /// Whatever only the real encoding has.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.real(py)?.getattr(name)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.real(py)?.repr()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let pickle = py.import("pickle")?;
        Ok((pickle.getattr("loads")?, (pickle.call_method1("dumps", (self.real(py)?,))?,)))
    }
}

impl EncodedText {
    /// Where the tokens of the text stand.
    fn places(&self, py: Python<'_>) -> PyResult<&[(usize, usize)]> {
        let (of, text) = (self.of.get(), self.text.to_str(py)?);
        let find = || match of.frame.trim {
            Some(trim) => watched(py, text.len(), |pulse| {
                of.encoder.get().encoder.places(text, &self.ids, of.frame.special.into(), trim, pulse)
            }),
            None => Ok(memory::filled((0, 0), self.ids.len())?),
        };
        Ok(self.places.get_or_try_init(py, find)?)
    }
}

impl FramedEncoding {
    fn new(of: &Bound<'_, FramedEncoder>, text: &Bound<'_, PyString>, own: &[u32]) -> PyResult<Self> {
        let frame = &of.get().frame;
        if frame.refused.is_some_and(|id| own.contains(&id)) {
            return Err(PyValueError::new_err("a token stands for unknown bytes"));
        }
        memory::ensure(size_of_val(own))?;
        let kept = frame.part(own.len(), 0).unwrap_or_default();
        let (of, text) = (of.clone().unbind(), text.clone().unbind());
        let of = Arc::new(EncodedText { of, text, ids: own.into(), places: PyOnceLock::new() });
        Ok(Self { of, part: 0, kept, filled: 0, real: PyOnceLock::new() })
    }

    fn frame(&self) -> &Frame {
        &self.of.of.get().frame
    }

    /// The number of tokens of the text, and of those around it.
    fn framed(&self) -> usize {
        self.frame().before.len() + self.kept.len() + self.frame().after.len()
    }

    /// The number of tokens that fill it up.
    fn pads(&self) -> usize {
        self.filled.saturating_sub(self.framed())
    }

    /// The number of all tokens.
    fn length(&self) -> usize {
        self.filled.max(self.framed())
    }

    /// Where the first token of the text is.
    fn own_start(&self) -> usize {
        let pads_before = if self.frame().pads_left() { self.pads() } else { 0 };
        pads_before + self.frame().before.len()
    }

    /// Something about each token: about those around the text, its own, and those that fill it up.
    fn row<T: Clone>(
        &self,
        around: impl Fn(&Token) -> T,
        own: impl Iterator<Item = T>,
        fill: impl Fn(&Token) -> T,
    ) -> Result<Vec<T>> {
        let frame = self.frame();
        let mut row = Vec::new();
        memory::reserve(&mut row, self.length())?;
        let fills = || frame.padding.iter().flat_map(|padding| repeat_n(fill(&padding.0), self.pads()));
        if frame.pads_left() {
            row.extend(fills());
        }
        row.extend(frame.before.iter().map(&around));
        row.extend(own);
        row.extend(frame.after.iter().map(&around));
        if !frame.pads_left() {
            row.extend(fills());
        }
        Ok(row)
    }

    /// A number for each token, the same for all of the text; or what the real encoding has under this name.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        around: fn(&Token) -> u32,
        own: u32,
        fill: fn(&Token) -> u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.real.get(py) {
            Some(real) => real.bind(py).getattr(name),
            None => self.list(py, self.row(around, repeat_n(own, self.kept.len()), fill)?),
        }
    }

    fn list<'py>(&self, py: Python<'py>, row: Vec<u32>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.of.of.get().encoder.get().integers.list(py, &row)?.into_any())
    }
}
