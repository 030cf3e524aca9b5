//! The printable characters that GPT-2's and Hugging Face's files, and patterns made for them, have
//! for bytes.

/// Returns the character that byte-level tokenizers use for a byte: itself if it is printable in
/// Latin-1, otherwise one from U+0100 on.
pub fn character_of(byte: u8) -> char {
    let code = match byte {
        0..=0x20 => 0x100 + u32::from(byte),
        0x7F..=0xA0 => 0x121 + u32::from(byte - 0x7F),
        0xAD => 0x143,
        _ => u32::from(byte),
    };
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}
