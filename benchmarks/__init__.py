"""What the tables of docs/performance.md are made by."""
