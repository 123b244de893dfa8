"""A game whose costs are tuples, in KIF: a buyer earns coins and ore, and buys a building."""

SHOP = """
(role Buyer) (role seller)
(init (price temple (3 Coins))) (init (price wall (1 ore)))
(init (has (2 Coins))) (init (has (1 ore))) (init (step 1))
(succ 1 2) (succ 2 3) (succ 3 4)
(<= (legal Buyer (buy ?card (?n ?c))) (true (price ?card (?n ?c))) (true (has (?n ?c))))
(<= (legal Buyer (earn (?m ?c))) (true (has (?n ?c))) (succ ?n ?m))
(legal seller noop)
(<= (next (price ?card ?p)) (true (price ?card ?p)) (not (does Buyer (buy ?card ?p))))
(<= (next (owns ?card)) (does Buyer (buy ?card ?p)))
(<= (next (owns ?card)) (true (owns ?card)))
(<= (next (has ?p)) (does Buyer (earn ?p)))
(<= (next (has ?p)) (true (has ?p)) (does Buyer (buy ?card ?q)) (distinct ?p ?q))
(<= (next (has (?n ?c))) (true (has (?n ?c))) (does Buyer (earn (?m ?d))) (distinct ?c ?d))
(<= (next (step ?m)) (true (step ?n)) (succ ?n ?m))
(<= terminal (true (step 4)))
(<= terminal (true (owns ?card)))
(<= (goal Buyer 100) (true (owns temple)))
(<= (goal Buyer 50) (true (owns wall)))
(<= (goal Buyer 0) (not (true (owns temple))) (not (true (owns wall))))
(goal seller 50)
"""
