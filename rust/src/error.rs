//! What can go wrong in the engine, as one type; the bindings turn each kind into one Python exception.

use std::fmt;
use std::path::PathBuf;

/// Everything the engine can refuse or fail at.
#[derive(Debug)]
pub enum Error {
    /// An argument or an input that cannot be accepted (`ValueError`).
    Value(String),
    /// An id that no token has (`KeyError`).
    UnknownId(u64),
    /// A count that does not fit 64 unsigned bits (`OverflowError`).
    Overflow(String),
    /// Memory that could not be had (`MemoryError`).
    Memory(String),
    /// A file that could not be read or written (`OSError` and its subclasses).
    Io { path: PathBuf, source: std::io::Error },
    /// Bytes that are not UTF-8 (`ValueError`): which input, and the offset of the first bad byte.
    NotUtf8 { input: String, offset: u64 },
    /// An exception that the caller's own code or a signal raised; it is passed on unchanged. One that `interrupts`
    /// (Ctrl-C) ends the call at once.
    Caller { raised: Box<dyn std::error::Error + Send + Sync>, interrupts: bool },
    /// This process was forked while the call was under way on several threads, which it does not have (`RuntimeError`).
    Forked,
    /// Another thread of the same call has ended it, with an error of its own that is reported instead.
    Stopped,
}

/// The engine's result type.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(message) | Self::Overflow(message) | Self::Memory(message) => f.write_str(message),
            Self::UnknownId(id) => write!(f, "{id}"),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::NotUtf8 { input, offset } => {
                write!(f, "{input}: not valid UTF-8 at byte {offset}")
            }
            Self::Caller { raised, .. } => write!(f, "{raised}"),
            Self::Forked => f.write_str(
                "this process was forked while threads were at work, which it does not have: \
                 the work goes on in the other process only",
            ),
            Self::Stopped => f.write_str("another thread ended the call"),
        }
    }
}

impl std::error::Error for Error {}
