//! The Python class `PageTexts`.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::texts::{Buffers, JoinedTexts};
use crate::memory;
use crate::read::parquet::{self, Chunk, Given, Header};
use crate::read::unsnappy::{Reach, Unsnappy};

/// A page that is copied, or one that is kept.
#[derive(FromPyObject)]
enum PyPage<'py> {
    Kept(PyBackedBytes),
    Copied(PyReadonlyArray1<'py, u8>),
}

/// Collects the texts of a Parquet column page by page. It refuses any page that it does not fully understand; pyarrow
/// then reads the column.
#[pyclass(name = "PageTexts", module = "bpetite._engine")]
pub struct PyPageTexts {
    texts: parquet::PageTexts,
    /// The header of the next page.
    header: Option<Header>,
    buffers: Py<Buffers>,
}

#[pymethods]
impl PyPageTexts {
    #[new]
    fn new(buffers: Py<Buffers>) -> Self {
        Self { texts: parquet::PageTexts::default(), header: None, buffers }
    }

    fn begin_group(&mut self, optional: bool) {
        self.texts.begin_group(optional);
    }

    fn take_header(&mut self, header: &[u8]) -> Option<(usize, usize, usize, bool, bool)> {
        self.header = Header::read(header);
        let told = |is: Header| (is.length, is.packed, is.unpacked, is.is_packed, is.is_dictionary());
        self.header.map(told)
    }

    fn take_page(
        &mut self,
        py: Python<'_>,
        page: PyPage<'_>,
        is_snappy: bool,
        most: usize,
    ) -> PyResult<Option<usize>> {
        let Some(header) = self.header.take() else { return Ok(None) };
        self.texts.drop_kept();
        let given = match &page {
            PyPage::Copied(page) => {
                page.as_slice().map_err(|_| PyValueError::new_err("page must be contiguous"))?
            }
            PyPage::Kept(page) => page,
        };
        let given = match page {
            _ if is_snappy => Given::Snappy(given),
            PyPage::Copied(_) => Given::Plain(given),
            PyPage::Kept(page) => Given::Kept(Box::new(page)),
        };
        Ok(py.detach(|| self.texts.take_page(header, given, most))?)
    }

    /// Begin a page that comes in blocks: how much of the first block is not strings, and their number.
    fn begin_stream(&mut self, block: &[u8], most: usize) -> Option<(usize, usize)> {
        let header = self.header.take()?;
        self.texts.drop_kept();
        self.texts.begin_stream(header, block, most)
    }

    fn stream_block(
        &mut self,
        py: Python<'_>,
        block: PyBackedBytes,
        start: usize,
        longest: usize,
    ) -> PyResult<(usize, Option<usize>)> {
        let (read, long) = py.detach(|| {
            self.buffers.get().lend_to(&mut self.texts.texts)?;
            self.texts.stream_block(&block[start.min(block.len())..], longest)
        })?;
        Ok((start + read, long))
    }

    #[getter]
    fn has_streamed(&self) -> bool {
        self.texts.has_streamed()
    }

    fn stream_dictionary(&mut self, py: Python<'_>, block: PyBackedBytes, place: usize) -> PyResult<bool> {
        Ok(py.detach(|| self.texts.stream_dictionary(&block, place))?)
    }

    #[getter]
    fn next_absent(&self) -> Option<usize> {
        self.texts.next_absent()
    }

    fn skip_row(&mut self) {
        self.texts.skip_row();
    }

    fn are_in_order(&self, start: usize) -> bool {
        self.texts.are_in_order(start)
    }

    fn gather(&mut self, py: Python<'_>, size: usize, longest: usize) -> PyResult<bool> {
        Ok(py.detach(|| {
            self.buffers.get().lend_to(&mut self.texts.texts)?;
            self.texts.gather(size, longest)
        })?)
    }

    #[getter]
    fn next_size(&self) -> usize {
        self.texts.next_length()
    }

    /// Hand out the next bytes of the next row.
    fn take_slice<'py>(&mut self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        memory::ensure(size)?;
        Ok(PyBytes::new(py, self.texts.take_slice(size)))
    }

    fn __len__(&self) -> usize {
        self.texts.texts.places().len()
    }

    #[getter]
    fn size(&self) -> usize {
        self.texts.texts.length() + size_of_val(self.texts.texts.places())
    }

    /// Hand out the texts so far.
    fn take(&mut self) -> JoinedTexts {
        self.buffers.get().hand_out(self.texts.take_texts())
    }
}

impl Drop for PyPageTexts {
    fn drop(&mut self) {
        self.buffers.get().hand_out(self.texts.take_texts());
    }
}

/// Decompresses a block of Snappy that arrives in pieces.
#[pyclass(name = "Unsnappy", module = "bpetite._engine")]
#[derive(Default)]
pub struct PyUnsnappy {
    snappy: Unsnappy,
    reach: Reach,
}

#[pymethods]
impl PyUnsnappy {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn look(&mut self, py: Python<'_>, piece: PyBackedBytes) -> PyResult<()> {
        Ok(py.detach(|| self.reach.take_piece(&piece))?)
    }

    #[getter]
    fn size(&self) -> Option<usize> {
        self.reach.size()
    }

    fn unpack<'py>(&mut self, py: Python<'py>, piece: PyBackedBytes) -> PyResult<Bound<'py, PyBytes>> {
        py.detach(|| self.snappy.take_piece(&piece))?;
        let unpacked = self.snappy.take();
        memory::ensure(unpacked.len())?;
        Ok(PyBytes::new(py, unpacked))
    }
}

/// The chunk of a column in a row group: the encodings of its pages, the codec, the number of values, the size unpacked
/// and packed, and the offset in the file.
type ColumnPlace = (Vec<i64>, i64, i64, i64, i64, i64);

/// The chunk of a column in each row group, according to the metadata at the end of a file.
#[pyfunction]
pub fn column_chunks(metadata: &[u8], column: usize) -> Option<Vec<ColumnPlace>> {
    let chunks = Chunk::read_all(metadata, column)?;
    let fields = |chunk: Chunk| {
        (chunk.encodings, chunk.codec, chunk.values, chunk.unpacked, chunk.packed, chunk.start)
    };
    Some(chunks.into_iter().map(fields).collect())
}
