% Playouts: part of the module of runtime.pl.

:- set_prolog_flag(generate_debug_info, false).
:- set_prolog_flag(optimise, true).

% playouts(+M, +Roles, +Seed, +MaxSteps, +Time, +Ids): for every state a line: steps,
% finished, then the goals as in goals/3 if finished. Chance is uniform, and so are the players.
% After Time, wall(Seconds), cpu(Seconds) or inf, playouts are left unfinished.
playouts(M, Roles, Seed, MaxSteps, Time, Ids) :-
    seeded(Seed, Rng),
    until(Time, Until),
    playouts_(Ids, bounds(MaxSteps, Until, Rng), Roles, M).

until(inf, inf).
until(wall(Seconds), wall(Until)) :- get_time(Now), Until is Now + Seconds.
until(cpu(Seconds), cpu(Until)) :- statistics(process_cputime, Now), Until is Now + Seconds.

passed(wall(Until)) :- get_time(Now), Now >= Until.
passed(cpu(Until)) :- statistics(process_cputime, Now), Now >= Until.

playouts_([], _, _, _).
playouts_([Id|Ids], Bounds, Roles, M) :-
    M:ggp_state(Id, State), !,
    \+ \+ playout(State, Bounds, Roles, M),
    playouts_(Ids, Bounds, Roles, M).

playout(State, Bounds, Roles, M) :-
    M:ggp_tree(Memory), emptied_if_full(Memory), nb_getval(Memory, Tree),
    arg(1, Bounds, MaxSteps),
    bounded(( node_of(Tree, State, Node) -> Next = node(Node)
            ; load(M, State), entered(Tree, State, 0, MaxSteps, Roles, M, Next) )),
    follow(Next, 0, play(Bounds, Roles, M, Tree, 1)).

% ------------------------------------------------------------------ states that come again

% Playouts begin in the same states again and again. So a tree of states grows by one state with
% every playout. It has whether a state is over, with which goals, and its legal moves, by number. A
% playout goes from node to node as long as it can, without loading a state, and then from state to
% state. Neither its draws nor its results depend on what the tree holds.
%
% tree(Ids, Nodes, Edges, Moves, Lists, NextNode, NextMove, Left, Worth): Ids gives the node of a
% state, Nodes the state and Info of a node: over(Goals), stuck or on(Ranges), of the numbers of
% each role's moves. Edges gives the node that moves, by number, lead to from a node, Moves the
% moves. Lists has ranges of legal moves by the fluents they depend on. Left is the number of cells
% that may still be kept, Worth that of inferences that may still be wasted on looking for lists.

follow(loaded(State), Steps, play(Bounds, Roles, M, _, _)) :-
    playout(Steps, State, Bounds, Roles, M).
follow(node(Node), Steps, Play) :-
    Play = play(Bounds, Roles, M, Tree, More),
    bounded(from_node(Node, Steps, Bounds, Tree, Outcome)),
    ( Outcome = to(Node1)
    -> Steps1 is Steps + 1, follow(node(Node1), Steps1, Play)
    ; Outcome = by(Numbers)
    -> Steps1 is Steps + 1,
       bounded(leave(Node, Numbers, Steps1, Play, Next)),
       More1 is More - 1,
       follow(Next, Steps1, play(Bounds, Roles, M, Tree, More1))
    ; Outcome = end(Flag, Goals), format("~w ~w ~w~n", [Steps, Flag, Goals]) ).

from_node(Node, Steps, bounds(MaxSteps, Until, Rng), Tree, Outcome) :-
    Tree = tree(_, Nodes, Edges, _, _, _, _, _, _),
    ( passed(Until) -> Outcome = end(0, '')
    ; trie_lookup(Nodes, info(Node), Info),
      ( Info = over(Goals) -> Outcome = end(1, Goals)
      ; Steps < MaxSteps, Info = on(Ranges)
      -> numbers_drawn(Ranges, Rng, Numbers),
         ( trie_lookup(Edges, Node-Numbers, Node1) -> Outcome = to(Node1) ; Outcome = by(Numbers) )
      ; Outcome = end(0, '') ) ).

numbers_drawn([], _, []).
numbers_drawn([range(First, N)|Ranges], Rng, [I|Is]) :-
    ( N =:= 1 -> I = First ; below(N, Rng, I0), I is First + I0 ),
    numbers_drawn(Ranges, Rng, Is).

leave(Node, Numbers, Steps, play(Bounds, Roles, M, Tree, More), Next) :-
    Tree = tree(_, Nodes, Edges, Moves, _, _, _, _, _),
    arg(1, Bounds, MaxSteps),
    trie_lookup(Nodes, state(Node), State),
    moves_numbered(Numbers, Moves, Joint),
    load(M, State), play(M, Roles, Joint), next_state(M, Successor),
    ( node_of(Tree, Successor, Node1) -> Next = node(Node1)
    ; load(M, Successor),
      ( More > 0 -> entered(Tree, Successor, Steps, MaxSteps, Roles, M, Next)
      ; Next = loaded(Successor) ) ),
    ( Next = node(Node2) -> trie_insert(Edges, Node-Numbers, Node2), keep(Numbers, Tree) ; true ).

moves_numbered([], _, []).
moves_numbered([I|Is], Trie, [Move|Moves]) :-
    trie_lookup(Trie, I, Move), moves_numbered(Is, Trie, Moves).

node_of(Tree, State, Node) :- arg(1, Tree, Ids), trie_lookup(Ids, State, Node).

% entered(!Tree, +State, ...): a node for the loaded state, unless the playout ends in it anyway.
entered(Tree, State, Steps, MaxSteps, Roles, M, Next) :-
    ( Steps >= MaxSteps -> Next = loaded(State)
    ; ( M:terminal
      -> with_output_to(string(Goals), write_goals(Roles, M)), Info = over(Goals)
      ; ranges(Roles, M, Tree, Ranges) -> Info = on(Ranges)
      ; Info = stuck ),
      Tree = tree(Ids, Nodes, _, _, _, Node, _, _, _),
      trie_insert(Ids, State, Node),
      trie_insert(Nodes, state(Node), State), trie_insert(Nodes, info(Node), Info),
      Node1 is Node + 1, nb_setarg(6, Tree, Node1),
      keep(node(State, State, Info), Tree),
      Next = node(Node) ).

ranges([], _, _, []).
ranges([R|Rs], M, Tree, [Range|Ranges]) :-
    ( M:ggp_by_asked -> range_by_asked(R, M, Tree, Range)
    ; legal_moves(M, R, Legal), numbered_moves(Legal, Tree, Range) ),
    ranges(Rs, M, Tree, Ranges).

% Legal moves are remembered by the fluents they depend on, as long as that pays: a list that is
% found saves the inferences that it took, but looking for it takes a few for each fluent.
range_by_asked(R, M, Tree, Range) :-
    findall(F, M:ggp_asked(F), Asked0), sort(Asked0, Asked),
    length(Asked, Number), Look is 3 * Number + 15,
    Tree = tree(_, _, _, _, Lists, _, _, _, Worth0), Key = R-Asked,
    ( trie_lookup(Lists, Key, taken(Took, Range))
    -> Worth is min(Worth0 + Took - Look, 50_000)
    ; statistics(inferences, Before),
      legal_moves(M, R, Legal), numbered_moves(Legal, Tree, Range),
      statistics(inferences, After), Took is After - Before,
      trie_insert(Lists, Key, taken(Took, Range)), keep(Key, Tree),
      Worth is Worth0 - Took - Look ),
    nb_setarg(9, Tree, Worth),
    ( Worth < 0 -> retractall(M:ggp_by_asked) ; true ).

numbered_moves(Legal, Tree, range(First, N)) :-
    Legal \== [],
    Tree = tree(_, _, _, Moves, _, _, First, _, _),
    number_moves(Legal, First, Next, Moves), nb_setarg(7, Tree, Next),
    N is Next - First,
    keep(Legal, Tree).

number_moves([], I, I, _).
number_moves([Move|Legal], I, Next, Moves) :-
    trie_insert(Moves, I, Move), I1 is I + 1, number_moves(Legal, I1, Next, Moves).

keep(Term, Tree) :-
    term_size(Term, Cells), arg(8, Tree, Left0),
    Left is Left0 - Cells - 10, nb_setarg(8, Tree, Left).

emptied_if_full(Memory) :-
    nb_getval(Memory, Tree), arg(8, Tree, Left),
    ( Left < 0 -> renew_tree(Memory) ; true ).

renew_tree(Memory) :-
    nb_getval(Memory, Tree), empty_tree(Memory), drop_tries(Tree).

empty_tree(Memory) :-
    length(Tries, 5), maplist(trie_new, Tries),
    limit(remembered, Max), Left is Max // 8,
    append(Tries, [0, 0, Left, 50_000], Args), Tree =.. [tree|Args],
    nb_setval(Memory, Tree).

drop_tree(Memory) :- nb_getval(Memory, Tree), drop_tries(Tree).

drop_tries(Tree) :- forall(( between(1, 5, I), arg(I, Tree, Trie) ), trie_destroy(Trie)).

% ------------------------------------------------------------------ from state to state

% The loaded state is recorded at the end: recording it in every step would cost a copy.
playout(Steps, State, Bounds, Roles, M) :-
    bounded(playout_step(Steps, State, Bounds, Roles, M, Outcome)),
    ( Outcome = on(Next)
    -> Steps1 is Steps + 1, playout(Steps1, Next, Bounds, Roles, M)
    ; nb_setval(M, State),
      write(Steps), put_char(' '), write(Outcome), put_char(' '),
      ( Outcome == 1 -> bounded(write_goals(Roles, M)) ; true ), nl ).

playout_step(Steps, State, bounds(MaxSteps, Until, Rng), Roles, M, Outcome) :-
    ( passed(Until) -> Outcome = 0
    ; M:terminal -> Outcome = 1
    ; Steps >= MaxSteps -> Outcome = 0
    ; random_moves(Roles, M, Rng, Moves)
    -> play(M, Roles, Moves), next_state(M, Next), change_to(M, State, Next), Outcome = on(Next)
    ; Outcome = 0 ).

% Nothing is drawn before all roles are known to have a move: a node that is stuck draws nothing.
% Undone except for the moves, so that nothing found on the way becomes garbage.
random_moves(Roles, M, Rng, Moves) :-
    Drawn = drawn(_),
    \+ \+ ( choices(Roles, M, Choices), all_drawn(Choices, Rng, Any), nb_setarg(1, Drawn, Any) ),
    arg(1, Drawn, Moves).

choices([], _, []).
choices([R|Rs], M, [Choice|Choices]) :-
    ( M:ggp_by_asked, M:ggp_tree(Memory), nb_getval(Memory, Tree), arg(8, Tree, Left), Left >= 0
    -> range_by_asked(R, M, Tree, range(First, N)), arg(4, Tree, Moves),
       Choice = numbered(First, N, Moves)
    ; legal_moves(M, R, Legal), Legal = [_|_], Choice = Legal ),
    choices(Rs, M, Choices).

all_drawn([], _, []).
all_drawn([Choice|Choices], Rng, [Move|Moves]) :-
    drawn_of(Choice, Rng, Move), all_drawn(Choices, Rng, Moves).

drawn_of(numbered(First, N, Moves), Rng, Move) :-
    ( N =:= 1 -> I = First ; below(N, Rng, I0), I is First + I0 ),
    trie_lookup(Moves, I, Move).
drawn_of([First|Rest], Rng, Move) :-
    ( Rest == [] -> Move = First
    ; Choices =.. [c, First|Rest], functor(Choices, _, N),
      below(N, Rng, I0), I is I0 + 1, arg(I, Choices, Move) ).

% Two combined generators (L'Ecuyer 1988), as the library's takes 0.3 ms to seed.
seeded(Seed, rng(X, Y)) :-
    X is 1 + Seed mod 2147483562,
    Y is 1 + Seed // 2147483562 mod 2147483398.

% below(+N, !Rng, -I): I from 0 to N - 1, where N is far less than 2 ** 31.
below(N, Rng, I) :-
    Rng = rng(X0, Y0),
    X is X0 * 40014 mod 2147483563, Y is Y0 * 40692 mod 2147483399,
    nb_setarg(1, Rng, X), nb_setarg(2, Rng, Y),
    I is (X - Y) mod N.

