"""From files to tidy tables of words, each with its page, line, column and box. Readers know nothing of encoders."""
