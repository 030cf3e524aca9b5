"""bpetite: byte-level BPE tokenizers, trained exactly, fast to use, readable in plain Python."""
