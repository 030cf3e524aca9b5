"""The Rust engine (`rust/src/`), as Python sees it. Private: `bpetite` is the public face."""

__all__ = ["UNICODE_VERSION"]

UNICODE_VERSION: str
