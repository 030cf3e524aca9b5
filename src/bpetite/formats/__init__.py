"""Vocabularies to and from other people's files, exactly or not at all."""
