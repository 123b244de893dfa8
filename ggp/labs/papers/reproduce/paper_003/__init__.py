"""Paper 003 (Long et al., AAAI 2010): when clairvoyant worlds suffice.

Synthetic trees and deals of cards come in; its figures and its table go out. Begin with
`trees`: heat maps over cells of trees, and claims about them. `figure6` places card games among the
trees, and `kuhn_table` computes Table 1 exactly.
"""
