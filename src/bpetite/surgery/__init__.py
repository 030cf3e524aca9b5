"""Changes of finished vocabularies: tokens leave, and a map says what became of each id."""
