"""The interfaces of other libraries, on our vocabularies."""
