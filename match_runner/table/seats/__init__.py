"""A match of the table in its worker process: seats, and what people in them are shown.

In come settings and moves of people over a `link`, out go frames of what happened. Begin with
`seating`, the match; `mind` shows what a player thinks.
"""
