"""The client of OpenAI-compatible streaming servers."""
