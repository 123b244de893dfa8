"""Paper 003 (Long et al., AAAI 2010): when clairvoyant worlds suffice.

In come synthetic trees and deals of cards, out go its figures and its table. Begin with
`tree_figures`, heat maps over cells of trees (`tree_cells`) and claims about them (`tree_claims`).
`figure6` places card games among them (`card_deals`, `card_walks`), and `kuhn_table` is Table 1,
exactly.
"""
