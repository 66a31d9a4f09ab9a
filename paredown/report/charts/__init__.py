"""Charts as inline SVG: pure functions from plain figures to markup. Colours come from the page's style sheet."""
