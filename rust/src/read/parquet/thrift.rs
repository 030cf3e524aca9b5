//! A reader of Thrift's compact protocol.

/// The maximum depth of nested structures and lists.
const DEPTH: u32 = 16;

/// Reads the fields of structures.
pub struct Fields<'a> {
    bytes: &'a [u8],
    place: usize,
    depth: u32,
}

/// The value of a field. Of lists and structures, only the number and the kind of the items have been read.
#[derive(Clone, Copy)]
pub enum Value {
    Integer(i64),
    Boolean(bool),
    List(List),
    Structure,
    /// Anything else; it was skipped.
    Other,
}

/// Items of one kind.
#[derive(Clone, Copy)]
pub struct List {
    items: usize,
    kind: u8,
}

const STRUCTURE: u8 = 12;

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, place: 0, depth: 0 }
    }

    /// The number of bytes that were read.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Read a structure: `each` gets the number and the value of each field, and reads the items of lists and structures.
    pub fn structure(&mut self, each: &mut dyn FnMut(&mut Self, i64, Value) -> Option<()>) -> Option<()> {
        let mut number: i64 = 0;
        self.deeper(|fields| {
            loop {
                let byte = fields.byte()?;
                if byte == 0 {
                    return Some(());
                }
                number = match byte >> 4 {
                    0 => fields.integer()?,
                    step => number.checked_add(i64::from(step))?,
                };
                let value = match byte & 15 {
                    kind @ (1 | 2) => Value::Boolean(kind == 1),
                    kind => fields.value(kind)?,
                };
                each(fields, number, value)?;
            }
        })
    }

    /// Read a structure and return its first integer fields, numbered from 1.
    pub fn integers<const N: usize>(
        &mut self,
        mut each: impl FnMut(&mut Self, i64, Value) -> Option<()>,
    ) -> Option<[Option<i64>; N]> {
        let mut integers = [None; N];
        self.structure(&mut |fields, number, value| {
            let place = number.checked_sub(1).and_then(|place| usize::try_from(place).ok());
            let place = place.and_then(|place| integers.get_mut(place));
            if let (Some(place), Value::Integer(integer)) = (place, value) {
                *place = Some(integer);
            }
            each(fields, number, value)
        })?;
        Some(integers)
    }

    /// Read a list of structures: `each` reads one of them.
    pub fn structures(
        &mut self,
        list: List,
        each: &mut dyn FnMut(&mut Self, usize) -> Option<()>,
    ) -> Option<()> {
        if list.kind != STRUCTURE && list.items > 0 {
            return None;
        }
        self.deeper(|fields| (0..list.items).try_for_each(|item| each(fields, item)))
    }

    /// Read a list of integers.
    pub fn integers_of(&mut self, list: List) -> Option<Vec<i64>> {
        // Each takes at least one byte.
        if list.items > self.bytes.len() - self.place {
            return None;
        }
        (0..list.items)
            .map(|_| match self.value(list.kind)? {
                Value::Integer(integer) => Some(integer),
                _ => None,
            })
            .collect()
    }

    /// Skip a field.
    pub fn skip(&mut self, _: i64, value: Value) -> Option<()> {
        match value {
            Value::Integer(_) | Value::Boolean(_) | Value::Other => Some(()),
            Value::Structure => self.structure(&mut Self::skip),
            Value::List(list) => self.deeper(|fields| {
                (0..list.items).try_for_each(|_| {
                    let item = fields.value(list.kind)?;
                    fields.skip(0, item)
                })
            }),
        }
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        let read = if self.depth <= DEPTH { read(self) } else { None };
        self.depth -= 1;
        read
    }

    /// A value of a kind; a bool outside of fields is one byte.
    fn value(&mut self, kind: u8) -> Option<Value> {
        Some(match kind {
            1..=3 => self.pass(1)?,
            4..=6 => Value::Integer(self.integer()?),
            7 => self.pass(8)?,
            8 => {
                let length = usize::try_from(self.unsigned()?).ok()?;
                self.pass(length)?
            }
            9 | 10 => {
                let byte = self.byte()?;
                let items = if byte >> 4 < 15 { u64::from(byte >> 4) } else { self.unsigned()? };
                Value::List(List { items: usize::try_from(items).ok()?, kind: byte & 15 })
            }
            STRUCTURE => Value::Structure,
            _ => return None,
        })
    }

    fn pass(&mut self, bytes: usize) -> Option<Value> {
        self.place = self.place.checked_add(bytes).filter(|&place| place <= self.bytes.len())?;
        Some(Value::Other)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.place)?;
        self.place += 1;
        Some(byte)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let (value, length) = unsigned(self.bytes.get(self.place..)?)?;
        self.place += length;
        Some(value)
    }

    fn integer(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

/// An integer of seven bits a byte, and the number of its bytes.
pub fn unsigned(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 127) << (7 * place);
        if byte < 128 {
            return Some((value, place + 1));
        }
    }
    None
}
