"""The interfaces of other libraries for our vocabularies."""
