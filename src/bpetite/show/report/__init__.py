"""A tokenizer and texts in, one self-contained HTML file out: `bpetite report`.

- `measures.py` encodes the texts once and works out the numbers;
- `plots.py` draws points as inline SVG;
- `page.py` puts numbers and plots on a page.
"""
