"""What several formats have in common, and what only one of them needs to be read or checked."""
