"""A tokenizer and texts → how fast bpetite and other libraries encode them, each in processes of its own."""
