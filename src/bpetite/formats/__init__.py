"""Vocabularies from and to files of other libraries, exactly or not at all."""
