# The two commands and SWI-Prolog. docs/start/installing.md shows how to build and run it.
FROM python:3.13-slim-bookworm

# numba compiles for the processor it runs on, so kernels are compiled when a container first runs.
# Debian has one version of it for as long as this release of Debian lasts.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends swi-prolog-nox \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/ggp
COPY pyproject.toml README.md LICENSE addresses.toml ./
COPY scripts/package_addresses.py scripts/
COPY games games
COPY ggp ggp
COPY match_runner match_runner
RUN pip install --no-cache-dir . \
    && useradd --uid 1000 --create-home ggp

USER 1000
WORKDIR /home/ggp
VOLUME /home/ggp
EXPOSE 9147 8080
CMD ["ggp", "serve", "--host", "0.0.0.0"]
