//! The Python bindings, in the only folder that names PyO3: they convert Python objects, call the
//! engine, and convert its results back.

use pyo3::exceptions::{
    PyKeyError, PyMemoryError, PyOSError, PyOverflowError, PyRuntimeError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;

use crate::error::Error;
use crate::portable;

mod arguments;
mod calls;
mod columns;
mod count;
mod decode;
mod encode;
mod files;
mod framed;
mod gathered;
mod ids;
mod merge;
mod normalize;
mod pretokenize;
mod resources;
mod streams;
mod text_pairs;
mod texts;
mod vocabulary;
mod watch;
mod workspace;

/// The hot loops of bpetite. They are not tested without the GIL, so the module asks a
/// free-threaded Python to enable it.
#[allow(clippy::large_stack_frames)] // It runs once.
#[pymodule(gil_used = true)]
mod _engine {
    use super::*;
    #[pymodule_export]
    use super::{
        columns::TextColumn,
        count::PyCountTable,
        encode::PyEncoder,
        files::{PyGunzip, Xxh3128},
        framed::{FramedEncoder, FramedEncoding},
        gathered::PyFileTexts,
        merge::{extend_merges, train_merges, train_symbol_merges},
        normalize::PyNormalizer,
        pretokenize::{
            avoids, covers_all_text, pattern_way, pretokenize, read_pattern, safe_cut, same_pattern,
        },
        resources::{thread_count, trim_memory},
        streams::{DecodeStream, DecodeStreams, DecodedChunks, GrowingEncoding, PyEncodeStream},
        text_pairs::{cut_json, listed_merges, merges_that_happen, read_pieces, read_printed},
        texts::is_utf8,
        vocabulary::{
            base64_lines, complete_tokens, numbers_json, pairs_json, recover_merges, tokens_json,
        },
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        portable::is_wanted();
        module.add("UNICODE_VERSION", crate::unicode::UNICODE_VERSION)
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::UnknownId(id) => PyKeyError::new_err(id),
            Error::Type(message) => PyTypeError::new_err(message),
            Error::Overflow(message) => PyOverflowError::new_err(message),
            Error::Memory(message) => PyMemoryError::new_err(message),
            // Two arguments let OSError pick its subclass (FileNotFoundError, PermissionError,
            // ...).
            Error::Io { path, source } => match source.raw_os_error() {
                Some(code) => {
                    PyOSError::new_err((code, system_message(&source, code), path.into_os_string()))
                }
                None => PyOSError::new_err(format!("{}: {source}", path.display())),
            },
            Error::Caller { raised, .. } => match raised.downcast::<PyErr>() {
                Ok(exception) => *exception,
                Err(other) => PyRuntimeError::new_err(other.to_string()),
            },
            Error::Forked => PyRuntimeError::new_err(Error::Forked.to_string()),
            other => PyValueError::new_err(other.to_string()),
        }
    }
}

/// The system's message for an error, without the number that Rust appends.
fn system_message(error: &std::io::Error, code: i32) -> String {
    let message = error.to_string();
    message.strip_suffix(&format!(" (os error {code})")).unwrap_or(&message).to_owned()
}
