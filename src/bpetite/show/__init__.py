"""What shows things to people: tokens in colours, merges step by step, the report, the viewer."""
