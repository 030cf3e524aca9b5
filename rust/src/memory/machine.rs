//! The maximum memory of this process: the machine's memory, or a smaller limit.

use std::fs;

use once_cell::race::OnceBox;

/// Files of Linux that contain an amount of memory, the words before it, and the bytes of its unit.
/// The word `max` or `unlimited` in its place means no limit.
const SOURCES: [(&str, &str, usize); 4] = [
    ("/proc/meminfo", "MemTotal:", 1 << 10),
    // The limit of a container, by the second or the first version of control groups.
    ("/sys/fs/cgroup/memory.max", "", 1),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "", 1),
    // `ulimit -v`.
    ("/proc/self/limits", "Max address space", 1),
];

/// Returns the smallest of these amounts in bytes, read once; `None` on systems that do not have
/// the files.
pub fn memory() -> Option<usize> {
    static MEMORY: OnceBox<Option<usize>> = OnceBox::new();
    *MEMORY.get_or_init(|| {
        let amounts = SOURCES.iter().filter_map(|&(file, before, unit)| {
            let text = fs::read_to_string(file).ok()?;
            amount(&text, before, unit)
        });
        Box::new(amounts.min())
    })
}

/// Returns the number after some words of a text, in bytes.
fn amount(text: &str, before: &str, unit: usize) -> Option<usize> {
    let (_, rest) = text.split_once(before)?;
    let number: usize = rest.split_whitespace().next()?.parse().ok()?;
    Some(number.saturating_mul(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_the_number_after_its_name_and_max_is_none() {
        let about = "MemTotal:       24731708 kB\nMemFree:        11917336 kB\n";
        assert_eq!(amount(about, "MemTotal:", 1 << 10), Some(24_731_708 << 10));
        assert_eq!(amount(about, "SwapTotal:", 1 << 10), None);
        assert_eq!(amount("1073741824\n", "", 1), Some(1 << 30));
        for none in ["max\n", "", "\n", "-1"] {
            assert_eq!(amount(none, "", 1), None);
        }
        let limits = "Max cpu time      unlimited   unlimited   seconds\n\
                      Max address space 2097152000  unlimited   bytes\n";
        assert_eq!(amount(limits, "Max address space", 1), Some(2_097_152_000));
        assert_eq!(amount(limits, "Max cpu time", 1), None);
        assert_eq!(amount("18446744073709551615", "", 1 << 10), Some(usize::MAX));
    }
}
