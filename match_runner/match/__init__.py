"""One match: who sits where (`seats`), who plays it (`referee`), what is kept of it (`records`,
`record_files`) and what can be done with that (`replay`, `views`, `exports`)."""
