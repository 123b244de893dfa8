"""Policies in files: npz archives that hold numbers and one text, and nothing that could run.

A file may come from a stranger. So nothing is unpickled, sizes are looked at before memory is taken
for them, and shapes are those that the text says. What it says of a game is compared with the game
before anything is played (`PolicyFile.check_game`). The members:

    about   bytes of JSON: the game, the digest of rules and names, the version, the layers, and
            the training record
    role k  [4, N] float32: the weights of the k-th role, their averages, and both moments of Adam
    critic  [4, N] float32: the same of the critic
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from ggp.errors import ConfigError
from ggp.labs.learning.selfplay.features import Features, features_of_states
from ggp.labs.learning.selfplay.nets import F32, NetShape
from ggp.labs.learning.selfplay.policies import LearntPolicy, LearntValues
from ggp.run.whole_files import write_whole
from ggp.study.names import Names

SUFFIX = ".policy.npz"
"""The usual end of the names of such files."""

FORMAT = 1
"""Of the files that are written and read."""

MOST_BYTES = 1 << 30
"""Most bytes of a file, and of its contents."""

MOST_TEXT = 1 << 22
"""Most bytes of its text."""

MOST_POINTS = 1000
"""Most points of its learning curve."""

MOST_ROLES = 64
"""Most roles of a game in it."""

WEIGHTS, AVERAGE, MEAN, SQUARE = range(4)
"""The rows of arrays."""

_NO_POLICY = "it is no policy file of `ggp learn`"


@dataclass(frozen=True)
class About:
    """The text in a file.

    Attributes:
        game: name of the game.
        digest: of its rules and names, see `Names.digest`.
        version: of the package that wrote it.
        roles: those that learnt.
        features: what their policies read; `critic_features`: what the critic reads of the state.
        critic_paths: of how many roles it reads beside it what their policies read.
        hidden, critic: units of hidden layers.
        num_roles: outputs of the critic.
        steps: of the optimiser of each role, and of the critic.
        record: how it was learnt: seed, settings, updates, states, seconds, and the curve.
    """

    game: str
    digest: str
    version: str
    roles: tuple[str, ...]
    features: Features
    critic_features: Features
    critic_paths: int
    hidden: tuple[int, ...]
    critic: tuple[int, ...]
    num_roles: int
    steps: tuple[int, ...]
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> NetShape:
        """Of the policy of each role."""
        return NetShape(self.features.num_inputs, self.hidden, self.features.num_moves)

    @property
    def critic_shape(self) -> NetShape:
        """Of the critic."""
        paths = self.critic_paths * self.features.num_inputs
        return NetShape(paths + self.critic_features.num_inputs, self.critic, self.num_roles)


@dataclass(frozen=True)
class PolicyFile:
    """The content of a file.

    Attributes:
        about: its text.
        arrays: `[4, N]` of each role, then of the critic.
    """

    about: About
    arrays: tuple[F32, ...]

    def policies(self) -> dict[str, LearntPolicy]:
        """The policies, by role."""
        about = self.about
        return {
            role: LearntPolicy(about.features, about.hidden, array[AVERAGE].copy())
            for role, array in zip(about.roles, self.arrays, strict=False)
        }

    def values(self) -> LearntValues | None:
        """What states are worth by the critic; None if it reads more than the state."""
        about = self.about
        if about.critic_paths:
            return None
        flat = self.arrays[-1][AVERAGE].copy()
        return LearntValues(about.critic_features, about.critic, about.num_roles, flat)

    def check_game(self, names: Names, file: str) -> None:
        """Check that this was learnt in a game.

        Args:
            file: what messages call it.

        Raises:
            ConfigError: it was another one, or one whose rules or names are others; or the file
                says so, but its policies read what this game does not have.
        """
        if self.about.digest != names.digest:
            raise ConfigError(
                f"the policy in {file} was learnt in {self.about.game}, with other rules than "
                "those of this game; learn one with `ggp learn`"
            )
        # Kernels that read rows of bits do not check their indices.
        about = self.about
        critic = (features_of_states(names), len(names.roles))
        if not about.features.fit(names) or (about.critic_features, about.num_roles) != critic:
            raise ConfigError(
                f"the policy in {file} reads what this game does not have, so the file is not "
                "what it says; learn one with `ggp learn`"
            )


def bytes_of(kept: PolicyFile) -> bytes:
    """The bytes of a file."""
    text = json.dumps({"format": FORMAT} | asdict(kept.about)).encode()
    names = [*(f"role {k}" for k in range(len(kept.about.roles))), "critic"]
    arrays: dict[str, Any] = {"about": np.frombuffer(text, dtype=np.uint8)}
    arrays |= dict(zip(names, kept.arrays, strict=True))
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def write_policy(path: Path, kept: PolicyFile) -> None:
    """Write a file; all of it, or none.

    Raises:
        GGPError: see `write_whole`.
    """
    write_whole(path, bytes_of(kept))


def read_policy(path: Path) -> PolicyFile:
    """Read a file.

    Raises:
        ConfigError: it cannot be read, is no such file, or does not hold what it says.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES >> 20} MB")
        with zipfile.ZipFile(path) as archive:
            about = _about(archive)
            names = [f"role {k}" for k in range(len(about.roles))]
            shapes = [*[about.shape] * len(names), about.critic_shape]
            total = sum(16 * shape.num_weights for shape in shapes)
            if total > MOST_BYTES:
                raise ValueError(f"its weights would take {total >> 20} MB")
            arrays = tuple(
                _weights(archive, name, shape.num_weights)
                for name, shape in zip([*names, "critic"], shapes, strict=True)
            )
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # whatever a damaged archive, or what is in it, raises
        raise ConfigError(f"{path}: {_NO_POLICY} ({_said(error)})") from error
    return PolicyFile(about, arrays)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


def _about(archive: zipfile.ZipFile) -> About:
    text = _bytes(archive, "about", MOST_TEXT)
    shape, dtype, start = _header(text)
    if dtype != np.uint8 or shape != (len(text) - start,):
        raise ValueError("its text is no text")
    told = json.loads(text[start:])
    if told["format"] != FORMAT:
        raise ValueError(f"its format is {str(told['format'])[:20]}, not {FORMAT}")
    about = About(
        game=_word(told["game"]),
        digest=_word(told["digest"]),
        version=_word(told["version"]),
        roles=tuple(map(_word, _few(told["roles"], MOST_ROLES))),
        features=_features(told["features"]),
        critic_features=_features(told["critic_features"]),
        critic_paths=_count(told.get("critic_paths", 0)),  # files of version 1 lack it
        hidden=tuple(map(_count, _few(told["hidden"], 16))),
        critic=tuple(map(_count, _few(told["critic"], 16))),
        num_roles=_count(told["num_roles"]),
        steps=tuple(map(_count, _few(told["steps"], MOST_ROLES + 1))),
        record=_record(told["record"], told["roles"]),
    )
    if len(about.steps) != len(about.roles) + 1:
        raise ValueError("its numbers of steps are not those of its roles")
    return about


def _weights(archive: zipfile.ZipFile, name: str, size: int) -> F32:
    """`[4, size]` of a member."""
    wanted = 16 * size
    data = _bytes(archive, name, wanted + 4096)
    shape, dtype, start = _header(data)
    if dtype != np.dtype("<f4") or shape != (4, size) or len(data) - start != wanted:
        raise ValueError(f"{name} has the shape {shape} of {dtype}, not {(4, size)} of float32")
    found = np.frombuffer(data, dtype="<f4", offset=start).reshape(4, size).astype(np.float32)
    if not np.isfinite(found).all() or (found[SQUARE] < 0).any():
        raise ValueError(f"{name} has numbers that no weights are")
    return found


def _bytes(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """The bytes of a member, if they are not more than `most`."""
    member = archive.getinfo(f"{name}.npy")
    if member.file_size > most:
        raise ValueError(f"{name} has {member.file_size:,} bytes, more than {most:,}")
    with archive.open(member) as file:
        return file.read(most + 1)  # whatever the archive says of its size


def _header(data: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, dtype, and where the numbers begin, of an array in numpy's format 1.0."""
    file = io.BytesIO(data)
    if npy.read_magic(file) != (1, 0):
        raise ValueError("arrays must be in format 1.0")
    shape, is_fortran, dtype = npy.read_array_header_1_0(file, max_header_size=4096)
    if is_fortran or dtype.hasobject:
        raise ValueError("arrays must be rows of numbers")
    return shape, dtype, file.tell()


def _features(told: Mapping[str, Any]) -> Features:
    return Features(
        num_moves=_count(told["num_moves"]),
        num_percepts=_count(told["num_percepts"]),
        num_fluents=_count(told["num_fluents"]),
        num_counted=_count(told["num_counted"]),
        num_timed=_count(told["num_timed"]),
        reads_state=told["reads_state"] is True,
        reads_legal=told["reads_legal"] is True,
    )


def _record(told: Mapping[str, Any], roles: Sequence[str]) -> dict[str, Any]:
    """The training record, if it has all that learning goes on with, and that is shown of it."""
    _check_numbers(told)
    curve = told["curve"]
    if not isinstance(curve, list) or len(curve) > MOST_POINTS:
        raise ValueError("its learning curve is no list of points")
    for point in curve:
        _check_numbers(point)
        _finite(point["error"])
        for role in roles:
            _finite(point["entropy"][role])
            if point["rewards"][role] is not None:
                _finite(point["rewards"][role])
    if any(one["updates"] >= other["updates"] for one, other in pairwise(curve)):
        raise ValueError("the points of its learning curve are in no order")
    return dict(told)


def _check_numbers(told: Mapping[str, Any]) -> None:
    for name in ("updates", "states", "decisions"):
        _count(told[name])
    _finite(told["seconds"])


def _finite(told: Any) -> None:
    if type(told) not in (int, float) or not isfinite(told):
        raise ValueError(f"{str(told)[:20]} is no number")


def _few(told: Any, most: int) -> Sequence[Any]:
    if not isinstance(told, list) or not 0 < len(told) <= most:
        raise ValueError(f"a list is missing, or has more than {most} entries")
    return told


def _word(told: Any) -> str:
    if not isinstance(told, str) or len(told) > 1000:
        raise ValueError("a text is missing, or too long")
    return told


def _count(told: Any) -> int:
    if type(told) is not int or not 0 <= told < 1 << 40:
        raise ValueError(f"{str(told)[:20]} is no number of things")
    return told
