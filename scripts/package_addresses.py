"""Puts the addresses of addresses.toml into the metadata of packages, as `[project.urls]`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class AddressesHook(MetadataHookInterface):
    """What hatchling asks when it builds a package."""

    def update(self, metadata: dict[str, Any]) -> None:
        addresses = tomllib.loads((Path(self.root) / "addresses.toml").read_text(encoding="utf-8"))
        metadata["urls"] = {name.title(): url for name, url in addresses.items() if url}
