//! Characters to UTF-8.

use crate::error::Result;
use crate::memory;

/// The number of characters that are looked at together.
const BLOCK: usize = 16;

/// The most bytes of a character.
const MOST: usize = 4;

/// Write characters as UTF-8 to the start of `room`, which grows if need be, and return the bytes. A lone surrogate is
/// written like any other character, so that the bytes are not UTF-8.
pub fn write<'b>(characters: &[u32], room: &'b mut Vec<u8>) -> Result<&'b [u8]> {
    let most = MOST * (characters.len() + BLOCK);
    if room.len() < most {
        memory::reserve(room, most - room.len())?;
        room.resize(most, 0);
    }
    let length =
        if are_ascii(characters) { write_ascii(characters, room) } else { write_blocks(characters, room) };
    Ok(&room[..length])
}

/// Whether all of the characters are ASCII.
pub fn are_ascii(characters: &[u32]) -> bool {
    bits_of(characters) < 0x80
}

/// The bits that any of the characters has.
#[inline(always)]
fn bits_of(characters: &[u32]) -> u32 {
    characters.iter().fold(0, |bits, character| bits | character)
}

#[inline(always)]
fn write_ascii(characters: &[u32], room: &mut [u8]) -> usize {
    for (byte, &character) in room.iter_mut().zip(characters) {
        *byte = character as u8;
    }
    characters.len()
}

fn write_blocks(characters: &[u32], room: &mut [u8]) -> usize {
    let mut length = 0;
    let (blocks, rest) = characters.as_chunks();
    for block in blocks {
        length += write_block(block, &mut room[length..]);
    }
    // What is missing of a block is made up by characters of one byte, which are then dropped.
    let mut block = [0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    length + write_block(&block, &mut room[length..]) - (BLOCK - rest.len())
}

/// Write the characters of a block; returns the number of bytes. What they have in common saves comparisons for each.
#[inline(always)]
fn write_block(block: &[u32; BLOCK], room: &mut [u8]) -> usize {
    match bits_of(block) {
        ..0x80 => write_ascii(block, room),
        0x80..0x800 => write_each::<2>(block, room),
        0x800..0x10000 => write_each::<3>(block, room),
        _ => write_each::<4>(block, room),
    }
}

/// Write characters that have at most `N` bytes each. First the bytes of all are computed, several at a time and without a
/// branch, because it is hard to foresee how many the next one has.
#[inline(always)]
fn write_each<const N: usize>(block: &[u32; BLOCK], room: &mut [u8]) -> usize {
    let (mut bytes, mut lengths) = ([0; BLOCK], [0; BLOCK]);
    for (place, &character) in block.iter().enumerate() {
        bytes[place] = bytes_of::<N>(character);
        lengths[place] = length_of::<N>(character);
    }
    let mut length = 0;
    for (bytes, more) in bytes.iter().zip(lengths) {
        // The next character is written over those that are not used.
        room[length..length + MOST].copy_from_slice(&bytes.to_le_bytes());
        length += more as usize;
    }
    length
}

/// The bytes of a character that has at most `N`, the first one in the lowest place.
#[inline(always)]
fn bytes_of<const N: usize>(character: u32) -> u32 {
    let six = |bits: u32| 0x80 | character >> bits & 0x3F;
    let mut bytes = 0xC0 | character >> 6 | six(0) << 8;
    if N > 2 {
        let three = 0xE0 | character >> 12 | six(6) << 8 | six(0) << 16;
        bytes = if character < 0x800 { bytes } else { three };
    }
    if N > 3 {
        let four = 0xF0 | character >> 18 | six(12) << 8 | six(6) << 16 | six(0) << 24;
        bytes = if character < 0x10000 { bytes } else { four };
    }
    if character < 0x80 { character } else { bytes }
}

/// The number of bytes of a character that has at most `N`.
#[inline(always)]
fn length_of<const N: usize>(character: u32) -> u32 {
    let more = |from| u32::from(character >= from);
    1 + more(0x80) + if N > 2 { more(0x800) } else { 0 } + if N > 3 { more(0x10000) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(characters: &[u32]) -> Vec<u8> {
        write(characters, &mut Vec::new()).unwrap().to_vec()
    }

    #[test]
    fn every_character_is_written_as_the_standard_library_writes_it() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        let characters: Vec<u32> = all.iter().map(|&character| character.into()).collect();
        assert_eq!(written(&characters), String::from_iter(&all).into_bytes());
        for character in all {
            assert_eq!(written(&[character.into()]), character.to_string().into_bytes());
        }
    }

    #[test]
    fn characters_of_all_lengths_may_stand_beside_each_other() {
        let mut state = 1_u64;
        let mut room = Vec::new();
        for length in (0..200).chain([3000]) {
            let text: String = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    ['a', '\u{7f}', '\u{80}', 'é', '\u{7ff}', '\u{800}', '中', '\u{ffff}', '\u{10000}', '😀']
                        [(state >> 33) as usize % (1 + length % 10)]
                })
                .collect();
            let characters: Vec<u32> = text.chars().map(u32::from).collect();
            assert_eq!(write(&characters, &mut room).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn a_lone_surrogate_makes_no_utf_8() {
        for surrogate in 0xD800..=0xDFFF {
            assert!(std::str::from_utf8(&written(&[0x61, surrogate, 0x61])).is_err());
        }
        assert!(std::str::from_utf8(&written(&[0xD83D, 0xDE00])).is_err(), "nor do two");
    }
}
