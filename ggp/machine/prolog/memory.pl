% The memory of answers of relations: part of the module of runtime.pl.

:- set_prolog_flag(generate_debug_info, false).
:- set_prolog_flag(optimise, true).

% ------------------------------------------------------------------ what is remembered

% Answers of relations that recur, or would be derived again and again, are remembered in a trie
% until the state changes, or the joint move if they depend on it. All answers of a call are found
% before the first is used. Linear recursion (linear.py) is walked, from call to call or from answer
% to answer, and what was seen on the way is kept in a trie of its own. Any other recursion must not
% go in a circle: when a call needs itself, the relation gets the tables of SWI-Prolog for good,
% which take ten times as long, and what was being done begins anew.

kind(moves).
kind(state).
kind(game).

remember(M, Kind, Watched, How, Group) :-
    assertz(M:ggp_remembers(Kind, Group)),
    ( M:ggp_memory(Kind, Memory) -> true
    ; atomic_list_concat([M, Kind], '_', Memory),
      assertz(M:ggp_memory(Kind, Memory)), empty(Memory) ),
    ( Watched == true -> Known = known_small ; Known = known ),
    forall(member(P, Group), remember_(How, M, Memory, Known, P)).

% Calls that a walk may make before those seen are kept: most walks along a row are shorter.
short(16).

% The rules of a relation move to a predicate of another name, which its own calls.
remember_(plain, M, Memory, Known, N/A) :-
    functor(Head, N, A), variant(q_, Head, [], Derive),
    findall((Derive :- Body), clause(M:Head, Body), Clauses),
    functor(Derive, DeriveN, _), dynamic(M:DeriveN/A),
    forall(member(C, Clauses), assertz(M:C)),
    retractall(M:Head),
    Body =.. [Known, Head, Memory, M, plain(M:Derive)],
    assertz(M:(Head :- ggp_runtime:Body)).
remember_(linear, M, Memory, Known, N/A) :-
    walks(M, Memory, Known, N/A, Head, Body, _),
    assertz(M:(Head :- ggp_runtime:Body)),
    compile_predicates([M:N/A]).
remember_(short, M, Memory, Known, N/A) :-
    walks(M, Memory, Known, N/A, Head, Body, Calls),
    variant(w_, Head, [Few, []], Walk),
    short(Most), changing(M, Calls, Head, Test),
    assertz(M:(Head :- Test -> Few = few(Most), ( Walk ; Few = few(-1), ggp_runtime:Body )
                       ; ggp_runtime:Body)),
    compile_predicates([M:N/A]).

walks(M, Memory, Known, N/A, Head, Body, Calls) :-
    functor(Head, N, A),
    variant(w_, Head, [Seen, Top], Walk),
    variant(b_, Head, [], Base), functor(Base, BaseN, _),
    atom_concat(l_, N, Back), atom_concat(c_, N, Calls),
    forall(member(P, [Back/2, Calls/2, BaseN/A]), dynamic(M:P)),
    Body =.. [Known, Head, Memory, M, linear(M:Walk, Seen, Top, M:Base, Back, Calls)].

% changing(+M, +Calls, +Head, -Test): whether an argument is given that is not handed on as it is.
changing(M, Calls, Head, Test) :-
    findall(I, ( call(M:Calls, Any, Call), arg(I, Any, A), \+ ( arg(I, Call, B), B == A ) ), Is0),
    sort(Is0, Is),
    foldl(or_nonvar(Head), Is, fail, Test).

or_nonvar(Head, I, Test0, Test) :-
    arg(I, Head, A),
    ( Test0 == fail -> Test = nonvar(A) ; Test = ( Test0 ; nonvar(A) ) ).

variant(Prefix, Head, More, Variant) :-
    Head =.. [N|Args], atom_concat(Prefix, N, VariantN),
    append(Args, More, VariantArgs), Variant =.. [VariantN|VariantArgs].

known_small(Goal, Memory, M, Derive) :- small(Goal), known(Goal, Memory, M, Derive).

known(Goal, Memory, M, How) :-
    nb_getval(Memory, Store), arg(1, Store, Trie),
    ( trie_lookup(Trie, Goal, Known) -> true ; derive(How, Goal, Store, Trie, M, Known) ),
    answer(Known, Goal, M).

answer(true, _, _).
answer(all(Goals), Goal, _) :- member(Goal, Goals).
answer(open, Goal, M) :- functor(Goal, N, A), throw(ggp_circular(M, N/A)).

derive(plain(Derive), Goal, Store, Trie, M, Known) :-
    trie_insert(Trie, Goal, open),
    ( ground(Goal)
    -> ( call(Derive) -> Known = true ; Known = false )
    ;  solutions(M, Goal, Derive, Goals) , all(Goals, Known) ),
    trie_update(Trie, Goal, Known),
    spend(Goal-Known, Store).
derive(linear(Walk, Seen, Top, Base, Back, Calls), Goal, Store, Trie, M, Known) :-
    trie_new(Tried), Seen = seen(Tried, Store),
    ( ground(Goal)
    -> Top = [], ( call(Walk) -> Known = true ; Known = false )
    ;  asks_itself(Goal, M, Calls)
    -> copy_term(Goal, Any),
       solutions(M, Answer, ( call(Base), unseen(Seen, Goal, []),
                              reached(Goal, Any, Seen, M:Back, Answer) ), Goals),
       all(Goals, Known)
    ;  term_variables(Goal, Free), Top =.. [v|Free],
       solutions(M, Goal, Walk, Goals), all(Goals, Known) ),
    trie_destroy(Tried),
    trie_insert(Trie, Goal, Known),
    spend(Goal-Known, Store).

all([], false) :- !.
all(Goals0, all(Goals)) :- sort(Goals0, Goals).

% Whether no call that the rules for a call make asks for more than the call itself.
asks_itself(Goal, M, Calls) :-
    copy_term(Goal, Same),
    \+ ( call(M:Calls, Same, Call), \+ subsumes_term(Goal, Call) ).

% The answer itself, and all that follows from it.
reached(Answer, _, _, _, Answer).
reached(Answer, Any, Seen, Back, Last) :-
    copy_term(Any, Next),
    call(Back, Next, Answer),
    unseen(Seen, Next, []),
    reached(Next, Any, Seen, Back, Last).

% unseen(!Seen, +Call, +Top): a call that may bring answers for Top is seen for the first time; or
% it is one of a few, which are not kept.
unseen(Seen, Call, Top) :-
    Seen = seen(Trie, Store), !,
    trie_insert(Trie, Call-Top),
    spend(Call-Top, Store).
unseen(Few, _, _) :-
    Few = few(Left0), Left0 >= 0,
    Left is Left0 - 1, nb_setarg(1, Few, Left),
    Left >= 0.

spend(Term, Store) :-
    term_size(Term, Cells),
    arg(2, Store, Left0), Left is Left0 - Cells, nb_setarg(2, Store, Left),
    ( Left < 0 -> throw(ggp_limit(tables)) ; true ).

empty(Memory) :-
    limit(remembered, Left), trie_new(Trie), nb_setval(Memory, store(Trie, Left, Left)).

% An interrupt must not leave a trie that no longer exists.
renew(Memory) :-
    nb_getval(Memory, store(Trie, _, _)), empty(Memory), trie_destroy(Trie).

drop_memory(Memory) :- nb_getval(Memory, store(Trie, _, _)), trie_destroy(Trie).

forget(M, Kind) :-
    ( M:ggp_memory(Kind, Memory), \+ untouched(Memory) -> renew(Memory) ; true ),
    forget_tables(M, Kind).

% Where nothing was spent nothing is remembered. But the limit may have been another one: after
% an error the memories of all games are emptied, with the limits of the one that failed.
untouched(Memory) :- limit(remembered, Max), nb_getval(Memory, store(_, Max, Max)).

forget_tables(M, Kind) :- ( M:ggp_tables(Kind) -> abolish_all_tables ; true ).

forget_if_full(M, Kind) :-
    ( M:ggp_memory(Kind, Memory), nb_getval(Memory, store(_, Left, Max)),
      ( Left * 2 < Max -> true ; \+ limit(remembered, Max) )
    -> forget(M, Kind)
    ; true ).

% The whole group: tables are not completed from within a search for all answers.
table_instead(M, P) :-
    M:ggp_remembers(Kind0, Group), memberchk(P, Group), !,
    retract(M:ggp_remembers(Kind0, Group)),
    % Tables cannot be dropped kind by kind, and must not grow for ever.
    ( Kind0 == game -> Kind = state ; Kind = Kind0 ),
    assertz(M:ggp_tables(Kind)),
    forall(member(N/A, Group),
           ( functor(Head, N, A), variant(q_, Head, [], Derive), functor(Derive, DeriveN, _),
             retractall(M:Head),
             table(M:DeriveN/A),
             assertz(M:(Head :- Derive)) )).

% ------------------------------------------------------------------ facts found by number

% An index of SWI-Prolog uses two arguments at most: with three or more, a call that only asks
% whether a fact is there may try hundreds.
hard_to_find(M, N/A, Names) :-
    A > 2, Names ** A < 1 << 59,
    functor(Head, N, A),
    predicate_property(M:Head, number_of_clauses(Size)), Size >= 64,
    \+ ( clause(M:Head, Body), \+ ( Body == true, Head =.. [_|Args], maplist(integer, Args) ) ),
    findall(Number, ( between(1, A, I), findall(X, ( M:Head, arg(I, Head, X) ), Xs0),
                      sort(Xs0, Xs), length(Xs, Number) ), Numbers),
    msort(Numbers, Sorted), append(_, [Most1, Most2], Sorted),
    Size >= 16 * Most1 * Most2.

% find_by_number(+M, +Name/Arity, +Names): facts are also kept as numbers, made of those of their
% arguments, which are below Names.
find_by_number(M, N/A, Names) :-
    functor(Head, N, A), Head =.. [_|Args],
    variant(f_, Head, [], Fact), functor(Fact, FactN, _),
    atom_concat(v_, N, KnownN), Known =.. [KnownN, Key],
    dynamic([M:FactN/A, M:KnownN/1]),
    numbered(Args, Names, 0, Expression), tests(Args, Tests),
    forall(M:Head, ( assertz(M:Fact), Key is Expression, assertz(M:Known) )),
    retractall(M:Head),
    current_prolog_flag(optimise, Optimises),
    set_prolog_flag(optimise, true),  % Arithmetic is compiled.
    assertz(M:(Head :- Tests -> Key is Expression, Known ; Fact)),
    set_prolog_flag(optimise, Optimises),
    compile_predicates([M:FactN/A, M:KnownN/1]).

numbered([], _, Expression, Expression).
numbered([Arg|Args], Names, Expression0, Expression) :-
    ( Expression0 == 0 -> Expression1 = Arg ; Expression1 = Expression0 * Names + Arg ),
    numbered(Args, Names, Expression1, Expression).

tests([Arg], integer(Arg)) :- !.
tests([Arg|Args], ( integer(Arg), Tests )) :- tests(Args, Tests).

