"""A seat in the terminal: a person plays a role by what this role is told, and nothing else."""
