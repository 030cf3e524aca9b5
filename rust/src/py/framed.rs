//! The Python classes `FramedEncoder` and `FramedEncoding`: texts with the same special tokens around each.
//!
//! Most callers want the ids and offsets of many short texts, one by one or in batches. An encoding holds the ids as
//! numbers, and finds offsets when they are asked for. For everything else it is made into an object of Python.

use std::iter;

use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PySequence, PyString};

use super::decode::watched;
use super::encode::{PyEncoder, SHORT, named_trim, with_workspace};
use super::ids::{ids_in_list, pairs};
use super::texts::{HeldTexts, OneText};
use super::{PyWatch, wanted_threads};
use crate::encode::{CharacterSpan, Special, Trim};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::{Pulse, Unwatched};

/// The memory of an encoding besides its ids.
const BYTES_PER_ENCODING: usize = 128;

/// Encodes texts, each with the same special tokens around it.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct FramedEncoder {
    encoder: Py<PyEncoder>,
    special: Special,
    trim: Trim,
    /// The id and type of each token before and after a text, and the type of its own.
    before: Vec<(u32, u32)>,
    after: Vec<(u32, u32)>,
    type_id: u32,
    /// The id of unknown bytes: a text that gets it is refused, as it does not tell where tokens stand.
    unknown: Option<u32>,
    /// Whether only ids are wanted, and no places of tokens.
    bare: bool,
    /// Makes the whole encoding of a text and its own ids.
    make: Py<PyAny>,
    /// The class that encodings are taken for.
    kind: Py<PyAny>,
}

#[pymethods]
impl FramedEncoder {
    #[new]
    #[pyo3(signature = (
        encoder, make, kind, *, before, after, type_id=0, special=Special::Parse, trim="no", unknown=None,
        bare=false
    ))]
    #[allow(clippy::too_many_arguments)] // Mostly keywords, one for each part of what stands around a text.
    fn new(
        encoder: Py<PyEncoder>,
        make: Py<PyAny>,
        kind: Py<PyAny>,
        before: Vec<(u32, u32)>,
        after: Vec<(u32, u32)>,
        type_id: u32,
        special: Special,
        trim: &str,
        unknown: Option<u32>,
        bare: bool,
    ) -> PyResult<Self> {
        Ok(Self {
            encoder,
            special,
            trim: named_trim(trim)?,
            before,
            after,
            type_id,
            unknown,
            bare,
            make,
            kind,
        })
    }

    fn encode(slf: &Bound<'_, Self>, text: OneText<'_, '_>) -> PyResult<FramedEncoding> {
        let (framed, text) = (slf.get(), &*text);
        let short = text.to_str()?;
        let ids = if short.len() < SHORT {
            with_workspace(|workspace, ids| {
                let mut unwatched = Unwatched;
                let pulse = &mut Pulse::of(&mut unwatched);
                ids.extend(framed.before.iter().map(|&(id, _)| id));
                framed.encoder.get().encoder.encode(short, framed.special, ids, workspace, pulse)?;
                framed.check_known(&ids[framed.before.len()..])?;
                ids.extend(framed.after.iter().map(|&(id, _)| id));
                Ok(ids.as_slice().into())
            })?
        } else {
            let held = HeldTexts::new(PyList::new(slf.py(), [text])?.as_any())?;
            slf.py().detach(|| framed.encode_all(&held.checked()?, None))?.remove(0)
        };
        Ok(FramedEncoding::new(slf, text, ids))
    }

    #[pyo3(signature = (texts, num_threads=None))]
    fn encode_batch<'py>(
        slf: &Bound<'py, Self>,
        texts: &Bound<'py, PyAny>,
        num_threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, framed) = (slf.py(), slf.get());
        let threads = wanted_threads(num_threads)?;
        let mut given = Vec::new();
        for text in texts.try_iter()? {
            memory::push(&mut given, text?.cast_into::<PyString>()?)?;
        }
        memory::ensure(given.len() * BYTES_PER_ENCODING)?;
        let held = HeldTexts::new(PyList::new(py, &given)?.as_any())?;
        let rows = py.detach(|| framed.encode_all(&held.checked()?, threads))?;
        let encodings = given.iter().zip(rows).map(|(text, ids)| FramedEncoding::new(slf, text, ids));
        let list = PyList::empty(py);
        for encoding in encodings {
            list.append(encoding)?;
        }
        Ok(list)
    }

    fn places<'py>(
        &self,
        text: &Bound<'py, PyString>,
        ids: &Bound<'_, PyList>,
    ) -> PyResult<Bound<'py, PyList>> {
        let places = self.own_places(text.py(), text.to_str()?, &ids_in_list(ids)?)?;
        pairs(text.py(), &self.encoder.get().integers, places)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.make)
    }
}

impl FramedEncoder {
    /// The ids of each text with those around it.
    fn encode_all(&self, texts: &[&str], threads: Option<usize>) -> Result<Vec<Box<[u32]>>> {
        let encoder = &self.encoder.get().encoder;
        let encoded = encoder.encode_all(texts, self.special, threads, &mut PyWatch::default())?;
        let own = encoded.offsets.windows(2).map(|ends| &encoded.ids[ends[0] as usize..ends[1] as usize]);
        own.map(|ids| self.framed(ids)).collect()
    }

    fn check_known(&self, ids: &[u32]) -> Result<()> {
        match self.unknown {
            Some(unknown) if ids.contains(&unknown) => {
                Err(Error::Value("a token stands for unknown bytes".into()))
            }
            _ => Ok(()),
        }
    }

    /// The ids of a text, with those around it.
    fn framed(&self, own: &[u32]) -> Result<Box<[u32]>> {
        self.check_known(own)?;
        let mut ids = Vec::new();
        memory::reserve(&mut ids, self.before.len() + own.len() + self.after.len())?;
        ids.extend(self.before.iter().map(|&(id, _)| id));
        ids.extend_from_slice(own);
        ids.extend(self.after.iter().map(|&(id, _)| id));
        Ok(ids.into_boxed_slice())
    }

    /// Where the tokens of a text stand.
    fn own_places(&self, py: Python<'_>, text: &str, ids: &[u32]) -> PyResult<Vec<CharacterSpan>> {
        let encoder = &self.encoder.get().encoder;
        watched(py, text.len(), |pulse| encoder.places(text, ids, self.special, self.trim, pulse))
    }

    /// A number for each token: that of each token around a text, and one for its own.
    fn filled<'py>(
        &self,
        py: Python<'py>,
        around: impl Fn((u32, u32)) -> u32,
        own: u32,
        count: usize,
    ) -> PyResult<Bound<'py, PySequence>> {
        let numbers = |tokens: &[(u32, u32)]| PyList::new(py, tokens.iter().map(|&token| around(token)));
        let own = PyList::new(py, [own])?.as_sequence().repeat(count)?;
        if self.before.is_empty() && self.after.is_empty() {
            return Ok(own);
        }
        numbers(&self.before)?.as_sequence().concat(&own)?.concat(numbers(&self.after)?.as_sequence())
    }
}

/// The encoding of one text, in the interface of `tokenizers.Encoding`.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct FramedEncoding {
    of: Py<FramedEncoder>,
    text: Py<PyString>,
    /// Those around the text included.
    ids: Box<[u32]>,
    /// The object of Python that takes its place when it is asked for more than the engine knows.
    whole: PyOnceLock<Py<PyAny>>,
}

#[pymethods]
impl FramedEncoding {
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.whole.get(py) {
            Some(whole) => whole.bind(py).getattr(intern!(py, "ids")),
            None => Ok(self.of.get().encoder.get().integers.list(py, &self.ids)?.into_any()),
        }
    }

    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(whole) = self.whole.get(py) {
            return whole.bind(py).getattr(intern!(py, "offsets"));
        }
        let of = self.of.get();
        if of.bare {
            return self.made(py)?.getattr(intern!(py, "offsets"));
        }
        let places = of.own_places(py, self.text.to_str(py)?, self.own_ids())?;
        let around = |tokens: &[_]| iter::repeat_n((0, 0), tokens.len());
        let places = around(&of.before).chain(places).chain(around(&of.after));
        Ok(pairs(py, &of.encoder.get().integers, places)?.into_any())
    }

    #[getter]
    fn type_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let type_id = self.of.get().type_id;
        self.numbers(py, intern!(py, "type_ids"), |(_, around)| around, type_id)
    }

    #[getter]
    fn attention_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(py, intern!(py, "attention_mask"), |_| 1, 1)
    }

    #[getter]
    fn special_tokens_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(py, intern!(py, "special_tokens_mask"), |_| 1, 0)
    }

    #[staticmethod]
    #[pyo3(signature = (encodings, growing_offsets=true))]
    fn merge<'py>(encodings: &Bound<'py, PyAny>, growing_offsets: bool) -> PyResult<Bound<'py, PyAny>> {
        let encodings = encodings.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let first = encodings.first().ok_or_else(|| PyValueError::new_err("encodings: there are none"))?;
        let merge = match first.cast::<Self>() {
            Ok(first) => first.get().made(first.py())?.getattr(intern!(first.py(), "merge"))?,
            Err(_) => first.getattr(intern!(first.py(), "merge"))?,
        };
        merge.call1((encodings, growing_offsets))
    }

    #[getter(__class__)]
    fn class<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.of.get().kind.bind(py).clone()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.whole.get(py).map_or(Ok(self.ids.len()), |whole| whole.bind(py).len())
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.made(py)?.repr()
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        if name.to_str()?.starts_with("__") {
            return Err(PyAttributeError::new_err(name.clone().unbind()));
        }
        self.made(py)?.getattr(name)
    }

    fn __getstate__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.made(py)?.call_method0(intern!(py, "__getstate__"))
    }

    fn __reduce_ex__<'py>(&self, protocol: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = protocol.py();
        self.made(py)?.call_method1(intern!(py, "__reduce_ex__"), (protocol,))
    }
}

impl FramedEncoding {
    fn new(of: &Bound<'_, FramedEncoder>, text: &Bound<'_, PyString>, ids: Box<[u32]>) -> Self {
        Self { of: of.clone().unbind(), text: text.clone().unbind(), ids, whole: PyOnceLock::new() }
    }

    /// The ids of the text alone.
    fn own_ids(&self) -> &[u32] {
        let of = self.of.get();
        &self.ids[of.before.len()..self.ids.len() - of.after.len()]
    }

    /// The object of Python that takes the place of this one.
    fn made<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let of = self.of.get();
        let make = || {
            let ids = of.encoder.get().integers.list(py, self.own_ids())?;
            of.make.call1(py, (&self.text, ids))
        };
        Ok(self.whole.get_or_try_init(py, make)?.bind(py))
    }

    fn numbers<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        around: impl Fn((u32, u32)) -> u32,
        own: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.whole.get(py) {
            Some(whole) => whole.bind(py).getattr(name),
            None => Ok(self.of.get().filled(py, around, own, self.own_ids().len())?.into_any()),
        }
    }
}
