"""What the tables of docs/measured/performance.md are made by."""
