//! Texts that arrive piece by piece, and texts of ids that do.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString};

use super::arguments::natural;
use super::decode::{take_utf8, utf8, watched};
use super::ids::{BYTES_PER_ID, list, number_from, numbers_from};
use super::texts::OneText;
use super::workspace::with_workspace;
use crate::decode::{Chunks, Drops, OpenText};
use crate::encode::{self, Special, Unit, Workspace};
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// The memory of a piece of text in a list, and how many steps are made between two checks for
/// signals.
const BYTES_PER_TEXT: usize = 80;
const STEPS_PER_CHECK: usize = 1 << 12;

/// Encodes a text that arrives in pieces; returns ids as soon as they are final.
#[pyclass(name = "EncodeStream", module = "bpetite._engine")]
pub struct PyEncodeStream(pub encode::EncodeStream);

#[pymethods]
impl PyEncodeStream {
    fn feed<'py>(&mut self, piece: OneText<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        let py = piece.py();
        let text = piece.to_str()?;
        let ids = working(py, usize::MAX, |workspace, pulse| self.0.feed(text, workspace, pulse))?;
        list(py, &ids)
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ids = working(py, usize::MAX, |workspace, pulse| self.0.finish(workspace, pulse))?;
        list(py, &ids)
    }
}

/// A text that grows at its end, and its ids, which are always those of the whole text.
#[pyclass(module = "bpetite._engine")]
pub struct GrowingEncoding(pub encode::Growing);

#[pymethods]
impl GrowingEncoding {
    #[pyo3(signature = (text, special=None))]
    fn append(&mut self, text: OneText<'_, '_>, special: Option<Special>) -> PyResult<usize> {
        let py = text.py();
        let piece = text.to_str()?;
        let bytes = piece.len() + self.0.open();
        working(py, bytes, |workspace, pulse| self.0.append(piece, special, workspace, pulse))
    }

    #[pyo3(signature = (length=None, *, ids=None))]
    fn truncate(
        &mut self,
        py: Python<'_>,
        length: Option<i64>,
        ids: Option<i64>,
    ) -> PyResult<usize> {
        let text = self.0.text();
        let place = match (length, ids) {
            (Some(length), None) => match text.char_indices().nth(natural("length", length)?) {
                Some((place, _)) => place,
                None => text.len(),
            },
            (None, Some(ids)) => {
                let ids = natural("ids", ids)?;
                watched(py, text.len(), |pulse| self.0.end_of(ids, pulse))?
            }
            _ => return Err(PyTypeError::new_err("truncate: takes either a length or ids")),
        };
        if place >= text.len() {
            return Ok(self.0.ids().len());
        }
        working(py, place, |workspace, pulse| self.0.truncate(place, workspace, pulse))
    }

    fn copy(&self) -> PyResult<Self> {
        Ok(Self(self.0.copy()?))
    }

    fn __copy__(&self) -> PyResult<Self> {
        self.copy()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy()
    }

    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.ids_from(py, 0)
    }

    fn ids_from<'py>(&self, py: Python<'py>, start: i64) -> PyResult<Bound<'py, PyList>> {
        let start = natural("start", start)?;
        list(py, self.0.ids().get(start..).unwrap_or_default())
    }

    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let numbers = watched(py, self.0.text().len(), |pulse| self.0.numbers_of_parts(pulse))?;
        list(py, &numbers)
    }

    #[getter]
    fn starts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let work = |pulse: &mut Pulse| self.0.offsets(Unit::Characters, pulse);
        let spans = watched(py, self.0.text().len(), work)?;
        memory::ensure(spans.len() * BYTES_PER_ID)?;
        PyList::new(py, spans.iter().map(|&(start, _)| start))
    }

    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        memory::ensure(4 * self.0.text().len())?;
        Ok(PyString::new(py, self.0.text()))
    }

    #[getter]
    fn settled(&self) -> usize {
        self.0.settled_ids()
    }

    fn __len__(&self) -> usize {
        self.0.ids().len()
    }

    fn __repr__(&self) -> String {
        format!(
            "GrowingEncoding({} ids, {} of them settled)",
            self.0.ids().len(),
            self.0.settled_ids()
        )
    }
}

/// What all texts of streams of ids have in common.
pub struct StreamRules {
    pub encoder: Arc<encode::Encoder>,
    pub drops: Drops,
    pub errors: String,
    pub skipped: HashSet<u32>,
    /// Makes an exception of the `KeyError` about an unknown id.
    pub unknown: Option<Py<PyAny>>,
}

impl StreamRules {
    /// Returns the ids that are not skipped.
    fn shown<'a>(&self, ids: &'a [u32]) -> Cow<'a, [u32]> {
        if self.skipped.is_empty() {
            return Cow::Borrowed(ids);
        }
        ids.iter().copied().filter(|id| !self.skipped.contains(id)).collect()
    }

    /// Adds ids to a text, and returns what they complete. An error changes nothing.
    fn push<'py>(
        &self,
        py: Python<'py>,
        text: &mut OpenText,
        ids: &[u32],
    ) -> PyResult<Bound<'py, PyString>> {
        let writing = self.encoder.writing(self.drops);
        let ids = self.shown(ids);
        // Most tokens are text by themselves: this halves the time.
        if let [id] = *ids
            && let Some(token) = text.next_token(id, writing)
            && let Ok(complete) = str::from_utf8(token)
        {
            return Ok(PyString::new(py, complete));
        }
        let mut longer = watched(py, ids.len(), |pulse| text.with(&ids, writing, pulse))
            .map_err(|error| self.named(py, error))?;
        let complete = take_utf8(py, &mut longer.waiting, &self.errors)?;
        *text = longer;
        Ok(complete)
    }

    /// Returns one id, or several.
    fn ids_from(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        one_or_several(ids).map_err(|error| self.named(ids.py(), error))
    }

    /// Returns an error in the words that callers expect.
    fn named(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let Some(unknown) = &self.unknown else { return error };
        if !error.is_instance_of::<PyKeyError>(py) {
            return error;
        }
        match unknown.call1(py, (error.value(py),)) {
            Ok(named) => PyErr::from_value(named.into_bound(py)),
            Err(failed) => failed,
        }
    }
}

/// Returns what a call of a stream works with. Another call may have it: one that runs Python code
/// of an error handler, or works without the GIL.
fn locked<T>(state: &Mutex<T>) -> PyResult<MutexGuard<'_, T>> {
    match state.try_lock() {
        Ok(free) => Ok(free),
        Err(TryLockError::Poisoned(free)) => Ok(free.into_inner()),
        Err(TryLockError::WouldBlock) => {
            Err(PyRuntimeError::new_err("the stream is used by another call at this moment"))
        }
    }
}

/// Takes ids and returns their text; the bytes of an incomplete character wait for the next ids.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct DecodeStream {
    rules: Arc<StreamRules>,
    text: Mutex<OpenText>,
}

impl DecodeStream {
    pub fn new(rules: StreamRules) -> Self {
        Self { rules: Arc::new(rules), text: Mutex::default() }
    }
}

#[pymethods]
impl DecodeStream {
    fn push<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let given = self.rules.ids_from(ids)?;
        self.rules.push(ids.py(), &mut *locked(&self.text)?, &given)
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let mut text = locked(&self.text)?;
        let finished = std::mem::take(&mut *text);
        utf8(py, &finished.waiting, &self.rules.errors)
    }

    fn __copy__(&self) -> PyResult<Self> {
        let text = locked(&self.text)?.clone();
        Ok(Self { rules: Arc::clone(&self.rules), text: Mutex::new(text) })
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__copy__()
    }
}

/// Many texts whose ids arrive in turns.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct DecodeStreams {
    rules: StreamRules,
    slots: Mutex<Slots>,
}

/// The texts that are open, by the numbers of their slots.
#[derive(Default)]
struct Slots {
    texts: HashMap<u32, OpenText>,
    /// Numbers are given in turn, so that one that is closed is unknown for as long as possible.
    next: u32,
}

impl DecodeStreams {
    pub fn new(rules: StreamRules) -> Self {
        Self { rules, slots: Mutex::default() }
    }
}

#[pymethods]
impl DecodeStreams {
    #[pyo3(signature = (prompt=None), text_signature = "($self, prompt=())")]
    fn open(&self, py: Python<'_>, prompt: Option<&Bound<'_, PyAny>>) -> PyResult<u32> {
        let ids = match prompt {
            Some(prompt) => self.rules.ids_from(prompt)?,
            None => Vec::new(),
        };
        let mut text = OpenText::default();
        self.rules.push(py, &mut text, &ids)?;
        let mut slots = locked(&self.slots)?;
        while slots.texts.contains_key(&slots.next) {
            slots.next = slots.next.wrapping_add(1);
        }
        let slot = slots.next;
        slots.next = slot.wrapping_add(1);
        slots.texts.insert(slot, text);
        Ok(slot)
    }

    fn step<'py>(
        &self,
        slots: &Bound<'py, PyAny>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = ids.py();
        let numbers = numbers_from(slots, "slots").map_err(|error| no_slot(py, error))?;
        let ids = numbers_from(ids, "ids").map_err(|error| self.rules.named(py, error))?;
        if numbers.len() != ids.len() {
            let lengths = format!("{} slots and {} ids", numbers.len(), ids.len());
            return Err(PyValueError::new_err(format!("each slot takes one id: not {lengths}")));
        }
        memory::ensure(numbers.len() * BYTES_PER_TEXT)?;
        let mut slots = locked(&self.slots)?;
        let mut before = Vec::new();
        let stepped = slots.step(py, &self.rules, &numbers, &ids, &mut before);
        if stepped.is_err() {
            // From the last on: a slot may occur more than once.
            for (slot, text) in before.into_iter().rev() {
                slots.texts.insert(slot, text);
            }
        }
        PyList::new(py, stepped?)
    }

    fn finish<'py>(&self, slot: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let py = slot.py();
        let number = number_from(slot, "slots").map_err(|error| no_slot(py, error))?;
        let finished = locked(&self.slots)?.texts.remove(&number);
        let text = finished.ok_or_else(|| not_open(number))?;
        utf8(py, &text.waiting, &self.rules.errors)
    }
}

impl Slots {
    /// Adds an id to the text of each slot, and returns what is complete. What was there before is
    /// left in `before`.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        rules: &StreamRules,
        slots: &[u32],
        ids: &[u32],
        before: &mut Vec<(u32, OpenText)>,
    ) -> PyResult<Vec<Bound<'py, PyString>>> {
        let mut complete = Vec::new();
        memory::reserve(&mut complete, slots.len())?;
        memory::reserve(before, slots.len())?;
        for (place, (slot, id)) in slots.iter().zip(ids).enumerate() {
            if place % STEPS_PER_CHECK == STEPS_PER_CHECK - 1 {
                py.check_signals()?;
            }
            let text = self.texts.get_mut(slot).ok_or_else(|| not_open(slot))?;
            let shorter = text.clone();
            let piece = rules.push(py, text, &[*id]).inspect_err(|error| {
                let note = format!("in slot {slot}, number {place} of this step");
                // Without a note, the error is still the same.
                let _ = error.value(py).call_method1(intern!(py, "add_note"), (note,));
            })?;
            before.push((*slot, shorter));
            complete.push(piece);
        }
        Ok(complete)
    }
}

fn not_open(slot: impl Display) -> PyErr {
    PyValueError::new_err(format!("slot {slot} is not open: use the numbers that `open` returns"))
}

/// Says of a number that no slot can have that it is none.
fn no_slot(py: Python<'_>, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyKeyError>(py) { not_open(error.value(py)) } else { error }
}

/// The text of ids as they arrive, in the chunks of `tokenizers.decoders.DecodeStream`.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct DecodedChunks {
    rules: Arc<StreamRules>,
    chunks: Mutex<Chunks>,
}

impl DecodedChunks {
    pub fn new(rules: StreamRules, read: Vec<u32>) -> Self {
        Self { rules: Arc::new(rules), chunks: Mutex::new(Chunks::behind(read)) }
    }
}

#[pymethods]
impl DecodedChunks {
    fn step(&self, ids: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        let py = ids.py();
        let ids = one_or_several(ids)?;
        let tokens = self.rules.encoder.tokens();
        let shown = self.rules.shown(&ids);
        let chunks = &mut *locked(&self.chunks)?;
        watched(py, ids.len(), |pulse| chunks.step(&ids, &shown, tokens, pulse))
    }

    #[getter]
    fn ids(&self) -> PyResult<(Vec<u32>, Vec<u32>)> {
        let chunks = locked(&self.chunks)?;
        Ok((chunks.read.clone(), chunks.waiting.clone()))
    }

    fn __copy__(&self) -> PyResult<Self> {
        let chunks = locked(&self.chunks)?.clone();
        Ok(Self { rules: Arc::clone(&self.rules), chunks: Mutex::new(chunks) })
    }
}

/// Returns one id, or several. A scalar of an array library has a length that cannot be asked for.
fn one_or_several(ids: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    let py = ids.py();
    let is_one = ids.is_exact_instance_of::<PyInt>()
        || match ids.len() {
            Ok(_) => false,
            Err(error) if !error.is_instance_of::<PyTypeError>(py) => return Err(error),
            Err(_) => ids.hasattr(intern!(py, "__index__"))?,
        };
    if is_one { Ok(vec![number_from(ids, "ids")?]) } else { numbers_from(ids, "ids") }
}

/// Does work on this many bytes of text with a workspace of this thread.
fn working<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce(&mut Workspace, &mut Pulse) -> Result<T> + Send,
) -> PyResult<T> {
    watched(py, bytes, |pulse| with_workspace(|workspace, _| work(workspace, pulse)))
}
