"""Tokenizers in, a web page on this machine out: `bpetite view`.

- `server.py` speaks HTTP on 127.0.0.1 and refuses everything that does not come from there;
- `answers.py` is what the page may ask: plain values in, plain values out;
- `page/` is the page: HTML, CSS and JavaScript modules, written by hand and served as they are.
"""
