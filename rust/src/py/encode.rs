//! The Python class `Encoder`: text to ids, and ids to text.
//!
//! A text comes alone, with others ([`Texts`]) or in parts ([`JoinedParts`]), and its ids go to a
//! list, an array, a column or a number. The ids of one that is alone and has no use for a second
//! thread are made in memory of this thread (`with_ids`), if it is short with Python's lock held;
//! all others on threads, without the lock.

use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;

use numpy::ndarray::ArrayView1;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyList, PyString};

use super::arguments::{Threads, Width, items};
use super::columns::decoded_lists;
use super::decode::{decoded_rows, joined, utf8, watched};
use super::ids::{Integers, id_from, ids_from, pairs};
use super::pretokenize::{BYTES_PER_PIECE, Steps};
use super::streams::{
    DecodeStream, DecodeStreams, DecodedChunks, GrowingEncoding, PyEncodeStream, StreamRules,
};
use super::texts::{JoinedParts, OneText, Texts};
use super::vocabulary::{merge_rows, tokens_of};
use super::watch::PyWatch;
use super::workspace::with_workspace;
use crate::decode::{Drops, Writing};
use crate::encode::{
    self, AddedToken, Choice, Definition, Dropout, Encoded, Id, Mark, Special, Stages, Trim, Unit,
    Unknown,
};
use crate::memory::{self, reuse};
use crate::normalize::Beginning;
use crate::watch::{Pulse, Unwatched, Watch};

/// Shorter texts are encoded without releasing the GIL. What they call is inlined: each function
/// that passes a result on copies it, and waits for it to be written.
pub const SHORT: usize = 1 << 14;

/// The memory of a token besides its bytes while the tables are built, and of a count in Python.
const BYTES_PER_TOKEN: usize = 64;
const BYTES_PER_COUNT: usize = 40;

/// Rows of ids are decoded together up to this many ids: their ids and bytes are held twice until
/// they are texts.
const IDS_AT_ONCE: usize = 1 << 22;

type IdsAndParts<'py> = (Bound<'py, PyList>, Bound<'py, PyList>);
type Arrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<u64>>);

/// Turns text into ids and ids into text.
#[pyclass(name = "Encoder", module = "bpetite._engine", frozen)]
pub struct PyEncoder {
    pub encoder: Arc<encode::Encoder>,
    pub integers: Arc<Integers>,
    drops: Drops,
}

/// The text, the id and the flags of an added token.
pub type Flagged = (PyBackedStr, u32, Vec<PyBackedStr>);

#[pymethods]
impl PyEncoder {
    #[new]
    #[pyo3(signature = (
        *, pattern, tokens, ends, ids, merges, added_tokens=vec![], normalization=vec![],
        equal_ranks=vec![], whole_pretoken_first=false, left_out=None, decode_only=vec![], provisional=vec![],
        unknown=None, drops_unknown=false, spaces=Drops::Nothing, spaced=false, word_end=None,
        word_start=None, glued=None, cleaned=vec![]
    ))]
    #[allow(clippy::too_many_arguments)] // Keywords only, one for each part of a vocabulary.
    fn new(
        py: Python<'_>,
        pattern: Steps,
        tokens: &[u8],
        ends: &[u8],
        ids: &[u8],
        merges: &[u8],
        added_tokens: Vec<Flagged>,
        normalization: Vec<Vec<String>>,
        equal_ranks: Vec<(u32, u32)>,
        whole_pretoken_first: bool,
        left_out: Option<&str>,
        decode_only: Vec<(u32, Vec<u8>)>,
        provisional: Vec<u32>,
        unknown: Option<(u32, bool)>,
        drops_unknown: bool,
        spaces: Drops,
        spaced: bool,
        word_end: Option<&str>,
        word_start: Option<&str>,
        glued: Option<&str>,
        cleaned: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let unknown = match unknown {
            Some((id, false)) => Some(Unknown::Each(id)),
            Some((id, true)) => Some(Unknown::Joined(id)),
            None => drops_unknown.then_some(Unknown::Dropped),
        };
        memory::ensure(2 * tokens.len() + ids.len() / 4 * BYTES_PER_TOKEN)?;
        let (ids, tokens) = tokens_of(ids, tokens, ends)?;
        let tokens_with_ids: Vec<_> = ids.iter().copied().zip(tokens).collect();
        let added_with_ids: Vec<_> =
            added_tokens.iter().map(|(text, id, _)| (&**text, *id)).collect();
        let definition = Definition {
            pattern: &pattern.0,
            tokens: &tokens_with_ids,
            decode_only: &decode_only,
            merges: merge_rows(merges)?,
            equal_ranks: &equal_ranks,
            added_tokens: &added_with_ids,
            whole_pretoken_first,
            left_out,
            provisional: &provisional,
            unknown,
            mark: word_end.map(Mark::End).or(word_start.map(Mark::Start)),
            spaced,
            glued,
            cleaned: &cleaned,
        };
        let stages = Stages::new(flagged(&added_tokens), &normalization)?;
        pattern.compiled(py)?;
        let encoder = py.detach(|| encode::Encoder::new(&definition, stages))?;
        memory::ensure_spare()?;
        let integers = Arc::new(Integers::up_to(encoder.model.largest_id));
        Ok(Self { integers, encoder: Arc::new(encoder), drops: spaces })
    }

    fn with_added_tokens(&self, added_tokens: Vec<Flagged>) -> PyResult<Self> {
        let stages = self.encoder.stages.with_tokens(flagged(&added_tokens))?;
        Ok(self.with(self.encoder.with_stages(stages)))
    }

    fn with_memory(&self, py: Python<'_>, memory: usize) -> PyResult<Self> {
        Ok(self.with(py.detach(|| self.encoder.with_memory(memory))?))
    }

    #[pyo3(signature = (probability, seed, document=0, begun=0))]
    fn with_dropout(&self, probability: f64, seed: u64, document: u64, begun: u64) -> Self {
        self.with(self.encoder.with_dropout(Dropout::new(probability, seed, document, begun)))
    }

    #[getter]
    fn memory(&self) -> usize {
        self.encoder.memory()
    }

    #[getter]
    fn chosen_memory(&self) -> Option<usize> {
        self.encoder.chosen_memory()
    }

    #[pyo3(signature = (text, special=Special::Parse, num_threads=Threads(None)))]
    #[inline(always)]
    fn encode<'py>(
        &self,
        text: OneText<'_, 'py>,
        special: Special,
        num_threads: Threads,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = text.py();
        let text = text.to_str()?;
        self.with_ids(py, text, special.into(), num_threads, |ids| self.integers.list(py, ids))
    }

    #[pyo3(signature = (
        text, special=Special::Parse, dtype=Width::Bits32, num_threads=Threads(None)
    ))]
    fn encode_to_numpy<'py>(
        &self,
        text: OneText<'_, 'py>,
        special: Special,
        dtype: Width,
        num_threads: Threads,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = text.py();
        match dtype {
            Width::Bits16 => self.array(text, special.into(), num_threads, |ids| {
                let narrow: Vec<u16> = ids.iter().map(|&id| Id::from_id(id)).collect();
                PyArray1::from_slice(py, &narrow)
            }),
            Width::Bits32 => {
                self.array(text, special.into(), num_threads, |ids| PyArray1::from_slice(py, ids))
            }
        }
    }

    #[pyo3(signature = (
        texts, special=Special::Parse, num_threads=Threads(None), prepend=None, append=None
    ))]
    fn encode_batch<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        special: Special,
        num_threads: Threads,
        prepend: Option<&Bound<'_, PyAny>>,
        append: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let around = self.around(prepend, append)?;
        let encoded =
            self.of_many::<u32>(texts, special, num_threads, &around, &mut PyWatch::default())?;
        // Each list may be too small to be checked by itself.
        memory::ensure(self.integers.bytes_of_lists(encoded.offsets.len(), encoded.ids.len()))?;
        let lists = PyList::empty(texts.py());
        for ids in each(&encoded) {
            lists.append(self.integers.list(texts.py(), ids)?)?;
        }
        Ok(lists)
    }

    #[pyo3(signature = (
        texts, special=Special::Parse, dtype=Width::Bits32, num_threads=Threads(None),
        append=None, progress=None, prepend=None
    ))]
    #[allow(clippy::too_many_arguments)] // Mostly keywords.
    fn encode_batch_to_numpy<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        special: Special,
        dtype: Width,
        num_threads: Threads,
        append: Option<&Bound<'_, PyAny>>,
        progress: Option<Py<PyAny>>,
        prepend: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Arrays<'py>> {
        let py = texts.py();
        let watch = &mut PyWatch::of(progress.as_ref());
        let around = self.around(prepend, append)?;
        match dtype {
            Width::Bits16 => {
                arrays(py, self.of_many::<u16>(texts, special, num_threads, &around, watch)?)
            }
            Width::Bits32 => {
                arrays(py, self.of_many::<u32>(texts, special, num_threads, &around, watch)?)
            }
        }
    }

    fn encode_parts<'py>(&self, parts: &Bound<'py, PyAny>) -> PyResult<IdsAndParts<'py>> {
        let py = parts.py();
        let joined = JoinedParts::new(parts, "")?;
        self.with_ids(py, &joined.text, Choice::of(&joined.parts), Threads(None), |ids| {
            self.with_parts(py, &joined, ids)
        })
    }

    #[pyo3(signature = (batch, num_threads=Threads(None)))]
    fn encode_parts_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        num_threads: Threads,
    ) -> PyResult<Vec<IdsAndParts<'py>>> {
        let py = batch.py();
        let mut joined = Vec::new();
        for parts in items(batch, "batch must be an iterable of lists of parts")? {
            let parts = JoinedParts::new(&parts?, &format!("text {}: ", joined.len()))?;
            memory::push(&mut joined, parts)?;
        }
        let texts = memory::gathered(joined.iter().map(|joined| &*joined.text))?;
        let choices = memory::gathered(joined.iter().map(|joined| Choice::of(&joined.parts)))?;
        let encoded = self.of_texts(py, &texts, &choices, num_threads)?;
        memory::ensure(2 * self.integers.bytes_of_lists(encoded.offsets.len(), encoded.ids.len()))?;
        let mut lists = Vec::new();
        for (joined, ids) in joined.iter().zip(each(&encoded)) {
            lists.push(self.with_parts(py, joined, ids)?);
        }
        Ok(lists)
    }

    #[pyo3(signature = (text, special=Special::Parse, unit=Unit::Characters))]
    fn encode_with_offsets<'py>(
        &self,
        text: OneText<'_, 'py>,
        special: Special,
        unit: Unit,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
        let py = text.py();
        let text = text.to_str()?;
        self.with_ids(py, text, special.into(), Threads(None), |ids| {
            let work = |pulse: &mut Pulse| {
                self.encoder.offsets(text, Beginning::Text, ids, special.into(), unit, pulse)
            };
            let spans = watched(py, text.len(), work)?;
            Ok((self.integers.list(py, ids)?, pairs(py, &self.integers, spans)?))
        })
    }

    #[pyo3(signature = (text, ids, special=Special::Parse, trim=Trim::No))]
    fn places<'py>(
        &self,
        text: OneText<'_, 'py>,
        ids: &Bound<'_, PyAny>,
        special: Special,
        trim: Trim,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = text.py();
        let ids = ids_from(ids)?;
        let text = text.to_str()?;
        let work = |pulse: &mut Pulse| {
            self.encoder.places(text, Beginning::Text, &ids, special.into(), trim, pulse)
        };
        pairs(py, &self.integers, watched(py, text.len(), work)?)
    }

    fn pretokens<'py>(&self, text: OneText<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        let py = text.py();
        let text = text.to_str()?;
        let pretokens = watched(py, text.len(), |pulse| self.encoder.pretokens(text, pulse))?;
        memory::ensure(text.len() + pretokens.len() * BYTES_PER_PIECE)?;
        PyList::new(py, pretokens.iter().map(|pretoken| PyBytes::new(py, pretoken)))
    }

    #[pyo3(signature = (text, special=Special::Parse, num_threads=Threads(None)))]
    fn count(
        &self,
        text: OneText<'_, '_>,
        special: Special,
        num_threads: Threads,
    ) -> PyResult<usize> {
        let py = text.py();
        let text = text.to_str()?;
        if text.len() < SHORT {
            return self.with_ids(py, text, special.into(), num_threads, |ids| Ok(ids.len()));
        }
        let encoded = self.of_texts::<()>(py, &[text], &[special.into()], num_threads)?;
        Ok(encoded.ids.len())
    }

    #[pyo3(signature = (texts, special=Special::Parse, num_threads=Threads(None)))]
    fn count_batch(
        &self,
        texts: &Bound<'_, PyAny>,
        special: Special,
        num_threads: Threads,
    ) -> PyResult<Vec<usize>> {
        let watch = &mut PyWatch::default();
        let encoded = self.of_many::<()>(texts, special, num_threads, &Around::default(), watch)?;
        memory::ensure(encoded.offsets.len() * BYTES_PER_COUNT)?;
        Ok(each(&encoded).map(<[()]>::len).collect())
    }

    #[pyo3(signature = (special=Special::Parse))]
    fn encode_stream(&self, special: Special) -> PyEncodeStream {
        PyEncodeStream(encode::EncodeStream::new(Arc::clone(&self.encoder), special))
    }

    #[pyo3(signature = (special=Special::Parse, at=Beginning::Text))]
    fn growing(&self, special: Special, at: Beginning) -> GrowingEncoding {
        GrowingEncoding(encode::Growing::new(Arc::clone(&self.encoder), special, at))
    }

    #[pyo3(signature = (ids, errors="strict"))]
    fn decode<'py>(&self, ids: &Bound<'py, PyAny>, errors: &str) -> PyResult<Bound<'py, PyString>> {
        let py = ids.py();
        let bytes = joined(py, self.writing(), ids_from(ids)?)?;
        utf8(py, &bytes, errors)
    }

    #[pyo3(signature = (batch, errors="strict", num_threads=Threads(None)))]
    fn decode_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        errors: &str,
        num_threads: Threads,
    ) -> PyResult<Bound<'py, PyList>> {
        let texts = PyList::empty(batch.py());
        let mut rows = Vec::new();
        let mut waiting = 0;
        for row in items(batch, "batch must be an iterable of lists of ids")? {
            let ids = ids_from(&row?)?;
            waiting += ids.len();
            memory::push(&mut rows, ids)?;
            if waiting >= IDS_AT_ONCE {
                self.append_texts(&texts, &rows, errors, num_threads)?;
                rows.clear();
                waiting = 0;
            }
        }
        self.append_texts(&texts, &rows, errors, num_threads)?;
        Ok(texts)
    }

    #[pyo3(signature = (ids, behind=false))]
    fn decode_bytes<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        behind: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let py = ids.py();
        let mut writing = self.writing();
        if behind {
            writing = writing.behind_others();
        }
        let bytes = joined(py, writing, ids_from(ids)?)?;
        memory::ensure(bytes.len())?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[pyo3(signature = (errors="strict", skipped=HashSet::new(), unknown=None))]
    fn decode_stream(
        &self,
        errors: &str,
        skipped: HashSet<u32>,
        unknown: Option<Py<PyAny>>,
    ) -> DecodeStream {
        DecodeStream::new(self.stream_rules(errors, skipped, unknown))
    }

    #[pyo3(signature = (errors="strict", skipped=HashSet::new(), unknown=None))]
    fn decode_streams(
        &self,
        errors: &str,
        skipped: HashSet<u32>,
        unknown: Option<Py<PyAny>>,
    ) -> DecodeStreams {
        DecodeStreams::new(self.stream_rules(errors, skipped, unknown))
    }

    #[pyo3(signature = (ids, skipped=HashSet::new()))]
    fn decoded_chunks(&self, ids: Vec<u32>, skipped: HashSet<u32>) -> DecodedChunks {
        DecodedChunks::new(self.stream_rules("replace", skipped, None), ids)
    }

    fn decode_lists<'py>(
        &self,
        py: Python<'py>,
        ids: PyReadonlyArray1<'_, u32>,
        ends: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<Arrays<'py>> {
        let ids = ids.as_slice()?;
        let ends = ends.as_slice()?;
        let writing = self.writing();
        let work = |pulse: &mut Pulse| decoded_lists(writing, ids, ends, pulse);
        let (content, text_ends) = watched(py, usize::MAX, work)?;
        Ok((content.into_pyarray(py).into_any(), text_ends.into_pyarray(py)))
    }

    fn token_bytes<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        match self.encoder.tokens().get(id_from(id)?) {
            Some(token) => Ok(PyBytes::new(id.py(), token)),
            None => Err(PyKeyError::new_err(id.clone().unbind())),
        }
    }
}

impl PyEncoder {
    /// How ids become text.
    fn writing(&self) -> Writing<'_> {
        self.encoder.writing(self.drops)
    }

    fn stream_rules(
        &self,
        errors: &str,
        skipped: HashSet<u32>,
        unknown: Option<Py<PyAny>>,
    ) -> StreamRules {
        let encoder = Arc::clone(&self.encoder);
        StreamRules { encoder, drops: self.drops, errors: errors.to_owned(), skipped, unknown }
    }

    /// Decodes rows of ids, and appends their texts to a list.
    fn append_texts(
        &self,
        texts: &Bound<'_, PyList>,
        rows: &[Vec<u32>],
        errors: &str,
        num_threads: Threads,
    ) -> PyResult<()> {
        let py = texts.py();
        let writing = self.writing();
        let work = |pulse: &mut Pulse| decoded_rows(writing, rows, num_threads.0, pulse);
        for bytes in watched(py, usize::MAX, work)? {
            texts.append(utf8(py, &bytes, errors)?)?;
        }
        // Each batch is too short for the watch to have asked.
        py.check_signals()
    }

    fn with(&self, encoder: encode::Encoder) -> Self {
        Self { integers: Arc::clone(&self.integers), encoder: Arc::new(encoder), drops: self.drops }
    }

    /// Encodes a text, and calls with its ids.
    #[inline(always)]
    pub fn with_ids<R>(
        &self,
        py: Python<'_>,
        text: &str,
        choice: Choice,
        threads: Threads,
        call: impl FnOnce(&[u32]) -> PyResult<R>,
    ) -> PyResult<R> {
        with_workspace(|workspace, ids| {
            let encoded: Encoded<u32>;
            let ids = if text.len() < SHORT {
                self.encoder.encode(
                    text,
                    choice,
                    ids,
                    workspace,
                    &mut Pulse::of(&mut Unwatched),
                )?;
                &*ids
            } else if encode::is_for_one_thread(text.len()) {
                let watch = &mut PyWatch::default();
                py.detach(|| {
                    self.encoder.encode(text, choice, ids, workspace, &mut Pulse::of(watch))
                })?;
                &*ids
            } else {
                encoded = self.of_texts(py, &[text], &[choice], threads)?;
                &encoded.ids
            };
            // In one place: a closure that is called in two would be a function of its own.
            call(ids)
        })
    }

    /// Encodes a text to an array. `copied` makes that of a short text: to give a new array a
    /// vector would take longer, because it needs another object, which owns the vector.
    fn array<'py, T: Id + numpy::Element>(
        &self,
        text: OneText<'_, 'py>,
        choice: Choice,
        threads: Threads,
        copied: impl FnOnce(&[u32]) -> Bound<'py, PyArray1<T>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = text.py();
        let text = text.to_str()?;
        if text.len() >= SHORT {
            let (array, _offsets) =
                arrays(py, self.of_texts::<T>(py, &[text], &[choice], threads)?)?;
            return Ok(array);
        }
        self.encoder.model.check_fits::<T>()?;
        self.with_ids(py, text, choice, threads, |ids| Ok(copied(ids).into_any()))
    }

    fn of_texts<T: Id>(
        &self,
        py: Python<'_>,
        texts: &[&str],
        choices: &[Choice],
        threads: Threads,
    ) -> PyResult<Encoded<T>> {
        let watch = &mut PyWatch::default();
        Ok(py.detach(|| self.encoder.encode_all(texts, choices, threads.0, watch))?)
    }

    /// Encodes texts, and puts the same ids around those of each.
    pub fn of_many<T: Id>(
        &self,
        texts: &Bound<'_, PyAny>,
        special: Special,
        threads: Threads,
        around: &Around,
        watch: &mut dyn Watch,
    ) -> PyResult<Encoded<T>> {
        let source = &Texts::new(texts)?;
        let mut encoded = self.encoder.encode_all(source, &[special.into()], threads.0, watch)?;
        if around.len() > 0 {
            let texts_encoded = encoded.offsets.len() - 1;
            memory::reserve(&mut encoded.ids, around.len().saturating_mul(texts_encoded))?;
            texts.py().detach(|| put_around_each(&mut encoded, around));
        }
        Ok(encoded)
    }

    /// Checks the ids that are put around those of each text.
    fn around(
        &self,
        prepend: Option<&Bound<'_, PyAny>>,
        append: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Around> {
        let before = prepend.map(|ids| self.known_ids(ids)).transpose()?;
        let after = append.map(|ids| self.known_ids(ids)).transpose()?;
        Ok(Around { before: before.unwrap_or_default(), after: after.unwrap_or_default() })
    }

    /// Returns one id, or a list of them, that tokens have.
    fn known_ids(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let Ok(list) = ids.cast::<PyList>() else {
            return Ok(vec![self.known_id(ids)?]);
        };
        list.iter().map(|id| self.known_id(&id)).collect()
    }

    fn known_id(&self, id: &Bound<'_, PyAny>) -> PyResult<u32> {
        let number = id_from(id)?;
        match self.encoder.tokens().get(number) {
            Some(_) => Ok(number),
            None => Err(PyKeyError::new_err(id.clone().unbind())),
        }
    }

    /// Returns lists of ids and of the part of each.
    fn with_parts<'py>(
        &self,
        py: Python<'py>,
        joined: &JoinedParts,
        ids: &[u32],
    ) -> PyResult<IdsAndParts<'py>> {
        let JoinedParts { text, parts } = joined;
        let numbers = |pulse: &mut Pulse| {
            self.encoder.numbers_of_parts(text, Beginning::Text, ids, parts, pulse)
        };
        let numbers = watched(py, text.len(), numbers)?;
        Ok((self.integers.list(py, ids)?, self.integers.list(py, &numbers)?))
    }
}

/// Returns the ids of each text.
pub fn each<T: Id>(encoded: &Encoded<T>) -> impl Iterator<Item = &[T]> {
    encoded.offsets.windows(2).map(|bounds| {
        let start = bounds[0] as usize;
        let end = bounds[1] as usize;
        &encoded.ids[start..end]
    })
}

fn arrays<T: Id + numpy::Element>(py: Python<'_>, encoded: Encoded<T>) -> PyResult<Arrays<'_>> {
    let offsets = encoded.offsets.into_pyarray(py);
    if !reuse::is_kept(&encoded.ids) {
        return Ok((encoded.ids.into_pyarray(py).into_any(), offsets));
    }
    let mut memory = IdMemory(encoded.ids);
    // SAFETY: the ids do not move when their owner does, which the array keeps alive.
    let view =
        unsafe { ArrayView1::from_shape_ptr(memory.0.len(), memory.0.as_mut_ptr().cast_const()) };
    let owner = Bound::new(py, KeptMemory(Box::new(memory)))?.into_any();
    // SAFETY: from now on, only the array reads and writes the ids; their owner only drops them.
    let array = unsafe { PyArray1::borrow_from_array(&view, owner) };
    Ok((array.into_any(), offsets))
}

/// The owner of an array's ids.
#[pyclass(frozen)]
struct KeptMemory(#[allow(dead_code)] Box<dyn Any + Send + Sync>);

/// Ids whose memory is kept for the next array when this one is gone.
struct IdMemory<T: Id>(Vec<T>);

impl<T: Id> Drop for IdMemory<T> {
    fn drop(&mut self) {
        reuse::keep(std::mem::take(&mut self.0));
    }
}

/// The ids that are put before and after those of each text.
#[derive(Default)]
pub struct Around {
    before: Vec<u32>,
    after: Vec<u32>,
}

impl Around {
    fn len(&self) -> usize {
        self.before.len() + self.after.len()
    }
}

/// Puts ids around those of each text, from the last text to the first, so that ids are moved once.
fn put_around_each<T: Id>(encoded: &mut Encoded<T>, around: &Around) {
    let Encoded { ids, offsets } = encoded;
    let texts = offsets.len() - 1;
    ids.resize(ids.len() + texts * around.len(), T::from_id(0));
    for text in (0..texts).rev() {
        let start = offsets[text] as usize;
        let end = offsets[text + 1] as usize;
        let new_start = start + text * around.len();
        let moved = new_start + around.before.len();
        let moved_end = moved + (end - start);
        ids.copy_within(start..end, moved);
        for (place, &id) in ids[new_start..moved].iter_mut().zip(&around.before) {
            *place = T::from_id(id);
        }
        for (place, &id) in ids[moved_end..].iter_mut().zip(&around.after) {
            *place = T::from_id(id);
        }
        offsets[text + 1] = (moved_end + around.after.len()) as u64;
    }
}

/// Returns added tokens with their flags, and whether they are found in normalized text.
pub fn flagged(tokens: &[Flagged]) -> Vec<(AddedToken, bool)> {
    let of_token = |(text, id, flags): &Flagged| {
        let has = |name: &str| flags.iter().any(|flag| **flag == *name);
        let token = AddedToken {
            is_special: has("special"),
            single_word: has("single_word"),
            lstrip: has("lstrip"),
            rstrip: has("rstrip"),
            ..AddedToken::new(text.to_string(), *id)
        };
        (token, has("normalized"))
    };
    tokens.iter().map(of_token).collect()
}
