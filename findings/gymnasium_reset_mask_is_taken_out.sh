#!/bin/sh
# gymnasium 1.4.0 (Python 3.11): a vector environment's `reset` takes `reset_mask` out of the
# dictionary of options that it is given.
#
# Guess: the options are only read, so a loop may make them once and pass them again.
#
# Seen, in SyncVectorEnv and AsyncVectorEnv: after the first `reset(options=options)` the dictionary
# is empty, so the second one with the same dictionary begins all environments anew, without a
# warning. Options must be made for each call.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" gymnasium==1.4.0 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import gymnasium
import numpy as np


def main():
    vector = gymnasium.vector
    for kind in (vector.SyncVectorEnv, vector.AsyncVectorEnv):
        made = [lambda: gymnasium.make("CartPole-v1")] * 3
        envs = kind(made, autoreset_mode=vector.AutoresetMode.DISABLED)
        before, _ = envs.reset(seed=0)
        options = {"reset_mask": np.array([True, False, False])}
        anew = []
        for _ in range(2):
            before = before.copy()
            after, _ = envs.reset(options=options)
            anew.append((after != before).any(axis=1).tolist())
            before = after
        envs.close()
        print(kind.__name__, anew, options)
        assert anew == [[True, False, False], [True, True, True]], anew
        assert options == {}, options


if __name__ == "__main__":
    main()
PYTHON
PYTHONPATH="$work/site" python3 seen.py
