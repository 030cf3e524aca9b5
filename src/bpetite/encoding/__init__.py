"""What a tokenizer does around the engine: it prepares texts, and fits them to a number of tokens."""
