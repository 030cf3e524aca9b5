//! The error type of the engine. The bindings map each kind to one Python exception.

use std::fmt;
use std::path::PathBuf;

/// An error of the engine.
#[derive(Debug)]
pub enum Error {
    /// An invalid argument or input (`ValueError`).
    Value(String),
    /// A value of the wrong type (`TypeError`).
    Type(String),
    /// An id that no token has (`KeyError`).
    UnknownId(u64),
    /// A count that does not fit 64 unsigned bits (`OverflowError`).
    Overflow(String),
    /// Not enough memory (`MemoryError`).
    Memory(String),
    /// A file that could not be read or written (`OSError` and its subclasses).
    Io { path: PathBuf, source: std::io::Error },
    /// Bytes that are not UTF-8 (`ValueError`): the input, and the offset of the first invalid
    /// byte.
    NotUtf8 { input: String, offset: u64 },
    /// A special token in a text that must have none, and the number of characters before it
    /// (`ValueError`).
    Special { token: String, character: usize },
    /// An exception raised by the caller's code or by a signal; it is passed on unchanged. If it
    /// `interrupts` (Ctrl-C), the call ends at once.
    Caller { raised: Box<dyn std::error::Error + Send + Sync>, interrupts: bool },
    /// The process was forked during a call with several threads, which the child does not have
    /// (`RuntimeError`).
    Forked,
    /// Another thread of the call failed; its error is reported instead.
    Stopped,
}

/// The engine's result type.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(message)
            | Self::Type(message)
            | Self::Overflow(message)
            | Self::Memory(message) => f.write_str(message),
            Self::UnknownId(id) => write!(f, "{id}"),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::NotUtf8 { input, offset } => {
                write!(f, "{input}: not valid UTF-8 at byte {offset}")
            }
            Self::Special { token, character } => write!(
                f,
                "the text contains the special token {token:?} at character {character}; \
                 special=\"parse\" gives its id, special=\"text\" encodes it as ordinary text"
            ),
            Self::Caller { raised, .. } => write!(f, "{raised}"),
            Self::Forked => f.write_str(
                "this process was forked during a call that uses threads, and does not have these \
                 threads; only the parent process can finish the call",
            ),
            Self::Stopped => f.write_str("another thread ended the call"),
        }
    }
}

impl Error {
    /// The same error, with the place of a special token moved.
    pub fn moved(self, place: impl FnOnce(usize) -> usize) -> Self {
        match self {
            Self::Special { token, character } => {
                Self::Special { token, character: place(character) }
            }
            other => other,
        }
    }
}

impl std::error::Error for Error {}
