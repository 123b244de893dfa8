"""Policies in files: npz archives that hold arrays and one text, and no code.

`write_policy` stores a `PolicyFile`, which a learner returns; `read_policy` reads it back, for
players and for more learning. A file may come from a stranger. So nothing is unpickled, sizes are
checked before memory is allocated, and arrays must have the shapes that follow from the text.
`PolicyFile.check_game` compares the game in the text with the game to be played. The members:

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
"""Version of the file format."""

MAX_BYTES = 1 << 30
"""Most bytes of a file, and of its contents."""

MAX_TEXT = 1 << 22
"""Most bytes of the text in a file."""

MAX_POINTS = 1000
"""Most points of the learning curve in a file."""

MAX_ROLES = 64
"""Most roles in a file."""

WEIGHTS, AVERAGE, MEAN, SQUARE = range(4)
"""The rows of each array."""

_NO_POLICY = "it is no policy file of `ggp learn`"


@dataclass(frozen=True)
class About:
    """The text in a file.

    Attributes:
        game: name of the game.
        digest: digest of its rules and names, see `Names.digest`.
        version: version of the package that wrote the file.
        roles: the roles that learnt.
        features: the bits that policies read; `critic_features`: the bits of the state that the
            critic reads.
        critic_paths: number of roles whose knowledge the critic reads beside the state.
        hidden, critic: units of the hidden layers of policies, and of the critic.
        num_roles: outputs of the critic.
        steps: steps of the optimiser of each role, and of the critic.
        record: the training record: seed, settings, updates, states, seconds, and the curve.
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
        """The layers of each policy."""
        return NetShape(self.features.num_inputs, self.hidden, self.features.num_moves)

    @property
    def critic_shape(self) -> NetShape:
        """The layers of the critic."""
        paths = self.critic_paths * self.features.num_inputs
        return NetShape(paths + self.critic_features.num_inputs, self.critic, self.num_roles)


@dataclass(frozen=True)
class PolicyFile:
    """The content of a file.

    Attributes:
        about: the text.
        arrays: one `[4, N]` array for each role, then one for the critic.
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
        """The values of states by the critic; None if it reads more than the state."""
        about = self.about
        if about.critic_paths:
            return None
        flat = self.arrays[-1][AVERAGE].copy()
        return LearntValues(about.critic_features, about.critic, about.num_roles, flat)

    def check_game(self, names: Names, file: str) -> None:
        """Check that the policies were learnt in the game with these names.

        Args:
            file: name of the file in messages.

        Raises:
            ConfigError: they were learnt in another game, or with other rules or names; or the
                text names this game, but the nets read bits that it does not have.
        """
        if self.about.digest != names.digest:
            raise ConfigError(
                f"the policy in {file} was learnt in {self.about.game}, with other rules than "
                "this game has; learn one with `ggp learn`"
            )
        # Kernels that read rows of bits do not check their indices.
        about = self.about
        critic = (features_of_states(names), len(names.roles))
        if not about.features.fit(names) or (about.critic_features, about.num_roles) != critic:
            raise ConfigError(
                f"the policy in {file} reads what this game does not have, so the file is not "
                "what it says; learn one with `ggp learn`"
            )


def bytes_of(policy_file: PolicyFile) -> bytes:
    """The bytes of a file."""
    text = json.dumps({"format": FORMAT} | asdict(policy_file.about)).encode()
    names = [*(f"role {k}" for k in range(len(policy_file.about.roles))), "critic"]
    arrays: dict[str, Any] = {"about": np.frombuffer(text, dtype=np.uint8)}
    arrays |= dict(zip(names, policy_file.arrays, strict=True))
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def write_policy(path: Path, policy_file: PolicyFile) -> None:
    """Write a file completely, or not at all.

    Raises:
        GGPError: see `write_whole`.
    """
    write_whole(path, bytes_of(policy_file))


def read_policy(path: Path) -> PolicyFile:
    """Read a file.

    Raises:
        ConfigError: the file cannot be read, has another format, or contradicts its own text.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES >> 20} MB")
        with zipfile.ZipFile(path) as archive:
            about = _about(archive)
            names = [f"role {k}" for k in range(len(about.roles))]
            shapes = [*[about.shape] * len(names), about.critic_shape]
            total = sum(16 * shape.num_weights for shape in shapes)
            if total > MAX_BYTES:
                raise ValueError(f"its weights would take {total >> 20} MB")
            arrays = tuple(
                _weights(archive, name, shape.num_weights)
                for name, shape in zip([*names, "critic"], shapes, strict=True)
            )
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # damaged archives raise many types
        raise ConfigError(f"{path}: {_NO_POLICY} ({_message(error)})") from error
    return PolicyFile(about, arrays)


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


def _about(archive: zipfile.ZipFile) -> About:
    text = _bytes(archive, "about", MAX_TEXT)
    shape, dtype, start = _header(text)
    if dtype != np.uint8 or shape != (len(text) - start,):
        raise ValueError("its text is not an array of bytes")
    fields = json.loads(text[start:])
    if fields["format"] != FORMAT:
        raise ValueError(f"its format is {str(fields['format'])[:20]}, not {FORMAT}")
    about = About(
        game=_short_text(fields["game"]),
        digest=_short_text(fields["digest"]),
        version=_short_text(fields["version"]),
        roles=tuple(map(_short_text, _short_list(fields["roles"], MAX_ROLES))),
        features=_features(fields["features"]),
        critic_features=_features(fields["critic_features"]),
        critic_paths=_count(fields.get("critic_paths", 0)),  # files of version 1 lack it
        hidden=tuple(map(_count, _short_list(fields["hidden"], 16))),
        critic=tuple(map(_count, _short_list(fields["critic"], 16))),
        num_roles=_count(fields["num_roles"]),
        steps=tuple(map(_count, _short_list(fields["steps"], MAX_ROLES + 1))),
        record=_record(fields["record"], fields["roles"]),
    )
    if len(about.steps) != len(about.roles) + 1:
        raise ValueError("it needs a number of steps for each role and the critic")
    return about


def _weights(archive: zipfile.ZipFile, name: str, size: int) -> F32:
    """`[4, size]` of a member."""
    num_bytes = 16 * size
    content = _bytes(archive, name, num_bytes + 4096)
    shape, dtype, start = _header(content)
    if dtype != np.dtype("<f4") or shape != (4, size) or len(content) - start != num_bytes:
        raise ValueError(f"{name} has the shape {shape} of {dtype}, not {(4, size)} of float32")
    weights = np.frombuffer(content, dtype="<f4", offset=start).reshape(4, size).astype(np.float32)
    if not np.isfinite(weights).all() or (weights[SQUARE] < 0).any():
        raise ValueError(f"{name} has numbers that cannot be weights")
    return weights


def _bytes(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """The bytes of a member.

    Raises:
        ValueError: there are more than `most`.
    """
    member = archive.getinfo(f"{name}.npy")
    if member.file_size > most:
        raise ValueError(f"{name} has {member.file_size:,} bytes, more than {most:,}")
    with archive.open(member) as file:
        return file.read(most + 1)  # the size in the archive may be wrong


def _header(content: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, dtype, and offset of the numbers of an array in numpy's format 1.0."""
    file = io.BytesIO(content)
    if npy.read_magic(file) != (1, 0):
        raise ValueError("arrays must be in format 1.0")
    shape, is_fortran, dtype = npy.read_array_header_1_0(file, max_header_size=4096)
    if is_fortran or dtype.hasobject:
        raise ValueError("arrays must be rows of numbers")
    return shape, dtype, file.tell()


def _features(fields: Mapping[str, Any]) -> Features:
    names = ("num_moves", "num_percepts", "num_fluents", "num_counted", "num_timed")
    reads_state, reads_legal = (fields[name] is True for name in ("reads_state", "reads_legal"))
    numbers = {name: _count(fields[name]) for name in names}
    return Features(**numbers, reads_state=reads_state, reads_legal=reads_legal)


def _record(fields: Mapping[str, Any], roles: Sequence[str]) -> dict[str, Any]:
    """The training record, if it has every field that more learning and reports need."""
    _check_numbers(fields)
    curve = fields["curve"]
    if not isinstance(curve, list) or len(curve) > MAX_POINTS:
        raise ValueError("its learning curve is not a list of points")
    for point in curve:
        _check_numbers(point)
        _finite(point["error"])
        for role in roles:
            _finite(point["entropy"][role])
            if point["rewards"][role] is not None:
                _finite(point["rewards"][role])
    if any(point["updates"] >= following["updates"] for point, following in pairwise(curve)):
        raise ValueError("the points of its learning curve are not in order")
    return dict(fields)


def _check_numbers(fields: Mapping[str, Any]) -> None:
    for name in ("updates", "states", "decisions"):
        _count(fields[name])
    _finite(fields["seconds"])


def _finite(number: Any) -> None:
    if type(number) not in (int, float) or not isfinite(number):
        raise ValueError(f"{str(number)[:20]} is not a number")


def _short_list(entries: Any, most: int) -> Sequence[Any]:
    if not isinstance(entries, list) or not 0 < len(entries) <= most:
        raise ValueError(f"a list is missing, or has more than {most} entries")
    return entries


def _short_text(text: Any) -> str:
    if not isinstance(text, str) or len(text) > 1000:
        raise ValueError("a text is missing, or too long")
    return text


def _count(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 1 << 40:
        raise ValueError(f"{str(number)[:20]} is not a count")
    return number
