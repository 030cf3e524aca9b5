//! The Python class `Encoder`: text to ids, and ids to text.

use std::cell::RefCell;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1};
use pyo3::Borrowed;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyList, PyString};

use super::columns::{ArrowColumn, RowNulls, TextColumn, decoded, id_lists};
use super::decode::{DecodeStream, Drops, bytes_of, text_of, watched};
use super::ids::{BYTES_PER_PAIR, Integers, copied_array, id_from, ids_from, ids_in_list, list, pairs};
use super::numbers::{cut_tokens, merge_rows, numbers_32, numbers_64};
use super::texts::{HeldTexts, JoinedParts, OneText, Strings, strings_in};
use super::{PyWatch, items, wanted_threads};
use crate::columns::Nulls;
use crate::columns::built::BuiltColumn;
use crate::encode::{
    self, AddedToken, Choice, ChoicePart, Choices, Count, Definition, Encoded, Id, Sink, Special, Stages,
    Trim, Unit, Unknown, Workspace,
};
use crate::memory;
use crate::watch::{Pulse, Unwatched};

/// Shorter texts are encoded without releasing the GIL. What they call is inlined: each function that passes a result on
/// copies it, and waits for it to be written.
pub const SHORT: usize = 1 << 14;

/// The memory of a token besides its bytes while the tables are built, and of a count in Python.
const BYTES_PER_TOKEN: usize = 64;
const BYTES_PER_COUNT: usize = 40;

type Spans = Vec<(usize, usize)>;
type IdsAndParts<'py> = (Bound<'py, PyList>, Bound<'py, PyList>);

/// Turns text into ids and ids into text.
#[pyclass(name = "Encoder", module = "bpetite._engine", frozen)]
pub struct PyEncoder {
    pub encoder: Arc<encode::Encoder>,
    pub integers: Arc<Integers>,
    drops: Drops,
}

/// The text, the id and the flags of an added token.
type Flagged = (PyBackedStr, u32, Vec<PyBackedStr>);

#[pymethods]
impl PyEncoder {
    #[new]
    #[pyo3(signature = (
        *, pattern, tokens, ends, ids, merges, added_tokens=vec![], normalization=vec![], equal_ranks=vec![],
        whole_pretoken_first=false, decode_only=vec![], provisional=vec![], unknown=None, drops_unknown=false,
        drops_space=""
    ))]
    #[allow(clippy::too_many_arguments)] // Keywords only, one for each part of a vocabulary.
    fn new(
        py: Python<'_>,
        pattern: &str,
        tokens: &[u8],
        ends: &Bound<'_, PyAny>,
        ids: &Bound<'_, PyAny>,
        merges: &Bound<'_, PyAny>,
        added_tokens: Vec<Flagged>,
        normalization: Vec<Vec<String>>,
        equal_ranks: Vec<(u32, u32)>,
        whole_pretoken_first: bool,
        decode_only: Vec<(u32, Vec<u8>)>,
        provisional: Vec<u32>,
        unknown: Option<(u32, bool)>,
        drops_unknown: bool,
        drops_space: &str,
    ) -> PyResult<Self> {
        let unknown = match unknown {
            Some((id, false)) => Some(Unknown::Each(id)),
            Some((id, true)) => Some(Unknown::Joined(id)),
            None => drops_unknown.then_some(Unknown::Dropped),
        };
        let (ids, ends, merges) = (numbers_32("ids", ids)?, numbers_64("ends", ends)?, merge_rows(merges)?);
        memory::ensure(2 * tokens.len() + ids.len() * BYTES_PER_TOKEN)?;
        let tokens = cut_tokens(&ids, tokens, &ends)?;
        let definition = Definition {
            pattern,
            tokens: &tokens,
            decode_only: &decode_only,
            merges: &merges,
            equal_ranks: &equal_ranks,
            added_tokens: &added_tokens.iter().map(|(text, id, _)| (&**text, *id)).collect::<Vec<_>>(),
            whole_pretoken_first,
            provisional: &provisional,
            unknown,
        };
        let stages = Stages::new(flagged(&added_tokens)?, &normalization)?;
        let encoder = py.detach(|| encode::Encoder::new(&definition, stages))?;
        memory::ensure_spare()?;
        let integers = Arc::new(Integers::up_to(encoder.model.largest_id()));
        Ok(Self { integers, encoder: Arc::new(encoder), drops: drops_space.parse()? })
    }

    fn with_added_tokens(&self, added_tokens: Vec<Flagged>) -> PyResult<Self> {
        let stages = self.encoder.stages.with_tokens(flagged(&added_tokens)?)?;
        let encoder = Arc::new(self.encoder.with_stages(stages));
        Ok(Self { integers: Arc::clone(&self.integers), encoder, drops: self.drops })
    }

    fn with_memory(&self, py: Python<'_>, memory: usize) -> PyResult<Self> {
        let encoder = Arc::new(py.detach(|| self.encoder.with_memory(memory))?);
        Ok(Self { integers: Arc::clone(&self.integers), encoder, drops: self.drops })
    }

    #[getter]
    fn memory(&self) -> usize {
        self.encoder.model.memory()
    }

    #[pyo3(signature = (text, special=Special::Parse, num_threads=None))]
    #[inline(always)]
    fn encode<'py>(
        &self,
        text: OneText<'_, 'py>,
        special: Special,
        num_threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = text.py();
        let short = text.to_str()?;
        if short.len() >= SHORT || num_threads.is_some() {
            return self.integers.list(py, &self.encode_one::<u32>(&text, special, num_threads)?);
        }
        with_workspace(|workspace, ids| {
            self.encoder.encode(short, special.into(), ids, workspace, &mut Pulse::of(&mut Unwatched))?;
            self.integers.list(py, ids)
        })
    }

    fn encode_ordinary<'py>(&self, text: OneText<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        self.encode(text, Special::Text, None)
    }

    #[pyo3(signature = (text, special=Special::Parse, dtype=Width::Bits32, num_threads=None))]
    #[inline(always)]
    fn encode_to_numpy<'py>(
        &self,
        text: OneText<'_, 'py>,
        special: Special,
        dtype: Width,
        num_threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match dtype {
            Width::Bits16 => self.encode_to_array::<u16>(&text, special, num_threads),
            Width::Bits32 => self.encode_to_array::<u32>(&text, special, num_threads),
        }
    }

    #[pyo3(signature = (texts, special=Special::Parse, num_threads=None))]
    fn encode_batch<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        special: Special,
        num_threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let encoded = self.encode_many::<u32>(texts, special, num_threads, &mut PyWatch::default())?;
        // Each list may be too small to be checked by itself.
        memory::ensure(self.integers.bytes_of_lists(encoded.offsets.len(), encoded.ids.len()))?;
        let lists = PyList::empty(texts.py());
        for bounds in encoded.offsets.windows(2) {
            let ids = &encoded.ids[bounds[0] as usize..bounds[1] as usize];
            lists.append(self.integers.list(texts.py(), ids)?)?;
        }
        Ok(lists)
    }

    #[pyo3(signature = (
        texts, special=Special::Parse, dtype=Width::Bits32, num_threads=None, append=None, progress=None
    ))]
    #[allow(clippy::too_many_arguments)] // Mostly keywords.
    fn encode_batch_to_numpy<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        special: Special,
        dtype: Width,
        num_threads: Option<&Bound<'_, PyAny>>,
        append: Option<&Bound<'_, PyAny>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<u64>>)> {
        let watch = &mut PyWatch::of(progress.as_ref());
        match dtype {
            Width::Bits16 => self.encode_to_arrays::<u16>(texts, special, num_threads, append, watch),
            Width::Bits32 => self.encode_to_arrays::<u32>(texts, special, num_threads, append, watch),
        }
    }

    fn encode_parts<'py>(&self, parts: &Bound<'py, PyAny>) -> PyResult<IdsAndParts<'py>> {
        let joined = JoinedParts::new(parts, "")?;
        if joined.text.len() >= SHORT {
            let ids = self.encode_joined(parts.py(), std::slice::from_ref(&joined), None)?.ids;
            return self.with_parts(parts.py(), &joined, &ids);
        }
        with_workspace(|workspace, ids| {
            let (choice, mut unwatched) = (Choice::Parts(&joined.parts, 0), Unwatched);
            self.encoder.encode(&joined.text, choice, ids, workspace, &mut Pulse::of(&mut unwatched))?;
            self.with_parts(parts.py(), &joined, ids)
        })
    }

    #[pyo3(signature = (batch, num_threads=None))]
    fn encode_parts_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        num_threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<IdsAndParts<'py>>> {
        let py = batch.py();
        let mut texts = Vec::new();
        for parts in items(batch, "batch must be several lists of parts")? {
            let joined = JoinedParts::new(&parts?, &format!("text {}: ", texts.len()))?;
            memory::push(&mut texts, joined)?;
        }
        let encoded = self.encode_joined(py, &texts, num_threads)?;
        memory::ensure(2 * self.integers.bytes_of_lists(encoded.offsets.len(), encoded.ids.len()))?;
        let ids_of = |bounds: &[u64]| &encoded.ids[bounds[0] as usize..bounds[1] as usize];
        let each = texts.iter().zip(encoded.offsets.windows(2));
        each.map(|(joined, bounds)| self.with_parts(py, joined, ids_of(bounds))).collect()
    }

    #[pyo3(signature = (text, special=Special::Parse, unit="characters"))]
    fn encode_with_offsets<'py>(
        &self,
        text: OneText<'_, 'py>,
        special: Special,
        unit: &str,
    ) -> PyResult<(Bound<'py, PyList>, Spans)> {
        let unit = match unit {
            "characters" => Unit::Characters,
            "bytes" => Unit::Bytes,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "unit: must be characters or bytes, not {unit:?}"
                )));
            }
        };
        self.encoder.model.check_tiles_text()?;
        let ids = self.encode_one::<u32>(&text, special, None)?;
        memory::ensure(ids.len() * BYTES_PER_PAIR)?;
        let (py, text) = (text.py(), text.to_str()?);
        let spans =
            watched(py, text.len(), |pulse| self.encoder.offsets(text, &ids, special.into(), unit, pulse))?;
        Ok((self.integers.list(py, &ids)?, spans))
    }

    #[pyo3(signature = (text, ids, special=Special::Parse, trim="no"))]
    fn places<'py>(
        &self,
        text: OneText<'_, 'py>,
        ids: &Bound<'_, PyList>,
        special: Special,
        trim: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, ids, text, trim) = (text.py(), ids_in_list(ids)?, text.to_str()?, named_trim(trim)?);
        let work = |pulse: &mut Pulse| self.encoder.places(text, &ids, special.into(), trim, pulse);
        pairs(py, &self.integers, watched(py, text.len(), work)?)
    }

    #[pyo3(signature = (text, ids, special=Special::Parse, cut=true))]
    fn words<'py>(
        &self,
        text: OneText<'_, 'py>,
        ids: &Bound<'_, PyList>,
        special: Special,
        cut: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, ids, text) = (text.py(), ids_in_list(ids)?, text.to_str()?);
        let work = |pulse: &mut Pulse| self.encoder.words(text, &ids, special.into(), cut, pulse);
        list(py, &watched(py, text.len(), work)?)
    }

    #[pyo3(signature = (text, ids, special=Special::Parse))]
    fn added_in(
        &self,
        text: OneText<'_, '_>,
        ids: &Bound<'_, PyList>,
        special: Special,
    ) -> PyResult<Vec<(usize, String)>> {
        let (py, ids, text) = (text.py(), ids_in_list(ids)?, text.to_str()?);
        watched(py, text.len(), |pulse| self.encoder.added_in(text, &ids, special.into(), pulse))
    }

    fn pretokens<'py>(&self, text: OneText<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        let (py, text) = (text.py(), text.to_str()?);
        let pretokens = watched(py, text.len(), |pulse| self.encoder.pretokens(text, pulse))?;
        PyList::new(py, pretokens.iter().map(|pretoken| PyBytes::new(py, pretoken)))
    }

    #[pyo3(signature = (text, special=Special::Parse, num_threads=None))]
    fn count(
        &self,
        text: OneText<'_, '_>,
        special: Special,
        num_threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let short = text.to_str()?;
        if short.len() >= SHORT || num_threads.is_some() {
            let threads = wanted_threads(num_threads)?;
            let watch = &mut PyWatch::default();
            let count = || self.encoder.count_all(&[short][..], special.into(), threads, watch);
            return Ok(text.py().detach(count)?.into_iter().sum());
        }
        with_workspace(|workspace, _| {
            let mut count = Count::default();
            self.encoder.encode(
                short,
                special.into(),
                &mut count,
                workspace,
                &mut Pulse::of(&mut Unwatched),
            )?;
            Ok(count.taken() as u64)
        })
    }

    #[pyo3(signature = (texts, special=Special::Parse, num_threads=None))]
    fn count_batch(
        &self,
        texts: &Bound<'_, PyAny>,
        special: Special,
        num_threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<u64>> {
        let threads = wanted_threads(num_threads)?;
        let watch = &mut PyWatch::default();
        let counts = if let Some(strings) = strings_in(texts)? {
            let strings = Strings::of(texts.py(), &strings)?;
            self.encoder.count_all(strings, special.into(), threads, watch)?
        } else {
            let held = HeldTexts::new(texts)?;
            let count = || self.encoder.count_all(&held, special.into(), threads, watch);
            texts.py().detach(count)?
        };
        memory::ensure(counts.len() * BYTES_PER_COUNT)?;
        Ok(counts)
    }

    #[pyo3(signature = (special=Special::Parse))]
    fn encode_stream(&self, special: Special) -> PyEncodeStream {
        PyEncodeStream { stream: encode::EncodeStream::new(Arc::clone(&self.encoder), special) }
    }

    #[pyo3(signature = (special=Special::Parse))]
    fn growing(&self, special: Special) -> GrowingEncoding {
        let encoder = Arc::clone(&self.encoder);
        GrowingEncoding { growing: encode::Growing::new(encoder, special) }
    }

    #[pyo3(signature = (ids, errors="strict"))]
    fn decode<'py>(&self, ids: &Bound<'py, PyAny>, errors: &str) -> PyResult<Bound<'py, PyString>> {
        text_of(ids.py(), self.encoder.tokens(), &ids_from(ids)?, errors, self.drops)
    }

    fn decode_bytes<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        bytes_of(ids.py(), self.encoder.tokens(), &ids_from(ids)?, self.drops)
    }

    #[pyo3(signature = (batch, errors="strict"))]
    fn decode_batch<'py>(&self, batch: &Bound<'py, PyAny>, errors: &str) -> PyResult<Bound<'py, PyList>> {
        let texts = PyList::empty(batch.py());
        for ids in items(batch, "batch must be several lists of ids")? {
            batch.py().check_signals()?;
            texts.append(self.decode(&ids?, errors)?)?;
        }
        Ok(texts)
    }

    #[pyo3(signature = (
        column, special=Special::Parse, dtype=Width::Bits32, num_threads=None, append=None,
        nulls=RowNulls(Nulls::Error)
    ))]
    fn encode_column(
        &self,
        column: &Bound<'_, PyAny>,
        special: Special,
        dtype: Width,
        num_threads: Option<&Bound<'_, PyAny>>,
        append: Option<&Bound<'_, PyAny>>,
        nulls: RowNulls,
    ) -> PyResult<ArrowColumn> {
        let texts = TextColumn::rows(column, nulls)?;
        match dtype {
            Width::Bits16 => self.encode_to_lists::<u16>(&texts, special, num_threads, append),
            Width::Bits32 => self.encode_to_lists::<u32>(&texts, special, num_threads, append),
        }
    }

    #[pyo3(signature = (column, special=Special::Parse, num_threads=None, nulls=RowNulls(Nulls::Error)))]
    fn count_column(
        &self,
        column: &Bound<'_, PyAny>,
        special: Special,
        num_threads: Option<&Bound<'_, PyAny>>,
        nulls: RowNulls,
    ) -> PyResult<ArrowColumn> {
        let texts = TextColumn::rows(column, nulls)?;
        let counts = self.count_batch(&texts, special, num_threads)?;
        Ok(BuiltColumn::counts(counts, texts.get().kept_nulls())?.into())
    }

    #[pyo3(signature = (column, errors="strict", nulls=RowNulls(Nulls::Error)))]
    fn decode_column(
        &self,
        column: &Bound<'_, PyAny>,
        errors: &str,
        nulls: RowNulls,
    ) -> PyResult<ArrowColumn> {
        let (lists, errors) = (id_lists(column, nulls)?, errors.parse()?);
        let work = |pulse: &mut Pulse| decoded(self.encoder.tokens(), &lists, self.drops, errors, pulse);
        Ok(watched(column.py(), usize::MAX, work)?.into())
    }

    #[pyo3(signature = (errors="strict"))]
    fn decode_stream(&self, py: Python<'_>, errors: &str) -> PyResult<DecodeStream> {
        DecodeStream::new(py, Arc::clone(&self.encoder), errors, self.drops)
    }

    fn token_bytes<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let token = self.encoder.tokens().get(id_from(id)?);
        let token = token.ok_or_else(|| PyKeyError::new_err(id.clone().unbind()))?;
        Ok(PyBytes::new(id.py(), token))
    }
}

impl PyEncoder {
    pub fn encode_one<T: Id>(
        &self,
        text: &Bound<'_, PyString>,
        special: Special,
        num_threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<T>> {
        let threads = wanted_threads(num_threads)?;
        let py = text.py();
        let text = text.to_str()?;
        if text.len() < SHORT {
            self.encoder.model.check_fits::<T>()?;
            return with_workspace(|workspace, _| {
                let mut ids = Vec::new();
                self.encoder.encode(
                    text,
                    special.into(),
                    &mut ids,
                    workspace,
                    &mut Pulse::of(&mut Unwatched),
                )?;
                Ok(ids)
            });
        }
        let watch = &mut PyWatch::default();
        Ok(py.detach(|| self.encoder.encode_all(&[text][..], special.into(), threads, watch))?.ids)
    }

    #[inline(always)]
    fn encode_to_array<'py, T: Id + numpy::Element>(
        &self,
        text: &Bound<'py, PyString>,
        special: Special,
        num_threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = text.py();
        let short = text.to_str()?;
        if short.len() >= SHORT || num_threads.is_some() {
            return Ok(self.encode_one::<T>(text, special, num_threads)?.into_pyarray(py).into_any());
        }
        self.encoder.model.check_fits::<T>()?;
        with_workspace(|workspace, ids| {
            self.encoder.encode(short, special.into(), ids, workspace, &mut Pulse::of(&mut Unwatched))?;
            Ok(copied_array::<T>(py, ids))
        })
    }

    pub fn encode_many<T: Id>(
        &self,
        texts: &Bound<'_, PyAny>,
        special: Special,
        num_threads: Option<&Bound<'_, PyAny>>,
        watch: &mut PyWatch,
    ) -> PyResult<Encoded<T>> {
        let threads = wanted_threads(num_threads)?;
        if let Some(strings) = strings_in(texts)? {
            let strings = Strings::of(texts.py(), &strings)?;
            return Ok(self.encoder.encode_all(strings, special.into(), threads, watch)?);
        }
        let held = HeldTexts::new(texts)?;
        let encode = || self.encoder.encode_all(&held, special.into(), threads, watch);
        Ok(texts.py().detach(encode)?)
    }

    fn encode_joined(
        &self,
        py: Python<'_>,
        joined: &[JoinedParts],
        num_threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Encoded<u32>> {
        let threads = wanted_threads(num_threads)?;
        let texts: Vec<&str> = memory::gathered(joined.iter().map(|joined| &*joined.text))?;
        let parts: Vec<&[ChoicePart]> = memory::gathered(joined.iter().map(|joined| &*joined.parts))?;
        let watch = &mut PyWatch::default();
        Ok(py.detach(|| self.encoder.encode_all(&texts[..], Choices::Each(&parts), threads, watch))?)
    }

    /// Lists of ids and of the part of each.
    fn with_parts<'py>(
        &self,
        py: Python<'py>,
        joined: &JoinedParts,
        ids: &[u32],
    ) -> PyResult<IdsAndParts<'py>> {
        let JoinedParts { text, parts } = joined;
        let choice = Choice::Parts(parts, 0);
        let numbers = |pulse: &mut Pulse| self.encoder.numbers_of_parts(text, ids, parts, choice, pulse);
        let numbers = watched(py, text.len(), numbers)?;
        Ok((self.integers.list(py, ids)?, self.integers.list(py, &numbers)?))
    }

    fn encode_to_arrays<'py, T: Id + numpy::Element>(
        &self,
        texts: &Bound<'py, PyAny>,
        special: Special,
        num_threads: Option<&Bound<'_, PyAny>>,
        append: Option<&Bound<'_, PyAny>>,
        watch: &mut PyWatch,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<u64>>)> {
        let encoded = self.encode_appended::<T>(texts, special, num_threads, append, watch)?;
        Ok((encoded.ids.into_pyarray(texts.py()).into_any(), encoded.offsets.into_pyarray(texts.py())))
    }

    fn encode_to_lists<T: Id>(
        &self,
        texts: &Bound<'_, TextColumn>,
        special: Special,
        num_threads: Option<&Bound<'_, PyAny>>,
        append: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ArrowColumn> {
        let watch = &mut PyWatch::default();
        let encoded = self.encode_appended::<T>(texts, special, num_threads, append, watch)?;
        Ok(BuiltColumn::ids(encoded.ids, encoded.offsets, texts.get().kept_nulls())?.into())
    }

    /// Encode texts, with an id behind those of each.
    fn encode_appended<T: Id>(
        &self,
        texts: &Bound<'_, PyAny>,
        special: Special,
        num_threads: Option<&Bound<'_, PyAny>>,
        append: Option<&Bound<'_, PyAny>>,
        watch: &mut PyWatch,
    ) -> PyResult<Encoded<T>> {
        let append = append.map(|id| self.known_id(id)).transpose()?;
        let mut encoded = self.encode_many::<T>(texts, special, num_threads, watch)?;
        if let Some(id) = append {
            memory::reserve(&mut encoded.ids, encoded.offsets.len())?;
            texts.py().detach(|| append_to_each(&mut encoded, T::from_id(id)));
        }
        Ok(encoded)
    }

    fn known_id(&self, id: &Bound<'_, PyAny>) -> PyResult<u32> {
        let number = id_from(id)?;
        let known = self.encoder.tokens().get(number).map(|_| number);
        known.ok_or_else(|| PyKeyError::new_err(id.clone().unbind()))
    }
}

/// Encodes a text that arrives in pieces; returns ids as soon as they are final.
#[pyclass(name = "EncodeStream", module = "bpetite._engine")]
pub struct PyEncodeStream {
    stream: encode::EncodeStream,
}

#[pymethods]
impl PyEncodeStream {
    fn feed<'py>(&mut self, piece: OneText<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        let text = piece.to_str()?;
        self.encode(piece.py(), |stream, ids, workspace, pulse| stream.feed(text, ids, workspace, pulse))
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.encode(py, encode::EncodeStream::finish)
    }

    fn __copy__(&self) -> Self {
        Self { stream: self.stream.copy() }
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.__copy__()
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(not_picklable("a stream"))
    }
}

impl PyEncodeStream {
    fn encode<'py>(
        &mut self,
        py: Python<'py>,
        work: impl FnOnce(
            &mut encode::EncodeStream,
            &mut Vec<u32>,
            &mut Workspace,
            &mut Pulse,
        ) -> crate::error::Result<()>
        + Send,
    ) -> PyResult<Bound<'py, PyList>> {
        let ids = py.detach(|| {
            with_workspace(|workspace, _| {
                let mut ids = Vec::new();
                let watch = &mut PyWatch::default();
                work(&mut self.stream, &mut ids, workspace, &mut Pulse::of(watch))?;
                Ok(ids)
            })
        })?;
        list(py, &ids)
    }
}

/// The error of what cannot be pickled, and what to do.
pub fn not_picklable(what: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{what} cannot be pickled, as it belongs to its tokenizer: pickle the tokenizer and the text so far"
    ))
}

/// A text that grows at its end, and its ids, which are always those of the whole text.
#[pyclass(module = "bpetite._engine")]
pub struct GrowingEncoding {
    growing: encode::Growing,
}

#[pymethods]
impl GrowingEncoding {
    #[pyo3(signature = (text, special=None))]
    fn append(&mut self, text: OneText<'_, '_>, special: Option<Special>) -> PyResult<usize> {
        let (py, piece) = (text.py(), text.to_str()?);
        let work = piece.len() + self.growing.open();
        self.change(py, work, |growing, workspace, pulse| growing.append(piece, special, workspace, pulse))
    }

    #[pyo3(signature = (length=None, *, ids=None))]
    fn truncate(&mut self, py: Python<'_>, length: Option<i64>, ids: Option<i64>) -> PyResult<usize> {
        let place = match (length, ids) {
            (Some(length), None) => {
                let length = natural("length", length)?;
                self.growing.text().char_indices().map(|(place, _)| place).nth(length)
            }
            (None, Some(ids)) => {
                let ids = natural("ids", ids)?;
                let work = self.growing.text().len();
                Some(watched(py, work, |pulse| self.growing.end_of(ids, pulse))?)
            }
            _ => return Err(PyTypeError::new_err("truncate: takes either a length or ids")),
        };
        match place {
            Some(place) if place < self.growing.text().len() => {
                self.change(py, place, |growing, workspace, pulse| growing.truncate(place, workspace, pulse))
            }
            _ => Ok(self.growing.number()),
        }
    }

    fn copy(&self) -> PyResult<Self> {
        Ok(Self { growing: self.growing.copy()? })
    }

    fn __copy__(&self) -> PyResult<Self> {
        self.copy()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy()
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(not_picklable("a growing text"))
    }

    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list(py, &self.growing.ids_from(0).collect::<Vec<_>>())
    }

    fn ids_from<'py>(&self, py: Python<'py>, start: i64) -> PyResult<Bound<'py, PyList>> {
        list(py, &self.growing.ids_from(natural("start", start)?).collect::<Vec<_>>())
    }

    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list(py, &watched(py, self.growing.text().len(), |pulse| self.growing.numbers_of_parts(pulse))?)
    }

    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        memory::ensure(4 * self.growing.text().len())?;
        Ok(PyString::new(py, self.growing.text()))
    }

    #[getter]
    fn settled(&self) -> usize {
        self.growing.settled_ids()
    }

    fn __len__(&self) -> usize {
        self.growing.number()
    }

    fn __repr__(&self) -> String {
        let (ids, settled) = (self.growing.number(), self.growing.settled_ids());
        format!("GrowingEncoding({ids} ids, {settled} of them settled)")
    }
}

impl GrowingEncoding {
    /// Change the text; if that is much work, without the GIL.
    fn change(
        &mut self,
        py: Python<'_>,
        work: usize,
        change: impl FnOnce(&mut encode::Growing, &mut Workspace, &mut Pulse) -> crate::error::Result<usize>
        + Send,
    ) -> PyResult<usize> {
        let growing = &mut self.growing;
        if work < SHORT {
            return with_workspace(|workspace, _| {
                Ok(change(growing, workspace, &mut Pulse::of(&mut Unwatched))?)
            });
        }
        py.detach(|| {
            with_workspace(|workspace, _| {
                Ok(change(growing, workspace, &mut Pulse::of(&mut PyWatch::default()))?)
            })
        })
    }
}

/// A number of characters or ids from a caller.
fn natural(name: &str, number: i64) -> PyResult<usize> {
    usize::try_from(number)
        .map_err(|_| PyValueError::new_err(format!("{name} must be at least 0, not {number}")))
}

thread_local! {
    /// A workspace and a vector of ids for short texts: creating them would take longer than encoding most of these.
    static REUSED: RefCell<(Option<Workspace>, Vec<u32>)> = const { RefCell::new((None, Vec::new())) };
}

/// A workspace that has grown beyond this (for a pretoken of a megabyte, say) is dropped.
const LARGE_WORKSPACE: usize = 1 << 20;

/// Call with this thread's workspace for short texts, and an empty vector for their ids.
#[inline(always)]
pub fn with_workspace<R>(call: impl FnOnce(&mut Workspace, &mut Vec<u32>) -> PyResult<R>) -> PyResult<R> {
    REUSED.with(|cell| {
        // The garbage collector may run Python code that gets here again.
        let Ok(mut reused) = cell.try_borrow_mut() else {
            return call(&mut Workspace::new()?, &mut Vec::new());
        };
        let (reused, ids) = &mut *reused;
        let workspace = Workspace::ready(reused)?;
        ids.clear();
        let result = call(workspace, ids);
        workspace.release();
        if workspace.grown() > LARGE_WORKSPACE {
            *reused = None;
        }
        result
    })
}

pub fn named_trim(name: &str) -> PyResult<Trim> {
    match name {
        "no" => Ok(Trim::No),
        "yes" => Ok(Trim::Yes),
        "keep first" => Ok(Trim::KeepFirst),
        _ => Err(PyValueError::new_err(format!("trim: {name:?} is not known"))),
    }
}

/// Added tokens with their flags, and whether they are found in normalized text.
fn flagged(tokens: &[Flagged]) -> PyResult<Vec<(AddedToken, bool)>> {
    let of_token = |(text, id, flags): &Flagged| {
        let mut token = AddedToken::new(text.to_string(), *id);
        let mut is_normalized = false;
        for flag in flags {
            *match &flag[..] {
                "special" => &mut token.is_special,
                "single_word" => &mut token.single_word,
                "lstrip" => &mut token.lstrip,
                "rstrip" => &mut token.rstrip,
                "normalized" => &mut is_normalized,
                _ => return Err(PyValueError::new_err(format!("added_tokens: {flag:?} is no flag"))),
            } = true;
        }
        Ok((token, is_normalized))
    };
    tokens.iter().map(of_token).collect()
}

/// A word for an argument that takes one of the `known`.
pub fn word<'a>(given: Borrowed<'a, '_, PyAny>, argument: &str, known: &str) -> PyResult<&'a str> {
    match given.cast::<PyString>() {
        Ok(_) => given.extract(),
        Err(_) => Err(PyTypeError::new_err(format!("{argument}: must be {known}, not {}", given.repr()?))),
    }
}

// The usual names are known by their place, without reading them: Python has one object for each.

impl<'py> FromPyObject<'_, 'py> for Special {
    type Error = PyErr;

    fn extract(name: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if name.is(intern!(name.py(), "parse")) {
            return Ok(Self::Parse);
        }
        if name.is(intern!(name.py(), "text")) {
            return Ok(Self::Text);
        }
        match word(name, "special", "parse, text or error")? {
            "parse" => Ok(Self::Parse),
            "text" => Ok(Self::Text),
            "error" => Ok(Self::Error),
            name => {
                Err(PyValueError::new_err(format!("special: must be parse, text or error, not {name:?}")))
            }
        }
    }
}

enum Width {
    Bits16,
    Bits32,
}

impl<'py> FromPyObject<'_, 'py> for Width {
    type Error = PyErr;

    fn extract(name: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if name.is(intern!(name.py(), "uint32")) {
            return Ok(Self::Bits32);
        }
        match word(name, "dtype", "uint32 or uint16")? {
            "uint16" => Ok(Self::Bits16),
            "uint32" => Ok(Self::Bits32),
            name => Err(PyValueError::new_err(format!("dtype: must be uint32 or uint16, not {name:?}"))),
        }
    }
}

/// Append an id to the ids of each text, from the last text to the first, so that ids are moved once.
fn append_to_each<T: Id>(encoded: &mut Encoded<T>, id: T) {
    let Encoded { ids, offsets } = encoded;
    let length = ids.len() + offsets.len() - 1;
    ids.resize(length, id);
    for text in (0..offsets.len() - 1).rev() {
        let (start, end) = (offsets[text] as usize, offsets[text + 1] as usize);
        ids.copy_within(start..end, start + text);
        ids[end + text] = id;
        offsets[text + 1] += text as u64 + 1;
    }
}
