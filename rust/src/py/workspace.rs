//! The workspace of a thread, for texts that are encoded by the thread that asks for their ids.

use std::cell::RefCell;

use crate::encode::Workspace;
use crate::error::Error;

thread_local! {
    /// A workspace and a vector of ids: creating them would take longer than encoding most texts.
    static REUSED: RefCell<(Option<Workspace>, Vec<u32>)> =
        const { RefCell::new((None, Vec::new())) };
}

/// A workspace that has grown beyond this (for a pretoken of a megabyte, say) is dropped, like ids
/// of this size.
const LARGE_WORKSPACE: usize = 1 << 20;

/// Calls with this thread's workspace, and an empty vector for ids.
#[inline(always)]
pub fn with_workspace<R, E: From<Error>>(
    call: impl FnOnce(&mut Workspace, &mut Vec<u32>) -> std::result::Result<R, E>,
) -> std::result::Result<R, E> {
    REUSED.with(|cell| {
        // The garbage collector, or the handler of a signal, may run Python code that gets here
        // again.
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
        if ids.capacity() * size_of::<u32>() > LARGE_WORKSPACE {
            *ids = Vec::new();
        }
        result
    })
}
