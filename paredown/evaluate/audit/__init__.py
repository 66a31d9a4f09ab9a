"""The audit: what is weak about prompts, calibration data and tokenizer, before anybody is judged. One file a topic."""
