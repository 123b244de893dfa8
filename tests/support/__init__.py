"""What tests share. Begin with `games`, which has machines of games, built once in a process.

Evaluators with nothing shared with ggp are in `plain`, what compares machines or samples in
`comparing`, and rules made for tests in `sheets`. Matches and players: `matches`, `followed`,
`opponents`, `paths`, `qualities`, `traces`. Processes and files: `commands`, `child_tasks`,
`plug_ins`, `disks`. How much is run: `effort`, and by `code_read` what some code depends on.
"""
