//! The Python classes `FramedEncoder` and `FramedEncoding`: texts with the same special tokens around each, cut and
//! filled up to a length.
//!
//!     text        "to be"
//!     own ids     [20, 21, 22]
//!     in a frame  [1, 20, 21, 2, 0]   cut to a length of 4, with 1 before and 2 after it, filled up with 0 to 5
//!
//! Most callers want the ids and offsets of many short texts, one by one or in batches. An encoding holds the ids as
//! numbers, and finds offsets when they are asked for; the encoding of the real tokenizer answers everything else. With
//! encodings that are objects of Python from the beginning, all of it takes 1.2 to 1.5 times as long.

use std::iter::repeat_n;
use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PySequence, PyString};

use super::PyWatch;
use super::arguments::Threads;
use super::decode::watched;
use super::encode::{Around, PyEncoder, each};
use super::ids::pairs;
use super::texts::OneText;
use crate::encode::{Special, Trim};
use crate::memory;

/// The memory of an encoding besides its ids.
const BYTES_PER_ENCODING: usize = 160;

/// Encodes texts, each with the same special tokens around it.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct FramedEncoder {
    encoder: Py<PyEncoder>,
    frame: Frame,
    /// Makes the real encoding of a text that has been filled up to a length.
    make: Py<PyAny>,
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
    truncation: Option<Truncation>,
    padding: Option<Padding>,
    /// The id of unknown bytes, if a text with some is not for this encoder.
    refused: Option<u32>,
}

/// The id and the type of a token.
type Token = (u32, u32);

/// How many of a text's own tokens are kept, and whether the last ones are.
type Truncation = (usize, bool);

/// With which token encodings are filled up, whether at their beginning, to which length (by default, that of the longest
/// one), and to a multiple of which number.
#[derive(FromPyObject)]
struct Padding(Token, bool, Option<usize>, Option<usize>);

#[pymethods]
impl FramedEncoder {
    #[new]
    fn new(encoder: Py<PyEncoder>, frame: Frame, make: Py<PyAny>) -> Self {
        Self { encoder, frame, make }
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
        encoding.length = encoding.length.max(framed.frame.filled(encoding.length));
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
            let longest = encodings.iter().map(|encoding| encoding.length).max().unwrap_or(0);
            let length = framed.frame.filled(longest);
            encodings.iter_mut().for_each(|encoding| encoding.length = encoding.length.max(length));
        }
        PyList::new(slf.py(), encodings)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.make)
    }
}

impl Frame {
    /// The tokens of a text that are kept.
    fn kept(&self, count: usize) -> Range<usize> {
        match self.truncation {
            Some((room, true)) => count.saturating_sub(room)..count,
            Some((room, false)) => 0..room.min(count),
            None => 0..count,
        }
    }

    fn pad(&self) -> Token {
        self.padding.as_ref().map_or((0, 0), |padding| padding.0)
    }

    fn pads_left(&self) -> bool {
        self.padding.as_ref().is_some_and(|padding| padding.1)
    }

    /// The length to which an encoding is filled up if the longest one has this length.
    fn filled(&self, longest: usize) -> usize {
        let Some(Padding(_, _, length, multiple)) = self.padding else { return longest };
        length.unwrap_or(longest).next_multiple_of(multiple.unwrap_or(1).max(1))
    }
}

/// The encoding of one text, in the interface of `tokenizers.Encoding`.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct FramedEncoding {
    of: Py<FramedEncoder>,
    text: Py<PyString>,
    /// All ids of the text, and which of them are kept.
    own: Box<[u32]>,
    kept: Range<usize>,
    /// The number of tokens, with those around the text and those that fill it up.
    length: usize,
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
        let own = self.own[self.kept.clone()].iter().copied();
        self.list(py, self.row(|token| token.0, own, self.of.get().frame.pad().0)?)
    }

    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(real) = self.real.get(py) {
            return real.bind(py).getattr(intern!(py, "offsets"));
        }
        let (of, text) = (self.of.get(), self.text.to_str(py)?);
        let PyEncoder { encoder, integers, .. } = of.encoder.get();
        let mut places = match of.frame.trim {
            Some(trim) => watched(py, text.len(), |pulse| {
                encoder.places(text, &self.own, of.frame.special.into(), trim, pulse)
            })?,
            None => memory::filled((0, 0), self.own.len())?,
        };
        let row = self.row(|_| (0, 0), places.drain(self.kept.clone()), (0, 0))?;
        Ok(pairs(py, integers, row)?.into_any())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.real.get(py).map_or(Ok(self.length), |real| real.bind(py).len())
    }

    /// The real encoding, which takes the place of this one from now on.
    #[getter(real)]
    fn real<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let make = || self.of.get().make.call1(py, (&self.text, self.length));
        Ok(self.real.get_or_try_init(py, make)?.bind(py))
    }

    /// Types and masks, and whatever only the real encoding has.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let of = &self.of.get().frame;
        let (around, own, pad): (fn(Token) -> u32, u32, u32) = match (name, self.real.get(py)) {
            ("type_ids", None) => (|token| token.1, of.type_id, of.pad().1),
            ("attention_mask", None) => (|_| 1, 1, 0),
            ("special_tokens_mask", None) => (|_| 1, 0, 1),
            _ => return self.real(py)?.getattr(name),
        };
        self.list(py, self.row(around, repeat_n(own, self.kept.len()), pad)?)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.real(py)?.repr()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let pickle = py.import("pickle")?;
        Ok((pickle.getattr("loads")?, (pickle.call_method1("dumps", (self.real(py)?,))?,)))
    }
}

impl FramedEncoding {
    fn new(of: &Bound<'_, FramedEncoder>, text: &Bound<'_, PyString>, own: &[u32]) -> PyResult<Self> {
        let frame = &of.get().frame;
        if frame.refused.is_some_and(|id| own.contains(&id)) {
            return Err(PyValueError::new_err("a token stands for unknown bytes"));
        }
        let kept = frame.kept(own.len());
        let length = frame.before.len() + kept.len() + frame.after.len();
        memory::ensure(size_of_val(own))?;
        let (of, text) = (of.clone().unbind(), text.clone().unbind());
        Ok(Self { of, text, own: own.into(), kept, length, real: PyOnceLock::new() })
    }

    /// Something about each token: about those around the text, its own, and those that fill it up.
    fn row<T: Copy>(
        &self,
        around: impl Fn(Token) -> T,
        own: impl Iterator<Item = T>,
        pad: T,
    ) -> PyResult<Vec<T>> {
        let of = &self.of.get().frame;
        let pads = self.length - of.before.len() - self.kept.len() - of.after.len();
        let (left, right) = if of.pads_left() { (pads, 0) } else { (0, pads) };
        let mut row = Vec::new();
        memory::reserve(&mut row, self.length)?;
        row.extend(repeat_n(pad, left));
        row.extend(of.before.iter().map(|&token| around(token)));
        row.extend(own);
        row.extend(of.after.iter().map(|&token| around(token)));
        row.extend(repeat_n(pad, right));
        Ok(row)
    }

    fn list<'py>(&self, py: Python<'py>, row: Vec<u32>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.of.get().encoder.get().integers.list(py, &row)?.into_any())
    }
}
