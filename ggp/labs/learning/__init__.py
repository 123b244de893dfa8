"""Learning: environments of many lanes, policies of nets by self-play, and who can beat a player.

`env` has a game as arrays of fixed shapes, `selfplay` learns policies in it, and `jax_export`
writes a game as a module of JAX. `respond` learns to respond to any player: a bound on what it can
lose.

For players, `learned` plays policies, `learnt_values` values states and `learnt_moves` say how
others move by what is in a file; `policy_search` is a step of search on a policy. The commands are
`learn_command`, which learns from several `learnt_seeds`, `policies_command` and `respond_command`.
"""
