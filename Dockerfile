# The two commands and SWI-Prolog. docs/start/installing.md shows how to build and run it.
FROM python:3.13-slim-bookworm

# Debian has one version of it for as long as this release of Debian lasts.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends swi-prolog-nox \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/ggp
COPY pyproject.toml README.md LICENSE addresses.toml ./
COPY scripts/compile_kernels.py scripts/package_addresses.py scripts/wheel_kernels.py scripts/
COPY games games
COPY ggp ggp
COPY match_runner match_runner
# With machine code of kernels for levels of x86-64, which takes minutes here and none at a first start.
RUN HATCH_BUILD_HOOKS_ENABLE=1 pip install --no-cache-dir . \
    && rm -rf build \
    && useradd --uid 1000 --create-home ggp

USER 1000
WORKDIR /home/ggp
VOLUME /home/ggp
EXPOSE 9147 8080
CMD ["ggp", "serve", "--host", "0.0.0.0"]
