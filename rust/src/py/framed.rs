//! The Python classes `FramedEncoder` and `FramedEncoding`: texts with the same special tokens around each.
//!
//! Most callers want the ids and offsets of many short texts, one by one or in batches. An encoding holds the ids as
//! numbers, and finds offsets when they are asked for; an object of Python answers everything else. With encodings that
//! are objects of Python from the beginning, all of it takes 1.2 to 1.5 times as long.

use pyo3::exceptions::PyAttributeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PySequence, PyString};

use super::PyWatch;
use super::decode::watched;
use super::encode::{PyEncoder, SHORT, named_trim, with_workspace};
use super::ids::pairs;
use super::texts::OneText;
use crate::encode::{Special, Trim};
use crate::error::Result;
use crate::memory;
use crate::watch::{Pulse, Unwatched};

/// The memory of an encoding besides its ids.
const BYTES_PER_ENCODING: usize = 128;

/// Encodes texts, each with the same special tokens around it.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct FramedEncoder {
    encoder: Py<PyEncoder>,
    special: Special,
    /// None if only ids are wanted, and no places of tokens.
    trim: Option<Trim>,
    /// The ids of the tokens before and after a text.
    before: Vec<u32>,
    after: Vec<u32>,
    /// The type of all these tokens and those of the text, if it is one.
    type_id: Option<u32>,
    /// Makes the object of Python for a text and its own ids.
    make: Py<PyAny>,
}

#[pymethods]
impl FramedEncoder {
    #[new]
    #[allow(clippy::too_many_arguments)] // One for each part of what stands around a text.
    fn new(
        encoder: Py<PyEncoder>,
        make: Py<PyAny>,
        before: Vec<u32>,
        after: Vec<u32>,
        type_id: Option<u32>,
        special: Special,
        trim: Option<&str>,
    ) -> PyResult<Self> {
        Ok(Self { encoder, special, trim: trim.map(named_trim).transpose()?, before, after, type_id, make })
    }

    fn encode(slf: &Bound<'_, Self>, text: OneText<'_, '_>) -> PyResult<FramedEncoding> {
        let (framed, short) = (slf.get(), text.to_str()?);
        let PyEncoder { encoder, .. } = framed.encoder.get();
        let ids = if short.len() < SHORT {
            with_workspace(|workspace, ids| {
                ids.extend_from_slice(&framed.before);
                encoder.encode(
                    short,
                    framed.special.into(),
                    ids,
                    workspace,
                    &mut Pulse::of(&mut Unwatched),
                )?;
                ids.extend_from_slice(&framed.after);
                Ok(ids.as_slice().into())
            })?
        } else {
            framed.framed(&framed.encoder.get().encode_one::<u32>(&text, framed.special, None)?)?
        };
        Ok(FramedEncoding::new(slf, &text, ids))
    }

    #[pyo3(signature = (texts, num_threads=None))]
    fn encode_batch<'py>(
        slf: &Bound<'py, Self>,
        texts: &Bound<'py, PySequence>,
        num_threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, framed) = (slf.py(), slf.get());
        // The encodings refer to these texts, which nobody else can change.
        let texts = texts.to_tuple()?;
        let encoded = framed.encoder.get().encode_many::<u32>(
            &texts,
            framed.special,
            num_threads,
            &mut PyWatch::default(),
        )?;
        memory::ensure(texts.len() * BYTES_PER_ENCODING)?;
        let list = PyList::empty(py);
        for (text, bounds) in texts.iter().zip(encoded.offsets.windows(2)) {
            let ids = framed.framed(&encoded.ids[bounds[0] as usize..bounds[1] as usize])?;
            list.append(FramedEncoding::new(slf, &text.cast_into::<PyString>()?, ids))?;
        }
        Ok(list)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.make)
    }
}

impl FramedEncoder {
    /// The ids of a text, with those around it.
    fn framed(&self, own: &[u32]) -> Result<Box<[u32]>> {
        let mut ids = Vec::new();
        memory::reserve(&mut ids, self.before.len() + own.len() + self.after.len())?;
        ids.extend_from_slice(&self.before);
        ids.extend_from_slice(own);
        ids.extend_from_slice(&self.after);
        Ok(ids.into_boxed_slice())
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
        let (of, text) = (self.of.get(), self.text.to_str(py)?);
        let PyEncoder { encoder, integers, .. } = of.encoder.get();
        let places = match of.trim {
            Some(trim) => watched(py, text.len(), |pulse| {
                encoder.places(text, self.own_ids(), of.special.into(), trim, pulse)
            })?,
            None => vec![(0, 0); self.own_ids().len()],
        };
        let around = |tokens: &[u32]| std::iter::repeat_n((0, 0), tokens.len());
        Ok(pairs(py, integers, around(&of.before).chain(places).chain(around(&of.after)))?.into_any())
    }

    #[getter]
    fn type_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.equal(py, "type_ids", self.of.get().type_id)
    }

    #[getter]
    fn attention_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.equal(py, "attention_mask", Some(1))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.whole.get(py).map_or(Ok(self.ids.len()), |whole| whole.bind(py).len())
    }

    #[staticmethod]
    #[pyo3(signature = (encodings, growing_offsets=true))]
    fn merge<'py>(encodings: &Bound<'py, PyAny>, growing_offsets: bool) -> PyResult<Bound<'py, PyAny>> {
        let module = encodings.py().import("bpetite.interfaces.huggingface_encoding")?;
        module.getattr("Encoding")?.call_method1("merge", (encodings, growing_offsets))
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        if name.to_str()?.starts_with("__") {
            return Err(PyAttributeError::new_err(name.clone().unbind()));
        }
        self.made(py)?.getattr(name)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.made(py)?.repr()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.made(py)?.call_method0(intern!(py, "__reduce__"))
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

    /// An attribute that is the same number for all tokens, if it is.
    fn equal<'py>(&self, py: Python<'py>, name: &str, number: Option<u32>) -> PyResult<Bound<'py, PyAny>> {
        match number.filter(|_| self.whole.get(py).is_none()) {
            Some(number) => Ok(PyList::new(py, [number])?.as_sequence().repeat(self.ids.len())?.into_any()),
            None => self.made(py)?.getattr(name),
        }
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
}
