"""The rest of the specification: added tokens, normalization, dropout, merges that begin with characters.

Its core is in the folder above: `_pretokenizer.py`, `_trainer.py`, `_encoder.py` and `_decoder.py`.
"""
