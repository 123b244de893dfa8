"""The fast machine: rules become a `circuit` (`build`), which gets smaller (`optimise`), and is
played 1,024 lanes at a time (`play`)."""
