"""The commands, one file each: each declares its options and runs."""
