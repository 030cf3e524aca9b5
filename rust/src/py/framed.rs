//! The Python classes `FramedEncoder` and `FramedEncoding`: texts with the same special tokens around each.
//!
//! Most callers want the ids and offsets of many short texts, one by one or in batches. An encoding holds the ids as
//! numbers, and finds offsets when they are asked for. For everything else it is made into an object of Python.

use std::borrow::Cow;
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
use crate::encode::{
    CharacterSpan, Encoded, Moved, Put, SpacedPart, Spaces, Special, SpecialTokens, Strips, Trim,
};
use crate::error::Result;
use crate::memory;
use crate::watch::{Pulse, Unwatched};

/// The memory of an encoding besides its ids.
const BYTES_PER_ENCODING: usize = 128;

/// Which texts the engine can take, and how.
enum Taking {
    /// As they are, if they are left unchanged by `leaves`, or if there is no such function.
    Plain { leaves: Option<Py<PyAny>>, leaves_ascii: bool, trim: Trim },
    /// With spaces, if no part of a text has a token that is searched later.
    Spaced(Box<Spaces>),
}

/// Encodes texts, each with the same special tokens around it.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct FramedEncoder {
    encoder: Py<PyEncoder>,
    way: Taking,
    /// The id and type of each token before and after a text, and the type of its own.
    before: Vec<(u32, u32)>,
    after: Vec<(u32, u32)>,
    type_id: u32,
    /// The id of unknown bytes: a text that gets it is not taken, as it does not tell where tokens stand.
    unknown: Option<u32>,
    /// Whether only ids are wanted, and no places of tokens.
    bare: bool,
    /// Makes the whole encoding of a text and its own ids.
    make: Py<PyAny>,
    /// The class that encodings are taken for.
    kind: Py<PyAny>,
}

/// The names of a special token and what is said of it: its id, and on which sides it takes white space.
type NamedToken = (String, u32, bool, bool);

#[pymethods]
impl FramedEncoder {
    #[new]
    #[pyo3(signature = (
        encoder, make, kind, *, before, after, type_id=0, trim="no", leaves=None, leaves_ascii=false, spaces=None,
        unknown=None, bare=false
    ))]
    #[allow(clippy::too_many_arguments)] // Mostly keywords, one for each part of what stands around a text.
    fn new(
        encoder: Py<PyEncoder>,
        make: Py<PyAny>,
        kind: Py<PyAny>,
        before: Vec<(u32, u32)>,
        after: Vec<(u32, u32)>,
        type_id: u32,
        trim: &str,
        leaves: Option<Py<PyAny>>,
        leaves_ascii: bool,
        spaces: Option<(String, Vec<NamedToken>, Vec<String>)>,
        unknown: Option<u32>,
        bare: bool,
    ) -> PyResult<Self> {
        let way = match spaces {
            None => Taking::Plain { leaves, leaves_ascii, trim: named_trim(trim)? },
            Some((put, tokens, later)) => Taking::Spaced(Box::new(spaces_of(&put, tokens, later)?)),
        };
        Ok(Self { encoder, way, before, after, type_id, unknown, bare, make, kind })
    }

    fn encode(slf: &Bound<'_, Self>, text: OneText<'_, '_>) -> PyResult<Option<FramedEncoding>> {
        let (framed, text) = (slf.get(), &*text);
        let short = text.to_str()?;
        if !framed.takes(text, short)? {
            return Ok(None);
        }
        let ids = if short.len() < SHORT {
            with_workspace(|workspace, ids| {
                let (encoder, watch) = (&framed.encoder.get().encoder, &mut Unwatched);
                let pulse = &mut Pulse::of(watch);
                ids.extend(framed.before.iter().map(|&(id, _)| id));
                let is_whole = match &framed.way {
                    Taking::Plain { .. } => {
                        encoder.encode(short, framed.special(), ids, workspace, pulse).map(|()| true)
                    }
                    Taking::Spaced(spaces) => encoder.encode_spaced(short, spaces, ids, workspace, pulse),
                }?;
                let is_known = framed.are_known(&ids[framed.before.len()..]);
                ids.extend(framed.after.iter().map(|&(id, _)| id));
                Ok((is_whole && is_known).then(|| ids.as_slice().into()))
            })?
        } else {
            let held = HeldTexts::new(PyList::new(slf.py(), [text])?.as_any())?;
            slf.py().detach(|| framed.encode_all(&held.checked()?, None))?.pop().flatten()
        };
        Ok(ids.map(|ids| FramedEncoding::new(slf, text, ids)))
    }

    #[pyo3(signature = (texts, num_threads=None))]
    fn encode_batch<'py>(
        slf: &Bound<'py, Self>,
        texts: &Bound<'py, PyAny>,
        num_threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyList>, Vec<usize>)> {
        let (py, framed) = (slf.py(), slf.get());
        let threads = wanted_threads(num_threads)?;
        let mut given = Vec::new();
        for text in texts.try_iter()? {
            memory::push(&mut given, text?.cast_into::<PyString>()?)?;
        }
        memory::ensure(given.len() * BYTES_PER_ENCODING)?;
        let mut taken = Vec::new();
        for text in &given {
            taken.push(framed.takes(text, text.to_str()?)?);
        }
        let chosen = given.iter().zip(&taken).filter(|&(_, &is_taken)| is_taken).map(|(text, _)| text);
        let held = HeldTexts::new(PyList::new(py, chosen.collect::<Vec<_>>())?.as_any())?;
        let rows = py.detach(|| framed.encode_all(&held.checked()?, threads))?;
        let (encodings, mut left) = (PyList::empty(py), Vec::new());
        let mut rows = rows.into_iter();
        for (number, (text, is_taken)) in given.iter().zip(taken).enumerate() {
            let ids = if is_taken { rows.next().flatten() } else { None };
            if ids.is_none() {
                left.push(number);
            }
            encodings.append(ids.map(|ids| FramedEncoding::new(slf, text, ids)))?;
        }
        Ok((encodings, left))
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
        if let Taking::Plain { leaves: Some(leaves), .. } = &self.way {
            visit.call(leaves)?;
        }
        visit.call(&self.make)
    }
}

impl FramedEncoder {
    /// Whether the engine can take a text, so far as that can be told before its tokens are searched.
    fn takes(&self, object: &Bound<'_, PyString>, text: &str) -> PyResult<bool> {
        match &self.way {
            Taking::Plain { leaves: Some(leaves), leaves_ascii, .. } => {
                if *leaves_ascii && text.is_ascii() {
                    return Ok(true);
                }
                leaves.call1(object.py(), (object,))?.extract(object.py())
            }
            Taking::Plain { leaves: None, .. } | Taking::Spaced(_) => Ok(true),
        }
    }

    fn special(&self) -> Special<'_> {
        self.encoder.get().special_tokens.as_ref().map_or(Special::Parse, Special::ParseThese)
    }

    /// The ids of each text with those around it; `None` for a text that the engine cannot take.
    fn encode_all(&self, texts: &[&str], threads: Option<usize>) -> Result<Vec<Option<Box<[u32]>>>> {
        let encoder = &self.encoder.get().encoder;
        let watch = &mut PyWatch::default();
        let Taking::Spaced(spaces) = &self.way else {
            let encoded = encoder.encode_all(texts, self.special(), threads, watch)?;
            return (0..texts.len()).map(|text| self.framed(iter::once(row(&encoded, text)))).collect();
        };
        // The ordinary parts of all texts are encoded together.
        let mut parts = Vec::new();
        let mut plans = Vec::new();
        for text in texts {
            memory::push(&mut plans, spaces.parts(text).collect::<Option<Vec<_>>>())?;
        }
        for part in plans.iter().flatten().flatten() {
            if let SpacedPart::Ordinary(written) = part {
                memory::push(&mut parts, &**written)?;
            }
        }
        let encoded = encoder.encode_all(&parts[..], Special::Text, threads, watch)?;
        let mut next = 0;
        let mut ids_of = |part: &SpacedPart| match part {
            SpacedPart::Special(id) => Cow::Owned(vec![*id]),
            SpacedPart::Ordinary(_) => {
                next += 1;
                Cow::Borrowed(row(&encoded, next - 1))
            }
        };
        let of_plan = |plan: Option<Vec<SpacedPart>>| {
            let Some(parts) = plan else { return Ok(None) };
            let rows: Vec<_> = parts.iter().map(&mut ids_of).collect();
            self.framed(rows.iter().map(|row| &**row))
        };
        plans.into_iter().map(of_plan).collect()
    }

    fn are_known(&self, ids: &[u32]) -> bool {
        self.unknown.is_none_or(|unknown| !ids.contains(&unknown))
    }

    /// The ids of a text, with those around it; `None` if something in it is unknown.
    fn framed<'i>(&self, rows: impl Iterator<Item = &'i [u32]> + Clone) -> Result<Option<Box<[u32]>>> {
        if !rows.clone().all(|row| self.are_known(row)) {
            return Ok(None);
        }
        let mut ids = Vec::new();
        let own: usize = rows.clone().map(<[u32]>::len).sum();
        memory::reserve(&mut ids, self.before.len() + own + self.after.len())?;
        ids.extend(self.before.iter().map(|&(id, _)| id));
        rows.for_each(|row| ids.extend_from_slice(row));
        ids.extend(self.after.iter().map(|&(id, _)| id));
        Ok(Some(ids.into_boxed_slice()))
    }

    /// Where the tokens of a text stand.
    fn own_places(&self, py: Python<'_>, text: &str, ids: &[u32]) -> PyResult<Vec<CharacterSpan>> {
        let encoder = &self.encoder.get().encoder;
        watched(py, text.len(), |pulse| match &self.way {
            Taking::Plain { trim, .. } => encoder.places(text, ids, self.special(), *trim, &Moved::No, pulse),
            Taking::Spaced(spaces) => encoder.spaced_places(text, ids, spaces, pulse),
        })
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

fn spaces_of(put: &str, tokens: Vec<NamedToken>, later: Vec<String>) -> PyResult<Spaces> {
    let put = match put {
        "each" => Put::Each,
        "first" => Put::First,
        "first if none" => Put::FirstIfNone,
        _ => return Err(PyValueError::new_err(format!("spaces: {put:?} is not known"))),
    };
    let strips = tokens.iter().map(|&(_, _, left, right)| Strips { left, right }).collect();
    let named: Vec<_> = tokens.into_iter().map(|(text, id, ..)| (text, id)).collect();
    let later: Vec<_> = later.into_iter().map(|text| (text, 0)).collect();
    Ok(Spaces {
        put,
        tokens: SpecialTokens::new(&named)?.stripping(strips),
        later: SpecialTokens::new(&later)?,
    })
}

fn row(encoded: &Encoded<u32>, number: usize) -> &[u32] {
    &encoded.ids[encoded.offsets[number] as usize..encoded.offsets[number + 1] as usize]
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
